"""The scripts that judge pairs and what is made of them: agreement of two mappers, samtools, Picard, bcftools."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import brute_force as bf
import numpy as np
import pairs
import peer_agreement
import pysam
import pytest
import variants
from test_scripts_peers import record, script, write
from variants import Allele, Call

from gassst.cli.main import main

needs_bwa = pytest.mark.external("bwa")
needs_checks = pytest.mark.external("samtools", "PicardCommandLine")
needs_bcftools = pytest.mark.external("samtools", "bcftools")


def files(folder: Path) -> list[Path]:
    return [folder / "r_1.fq", folder / "r_2.fq"]


def simulate(reference: Path, folder: Path, *options) -> list[Path]:
    out = [word for file in files(folder) for word in ("-o", file)]
    assert main([*map(str, ["simulate", reference, *options, *out])]) == 0
    return files(folder)


# --- peer_agreement -----------------------------------------------------------------------------------------

DIFFERENT = {
    "clip": (record("clip", 100), record("clip", 130, cigar="12S38M")),
    "shift": (record("shift", 100), record("shift", 120, cigar="30M2D20M")),
    "strand": (record("strand", 100), record("strand", 104, flag=16)),
    "elsewhere, clip": (record("far clip", 100, cigar="40M10S"), record("far clip", 1000)),
    "elsewhere, tie": (record("tie", 100, nm=2), record("tie", 1000, nm=2)),
    "elsewhere, ours": (record("ours", 100, nm=1), record("ours", 1000, nm=2)),
    "elsewhere, theirs": (record("theirs", 100, nm=3, flag=0x81), record("theirs", 151, nm=2, flag=0x81)),
}
ALIKE = [
    (record("same", 100), record("same", 100)),
    (record("near", 100), record("near", 110)),
    (record("one end", 100), record("one end", 130, cigar="20I30M")),
    (record("unsure", 100), record("unsure", 1000, mapq=19)),
    (record("unmapped", 100), record("unmapped", 0)),
]


@pytest.fixture
def two_files(tmp_path):
    pairs = [*DIFFERENT.values(), *ALIKE]
    extra = [record("same", 3000, flag=0x100), record("same", 3000, flag=0x800)]
    ours = write(tmp_path / "ours.bam", [a for a, _ in pairs] + extra)
    return ours, write(tmp_path / "theirs.bam", [b for _, b in pairs][::-1])


def test_agreement_finds_and_classes_what_differs(two_files):
    ours, theirs = map(peer_agreement.placements, two_files)
    names = [a.query_name for a, _ in DIFFERENT.values()]
    keys = peer_agreement.differing(ours, theirs)
    assert [name for name, _ in keys] == names and keys[-1] == ("theirs", 2)
    found = peer_agreement.agreement(ours, theirs)
    assert found == {"both": 10, "same": 3, "share": 0.3, "only_ours": 2, "only_theirs": 0}
    listed = peer_agreement.disagreements(*two_files, keys)
    assert {one.kind: one.key[0] for one in listed} == dict(zip(DIFFERENT, names, strict=True))
    assert set(DIFFERENT) == set(peer_agreement.CLASSES)
    assert peer_agreement.counts(listed) == dict.fromkeys(DIFFERENT, 1)


# --- pairs --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bwa_pairs(tmp_path_factory) -> tuple[Path, Path]:
    """Genome and SAM: pairs of bwa at 8 % errors, with some mates unmapped."""
    folder = tmp_path_factory.mktemp("pairs")
    genome = folder / "g.fa"
    genome.write_bytes(b">one\n" + bf.random_bases(np.random.default_rng(2), 20_000) + b"\n")
    reads = simulate(genome, folder, "-n", 400, "-l", 50, "-e", 0.08, "--pairs", "150,15")
    subprocess.run(["bwa", "index", genome], check=True, capture_output=True)
    group = "@RG\\tID:1\\tSM:s\\tPL:ILLUMINA"
    with (folder / "bwa.sam").open("wb") as out:
        subprocess.run(
            ["bwa", "mem", "-R", group, genome, *reads], check=True, stdout=out, stderr=subprocess.DEVNULL
        )
    return genome, folder / "bwa.sam"


def checked(path: Path, genome: Path, *options, fails: bool) -> dict[str, str]:
    done = script("check/pairs.py", path, genome, *options, fails=fails)
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines] == ["fixmate:", "markdup:", "stats:", "validate:"]
    return {line.split()[1].rstrip(":"): line for line in lines}


ALLOWED = ("--allow", "MQ missing", "MC missing")


@needs_bwa
@needs_checks
def test_pairs_of_bwa_pass(bwa_pairs, tmp_path):
    genome, path = bwa_pairs
    with pysam.AlignmentFile(str(path)) as file:
        flags = [one.flag for one in file]
    assert any(flag & 4 and not flag & 8 for flag in flags), "no pair with one mate unmapped"
    lines = checked(path, genome, *ALLOWED, fails=False)
    assert all(line.startswith("ok ") for line in lines.values())
    assert "MQ missing" in lines["fixmate"] and "800 reads" in lines["stats"]
    assert not fixmate(path, folder=tmp_path).passed


def fixmate(path: Path, folder: Path) -> pairs.Check:
    """The first check alone, in this process, with no field allowed to differ but htsjdk's TLEN."""
    named, fixed = folder / "named.bam", folder / "fixed.bam"
    pairs.run("samtools", "view", "-b", "-o", named, path)
    pairs.run("samtools", "fixmate", "-m", named, fixed)
    return pairs.check_fixmate(named, fixed, {pairs.HTSJDK})


@pytest.fixture(scope="module")
def hard_pairs(tmp_path_factory) -> tuple[Path, list[Path]]:
    """Genome with a repeat, and pairs of which some last mates, and some of both, are of other origin."""
    folder, rng = tmp_path_factory.mktemp("hard"), np.random.default_rng(4)
    text = bytearray(bf.random_bases(rng, 20_000))
    text[9000:11_000] = text[3000:5000]
    genome = folder / "g.fa"
    genome.write_bytes(b">one\n" + bytes(text) + b"\n>two\n" + bf.random_bases(rng, 3000) + b"\n")
    reads = simulate(genome, folder, "-n", 400, "-l", 50, "-e", 0.06, "--pairs", "150,15")
    for file, every in zip(reads, (50, 10), strict=True):
        lines = file.read_text().splitlines()
        lines[1 :: 4 * every] = [bf.random_bases(rng, 50).decode() for _ in lines[1 :: 4 * every]]
        file.write_text("\n".join(lines) + "\n")
    return genome, reads


@needs_checks
@pytest.mark.parametrize(
    "options, reads, said",
    [
        ((), 800, "MC"),
        (("-k", 3, "--eqx"), 800, " records without SEQ"),
        # 8 pairs of random mates, and 8 whose true mate scores less than -T alone.
        (("-k", 3, "--xa", "--no-unmapped"), 770, "XA"),
    ],
    ids=["default", "secondary", "xa, no unmapped"],
)
def test_pairs_of_gassst_pass(hard_pairs, tmp_path, options, reads, said):
    genome, files = hard_pairs
    out, group = tmp_path / "out.sam", "@RG\\tID:x\\tSM:s\\tPL:ILLUMINA\\tLB:l"
    command = ["map", "-q", "--device", "none", genome, *files, "-o", out, "-R", group, *options]
    assert main([*map(str, command)]) == 0
    lines = checked(out, genome, fails=False)
    assert lines["fixmate"].startswith(f"ok   fixmate: {reads} primary records")
    assert f"{reads} reads" in lines["stats"]
    assert said in lines["validate"] or f"\t{said}:Z:" in out.read_text()


BREAKS = {
    "fixmate": (lambda parts: parts.__setitem__(8, str(int(parts[8]) + 1)), "1 TLEN"),
    "stats": (lambda parts: parts.__setitem__(1, str(int(parts[1]) ^ 0xC0)), "first but"),
    "validate": (lambda parts: parts.__setitem__(11, "NM:i:49"), "NM"),
}


@needs_bwa
@needs_checks
def test_one_broken_record_fails_its_check(bwa_pairs, tmp_path):
    """One record for each check, all in one file: Java takes a second to start."""
    genome, path = bwa_pairs
    lines = path.read_text().splitlines()
    proper = [i for i, line in enumerate(lines) if line[0] != "@" and int(line.split("\t")[1]) & 0x43 == 0x43]
    for at, (change, _) in zip(proper, BREAKS.values(), strict=False):
        parts = lines[at].split("\t")
        assert parts[11].startswith("NM:i:")
        change(parts)
        lines[at] = "\t".join(parts)
    (tmp_path / "broken.sam").write_text("\n".join(lines) + "\n")
    found = checked(tmp_path / "broken.sam", genome, *ALLOWED, fails=True)
    for name, (_, said) in BREAKS.items():
        assert found[name].startswith("FAIL") and said in found[name]


# --- variants -----------------------------------------------------------------------------------------------


def test_scores_are_counted_allele_by_allele():
    snp, indel, other = Allele("one", 5, "A", "C"), Allele("one", 9, "AT", "A"), Allele("one", 5, "A", "G")
    truth = {snp: Call(float("inf"), 1), indel: Call(float("inf"), 2)}
    calls = {snp: Call(50, 2), other: Call(10, 1)}
    found = {(row["kind"], row["quality"]): row for row in variants.judge(calls, truth)}
    row = found["SNP", 0]
    assert (row["planted"], row["called"], row["right"]) == (1, 2, 1)
    assert (row["precision"], row["recall"], row["f1"], row["genotype"]) == (0.5, 1, 2 / 3, 0)
    assert found["SNP", 20]["precision"] == 1
    assert (found["indel", 0]["recall"], found["indel", 0]["precision"]) == (0, None)
    rows = list(variants.errors("x", calls, truth))
    assert [(row[1], row[2], row[4]) for row in rows] == [("false", "SNP", "5"), ("missed", "indel", "9")]


@needs_bcftools
def test_alleles_are_normalised_and_split(tmp_path):
    genome = tmp_path / "g.fa"
    genome.write_text(">one\nCGATTTTTGCATGCA\n")
    pysam.faidx(str(genome))
    vcf = tmp_path / "v.vcf"
    vcf.write_text(
        "##fileformat=VCFv4.2\n##contig=<ID=one,length=15>\n"
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="g">\n'
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts\n"
        "one\t7\t.\tTT\tT\t30\t.\t.\tGT\t1/1\none\t10\t.\tC\tA,G\t.\t.\t.\tGT\t1|2\n"
        "one\t12\t.\tT\tC\t30\t.\t.\tGT\t0/1\n"  # outside
    )
    regions = [variants.Region("one", 1, 3), variants.Region("one", 9, 11)]
    assert variants.normalised(vcf, genome, regions, tmp_path) == {
        Allele("one", 3, "AT", "A"): Call(30, 2),
        Allele("one", 10, "C", "A"): Call(float("inf"), 1),
        Allele("one", 10, "C", "G"): Call(float("inf"), 1),
    }
    beside = [variants.Region("one", 1, 3), variants.Region("one", 11, 15)]
    assert variants.normalised(vcf, genome, beside, tmp_path) == {
        Allele("one", 3, "AT", "A"): Call(30, 2),
        Allele("one", 12, "T", "C"): Call(30, 1),
    }


@needs_bwa
@needs_bcftools
@pytest.mark.parametrize("single", [False, True])
def test_variants_are_found_where_they_were_planted(tmp_path, single):
    """A region in the middle of a contig; a mapper that loses the reads of half of it loses half the variants."""
    genome = tmp_path / "g.fa"
    genome.write_bytes(b">one\n" + bf.random_bases(np.random.default_rng(8), 40_000) + b"\n")
    mapper = tmp_path / "lossy"
    mapper.write_text(
        f"#!{sys.executable}\n"
        "import subprocess, sys\n"
        "done = subprocess.run(['bwa', *sys.argv[1:]], stdout=subprocess.PIPE, text=True)\n"
        "for line in done.stdout.splitlines():\n"
        "    if line[0] == '@' or int(line.split('\\t')[3]) < 20_000:\n"
        "        print(line)\n"
        "sys.exit(done.returncode)\n"
    )
    mapper.chmod(0o755)
    out, listed = tmp_path / "out.json", tmp_path / "e.tsv"
    done = script(
        "bench/variants.py", genome, "--region", "one:10001-30000", "--snp-rate", 0.003, "--indel-rate", 0.001,
        "--length", 80, "--pairs", "250,25", "--tools", "bwa", "bwa-mem2", "--bin", f"bwa-mem2={mapper}",
        "--seeds", "4-5" if single else "4-4", "--json", out, "--tsv", listed, *(["--single"] if single else []),
    )  # fmt: skip
    result = json.loads(out.read_text())
    assert result["region"] == "one:10001-30000" and result["single"] is single
    snps, _, indels, _ = result["tools"]["bwa"]["calls"]
    assert (
        snps["planted"] > 40 and snps["recall"] > 0.95 and snps["precision"] > 0.95 and snps["genotype"] > 0.9
    )
    assert indels["planted"] > 10 and indels["recall"] > 0.85 and indels["precision"] > 0.9
    assert {line.split("\t")[-1] for line in listed.read_text().splitlines()[1:]} == set(
        "45" if single else "4"
    )
    half = result["tools"]["bwa-mem2"]["calls"][0]
    assert 0.35 < half["recall"] < 0.65 and half["precision"] > 0.9
    missed = [
        line.split("\t")
        for line in listed.read_text().splitlines()
        if line.startswith("bwa-mem2 bcftools\tmissed")
    ]
    assert sum(int(row[4]) > 19_950 for row in missed) > 0.8 * len(missed) > 20
    assert done.stdout.count("SNP, QUAL >= 20") == 2
