"""Reads beside an ALT contig lie where bwa mem puts them, with its list of ALT contigs and without."""

from __future__ import annotations

import os
import shutil
import subprocess

import numpy as np
import pysam
import pytest

from gassst.cli.main import main

COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
SURE, UNSURE = 20, 3  # mapping qualities


def random_bases(rng, n):
    return bytes(rng.choice(list(b"ACGT"), n).astype(np.uint8))


def mutated(rng, bases, every):
    """With a mismatch in the middle of each stretch of `every` bases."""
    text = bytearray(bases)
    for i in range(every // 2, len(text), every):
        text[i] = rng.choice([base for base in b"ACGT" if base != text[i]])
    return bytes(text)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """FASTA, its .alt file, and reads whose names say where they are from.

    The ALT contig has a stretch like the main assembly, and two that differ in one base of 25 and one of 60. The main
    assembly lacks another stretch, and has one twice.
    """
    rng = np.random.default_rng(17)
    chr1, chr2, insertion = (random_bases(rng, n) for n in (30_000, 20_000, 1500))
    chr2 = chr2[:15_000] + chr1[14_000:15_000] + chr2[15_000:]
    parts = {
        "same": chr1[10_000:11_200],
        "far": mutated(rng, chr1[11_200:12_400], 25),
        "near": mutated(rng, chr1[12_400:13_600], 60),
        "only": insertion,
        "twice": chr1[13_900:15_100],
    }
    alt = random_bases(rng, 300) + b"".join(parts.values()) + random_bases(rng, 300)
    folder = tmp_path_factory.mktemp("alt")
    fasta = folder / "ref.fa"
    contigs = {"chr1": chr1, "chr1_alt": alt, "chr2": chr2}
    fasta.write_bytes(b"".join(b">%s\n%s\n" % (n.encode(), s) for n, s in contigs.items()))
    (folder / "ref.fa.alt").write_text(
        "@SQ\tSN:x\tLN:1\nchr1_alt\t0\tchr1\t10001\t60\t1M\t*\t0\t0\t*\t*\nother\n"
    )
    sources = parts | {
        "chr1far": chr1[11_200:12_400],
        "chr1near": chr1[12_400:13_600],
        "chr2": chr2[2000:3200],
    }
    with open(folder / "reads.fq", "w") as file:
        for name, bases in sources.items():
            for i, at in enumerate(range(0, len(bases) - 150, 30)):
                read = bases[at : at + 150]
                read = read.translate(COMPLEMENT)[::-1] if i % 2 else read
                file.write(f"@{name}:{at}\n{read.decode()}\n+\n{'I' * 150}\n")
    with open(folder / "R1.fq", "w") as one, open(folder / "R2.fq", "w") as two:
        for name, bases in sources.items():
            for at in range(0, len(bases) - 400, 15):
                mates = bases[at : at + 100], bases[at + 300 : at + 400].translate(COMPLEMENT)[::-1]
                for file, mate in zip((one, two), mates, strict=True):
                    file.write(f"@{name}:{at}\n{mate.decode()}\n+\n{'I' * 100}\n")
    assert main(["index", str(fasta), "-q"]) == 0
    return folder


def by_read(path):
    """The primary record and the contigs of supplementary ones, by name and mate."""
    primary, parts = {}, {}
    with pysam.AlignmentFile(str(path)) as file:
        for record in file:
            key = record.query_name, record.is_read2
            if record.is_supplementary:
                parts.setdefault(key, []).append((record.reference_name, record.reference_start))
            elif not record.is_secondary:
                primary[key] = record
    return primary, parts


def of_gassst(folder, *arguments):
    options = ["--mode", "local", "--device", "none", "-t", "2", "-q", "-o", str(folder / "gassst.sam")]
    assert main(["map", str(folder / "ref.gsi"), *arguments, *options]) == 0
    return by_read(folder / "gassst.sam")


def of_bwa(folder, *arguments):
    if not (folder / "ref.fa.bwt").exists():
        subprocess.run(["bwa", "index", str(folder / "ref.fa")], check=True, capture_output=True)
    with open(folder / "bwa.sam", "wb") as out:
        command = ["bwa", "mem", *arguments[:-1], str(folder / "ref.fa"), *arguments[-1]]
        subprocess.run(command, check=True, stdout=out, stderr=subprocess.DEVNULL)
    return by_read(folder / "bwa.sam")


@pytest.mark.external("bwa")
@pytest.mark.parametrize("reads", [["reads.fq"], ["R1.fq", "R2.fq"]], ids=["single", "pairs"])
@pytest.mark.parametrize("options", [[], ["-j"]], ids=["with the list", "without"])
def test_reads_lie_where_bwa_mem_puts_them(world, reads, options):
    files = [str(world / name) for name in reads]
    found, parts = of_gassst(world, *files, *options)
    expected, expected_parts = of_bwa(world, *options, files)
    assert found.keys() == expected.keys() and len(found) > 200
    for key, record in found.items():
        other = expected[key]
        if key[0].startswith("twice") and record.is_proper_pair:
            continue  # bwa mem does not always let a unique mate decide where the other one ties
        qualities = sorted([record.mapping_quality, other.mapping_quality])
        assert qualities[0] > UNSURE or qualities[1] < SURE, key
        assert record.is_unmapped == other.is_unmapped
        if qualities[0] >= SURE:
            assert (record.reference_name, record.reference_start, record.cigarstring) == (
                other.reference_name,
                other.reference_start,
                other.cigarstring,
            ), key
    if not options:
        assert all(
            record.reference_name != "chr1_alt" for (name, _), record in found.items() if "only" not in name
        )
        assert parts == expected_parts and len(parts) > 30
        with pysam.AlignmentFile(str(world / "gassst.sam")) as file:
            assert [contig.get("AH") for contig in file.header.to_dict()["SQ"]] == [None, "*", None]


def test_alt_copies_are_listed_where_more_hits_are_wanted(world):
    """As in bwa's XA; the primary stays on the main assembly."""
    found, _ = of_gassst(world, str(world / "reads.fq"), "-k", "5", "--xa")
    same = [record for (name, _), record in found.items() if name.startswith("same")]
    assert len(same) > 20
    for record in same:
        assert record.reference_name == "chr1" and record.mapping_quality >= SURE
        assert record.get_tag("XA").startswith("chr1_alt,")


def test_a_fasta_has_the_rules_of_its_list(world, tmp_path, capfd):
    """Indexed in memory, or by an index of its name that is not older than the list."""
    fasta = tmp_path / "ref.fa"
    fasta.write_bytes((world / "ref.fa").read_bytes())
    assert main(["index", str(fasta), "-q"]) == 0
    expected = by_read_of(world / "ref.gsi", world, tmp_path)
    assert by_read_of(fasta, world, tmp_path) != expected  # there is no list
    shutil.copy(world / "ref.fa.alt", tmp_path)
    newer = os.stat(tmp_path / "ref.gsi").st_mtime_ns + 10**9
    os.utime(tmp_path / "ref.fa.alt", ns=(newer, newer))
    capfd.readouterr()
    assert by_read_of(fasta, world, tmp_path) == expected
    assert "ref.gsi is not used: it is older than the list of ALT contigs" in capfd.readouterr().err


def by_read_of(reference, world, folder):
    out = folder / "out.sam"
    argv = ["map", str(reference), str(world / "reads.fq"), "--device", "none", "-t", "1", "-o", str(out)]
    assert main(argv) == 0
    with pysam.AlignmentFile(str(out)) as file:
        return [record.to_string() for record in file]


def test_a_list_that_names_no_contig(world, tmp_path, capfd):
    wrong = tmp_path / "wrong.alt"
    wrong.write_text("@HD\nchrX\n")
    argv = ["index", str(world / "ref.fa"), "-o", str(tmp_path / "x.gsi"), "-q", "--alt", str(wrong)]
    assert main(argv) == 1
    assert f"{wrong}: it does not name any contig of the reference" in capfd.readouterr().err
    assert not (tmp_path / "x.gsi").exists()
