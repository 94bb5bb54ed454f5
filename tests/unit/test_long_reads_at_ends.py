"""Long reads, and reads over the ends of contigs."""

from __future__ import annotations

import numpy as np
import pytest
from text_bases import random_bases

import gassst
from gassst.model.params import MAX_READ_LENGTH
from gassst.model.reference import Reference

GENOME = 12_000
COMPLEMENT = str.maketrans("ACGT", "TGCA")


@pytest.fixture(scope="module")
def genome() -> str:
    return random_bases(np.random.default_rng(11), GENOME)


@pytest.fixture(scope="module")
def index(genome, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ends")
    (folder / "g.fa").write_text(f">c\n{genome}\n")
    gassst.Index.build(folder / "g.fa").save(folder / "g.gsi")
    return folder / "g.gsi"


@pytest.mark.parametrize("step", [1, 4])
@pytest.mark.parametrize("is_reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("foreign", [2049, MAX_READ_LENGTH - 150])
def test_one_end_of_a_long_read_maps(genome, tmp_path, foreign, is_reverse, step):
    (tmp_path / "g.fa").write_text(f">c\n{genome}\n")
    gassst.Index.build(tmp_path / "g.fa", step=step).save(tmp_path / "g.gsi")
    other = random_bases(np.random.default_rng(foreign), foreign)
    reads = {"first": other + genome[:150], "last": genome[-150:] + other}
    if is_reverse:
        reads = {name: bases[::-1].translate(COMPLEMENT) for name, bases in reads.items()}
    mapper = gassst.Mapper(tmp_path / "g.gsi", device="none")
    got = {s.query_name: (s.reference_start, s.cigarstring, s.is_reverse) for s in mapper.map(reads.items())}
    assert got == {
        "first": (0, f"{foreign}S150M", is_reverse),
        "last": (GENOME - 150, f"150M{foreign}S", is_reverse),
    }


def test_a_split_read_keeps_the_part_at_the_first_base(genome, index):
    read = genome[5000:7500] + genome[:1200]
    parts = gassst.Mapper(index, device="none").map([("split", read)])
    assert [(s.reference_start, s.cigarstring) for s in parts] == [(5000, "2500M1200S"), (0, "2500H1200M")]


def test_longest_reads_map_end_to_end_at_both_ends(genome, index):
    reads = [genome[:MAX_READ_LENGTH], genome[-MAX_READ_LENGTH:]]
    found = gassst.Mapper(index, device="none", mode="global").map(reads)
    assert [s.reference_start for s in found] == [0, GENOME - MAX_READ_LENGTH]


RNG = np.random.default_rng(11)
BASES = "ACGT"


def bases_of(n):
    return "".join(RNG.choice(list(BASES), n))


def mapper(*contigs, **options):
    reference = Reference.from_sequences([(f"c{i}", bases.encode()) for i, bases in enumerate(contigs)])
    return gassst.Mapper(gassst.Index.build(reference), device="none", threads=1, **options)


def foreign(base):
    """One that does not continue an alignment."""
    return BASES[(BASES.index(base) + 1) % 4]


@pytest.mark.parametrize("length", [20, 25, 30])
@pytest.mark.parametrize("over", [1, 2, 3])
def test_reads_that_score_too_little_are_clipped(length, over):
    contig = bases_of(500)
    kept = length - over
    reads = [foreign(contig[0]) * over + contig[:kept], contig[-kept:] + foreign(contig[-1]) * over]
    records = mapper(bases_of(300), contig).map([(f"r{i}", r, "I" * length) for i, r in enumerate(reads)])
    found = [(r.cigarstring, r.pos, r.get_tag("AS"), r.get_tag("NM"), r.get_tag("MD")) for r in records]
    assert found == [
        (f"{over}S{kept}M", 0, kept, 0, str(kept)),
        (f"{kept}M{over}S", 500 - kept, kept, 0, str(kept)),
    ]


@pytest.mark.parametrize("size", [30, 31, 34])
@pytest.mark.parametrize("reverse", [False, True])
def test_short_contigs_get_reads_that_hang_over(size, reverse):
    contig, far = bases_of(size), bases_of(2000)
    for over in range(7):
        read = foreign(contig[0]) * over + contig + foreign(contig[-1]) + bases_of(44)
        side = read if not reverse else read[::-1].translate(str.maketrans("ACGT", "TGCA"))
        record = next(iter(mapper(contig, far).map([("r", side, "I" * len(read))])))
        expected = f"{over}S{size}M45S" if over else f"{size}M45S"
        assert (record.reference_name, record.cigarstring) == ("c0", expected)


@pytest.mark.parametrize("length", [20, 25, 36, 50])
def test_reads_that_hang_over_are_reported_by_what_is_left(length):
    """What is left scores 30, or the read has no more errors than it may: 20 %, and fewer where chance fits so many."""
    contig, far = bases_of(500), bases_of(700)
    allowed = {20: 3, 25: 5, 36: 7, 50: 10}[length]  # of 20 bases 4 errors fit in 1,200 by chance, once in 24
    overs = range(1, length - 15)
    reads = [foreign(contig[0]) * over + contig[: length - over] for over in overs]
    named = [(str(over), read, "I" * length) for over, read in zip(overs, reads, strict=True)]
    reported = {int(r.query_name) for r in mapper(contig, far).map(named) if not r.is_unmapped}
    assert reported == {over for over in overs if length - over >= 30 or over <= allowed}
    asked = [r.cigarstring for r in mapper(contig, far, min_score=15).map(named)]
    assert asked == [f"{over}S{length - over}M" for over in overs]
