"""Metrics of duplicates, and what the compiled passes refuse."""

import math
from collections import Counter

import numpy as np
import pytest

from gassst._core import duplicates as compiled
from gassst.records.duplicate_metrics import library_size, metrics_text
from gassst.records.duplicates import DuplicateCounts


@pytest.mark.parametrize("molecules", [50, 1234, 10**6, 10**9])
@pytest.mark.parametrize("pairs", [40, 1000, 10**6])
def test_size_of_a_library_solves_the_equation(molecules, pairs):
    """A library of so many molecules gives so many different ones; from their number its size follows."""
    unique = round(molecules * -math.expm1(-pairs / molecules))
    found = library_size(pairs, unique)
    if unique == pairs:
        assert found is None
    else:
        for size, sign in ((found, -1), (found + 1, 1)):
            assert sign * (size * -math.expm1(-pairs / size) - unique) >= -1e-6 * unique


def test_libraries_without_reads_are_left_out():
    counts = DuplicateCounts(("empty", "full"))
    counts.examined[1] = 10, 4, 3, 2
    counts.marked[1] = 2, 1, 1
    counts.sizes = Counter({(3, 1): 1})
    rows = metrics_text(counts).split("\n\n")[1].splitlines()[2:]
    size = library_size(9, 8)
    assert rows == [f"full\t4\t10\t3\t2\t1\t2\t1\t{5 / 24:.6f}\t{size}"]
    histogram = metrics_text(counts).split("\n\n")[2].splitlines()
    assert histogram[1] == "BIN\tCoverageMult\tall_sets\toptical_sets\tnon_optical_sets"
    found = {line.split("\t")[0]: line.split("\t")[2:] for line in histogram[2:]}
    assert found["1.0"] == ["7", "0", "7"]
    assert found["2.0"] == ["0", "1", "1"]
    assert found["3.0"] == ["1", "0", "0"]


# --- optical duplicates -------------------------------------------------------------------------------------


def optical_by_judge(spots, distance):
    """Which of the members of one set are optical duplicates; spots are (surface, x, y), surface 0 for none."""
    rows = np.zeros((len(spots), 5), np.uint64)
    rows[:, 2] = np.arange(len(spots))
    for row, (surface, x, y) in zip(rows, spots, strict=True):
        row[3], row[4] = surface, x << 32 | y
    marked, optical, _, counts, sizes = compiled.judge(
        rows, np.empty((0, 1), np.uint64), False, distance, True, 1
    )
    assert marked.tolist() == list(range(1, len(spots)))
    found = marked[optical > 0].tolist()
    assert counts[0].tolist() == [len(spots) - 1, 0, len(found)]
    assert sizes.tolist() == [[len(spots), len(found)]]
    return found


def optical_by_flood(spots, distance):
    """The same by walking from spot to spot, whichever is near."""
    left, found = set(range(len(spots))), []
    while left:
        best = min(left)
        left.remove(best)
        todo = [best]
        while todo:
            surface, x, y = spots[todo.pop()]
            near = [
                i
                for i in left
                if surface
                and spots[i][0] == surface
                and abs(spots[i][1] - x) <= distance
                and abs(spots[i][2] - y) <= distance
            ]
            left.difference_update(near)
            found += near
            todo += near
    return sorted(found)


@pytest.mark.parametrize("distance", [0, 1, 3, 100, 2**31 - 1])
def test_optical_duplicates_are_clusters_of_near_spots(distance):
    rng = np.random.default_rng(distance)
    some = 0
    for _ in range(300):
        n, side = int(rng.integers(2, 40)), max(2, int(min(distance, 10**6) * rng.choice([1, 3, 8])))
        spots = [(int(rng.integers(3)), *map(int, rng.integers(0, side, 2))) for _ in range(n)]
        expected = optical_by_flood(spots, distance)
        assert optical_by_judge(spots, distance) == expected
        some += 0 < len(expected) < n - 1
    assert some > 30


def test_many_spots_of_one_tile_take_no_look_at_every_pair_of_them():
    """Two layers further apart than the distance, each a cluster: 150,000 spots, all of them near in x."""
    n, distance = 150_000, 10**6
    spots = [(1, (7919 * i) % distance, (i % 2) * (2 * distance + 1)) for i in range(n)]
    assert optical_by_judge(spots, distance) == list(range(2, n))
