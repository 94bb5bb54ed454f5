"""The scripts that judge pairs and what is made of them: agreement of two mappers, samtools, Picard."""

from __future__ import annotations

import subprocess
from pathlib import Path

import brute_force as bf
import numpy as np
import pairs
import peer_agreement
import pysam
import pytest
from test_scripts_peers import record, script, write

from gassst.cli.main import main

needs_bwa = pytest.mark.external("bwa")
needs_checks = pytest.mark.external("samtools", "PicardCommandLine")


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
