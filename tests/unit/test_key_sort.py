"""The sort of 64-bit keys (ext/common/key_sort.h), by the selection that hands it keys as they come."""

from __future__ import annotations

import numpy as np
import pytest
from rating import batch_of, found_of, packed_of, search_of

from gassst.model.params import MapParams

# Around each number of keys from which on another way of sorting is taken, and around powers of two.
NUMBERS = (1, 2, 15, 16, 17, 33, 64, 65, 95, 96, 97, 400, 1024, 2047, 2048, 2049, 5000)


def drawn_from_a_genome(rng, n):
    return rng.integers(0, 1 << 31, n)


def crowded(rng, n):
    return np.where(rng.random(n) < 0.5, rng.integers(0, 40, n), rng.integers(0, 1 << 31, n))


def equal(rng, n):
    return np.full(n, 77)


def ascending(rng, n):
    return np.sort(rng.integers(0, 1 << 31, n))


def two_runs(rng, n):
    return np.roll(np.sort(rng.integers(0, 1 << 31, n)), int(rng.integers(n)))


def interleaved_runs(rng, n):
    return np.concatenate([np.sort(part) for part in np.array_split(rng.integers(0, 1 << 31, n), 2)])


@pytest.mark.parametrize("n", NUMBERS)
@pytest.mark.parametrize(
    "kind",
    [drawn_from_a_genome, crowded, equal, ascending, two_runs, interleaved_runs],
    ids=lambda k: k.__name__,
)
def test_sorted_as_numpy_sorts(kind, n):
    rng = np.random.default_rng(n)
    bucket = kind(rng, n).astype(np.int64)
    read_strand = rng.integers(0, 2, n, np.uint32) if n % 3 else np.zeros(n, np.uint32)
    edits = (np.arange(n) > 0).astype(np.uint16)  # the first row is the primary
    context = batch_of(packed_of([100]), params=MapParams(mode="global", all_hits=True))
    search = search_of(context, None, found_of(read_strand, bucket, edits=edits))
    order = np.lexsort((np.arange(n), bucket, read_strand))
    assert search.chosen[0].tolist() == [0, *order[order > 0]]
