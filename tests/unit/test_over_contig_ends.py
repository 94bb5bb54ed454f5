"""Reads that hang over the end of a contig are clipped there, where that scores more than an insertion."""

import numpy as np
import pytest

import gassst
from gassst.model.reference import Reference

rng = np.random.default_rng(11)
BASES = "ACGT"


def random_bases(n):
    return "".join(rng.choice(list(BASES), n))


def mapper(*contigs, **options):
    reference = Reference.from_sequences([(f"c{i}", bases.encode()) for i, bases in enumerate(contigs)])
    return gassst.Mapper(gassst.Index.build(reference), device="none", threads=1, **options)


def foreign(base):
    """One that does not continue an alignment."""
    return BASES[(BASES.index(base) + 1) % 4]


@pytest.mark.parametrize("length", [20, 25, 30])
@pytest.mark.parametrize("over", [1, 2, 3])
def test_reads_that_score_too_little_are_clipped(length, over):
    contig = random_bases(500)
    kept = length - over
    reads = [foreign(contig[0]) * over + contig[:kept], contig[-kept:] + foreign(contig[-1]) * over]
    records = mapper(random_bases(300), contig).map([(f"r{i}", r, "I" * length) for i, r in enumerate(reads)])
    found = [(r.cigarstring, r.pos, r.get_tag("AS"), r.get_tag("NM"), r.get_tag("MD")) for r in records]
    assert found == [
        (f"{over}S{kept}M", 0, kept, 0, str(kept)),
        (f"{kept}M{over}S", 500 - kept, kept, 0, str(kept)),
    ]


@pytest.mark.parametrize("size", [30, 31, 34])
@pytest.mark.parametrize("reverse", [False, True])
def test_short_contigs_get_reads_that_hang_over(size, reverse):
    contig, far = random_bases(size), random_bases(2000)
    for over in range(7):
        read = foreign(contig[0]) * over + contig + foreign(contig[-1]) + random_bases(44)
        side = read if not reverse else read[::-1].translate(str.maketrans("ACGT", "TGCA"))
        record = next(iter(mapper(contig, far).map([("r", side, "I" * len(read))])))
        expected = f"{over}S{size}M45S" if over else f"{size}M45S"
        assert (record.reference_name, record.cigarstring) == ("c0", expected)


@pytest.mark.parametrize("length", [20, 25, 36, 50])
def test_reads_that_hang_over_are_reported_by_what_is_left(length):
    """What is left scores 30, or the read has no more errors than it may: 20 %, and fewer where chance fits so many."""
    contig, far = random_bases(500), random_bases(700)
    allowed = {20: 3, 25: 5, 36: 7, 50: 10}[length]  # of 20 bases 4 errors fit in 1,200 by chance, once in 24
    overs = range(1, length - 15)
    reads = [foreign(contig[0]) * over + contig[: length - over] for over in overs]
    named = [(str(over), read, "I" * length) for over, read in zip(overs, reads, strict=True)]
    reported = {int(r.query_name) for r in mapper(contig, far).map(named) if not r.is_unmapped}
    assert reported == {over for over in overs if length - over >= 30 or over <= allowed}
    asked = [r.cigarstring for r in mapper(contig, far, min_score=15).map(named)]
    assert asked == [f"{over}S{length - over}M" for over in overs]
