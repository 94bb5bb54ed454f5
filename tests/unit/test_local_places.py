"""The best place of a read and its rivals (--mode local), against a few lines of Python."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gassst._core import local_places as _local_places
from gassst.local.places import Lines, Places, overlap
from gassst.model.layouts import HIT, NO_SUBOPTIMAL

READS, MATCH = 30, 2


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


def of_batch(rng):
    flip, digest = (
        rng.integers(0, 2, READS).astype(np.uint8),
        rng.integers(0, 1 << 62, READS).astype(np.uint64),
    )
    return flip, digest, np.full(READS, 100, np.uint32)


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
    places, (flip, digest, _) = random_places(rng, n), of_batch(rng)
    context = SimpleNamespace(flip=flip, digest=digest)
    got = _local_places.best_of(places.rows, context)
    expected = []
    for r in range(READS):
        rows = [i for i in range(n) if places.read[i] == r]
        if rows:
            expected.append(best(rows, places, flip[r], digest[r]))
    assert got.tolist() == expected


def random_lines(rng):
    """Two of three reads have a line, some of these a second or a third one."""
    reads = rng.permutation(READS)[: 2 * READS // 3]
    reads = np.sort(np.concatenate([reads, reads[::3], reads[::6]]))
    k = len(reads)
    begin, first = rng.integers(0, 50, k), 4950 + rng.choice([0, 11, 21], k)
    strand = (2 * reads + rng.integers(0, 2, k)).astype(np.uint32)
    end, total = begin + rng.integers(30, 50, k), np.zeros(k, np.int32)
    return Lines(np.zeros(k, HIT), strand, begin, end, total, first, first + 3, np.zeros(k, bool))


def groups(rows, places) -> int:
    """How many places sorted rows are: neighbours that are ten diagonals apart or less are one."""
    keys = [(int(places.read_strand[i]), int(places.diagonal[i])) for i in rows]
    return sum(
        not i or a[0] != b[0] or b[1] - a[1] > 10
        for i, (a, b) in enumerate(zip([None, *keys[:-1]], keys, strict=True))
    )


@pytest.mark.parametrize("n", [0, 30, 900])
def test_rivals_lie_elsewhere_and_align_the_same_bases(n):
    rng = np.random.default_rng(n)
    places, lines, lengths = random_places(rng, n), random_lines(rng), of_batch(rng)[2]
    scoring = SimpleNamespace(match=MATCH)
    context = SimpleNamespace(lengths=lengths, params=SimpleNamespace(scoring=scoring))
    total, score, count, order, of_line = _local_places.rivals(lines.rows, places.rows, context)
    begin, end = places.parts(lengths, MATCH)
    expected, expected_lines = [], []
    columns = lines.read_strand, lines.begin, lines.end, lines.first_diagonal, lines.last_diagonal
    for line, (strand, *part, first, last) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        mine = []
        for i in np.flatnonzero(places.read == strand >> 1).tolist():
            ends = int(places.first_diagonal[i]), int(places.diagonal[i])
            near = min(abs(end - d) for end in ends for d in (first, last)) <= 10
            if overlap(begin[i], end[i], *part) and not (near and places.read_strand[i] == strand):
                mine.append(i)
        mine.sort(key=lambda i: (-places.total[i], places.read_strand[i], places.diagonal[i], i))
        expected += mine
        expected_lines += [line] * len(mine)
        top = [i for i in mine if places.total[i] == places.total[mine[0]]]
        found = (total[line], score[line], count[line])
        assert found == (
            (places.total[top[0]], places.score[top[0]], groups(top, places))
            if top
            else (0, NO_SUBOPTIMAL, 0)
        )
    assert (order.tolist(), of_line.tolist()) == (expected, expected_lines)
    assert n < 900 or 0 < len(set(expected)) < min(n, len(expected))
