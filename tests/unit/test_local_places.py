"""The best place of a read (--mode local), against a few lines of Python."""

from __future__ import annotations

import numpy as np
import pytest
from local_columns import Places

from gassst._core import read_search as _read_search

READS = 30


def random_places(rng, n) -> Places:
    """Crowded: many on one diagonal, many with one total."""
    score = rng.integers(1, 5, n)
    columns = (
        (2 * rng.integers(0, READS - 2, n) + rng.integers(0, 2, n)).astype(np.uint32),
        (4900 + rng.integers(0, 3, n)).astype(np.int64),
        np.full(n, 128),
        (10 * score).astype(np.int32),
        (10 * score + rng.choice([0, 5], n)).astype(np.int32),
        rng.integers(0, 4, n).astype(np.uint8),
        rng.integers(40, 100, n).astype(np.uint16),
        (4950 + rng.choice([0, 1, 9, 10, 11, 31, 60], n)).astype(np.int64),
        rng.random(n) < 0.1,
        (4950 + rng.choice([0, 1, 9, 10, 11, 31, 60], n)).astype(np.int64),
    )
    places = Places(*columns)
    return places.take(np.argsort(places.read, kind="stable"))


def best(rows, p, flip, digest):
    """Row of the best of a read's places."""
    top = [i for i in rows if p.total[i] == max(p.total[j] for j in rows)]
    at: dict[tuple, list[int]] = {}
    for i in top:
        at.setdefault((int(p.read_strand[i] & 1 ^ flip), int(p.diagonal[i])), []).append(i)
    one = [min(at[key], key=lambda i: (not p.given[i], p.band_start[i], i)) for key in sorted(at)]
    given = [i for i in one if p.given[i]]
    return given[-1] if given else one[int(digest) % len(one)]


@pytest.mark.parametrize("n", [0, 30, 900, 5000])
def test_the_best_place_of_each_read(n):
    rng = np.random.default_rng(n)
    places, flip = random_places(rng, n), rng.integers(0, 2, READS).astype(np.uint8)
    digest = rng.integers(0, 1 << 62, READS).astype(np.uint64)
    got = _read_search.best_of(places.rows, flip, digest)
    expected = []
    for r in range(READS):
        rows = [i for i in range(n) if places.read[i] == r]
        if rows:
            expected.append(best(rows, places, flip[r], digest[r]))
    assert got.tolist() == expected
