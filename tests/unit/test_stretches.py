"""The best ungapped alignment on a diagonal, against all stretches tried one by one; what it says of a read."""

from types import SimpleNamespace

import numpy as np
import pytest

from gassst._core.stretches import best_stretches, leave_to_local, promising_buckets
from gassst.index.reference import Reference
from gassst.model.layouts import NO_SCORE
from gassst.model.params import Scoring
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
        lengths=packed.lengths, packed=packed, reference=reference, params=SimpleNamespace(scoring=scoring)
    )
    strands = np.arange(0, 2 * len(reads), 2, dtype=np.uint32)
    whole = np.zeros(len(reads), np.int64), np.full(len(reads), length)
    for at in (places, np.full(len(reads), 1850)):
        facing = [genome[i : i + length] for i in at]
        best = [textbook(np.array(list(r)), f, scoring) for r, f in zip(reads, facing, strict=True)]
        diagonal = (reference.starts[0] + at).astype(np.int64)
        for least in (np.full(len(reads), -(1 << 30)), np.array(best) - (rng.random(len(reads)) < 0.5)):
            total, begin, end = best_stretches(strands, diagonal, *whole, least.astype(np.int32), context)
            assert (total <= np.maximum(best, 0)).all()
            # Short runs at an end of the read, with its bonus alone, are passed over.
            exact = np.array(best) >= scoring.mismatch + scoring.clip
            np.testing.assert_array_equal(total[exact], np.array(best)[exact])
            for i in np.flatnonzero(exact):
                bonus = scoring.clip * (int(begin[i] == 0) + int(end[i] == length))
                each = score(np.array(list(reads[i])), facing[i], scoring)
                assert each[begin[i] : end[i]].sum() + bonus == best[i]


M = 100


@pytest.fixture(scope="module")
def half_fits():
    """Sixty reads of which the first half or all fits, at 500, 600, ..; two anchors each, the true one the longer."""
    rng = np.random.default_rng(3)
    genome = rng.choice(list("ACGT"), 8000)
    reference = Reference.from_sequences([("c", "".join(genome).encode())])
    clipped = rng.random(60) < 0.5
    reads = []
    for i, is_clipped in enumerate(clipped):
        read = genome[500 + 100 * i : 500 + 100 * i + M].copy()
        if is_clipped:
            read[M // 2 :] = rng.choice(list("ACGT"), M // 2)
        reads.append("".join(read))
    packed = batch_of_records([(f"r{i}", read, None) for i, read in enumerate(reads)]).pack()
    at = reference.starts[0] + 500 + 100 * np.arange(60)
    anchors = SimpleNamespace(
        read_strand=np.repeat(np.arange(0, 120, 2), 2).astype(np.uint32),
        diagonal=np.stack([at - 300, at], axis=1).ravel().astype(np.int64),
        length=np.tile([14, 20], 60).astype(np.uint16),
        start=np.arange(0, 121, 2),
        reads=np.arange(60, dtype=np.uint32),
    )
    context = SimpleNamespace(
        params=SimpleNamespace(scoring=Scoring()),
        packed=packed,
        lengths=packed.lengths,
        errors=np.full(60, 20, np.uint16),
        reference=reference,
    )
    return anchors, context, clipped


def run_leave_to_local(half_fits, best, among=None, chosen=None, partner=None):
    anchors, context, _ = half_fits
    state = SimpleNamespace(best=best, left_to_local=np.zeros(60, bool))
    any_new = leave_to_local(anchors, state, context, among, chosen, partner)
    assert any_new == state.left_to_local.any()
    return state


def test_reads_are_given_up_where_a_stretch_scores_better(half_fits):
    clipped = half_fits[2]
    best = np.where(np.arange(60) % 3, NO_SCORE, 15).astype(np.uint16)
    state = run_leave_to_local(half_fits, best)
    # A half scores 50 and a bonus; 15 or 21 errors leave 110 - 75, and 110 - 105. The others fit as a whole.
    assert (state.left_to_local == clipped).all()
    assert run_leave_to_local(half_fits, best, partner=np.arange(60) ^ 1).left_to_local.all()


@pytest.mark.parametrize("scoring", [Scoring(), Scoring(clip=0), Scoring(match=2, mismatch=3, clip=9)])
def test_few_errors_are_never_outweighed(scoring):
    """Tried with all of them at one end, which a clipped alignment leaves out."""
    errors = np.arange(1, 40)
    whole = scoring.perfect(np.array([M])) - errors * (scoring.match + scoring.mismatch)
    clipped = (M - errors) * scoring.match + scoring.clip
    outweighed = errors[clipped >= whole + 2 * scoring.clip]
    assert outweighed[0] == scoring.sure_errors + 1 or scoring.sure_errors < 0


def test_a_band_of_few_errors_is_never_given_up(half_fits):
    few = np.full(60, Scoring().sure_errors, np.uint16)
    assert not run_leave_to_local(half_fits, few).left_to_local.any()


def test_a_stretch_must_gain_enough(half_fits):
    clipped = half_fits[2]
    # 110 - 5 * 9 = 65 is more than most halves score; whole reads have 110. Of pairs the band alone counts.
    best, no_mates = np.full(60, 9, np.uint16), np.arange(60)
    state = run_leave_to_local(half_fits, best, partner=no_mates[::-1].copy())
    assert (state.left_to_local == ~(clipped & clipped[::-1])).all()
    assert not run_leave_to_local(half_fits, best, partner=no_mates).left_to_local.any()


def test_a_read_that_fits_where_another_anchor_lies_is_kept():
    """The longest anchor and the best band are those of a copy, of which the last third differs."""
    rng = np.random.default_rng(8)
    genome = rng.choice(list("ACGT"), 3000)
    read = genome[1000:1090].copy()
    genome[2000:2060] = read[:60]
    for at in (20, 70):  # errors
        read[at] = "ACGT"[("ACGT".index(read[at]) + 1) % 4]
    reference = Reference.from_sequences([("c", "".join(genome).encode())])
    packed = batch_of_records([("r", "".join(read), None)]).pack()
    origin = int(reference.starts[0])
    context = SimpleNamespace(
        params=SimpleNamespace(scoring=Scoring()),
        packed=packed,
        lengths=packed.lengths,
        errors=np.array([18], np.uint16),
        reference=reference,
    )
    for places, is_kept in (([1000, 2000], True), ([1500, 2000], False)):
        anchors = SimpleNamespace(
            read_strand=np.zeros(2, np.uint32),
            diagonal=np.array(places, np.int64) + origin,
            length=np.array([18, 39], np.uint16),
            start=np.array([0, 2]),
            reads=np.zeros(1, np.uint32),
        )
        state = SimpleNamespace(best=np.array([17], np.uint16), left_to_local=np.zeros(1, bool))
        assert leave_to_local(anchors, state, context, None, None, None) != is_kept


def test_only_reads_that_may_are_given_up_and_their_mates_with_them(half_fits):
    best, partner = np.full(60, NO_SCORE, np.uint16), np.arange(60) ^ 1
    among = np.arange(60) < 30
    chosen = np.zeros(120, np.uint8)
    chosen[2 * np.arange(0, 60, 10)] = 1
    assert np.flatnonzero(
        run_leave_to_local(half_fits, best, among, None, partner).left_to_local
    ).tolist() == list(range(30))
    both = run_leave_to_local(half_fits, best, among, chosen, partner)
    assert np.flatnonzero(both.left_to_local).tolist() == [0, 1, 10, 11, 20, 21]
    clipped = np.flatnonzero(half_fits[2][:30])
    assert (
        np.flatnonzero(run_leave_to_local(half_fits, best, among).left_to_local).tolist() == clipped.tolist()
    )


def test_promising_buckets_are_rivals_and_other_parts():
    """A read of two parts: its best place, one of the other part, one like the first, and shorter ones beneath it."""
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
    packed = batch_of_records([("r", "".join(read), None)]).pack()
    origin = int(reference.starts[0])
    diagonal = np.array([1000, 2000 - 80, 3000, 4000, 5000]) + origin
    length = np.array([80, 40, 40, 18, 18], np.uint16)
    anchors = SimpleNamespace(
        read_strand=np.zeros(5, np.uint32),
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

    def found(most):
        strands, buckets, diagonals = promising_buckets(anchors, context, most)
        assert (strands == 0).all()
        np.testing.assert_array_equal(diagonals >> 5, buckets)
        return sorted(np.searchsorted(diagonal >> 5, buckets).tolist())

    assert found(32) == [0, 1, 2, 3, 4]
    assert found(3) == [0, 1, 2]
    assert found(1) == [0]
