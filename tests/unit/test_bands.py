"""Bands by read, and which of them are reported: against a few lines of Python."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest

from gassst._core import selection as _selection
from gassst.model.layouts import NO_SCORE, NO_SUBOPTIMAL
from gassst.search.arrays import Bands, Grouped

READS = 40
DTYPES = np.uint32, np.int64, np.uint16, np.uint16, np.uint8, np.uint16


def random_bands(rng, n, crowd=60) -> Bands:
    """Few positions: many of them are one place, or as good."""
    columns = (
        2 * rng.integers(0, READS - 2, n) + rng.integers(0, 2, n),
        5000 + rng.integers(0, crowd, n),
        rng.integers(0, 20, n),
        rng.integers(0, 12, n),
        rng.choice([1, 2], n),
        rng.integers(0, 3, n),
    )
    return Bands(*(c.astype(t) for c, t in zip(columns, DTYPES, strict=True)))


def grouped(parts) -> Grouped:
    names = [field.name for field in fields(Bands)]
    whole = Bands(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    read = whole.read_strand >> 1
    start = np.append(0, np.cumsum(np.bincount(read, minlength=READS)))
    return Grouped(whole.take(np.argsort(read, kind="stable")), start)


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
    lengths = rng.integers(30, 200, READS).astype(np.uint32)
    found = grouped([random_bands(rng, 400), random_bands(rng, 300, 3000)])
    read_strand, edits, start = found.bands.read_strand, found.bands.edits, found.start
    ends = found.bands.band_start + found.bands.end  # the same for all of a read: its bases more
    flip = rng.integers(0, 2, READS).astype(np.uint8)
    digest = rng.integers(0, 1 << 62, READS).astype(np.uint64)
    context = SimpleNamespace(lengths=lengths, flip=flip, digest=digest)
    rows, row_start, summary = _selection.select_best(found, context, margin, max_hits)
    several = 0
    for r in range(READS):
        mine = range(start[r], start[r + 1])
        got = rows[row_start[r] : row_start[r + 1]].tolist()
        if not mine:
            assert not got
            assert summary[r].tolist()[:-1] == summary_of(NO_SCORE, NO_SCORE, 0, 0, 0)
            continue
        places = distinct(
            [(int(edits[i]), int(read_strand[i] & 1 ^ flip[r]), int(ends[i]), i) for i in mine], margin
        )
        best = places[0][0]
        equal = [p for p in places if p[0] == best]
        primary = equal[int(digest[r]) % len(equal)]
        expected = [primary[3], *(p[3] for p in places if p != primary)][:max_hits]
        worse = [p[0] for p in places if best < p[0]]
        second = min(worse, default=NO_SCORE)
        assert got == expected
        numbers = len(equal), worse.count(second), len(expected)
        assert summary[r].tolist()[:-1] == summary_of(best, second, *numbers)
        several += len(equal) > 1 and len(worse) > 0
    assert several > 3 or margin == 0


def test_strata_that_make_no_sense_are_refused():
    nothing = grouped([random_bands(np.random.default_rng(0), 0)])
    none = np.zeros(READS, np.uint64)
    context = SimpleNamespace(lengths=none.astype(np.uint32), flip=none.astype(np.uint8), digest=none)
    for margin in (-1, 255):
        with pytest.raises(ValueError, match="margin"):
            _selection.select_best(nothing, context, margin, 1)


@pytest.mark.parametrize("strata", [False, True])
def test_all_places_come_by_position_behind_the_primary(strata):
    rng = np.random.default_rng(strata)
    found = grouped([random_bands(rng, 300, 3000)])
    read_strand, edits, start = found.bands.read_strand, found.bands.edits, found.start
    ends = found.bands.band_start + found.bands.end
    flip = rng.integers(0, 2, READS).astype(np.uint8)
    digest = rng.integers(0, 1 << 62, READS).astype(np.uint64)
    context = SimpleNamespace(flip=flip, digest=digest)
    rows, row_start, summary = _selection.select_all(found, context, strata, 4)
    for r in range(READS):
        order = sorted(
            range(start[r], start[r + 1]), key=lambda i: (ends[i], read_strand[i] & 1 ^ flip[r], i)
        )
        got = rows[row_start[r] : row_start[r + 1]].tolist()
        if not order:
            assert not got
            assert summary[r].tolist()[:-1] == summary_of(NO_SCORE, NO_SCORE, 0, 0, 0)
            continue
        errors = sorted(int(edits[i]) for i in order)
        best, second = errors[0], min((e for e in errors if e > errors[0]), default=NO_SCORE)
        equal = [i for i in order if edits[i] == best]
        primary = equal[int(digest[r]) % len(equal)]
        expected = [primary, *(i for i in order if i != primary)]
        if strata:
            expected = [i for i in expected if edits[i] == best][:4]
        assert got == expected
        numbers = len(equal), errors.count(second), len(expected)
        assert summary[r].tolist()[:-1] == summary_of(best, second, *numbers)


@pytest.mark.parametrize("most", [1, 2, 100])
def test_the_likeliest_row_comes_first(most):
    rng = np.random.default_rng(most)
    counts = rng.integers(0, 6, READS)
    start = np.concatenate([[0], np.cumsum(counts)])
    rows = rng.permutation(400)[: start[-1]]
    lost = rng.integers(0, 3, len(rows))
    digest = rng.integers(0, 1 << 62, READS).astype(np.uint64)
    edits = rng.integers(0, 10, 400).astype(np.uint16)
    got, got_start, least = _selection.likeliest_first(rows, start, lost, digest, edits, most)
    for r in range(READS):
        mine = list(range(start[r], start[r + 1]))
        likeliest = [i for i in mine if lost[i] == min(lost[mine])] if mine else []
        first = [likeliest[int(digest[r]) % len(likeliest)]] if mine else []
        expected = rows[first + [i for i in mine if i not in first]][:most].tolist()
        assert got[got_start[r] : got_start[r + 1]].tolist() == expected
        assert not mine or least[r] == lost[first[0]]
