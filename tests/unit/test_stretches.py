"""The best ungapped alignment on a diagonal, against all stretches tried one by one; what it says of a read."""

from types import SimpleNamespace

import numpy as np
import pytest

from gassst._core.read_search import buckets_of
from gassst.model.params import Scoring
from gassst.model.reference import Reference
from gassst.reads.in_memory import batch_of_records


def score(read, reference, scoring):
    masked = (read == "N") | (reference == "N")
    return np.where(masked, -1, np.where(read == reference, scoring.match, -scoring.mismatch))


def textbook(read, reference, scoring):
    """The highest total of any stretch that aligns something."""
    sums = np.concatenate([[0], np.cumsum(score(read, reference, scoring))])
    m = len(read)
    begin, end = np.triu_indices(m + 1, 1)
    return (sums[end] - sums[begin] + scoring.clip * ((begin == 0).astype(int) + (end == m))).max()


@pytest.mark.parametrize("scoring", [Scoring(), Scoring(clip=0), Scoring(match=2, mismatch=3, clip=9)])
@pytest.mark.parametrize("length", [1, 63, 64, 130])
@pytest.mark.parametrize("masked", [0.04, 0])
def test_the_best_stretch_is_found(scoring, length, masked):
    rng = np.random.default_rng(length)
    genome = rng.choice(list("ACGTN"), 2000, p=[*[(1 - masked) / 4] * 4, masked])
    reference = Reference.from_sequences([("c", "".join(genome).encode())])
    reads, places = [], rng.integers(200, 1700, 60)
    for at in places:
        read = genome[at : at + length].copy()
        wrong = rng.random(length) < rng.choice([0.02, 0.2, 0.5, 1])
        if scoring.clip:  # a bonus may be worth more than the base before it costs
            seed = rng.integers(0, max(length - 16, 1))
            wrong[seed : seed + 16] = False
        read[wrong] = rng.choice(list("ACGTN" if masked else "ACGT"), wrong.sum())
        reads.append("".join(read))
    packed = batch_of_records([(f"r{i}", read, None) for i, read in enumerate(reads)]).pack()
    context = SimpleNamespace(
        lengths=packed.lengths, packed=packed, reference=reference, params=SimpleNamespace(scoring=scoring), shift=5,
    )  # fmt: skip
    k = len(reads)
    strands = np.arange(0, 2 * k, 2, dtype=np.uint32)
    for at in (places, np.full(k, 1850)):
        facing = [genome[i : i + length] for i in at]
        best = np.array([textbook(np.array(list(r)), f, scoring) for r, f in zip(reads, facing, strict=True)])
        anchors = SimpleNamespace(
            read_strand=strands, diagonal=(reference.starts[0] + at).astype(np.int64),
            length=np.ones(k, np.uint16), start=np.arange(k + 1),
        )  # fmt: skip

        def that_score(least, anchors=anchors):
            return buckets_of(anchors, context, 1, least.astype(np.int32), 0)[0]

        assert not that_score(np.maximum(best, 0) + 1).size
        # Runs that lose all to the next mismatch are passed over.
        exact = best > scoring.mismatch + scoring.clip
        np.testing.assert_array_equal(that_score(np.where(exact, best, 1 << 20)), strands[exact])


@pytest.mark.parametrize("strand", [0, 1])
def test_promising_buckets_are_rivals_and_other_parts(strand):
    """A read of two parts: its best place, one of the other part, one like the first, and shorter ones beneath it.

    The other part scores less than any number of places of the first one, and is its own best place.
    """
    rng = np.random.default_rng(5)
    genome = rng.choice(list("ACGT"), 6000)
    read = rng.choice(list("ACGT"), 120)
    genome[1000:1080] = read[:80]
    genome[2000:2040] = read[80:]
    genome[3000:3080] = read[:80]
    genome[3040] = "ACGT"[("ACGT".index(read[40]) + 1) % 4]
    genome[4010:4028] = read[10:28]
    genome[5000:5018] = read[:18]
    reference = Reference.from_sequences([("c", "".join(genome).encode())])
    sequenced = "".join(read[::-1]).translate(str.maketrans("ACGT", "TGCA")) if strand else "".join(read)
    packed = batch_of_records([("r", sequenced, None)]).pack()
    origin = int(reference.starts[0])
    diagonal = np.array([1000, 2000 - 80, 3000, 4000, 5000]) + origin
    length = np.array([80, 40, 40, 18, 18], np.uint16)
    anchors = SimpleNamespace(
        read_strand=np.full(5, strand, np.uint32),
        diagonal=diagonal.astype(np.int64),
        length=length,
        start=np.array([0, 5]),
    )
    context = SimpleNamespace(
        shift=5,
        packed=packed,
        lengths=packed.lengths,
        reference=reference,
        params=SimpleNamespace(scoring=Scoring()),
    )

    def found(most, least=0, gaps=0):
        strands, diagonals = buckets_of(anchors, context, most, np.array([least], np.int32), gaps)
        assert (strands == strand).all()
        return sorted(np.searchsorted(diagonal, diagonals).tolist())

    assert found(32) == [0, 1, 2, 3, 4]
    assert found(2) == [0, 1, 2]
    assert found(1) == [0, 1]
    # With the bonus of an end they score some 85, 45, 80, 18 and 23.
    assert found(32, 18) == [0, 1, 2, 3, 4]
    assert found(32, 40) == [0, 1, 2]
    # A seed of half the least score may be the longer part of a place, as the stretch of 45 is.
    assert found(32, 60) == [0, 1, 2] and found(1, 60) == [0, 1]
    assert found(32, 83) == found(32, 88) == [0]
    # So may one with another seed near enough for a gap, here the first two.
    assert found(32, 83, 919) == [0] and found(32, 83, 920) == [0, 1] and found(32, 83, 1000) == [0, 1, 2]
    # Where no gap is told of, a read has all its buckets or none.
    assert found(32, 160, -1) == [0, 1, 2, 3, 4] and found(1, 160, -1) == [0, 1]
    assert found(32, 170, -1) == []
