"""Bands by read, and which of them are reported: against a few lines of Python."""

from __future__ import annotations

import numpy as np
import pytest
from rating import batch_of, found_of, packed_of, search_of

from gassst.model.layouts import NO_SCORE, NO_SUBOPTIMAL
from gassst.model.params import MapParams

READS = 40
LENGTHS = np.random.default_rng(1).integers(30, 200, READS)


def random_bands(rng, n, crowd=60):
    """(read strand, first diagonal, end, errors). Few positions: many of them are one place, or as good."""
    columns = (
        2 * rng.integers(0, READS - 2, n) + rng.integers(0, 2, n),
        5000 + rng.integers(0, crowd, n),
        rng.integers(0, 20, n),
        rng.integers(0, 12, n),
    )
    return np.stack(columns)


class Selected:
    """What is chosen among bands, those of a read in the order in which they come."""

    def __init__(self, bands, rng, margin=2, **params):
        bands = bands[:, np.argsort(bands[0] >> 1, kind="stable")]
        self.read_strand, first, end, self.edits = bands
        self.ends = first + end
        self.start = np.append(0, np.cumsum(np.bincount(self.read_strand >> 1, minlength=READS)))
        self.flip = rng.integers(0, 2, READS).astype(np.uint8)
        self.digest = rng.integers(0, 1 << 62, READS).astype(np.uint64)
        params = MapParams(mode="global", **params)
        context = batch_of(packed_of(LENGTHS), flip=self.flip, digest=self.digest, params=params)
        search = search_of(context, None, found_of(self.read_strand, first, end, self.edits), margin=margin)
        rows, self.summary = search.chosen
        number = self.summary["n_reported"]
        self.rows = [(s + rows[s : s + k]).tolist() for s, k in zip(self.start, number, strict=False)]


def distinct(rows, margin):
    """Of (edits, strand, end, row) those that are no better place's neighbour, the best first."""
    kept: list[tuple] = []
    for place in sorted(rows):
        near = any(p[1] == place[1] and abs(p[2] - place[2]) <= 10 for p in kept)
        if place[0] <= min(rows)[0] + margin and not near:
            kept.append(place)
    return kept


def summary_of(best, second, n_best, n_second, n_reported):
    """The summary of a read by errors and numbers of its best and second best places."""
    runner_up = best if n_best > 1 else second
    suboptimal = NO_SUBOPTIMAL if runner_up == NO_SCORE else -runner_up
    return best, second, n_best, n_second, n_reported, suboptimal


@pytest.mark.parametrize("margin, max_hits", [(2, 1), (2, 3), (7, 0xFFFFFFFF), (0, 50)])
def test_selection_is_that_of_the_places_taken_one_by_one(margin, max_hits):
    rng = np.random.default_rng(margin)
    bands = np.concatenate([random_bands(rng, 400), random_bands(rng, 300, 3000)], axis=1)
    of = Selected(bands, rng, margin, max_hits=max_hits)
    several = 0
    for r in range(READS):
        mine = range(of.start[r], of.start[r + 1])
        got, summary = of.rows[r], of.summary
        if not mine:
            assert not got
            assert summary[r].tolist()[:-1] == summary_of(NO_SCORE, NO_SCORE, 0, 0, 0)
            continue
        places = distinct(
            [(int(of.edits[i]), int(of.read_strand[i] & 1 ^ of.flip[r]), int(of.ends[i]), i) for i in mine],
            margin,
        )
        best = places[0][0]
        equal = [p for p in places if p[0] == best]
        primary = equal[int(of.digest[r]) % len(equal)]
        expected = [primary[3], *(p[3] for p in places if p != primary)][:max_hits]
        worse = [p[0] for p in places if best < p[0]]
        second = min(worse, default=NO_SCORE)
        assert got == expected
        numbers = len(equal), worse.count(second), len(expected)
        assert summary[r].tolist()[:-1] == summary_of(best, second, *numbers)
        several += len(equal) > 1 and len(worse) > 0
    assert several > 3 or margin == 0


@pytest.mark.parametrize("strata", [False, True])
def test_all_places_come_by_errors_behind_the_primary(strata):
    rng = np.random.default_rng(strata)
    of = Selected(
        random_bands(rng, 300, 3000), rng, all_hits=True, strata=strata, max_hits=4 if strata else 1
    )
    edits, ends, summary = of.edits, of.ends, of.summary
    for r in range(READS):
        order = sorted(
            range(of.start[r], of.start[r + 1]),
            key=lambda i: (edits[i], of.read_strand[i] & 1 ^ of.flip[r], ends[i], i),
        )
        got = of.rows[r]
        if not order:
            assert not got
            assert summary[r].tolist()[:-1] == summary_of(NO_SCORE, NO_SCORE, 0, 0, 0)
            continue
        errors = sorted(int(edits[i]) for i in order)
        best, second = errors[0], min((e for e in errors if e > errors[0]), default=NO_SCORE)
        equal = [i for i in order if edits[i] == best]
        primary = equal[int(of.digest[r]) % len(equal)]
        expected = [primary, *(i for i in order if i != primary)]
        if strata:
            expected = [i for i in expected if edits[i] == best][:4]
        assert got == expected
        numbers = len(equal), errors.count(second), len(expected)
        assert summary[r].tolist()[:-1] == summary_of(best, second, *numbers)
