"""Gaps as far as the score pays: no read whose scores prefer one gap is split or clipped instead.

The oracle is parasail: the best score of a whole read, with the bonus of both ends, or of any part of it.
"""

import functools

import numpy as np
import parasail
import pytest

import gassst
from gassst.model.reference import Reference

BASES = np.frombuffer(b"ACGT", np.uint8)
SCORES = parasail.matrix_create("ACGT", 1, -4)
CLIP, OPEN, EXTEND = 5, 6, 1
INSERT = (400.0, 45.0)


def complement(bases):
    return BASES[3 - np.searchsorted(BASES, bases)][::-1]


def diverged(rng, bases, rate):
    return np.where(rng.random(len(bases)) < rate, rng.choice(BASES, len(bases)), bases)


@functools.cache
def world():
    """A genome with an exact copy, a copy with 3 % differences, and a tandem repeat; and its index."""
    rng = np.random.default_rng(7)
    copy, unit = rng.choice(BASES, 900), rng.choice(BASES, 70)
    unique = [rng.choice(BASES, 2000) for _ in range(4)]
    parts = [
        unique[0], copy, unique[1], diverged(rng, copy, 0.03), unique[2], copy, np.tile(unit, 5), unique[3],
    ]  # fmt: skip
    genome = np.concatenate(parts)
    return genome, gassst.Index.build(Reference.from_sequences([("a", genome.tobytes())]))


def template(rng, kind, size, length, bases):
    """`bases` of a template with one gap `size` long at least 20 bases within its first `length`."""
    genome, _ = world()
    start, at = rng.integers(0, len(genome) - bases - size), rng.integers(20, length - 19)
    taken = genome[start : start + bases + size]
    if kind == "deletion":
        return np.delete(taken, np.s_[at : at + size])
    return np.insert(taken, at, rng.choice(BASES, size))[:bases]


def reads_with_gaps(kind, length, each):
    rng = np.random.default_rng(length)
    for size in (10, 18, 25, 33, 40, 50, 60):
        for i in range(each):
            read = diverged(rng, template(rng, kind, size, length, length), 0.01 * (i % 3))
            yield (complement(read) if i % 2 else read).tobytes().decode()


@functools.cache
def best_total(read):
    """The best score of the read with its bonuses, on either strand: as a whole, or any part of it."""
    genome, _ = world()
    strands = read, complement(np.frombuffer(read.encode(), np.uint8)).tobytes().decode()
    return max(
        score
        for strand in strands
        for score in (
            parasail.sg_dx_striped_16(strand, genome.tobytes().decode(), OPEN + EXTEND, EXTEND, SCORES).score
            + 2 * CLIP,
            parasail.sw_striped_16(strand, genome.tobytes().decode(), OPEN + EXTEND, EXTEND, SCORES).score,
        )
    )


def total(record):
    """The score of a record with the bonus of each end that is not clipped."""
    ends = record.cigartuples[0][0], record.cigartuples[-1][0]
    return record.get_tag("AS") + CLIP * sum(operation != 4 for operation in ends)


def mapped(*sides, **options):
    """The primary records of reads, by mate and number."""
    files = [[(f"{i}", bases, "I" * len(bases)) for i, bases in enumerate(side)] for side in sides]
    mapper = gassst.Mapper(world()[1], **{"device": "none", "threads": 1} | options)
    records = [r for r in mapper.map(*files) if not r.flag & 0x900]
    return {(bool(r.flag & 0x80), int(r.query_name)): r for r in records}


@pytest.mark.parametrize("length", [100, 150, 250])
@pytest.mark.parametrize("kind", ["deletion", "insertion"])
def test_single_reads_have_the_score_that_they_prefer(kind, length):
    reads = [r for r in reads_with_gaps(kind, length, 6) if best_total(r) >= 50]  # above -T for certain
    records = mapped(reads)
    assert len(reads) > 20
    for i, read in enumerate(reads):
        assert not records[False, i].is_unmapped
        assert total(records[False, i]) >= best_total(read), records[False, i].cigarstring


def test_a_read_that_fits_worse_than_with_a_longer_gap_is_looked_up_again():
    """A copy without the bases that a read leaves out has small gaps and mismatches: the search saw that one alone."""
    rng = np.random.default_rng(21)
    genome = rng.choice(BASES, 40_000)
    clean = [genome[at : at + 100] for at in rng.integers(0, 14_900, 300)]
    reads = []
    for i in range(12):
        at = 15_000 + 2000 * i
        read = np.concatenate([genome[at : at + 50], genome[at + 30 + i :][: 50 - i]])
        worse = np.delete(diverged(rng, read, 0.16), np.s_[20:24])
        genome[at + 1000 : at + 1000 + len(worse)] = worse
        reads.append(read)
    index = gassst.Index.build(Reference.from_sequences([("a", genome.tobytes())]))
    made = [(f"{i}", bases.tobytes().decode(), None) for i, bases in enumerate(reads + clean)]
    records = [r for r in gassst.Mapper(index, device="none", threads=1).map(made) if not r.flag & 0x900]
    for i, record in enumerate(records[:12]):
        assert record.reference_start == 15_000 + 2000 * i, record.cigarstring


@pytest.mark.parametrize("kind", ["deletion", "insertion"])
def test_mates_have_the_score_that_they_prefer(kind):
    rng = np.random.default_rng(3)
    firsts, lasts = [], []
    for _ in range(25):
        whole = template(rng, kind, int(rng.integers(20, 61)), 150, int(rng.normal(*INSERT)))
        firsts.append(diverged(rng, whole[:150], 0.01).tobytes().decode())
        lasts.append(complement(whole)[:150].tobytes().decode())
    records = mapped(firsts, lasts, insert=INSERT)
    for i, pair in enumerate(zip(firsts, lasts, strict=True)):
        for mate, read in enumerate(pair):
            assert total(records[bool(mate), i]) >= best_total(read), records[bool(mate), i].cigarstring


def test_more_gaps_never_score_less():
    """-g is what the first search allows; what ends are clipped for is looked at again, however wide."""
    reads = [r for kind in ("deletion", "insertion") for r in reads_with_gaps(kind, 150, 1)]
    reads = [r for r in reads if best_total(r) >= 50]
    before = np.zeros(len(reads), int)
    for gaps in [*range(48), *range(48, 249, 5)]:
        records = mapped(reads, gaps=gaps)
        found = np.array([total(records[False, i]) for i in range(len(reads))])
        assert (found >= before).all(), (gaps, np.flatnonzero(found < before))
        before = found


@pytest.mark.parametrize("paired", [False, True])
def test_the_clipped_form_of_a_read_is_no_rival_of_it(paired):
    """Reads of unique bases over one long deletion, which scores only a little more than to clip what is behind it."""
    rng = np.random.default_rng(11)
    genome = rng.choice(BASES, 30_000)
    index = gassst.Index.build(Reference.from_sequences([("a", genome.tobytes())]))
    reads, mates = [], []
    for size in range(55, 73):
        at = int(rng.integers(1000, 28_000))
        reads.append(np.concatenate([genome[at - 76 : at], genome[at + size :][:74]]))
        mates.append(complement(genome[at + size + 174 :][:150]))
    files = [
        [(f"r{i}", read.tobytes().decode(), None) for i, read in enumerate(some)] for some in (reads, mates)
    ]
    mapper = (
        gassst.Mapper(index, insert=INSERT, device="none") if paired else gassst.Mapper(index, device="none")
    )
    found = [hit for hit in mapper.map(*files[: 1 + paired]) if not hit.flag & 0x900]
    for size, hit in enumerate(found[:: 1 + paired], 55):
        assert (2, size) in hit.cigar and hit.mapq >= 50, (hit.cigarstring, hit.mapq)
