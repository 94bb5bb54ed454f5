"""`--preset ancient` and `--min-length` on the command line."""

from __future__ import annotations

import json

import numpy as np
import pysam
import pytest

from gassst import Mapper
from gassst.cli.main import main


@pytest.fixture(scope="module")
def genome() -> str:
    return "".join(np.random.default_rng(8).choice(list("ACGT"), 50_000))


@pytest.fixture
def fasta(genome, tmp_path):
    path = tmp_path / "ref.fa"
    path.write_text(f">c\n{genome}\n")
    return path


def run(fasta, reads, out, *options):
    path, stats = out.with_suffix(".fq"), out.with_suffix(".json")
    path.write_text("".join(f"@{name}\n{bases}\n+\n{'I' * len(bases)}\n" for name, bases in reads))
    quiet = "-q", "-t", "1", "--device", "none"
    assert main(["map", *quiet, str(fasta), str(path), "-o", str(out), "--stats", str(stats), *options]) == 0
    with pysam.AlignmentFile(str(out)) as file:
        return list(file), json.loads(stats.read_text())


def worn(bases: str) -> str:
    """With three other bases at each end: a local alignment would clip them."""
    other = dict(zip("ACGT", "CAAC", strict=True))
    return "".join(other[b] for b in bases[:3]) + bases[3:-3] + "".join(other[b] for b in bases[-3:])


def test_reads_are_aligned_end_to_end_from_30_bases_on(fasta, genome, tmp_path):
    reads = [(f"r{n}", genome[100 * n : 101 * n]) for n in (15, 28, 29, 30, 31, 60)]
    reads.append(("worn", worn(genome[20_000:20_060])))
    records, stats = run(fasta, reads, tmp_path / "out.sam", "--preset", "ancient")
    assert [r.query_sequence for r in records] == [bases for _, bases in reads]
    assert [r.is_unmapped for r in records] == [True] * 3 + [False] * 4
    assert stats["too_short"] == 3 and stats["bases"] == sum(len(bases) for _, bases in reads)
    assert [r.cigarstring for r in records[3:-1]] == ["30M", "31M", "60M"]
    assert "S" not in records[-1].cigarstring
    assert [r.reference_start for r in records[3:]] == [3000, 3100, 6000, 20_000]


def test_what_the_preset_sets_can_be_set_otherwise(fasta, genome, tmp_path):
    reads = [("short", genome[500:525]), ("worn", worn(genome[20_000:20_090]))]
    options = "--preset", "ancient", "--min-length", "20", "--mode", "local"
    records, _ = run(fasta, reads, tmp_path / "out.sam", *options)
    assert [r.cigarstring for r in records] == ["25M", "3S84M3S"]


def test_other_reads_are_those_of_a_file_without_the_short_ones(fasta, genome, tmp_path):
    rng = np.random.default_rng(4)
    reads = []
    for i, (at, n) in enumerate(zip(rng.integers(0, 49_000, 300), rng.integers(15, 200, 300), strict=True)):
        bases = list(genome[at : at + n])
        for j in rng.integers(0, n, n // 20):
            bases[j] = "ACGT"[int(rng.integers(4))]
        reads.append((f"r{i}", "".join(bases)))
    long = [read for read in reads if len(read[1]) >= 70]
    for mode in ("local", "global"):
        options = "--min-length", "70", "--mode", mode
        records, stats = run(fasta, reads, tmp_path / "all.sam", *options)
        others, _ = run(fasta, long, tmp_path / "long.sam", "--mode", mode)
        assert [r.to_string() for r in records if not r.is_unmapped] == [
            r.to_string() for r in others if not r.is_unmapped
        ]
        assert stats["too_short"] == len(reads) - len(long) > 50


def test_one_read_at_a_time_is_held_to_it(fasta, genome):
    with Mapper(fasta, device="none", min_length=40) as mapper:
        assert len(mapper.map_one(genome[900:939])) == 0
        assert len(mapper.map_one(genome[900:940])) == 1
