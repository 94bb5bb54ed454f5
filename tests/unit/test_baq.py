"""`--baq`: tag BQ, against `samtools calmd -r -E` (that of pysam)."""

import numpy as np
import pysam
import pytest
from text_bases import random_bases as random_genome

import gassst
from gassst.cli.main import main


def mutated(rng, text):
    """A read with errors, some of them gaps, and now and then a bad end that gets clipped."""
    letters = []
    for letter in text:
        kind = rng.random()
        if kind < 0.01:
            letter = rng.choice(list("ACGTN"))
        elif kind < 0.014:
            letter = "" if rng.random() < 0.5 else letter + random_genome(rng, int(rng.integers(1, 12)))
        letters.append(letter)
    made = "".join(letters)
    return made[:-20] + random_genome(rng, 20) if rng.random() < 0.2 else made


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A FASTA with unknown bases, and reads of it, also at its ends."""
    rng = np.random.default_rng(11)
    folder = tmp_path_factory.mktemp("baq")
    unit = random_genome(rng, 6)
    genome = (
        random_genome(rng, 4000) + unit * 12 + random_genome(rng, 2000) + "NNNNN" + random_genome(rng, 2000)
    )
    second = random_genome(rng, 300)
    (folder / "ref.fa").write_text(f">a\n{genome}\n>b\n{second}\n")
    complement = str.maketrans("ACGTN", "TGCAN")
    with (folder / "reads.fq").open("w") as file:
        for i in range(400):
            source = genome if i % 8 else second
            length = int(rng.integers(60, 151))
            begin = int(
                rng.choice(
                    [0, len(source) - length, rng.integers(0, len(source) - length + 1)], p=[0.1, 0.1, 0.8]
                )
            )
            read = mutated(rng, source[begin : begin + length])
            read = read if i % 2 else read[::-1].translate(complement)
            quality = "".join(chr(33 + q) for q in rng.choice([2, 12, 25, 37, 40], len(read)))
            file.write(f"@r{i}\n{read}\n+\n{quality}\n")
    pysam.faidx(str(folder / "ref.fa"))
    gassst.Index.build(folder / "ref.fa").save(folder / "ref.gsi")
    return folder


def run(world, name, *options):
    assert (
        main(
            ["map", str(world / "ref.gsi"), str(world / "reads.fq"), "-o", str(world / name), "-q", *options]
        )
        == 0
    )
    with pysam.AlignmentFile(world / name, reference_filename=str(world / "ref.fa")) as file:
        return list(file)


@pytest.mark.parametrize("options", [("--mode", "global"), ("--mode", "local"), ("--mode", "local", "--eqx")])
def test_bq_is_that_of_samtools(world, options):
    ours = run(world, "ours.bam", *options, "--baq")
    run(world, "plain.bam", *options)
    (world / "calmd.sam").write_text(
        pysam.samtools.calmd("-r", "-E", str(world / "plain.bam"), str(world / "ref.fa"))
    )
    with pysam.AlignmentFile(world / "calmd.sam") as file:
        theirs = list(file)
    compared = changed = 0
    for own, other in zip(ours, theirs, strict=True):
        assert (own.query_name, own.flag, own.has_tag("BQ")) == (
            other.query_name,
            other.flag,
            other.has_tag("BQ"),
        )
        if own.has_tag("BQ"):
            assert own.get_tag("BQ") == other.get_tag("BQ")
            compared += 1
            changed += own.get_tag("BQ").strip("@") != ""
    assert compared > 300 and changed > 200
    assert any("I" in r.cigarstring or "D" in r.cigarstring for r in ours if not r.is_unmapped)


def test_forms_and_records_without_qualities(world, tmp_path):
    """SAM, BAM and CRAM have the same tag; secondary records, which have no bases, and reads of FASTA have none."""
    tags = {}
    for form in ("sam", "bam", "cram"):
        records = run(world, f"form.{form}", "--baq", "-k", "3", "--eqx")
        tags[form] = [(r.query_name, r.flag, r.has_tag("BQ") and r.get_tag("BQ")) for r in records]
        assert not any(r.has_tag("BQ") for r in records if r.is_secondary or r.is_unmapped)
    assert tags["sam"] == tags["bam"] == tags["cram"]
    assert not any(r.has_tag("BQ") for r in run(world, "off.sam"))
    fasta = tmp_path / "reads.fa"
    fasta.write_text(">r\n" + (world / "reads.fq").read_text().split("\n")[1] + "\n")
    out = tmp_path / "fasta.sam"
    assert main(["map", str(world / "ref.gsi"), str(fasta), "-o", str(out), "-q", "--baq"]) == 0
    assert "BQ:Z" not in out.read_text()
