"""`--unique`: reads without a single best position have no records, and all counts are as without it."""

import json

import numpy as np
import pysam
import pytest

from gassst.cli.main import main

COMPLEMENT = str.maketrans("ACGT", "TGCA")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two contigs that share 1 kb; pairs in it, at its edges, outside it, and of something else."""
    rng, folder = np.random.default_rng(5), tmp_path_factory.mktemp("unique")
    one, two, foreign = ("".join(rng.choice(list("ACGT"), n)) for n in (6000, 3000, 9000))
    two = one[2000:3000] + two
    (folder / "ref.fa").write_text(f">one\n{one}\n>two\n{two}\n")
    with open(folder / "R1.fq", "w") as first, open(folder / "R2.fq", "w") as second:
        for i in range(300):
            source = foreign if i % 10 == 0 else (one, two)[i % 2]
            at = int(rng.integers(len(source) - 400))
            piece = source[at : at + 400]
            piece = piece[:200] + foreign[at : at + 200] if i % 10 == 5 else piece
            for file, read in ((first, piece[:80]), (second, piece[-80:].translate(COMPLEMENT)[::-1])):
                file.write(f"@r{i}\n{read}\n+\n{'I' * 80}\n")
    assert main(["index", "-q", str(folder / "ref.fa")]) == 0
    return folder


def mapped(world, out, *argv):
    stats = out.with_suffix(".json")
    given = ["--device", "none", "-t", "1", "--stats", str(stats), "-o", str(out), *argv]
    assert main(["map", "-q", str(world / "ref.gsi"), *given]) == 0
    counts = json.loads(stats.read_text())
    if out.suffix == ".paf":
        return out.read_text().splitlines(), counts
    with pysam.AlignmentFile(str(out), reference_filename=str(world / "ref.fa"), check_sq=False) as file:
        return [record.to_string() for record in file], counts


def names_with_one(records):
    primary = [line.split("\t") for line in records if not int(line.split("\t")[1]) & 0x900]
    return {fields[0] for fields in primary if not int(fields[1]) & 4 and int(fields[4])}


@pytest.mark.parametrize("files", [["R1.fq"], ["R1.fq", "R2.fq"]], ids=["single", "pairs"])
@pytest.mark.parametrize(
    "name, more",
    [
        ("o.sam", []),
        ("o.bam", ["--sort"]),
        ("o.cram", ["-k", "5"]),
        ("o.bam", ["-k", "5", "--xa", "--no-unmapped"]),
        ("o.sam", ["--mode", "global"]),
    ],
)
def test_reads_of_several_positions_are_left_out(world, tmp_path, name, files, more):
    reads = [str(world / file) for file in files]
    every, counts = mapped(world, tmp_path / f"all.{name}", *reads, *more)
    found, same = mapped(world, tmp_path / name, *reads, *more, "--unique")
    kept = names_with_one(every)
    assert 100 < len(kept) < 270
    assert found == [line for line in every if line.split("\t")[0] in kept]
    assert same["mapq"] == counts["mapq"] and same["mapped"] == counts["mapped"]
    if len(files) == 2 and not more:
        assert any(int(line.split("\t")[1]) & 4 for line in found)  # beside a mate with one position


def test_paf_too(world, tmp_path):
    every, _ = mapped(world, tmp_path / "all.paf", str(world / "R1.fq"))
    found, _ = mapped(world, tmp_path / "o.paf", str(world / "R1.fq"), "--unique")
    assert found == [line for line in every if line.split("\t")[11] != "0"] != every
