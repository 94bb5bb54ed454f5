"""Pairs: the compiled parts against plain Python that knows only what a concordant pair is."""

from __future__ import annotations

import math
from collections import defaultdict
from types import SimpleNamespace

import brute_force as bf
import numpy as np
import pytest
from rating import batch_of, found_of, packed_of, rater, ratings, search_of

from gassst._core.read_search import Odds
from gassst.index.miss_model import NO_SEEDS
from gassst.model.params import MapParams
from gassst.pairing.insert_size import ORIENTATIONS, InsertModel
from gassst.search.host import MATES

CASES = [(orientation, seed) for orientation in ORIENTATIONS for seed in range(4)]


def model(orientation: str, low: int, high: int) -> InsertModel:
    """Template lengths from `low` to `high`."""
    return InsertModel(orientation, (low + high) / 2, 10.0, low, high)


def concordant(orientation, first, last, low, high) -> bool:
    length = bf.template(orientation, first, last)
    return length is not None and low <= length <= high


def flat(rows: list[tuple[int, ...]], *types) -> list[np.ndarray]:
    table = np.array(rows, np.int64).reshape(len(rows), len(types))
    return [np.ascontiguousarray(table[:, i].astype(t)) for i, t in enumerate(types)]


# --- choose ----------------------------------------------------------------------------------------------------


BORDER = 2000  # of two contigs


def on_contig(place, length) -> bool:
    """Whether the middle is on the second contig."""
    return place[1] + length // 2 >= BORDER


def odds_of(errors, length, library):
    """How much less likely a place is with one error more, in reads of a library (rate, bases) that are all alike."""
    share = (errors + library[0] * library[1]) / (length + library[1])
    return share / (3 * max(1 - share, 1 / 3))


def apart_of(odds, worth):
    """What the best places of two mates weigh that are taken each for itself; `worth`: of mates together, in errors."""
    return math.prod(odds) ** (worth / 2)


def weigh(orientation, insert, places, lengths, odds, apart):
    """(weight together, weight, is concordant) of every pair of places, which are (reverse, left end, edits)."""
    (first, last), best = places, [min(p[2] for p in side) for side in places]
    table = {}
    for i, a in enumerate(first):
        for j, b in enumerate(last):
            likelihood = odds[0] ** (a[2] - best[0]) * odds[1] ** (b[2] - best[1])
            t = bf.template(orientation, (*a[:2], lengths[0]), (*b[:2], lengths[1]))
            fits = (
                t is not None
                and insert.low <= t <= insert.high
                and on_contig(a, lengths[0]) == on_contig(b, lengths[1])
            )
            z = (t - insert.mean) / insert.sd if fits else 0.0
            together = likelihood * math.exp(-z * z / 2) * fits
            table[i, j] = (together, together + likelihood * apart, fits)
    return table


def random_places(rng, size, n):
    """Places at least ten apart on a strand, as selection leaves them, in any order."""
    places = set()
    while len(places) < n:
        at, reverse = int(rng.integers(size)), bool(rng.integers(2))
        if all(abs(at - p[1]) > 10 or reverse != p[0] for p in places):
            places.add((reverse, at, int(rng.integers(6))))
    return [list(places)[i] for i in rng.permutation(n)]


LIBRARY = 0.02, 100.0
POINTS = 5  # of score, an error


def choose(sides, lengths, mate, digest, flip, insert, worth=4, library=LIBRARY):
    """Which place of each read leads, and RATING[n]; where the places begin. `worth`: of mates together, in errors."""
    rows = [(2 * r + p[0], p[1], p[2]) for r, side in enumerate(sides) for p in side]
    start = np.concatenate([[0], np.cumsum([len(side) for side in sides])]).astype(np.int64)
    strand, first, edits = flat(rows, np.uint32, np.int64, np.uint16)
    of_reads = flat([*zip(flip, digest, mate, strict=True)], np.uint8, np.uint64, np.uint8)
    odds = Odds(*library, 0.5, 1.0, 1e-300)
    context = batch_of(
        packed_of(lengths), flip=of_reads[0], digest=of_reads[1], rater=rater([NO_SEEDS], odds),
        params=MapParams(mode="global", max_hits=100),
    )  # fmt: skip
    borders = np.array([0, BORDER, 1 << 40], np.int64)
    pairs = SimpleNamespace(mate=of_reads[2], insert=insert, borders=borders)
    found = found_of(strand, first, edits=edits)
    mates = worth * POINTS, *MATES[1:]
    search = search_of(context, None, found, pairs, margin=20, mates=mates)
    rows, summary = search.chosen
    assert summary["n_reported"].tolist() == np.diff(start).tolist()
    primary = [start[r] + rows[start[r]] if start[r] < start[r + 1] else -1 for r in range(len(sides))]
    return (np.array(primary), ratings(search)), start


def drawn(side, length, flip, digest):
    """The place that a read has for itself: of the best ones in their order one that its hash draws."""
    equal = sorted(
        (p[0] ^ flip, p[1] + length, i) for i, p in enumerate(side) if p[2] == min(q[2] for q in side)
    )
    return equal[digest % len(equal)][2]


@pytest.mark.parametrize("orientation, seed", CASES)
def test_choice_and_doubt_by_looking_at_every_pair_of_places(orientation, seed):
    rng = np.random.default_rng(seed)
    seen = defaultdict(int)
    for _ in range(300):
        insert = InsertModel.given(orientation, int(rng.integers(100, 400)), int(rng.integers(5, 60)))
        lengths = [int(m) for m in rng.integers(30, 150, 2)]
        n = [int(k) for k in rng.choice([1, 1, 2, 5, 12], 2)]
        sides = [random_places(rng, int(rng.choice([500, 4000])), k) for k in n]
        library, worth = (float(rng.uniform(0.003, 0.3)), float(rng.uniform(1, 500))), int(rng.integers(1, 8))
        digest = [int(x) for x in rng.integers(0, 1 << 63, 2)]
        flip = rng.integers(0, 2, 2).tolist()
        (primary, rated), start = choose(sides, lengths, (1, 2), digest, flip, insert, worth, library)
        wrong = rated["known"]
        odds = [odds_of(min(p[2] for p in side), m, library) for side, m in zip(sides, lengths, strict=True)]
        apart = apart_of(odds, worth)
        table = weigh(orientation, insert, sides, lengths, odds, apart)
        best = [min(p[2] for p in side) for side in sides]
        most = max([apart, *(together for together, _, _ in table.values())])
        i, j = int(primary[0] - start[0]), int(primary[1] - start[1])
        proper = table[i, j][2]
        if not proper or table[i, j][0] < most * (1 - 1e-9):
            own = [drawn(*of_read) for of_read in zip(sides, lengths, flip, digest, strict=True)]
            assert [i, j] == own  # each mate keeps its own primary
            assert most <= apart * (1 + 1e-9)
        total = sum(weight for _, weight, _ in table.values())
        with_i = sum(weight for (a, _), (_, weight, _) in table.items() if a == i)
        with_j = sum(weight for (_, b), (_, weight, _) in table.items() if b == j)
        assert wrong[0] == pytest.approx((total - with_i) / with_i, rel=1e-6, abs=1e-9)
        assert wrong[1] == pytest.approx((total - with_j) / with_j, rel=1e-6, abs=1e-9)
        seen["proper" if proper else "not"] += 1
        seen["by its mate"] += proper and (sides[0][i][2] > best[0] or sides[1][j][2] > best[1])
    assert min(seen["proper"], seen["not"], seen["by its mate"]) > 5


def test_equal_pairs_are_drawn_and_doubted():
    """A pair in three exact copies: every copy is drawn for some digest, and two thirds are doubt."""
    insert = InsertModel.given("fr", 300, 30)
    sides = [
        [(False, at, 1) for at in (1000, 5000, 9000)],
        [(True, at + 200, 0) for at in (9000, 1000, 5000)],
    ]
    drawn = set()
    for digest in range(30):
        (primary, rated), _ = choose(sides, (100, 100), (1, 2), (digest * 7919, digest), (0, 0), insert)
        a, b = sides[0][primary[0]], sides[1][primary[1] - 3]
        assert b[1] - a[1] == 200
        assert rated["known"].tolist() == pytest.approx([2, 2], rel=1e-3)
        drawn.add(a[1])
    assert drawn == {1000, 5000, 9000}


def test_a_mate_without_a_place_and_a_single_read_are_not_decided():
    insert = InsertModel.given("fr", 300, 30)
    sides = [[(False, 5000, 0)], [], [(True, 7000, 2), (True, 9000, 2)], [], []]
    (primary, rated), _ = choose(sides, (100,) * 5, (1, 2, 0, 1, 2), range(5), (0,) * 5, insert)
    assert primary.tolist() == [0, -1, 1, -1, -1]
    assert rated["known"].tolist() == [0, 0, 1, 0, 0]  # by its own places


@pytest.mark.parametrize("top", [(1 << 32) - 5000, (1 << 32) - 100, (1 << 35) + 9])
def test_choice_beyond_two_billion(top):
    """Coordinates use more than 32 bits."""
    insert = InsertModel.given("fr", 300, 30)
    sides = [[(False, 300, 0), (False, top, 1)], [(True, top + 200, 1), (True, 100_000, 0)]]
    (primary, _), _ = choose(sides, (100, 100), (1, 2), (5, 6), (0, 0), insert)
    assert primary.tolist() == [1, 2]
    middle = 1 << 31
    sides = [[(False, middle - 1000, 0)], [(True, middle + 5000, 0), (True, middle - 800, 0)]]
    (primary, _), _ = choose(sides, (100, 100), (1, 2), (5, 6), (0, 0), insert)
    assert primary.tolist() == [0, 2]
