"""What a batch knows between stages, against the same in NumPy."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from gassst._core import bookkeeping as _bookkeeping
from gassst.model.array_types import COORDINATE_BITS
from gassst.model.layouts import NO_SCORE as NONE


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def test_within_limit_keeps_what_matters_whatever_the_order(rng):
    n, k, margin = 40, 600, 2
    read_strand = rng.integers(0, 2 * n, k).astype(np.uint32)
    edits = rng.integers(0, 12, k).astype(np.uint16)
    for order in (np.arange(k), np.arange(k)[::-1], rng.permutation(k)):
        best, limit = np.full(n, NONE, np.uint16), np.full(n, 9, np.uint16)
        rs, e = read_strand[order].copy(), edits[order].copy()
        rows = _bookkeeping.within_limit(rs, e, best, limit, margin)
        for read in range(n):
            own = np.sort(edits[(read_strand >> 1 == read) & (edits <= 9)]).tolist()
            assert best[read] == (own[0] if own else NONE)
            assert limit[read] == (min(9, own[0] + margin) if own else 9)
            near = [x for x in own if x <= limit[read]]
            kept = np.sort(e[rows][rs[rows] >> 1 == read])
            assert kept[kept <= limit[read]].tolist() == near


def test_what_was_looked_up_is_noted_of_the_reads_that_took_part(rng):
    n, stage = 50, 3
    lengths = rng.integers(0, 20, n).astype(np.uint32)
    disjoint = rng.integers(0, 9, (5, 20)).astype(np.uint16)
    every = rng.integers(1, 4, 20).astype(np.uint16)
    context = SimpleNamespace(lengths=lengths, plan=SimpleNamespace(disjoint=disjoint))
    columns = {"capped": np.uint8, "looked": np.uint8, "planned": np.uint16, "complete": np.uint16}
    state = SimpleNamespace(**{name: rng.integers(0, 2, n).astype(kind) for name, kind in columns.items()})
    before = {name: getattr(state, name).tolist() for name in columns}
    reads = np.flatnonzero(rng.random(n) < 0.6).astype(np.uint32)
    clipped, capped = (rng.integers(0, most, len(reads)) for most in (12, 2))
    found = clipped.astype(np.uint16), capped.astype(np.uint8)
    _bookkeeping.note_looked(state, context, stage, every, reads, found)
    for i, r in enumerate(reads.tolist()):
        seeds = math.ceil(disjoint[stage, lengths[r]] / every[lengths[r]])
        before["capped"][r] |= int(capped[i])
        before["looked"][r] |= 1 << stage
        before["planned"][r] = max(before["planned"][r], seeds)
        before["complete"][r] = max(before["complete"][r], seeds - int(clipped[i]))
    assert {name: getattr(state, name).tolist() for name in columns} == before


def test_merge_scored_is_a_sorted_union_of_the_reads_that_go_on(rng):
    n, scored, start = 30, np.empty(0, np.uint64), np.zeros(31, np.int64)
    known = np.empty(0, np.uint64)
    active = np.arange(n)
    for size in (200, 0, 500):
        active = np.sort(rng.choice(active, max(1, len(active) - 5), replace=False))
        read_strand = rng.integers(0, 2 * n, size).astype(np.uint32)
        bucket = rng.integers(0, 1 << 35, size)
        scored, start = _bookkeeping.merge_scored(
            scored, start, active.astype(np.uint32), read_strand, bucket
        )
        known = np.concatenate(
            [known, read_strand.astype(np.uint64) << np.uint64(COORDINATE_BITS) | bucket.astype(np.uint64)]
        )
        known = np.sort(known[np.isin(known >> np.uint64(COORDINATE_BITS + 1), active)])
        assert (scored == known).all()
        assert (start == np.searchsorted(known >> np.uint64(COORDINATE_BITS + 1), np.arange(n + 1))).all()


def test_unsettled_by_strata_and_by_share(rng):
    n = 500
    lengths = rng.integers(0, 4, n).astype(np.uint32)
    best = rng.choice([0, 1, 2, 3, 5, NONE], n).astype(np.uint16)
    complete, errors = (rng.integers(0, 6, n).astype(np.uint16) for _ in range(2))
    seed_count = np.array([0, 2, 3, 4], np.uint16)
    settled = np.array([-1, 1, 0, 2], np.int16)
    lost = np.array([1, 0.2, 0.1, 0.02])
    plan = SimpleNamespace(
        seed_count=seed_count[None], settled=settled[None], lost=lost[None],
        preset=SimpleNamespace(strata=1),
    )  # fmt: skip
    state = SimpleNamespace(best=best, complete=complete)
    for given_up, whole, damage in (
        (0.0, False, ()),
        (0.1, False, ()),
        (0.1, True, ()),
        (0.1, False, (0.1,)),
    ):
        expected = []
        library = SimpleNamespace(damage=damage)
        context = SimpleNamespace(
            lengths=lengths, errors=errors, plan=plan, whole_reads=whole, library=library
        )
        further = 2 if damage else 0
        for r, m in enumerate(lengths):
            enough = settled[m] - further
            open_strata = complete[r] < min(int(best[r]) + 1 + further, int(errors[r]) + 1)
            hopeless = best[r] == NONE and lost[m] < given_up and not whole
            if seed_count[m] and open_strata and best[r] > enough and not hopeless:
                expected.append(r)
        assert _bookkeeping.unsettled(state, context, 0, 2, given_up).tolist() == expected
