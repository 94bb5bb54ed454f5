"""Pairs: the compiled parts against plain Python that knows only what a concordant pair is."""

from __future__ import annotations

import math
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

from gassst._core import mate_anchors as _mate_anchors
from gassst._core import pair_scoring as _pair_scoring
from gassst._core import placements as _placements
from gassst.model.array_types import COORDINATE_BITS
from gassst.model.layouts import NO_SCORE
from gassst.model.stats import Stats
from gassst.pairing.insert_size import ORIENTATIONS, InsertModel
from gassst.pairing.pair_scoring import PairedReads, PlacesByRead
from gassst.search.arrays import Anchors, Buckets
from gassst.search.host_pairs import HostPairPasses

CASES = [(orientation, seed) for orientation in ORIENTATIONS for seed in range(4)]


def template(orientation: str, first: tuple[bool, int, int], last: tuple[bool, int, int]) -> int | None:
    """Template length of ungapped mates given as (reverse, leftmost coordinate, bases); None: wrong strands."""
    if (first[0] == last[0]) != (orientation == "ff"):
        return None
    forward, reverse = (last, first) if first[0] else (first, last)
    left, right = {
        "fr": (forward, reverse),
        "rf": (reverse, forward),
        "ff": (last, first) if first[0] else (first, last),
    }[orientation]
    return right[1] + right[2] - left[1]


def model(orientation: str, low: int, high: int) -> InsertModel:
    """Template lengths from `low` to `high`."""
    return InsertModel(orientation, (low + high) / 2, 10.0, low, high)


def anchors_of(read_strand, diagonal, length=None, *, start, reads) -> Anchors:
    length = np.zeros(len(diagonal), np.uint16) if length is None else length
    offset = np.zeros(len(diagonal), np.uint16)
    return Anchors(
        read_strand, diagonal, offset, length, np.array(start, np.int64), np.array(reads, np.uint32)
    )


def concordant(orientation, first, last, low, high) -> bool:
    length = template(orientation, first, last)
    return length is not None and low <= length <= high


def some_mates(rng: np.random.Generator, n: int) -> np.ndarray:
    """`mate` of about n reads: pairs with single reads between them."""
    mates: list[int] = []
    while len(mates) < n:
        mates += [1, 2] if rng.random() < 0.7 else [0]
    return np.array(mates, np.uint8)


def flat(rows: list[tuple[int, ...]], *types) -> list[np.ndarray]:
    table = np.array(rows, np.int64).reshape(len(rows), len(types))
    return [np.ascontiguousarray(table[:, i].astype(t)) for i, t in enumerate(types)]


# --- near ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("orientation, seed", CASES)
def test_near_marks_what_brute_force_finds(orientation, seed):
    rng = np.random.default_rng(seed)
    marked = unmarked = 0
    for _ in range(60):
        mate = some_mates(rng, 8)
        n = len(mate)
        lengths = rng.integers(20, 300, n).astype(np.uint32)
        flip = rng.integers(0, 2, n).astype(np.uint8)
        low, slack = int(rng.integers(1, 400)), int(rng.integers(0, 20))
        high = low + int(rng.integers(0, 300))
        active = np.flatnonzero(rng.random(n) < 0.85).astype(np.uint32)
        size = int(rng.choice([300, 3000, 10_000]))
        by_read, start = [], [0]
        for r in active:
            spots = rng.integers(0, size, (int(rng.integers(0, 12)), 2)).tolist()
            by_read += sorted((canonical % 2, at, int(r)) for canonical, at in spots)
            start.append(len(by_read))
        rows = [(r << 1 | (canonical ^ int(flip[r])), at) for canonical, at, r in by_read]
        read_strand, diagonal = flat(rows, np.uint32, np.int64)
        anchors = anchors_of(read_strand, diagonal, start=start, reads=active)
        context = SimpleNamespace(flip=flip, lengths=lengths, plan=SimpleNamespace(gaps=slack))
        pairs = SimpleNamespace(mate=mate, insert=model(orientation, low, high))
        got = _mate_anchors.mark_near_mates(anchors, context, pairs)
        expected = np.zeros(len(rows), np.uint8)
        spots = [(rs >> 1, (bool(rs & 1), at, int(lengths[rs >> 1]))) for rs, at in rows]
        for i, (r, first) in enumerate(spots):
            for j, (s, last) in enumerate(spots):
                mates = mate[r] == 1 and s == r + 1
                if mates and concordant(orientation, first, last, low - slack, high + slack):
                    expected[i] = expected[j] = 1
        assert got.tolist() == expected.tolist()
        marked += int(expected.sum())
        unmarked += int((1 - expected).sum())
    assert min(marked, unmarked) > 50


@pytest.mark.parametrize("top", [(1 << 32) - 1, (1 << 32) + 300, 1 << 35])
def test_near_at_the_ends_of_the_coordinates(top):
    """Windows that reach below zero or beyond 2^32 wrap nowhere."""
    mate, lengths = np.array([1, 2], np.uint8), np.full(2, 100, np.uint32)
    flip = np.zeros(2, np.uint8)
    rows = [(0, 5), (0, top - 300), (1, 60), (1, top - 3), (3, 5 + 200), (3, top - 100)]
    anchors = anchors_of(*flat(rows, np.uint32, np.int64), start=[0, 4, 6], reads=[0, 1])
    context = SimpleNamespace(flip=flip, lengths=lengths, plan=SimpleNamespace(gaps=0))
    pairs = SimpleNamespace(mate=mate, insert=model("fr", 1, 500))
    assert _mate_anchors.mark_near_mates(anchors, context, pairs).tolist() == [1, 1, 0, 0, 1, 1]


# --- unscored buckets -----------------------------------------------------------------------------------------------


def keys_of(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(0, 12, n).astype(np.uint64) << np.uint64(COORDINATE_BITS) | rng.integers(
        0, 30, n
    ).astype(np.uint64)


@pytest.mark.parametrize("n", [0, 1, 5, 60, 3000])
@pytest.mark.parametrize("known", [(), (0,), (40,), (7, 0, 90)])
@pytest.mark.parametrize("disorder", [0, 3, 3000])
def test_unscored_buckets_are_a_difference_of_sets(n, known, disorder):
    """Of keys that are up to so many places from where they belong."""
    rng = np.random.default_rng(n + sum(known))
    keys = np.sort(keys_of(rng, n))
    keys = keys[np.argsort(np.arange(n) + rng.uniform(0, disorder, n), kind="stable")]
    others = [np.unique(keys_of(rng, k)) for k in known]
    read_strand, bucket = (keys >> np.uint64(COORDINATE_BITS)).astype(np.uint32), keys.astype(np.uint32)
    got = _mate_anchors.unscored_buckets(read_strand, bucket, *others)
    expected = sorted(set(keys.tolist()) - {k for other in others for k in other.tolist()})
    assert got[2].tolist() == expected
    assert [int(a) << COORDINATE_BITS | int(b) for a, b in zip(*got[:2], strict=True)] == expected


# --- Placements ----------------------------------------------------------------------------------------------------


class PlainPlacements:
    """What Placements must know, by looking at every pair of places every time."""

    def __init__(self, mate, lengths, orientation, low, high, borders):
        self.mate, self.lengths, self.window = mate, lengths, (orientation, low, high)
        self.borders = borders
        self.places = defaultdict(list)  # read: [reverse, left end, edits, looked around]

    def add(self, rows):
        for rs, end, edits in rows:
            if self.mate[rs >> 1]:
                self.places[rs >> 1].append([bool(rs & 1), end - int(self.lengths[rs >> 1]), edits, False])
        for r in np.flatnonzero(self.mate == 1).tolist():
            for a in self.places[r]:
                for b in self.places[r + 1]:
                    a[3], b[3] = (x[3] or self.pairs(r, a, b) for x in (a, b))

    def pairs(self, r, a, b) -> bool:
        orientation, low, high = self.window
        ends = ((bool(x[0]), x[1], int(self.lengths[r + i])) for i, x in enumerate((a, b)))
        on = {self.contig(x[1], int(self.lengths[r + i])) for i, x in enumerate((a, b))}
        return len(on) == 1 and concordant(orientation, *ends, low, high)

    def contig(self, at, m) -> int:
        """Whose part of the coordinates holds the middle; those before the first and after the last count to them."""
        return sum(border <= at + m // 2 for border in self.borders[1:-1])

    def paired(self, r) -> tuple[int, int]:
        """Most errors of both mates in the concordant pairs of least errors."""
        found = [(a[2], b[2]) for a in self.places[r] for b in self.places[r + 1] if self.pairs(r, a, b)]
        least = min(map(sum, found), default=0)
        pairs = [f for f in found if sum(f) == least]
        return tuple(max(f[i] for f in pairs) if pairs else NO_SCORE for i in (0, 1))

    def windows(self, wanted, best, paired, most, shift, slack):
        orientation, low, high = self.window
        buckets, unguided = set(), set()
        for r in np.flatnonzero(wanted & (self.mate > 0) & (best < NO_SCORE)).tolist():
            limit = best[r] if paired[r] == NO_SCORE else max(best[r], paired[r])
            places = [p for p in self.places[r] if p[2] <= limit]
            if len(places) > most:
                unguided.add(r)
                continue
            wider = [p for p in self.places[r] if p[2] <= limit + 1]
            places = wider if len(wider) <= most else places
            is_first = self.mate[r] == 1
            other = r + 1 if is_first else r - 1
            own, m = int(self.lengths[r]), int(self.lengths[other])
            for place in [p for p in places if not p[3]]:
                place[3] = True
                mine = (place[0], place[1], own)
                for strand in (False, True):
                    for at in range(max(0, place[1] - high - slack - 300), place[1] + high + slack + 300):
                        its = (strand, at, m)
                        pair = (mine, its) if is_first else (its, mine)
                        inside = self.borders[0] <= at + m // 2 < self.borders[-1]
                        if not inside or self.contig(at, m) != self.contig(place[1], own):
                            continue
                        if concordant(orientation, *pair, low - slack, high + slack):
                            buckets.add((other << 1 | strand, at >> shift))
        return buckets, unguided


@pytest.mark.parametrize("guided", [False, True])
def test_pairs_are_settled_whose_rivals_are_known(guided):
    """By the rules of docs/pipeline.md, "Pairs"; read by read in Python."""
    rng = np.random.default_rng(guided)
    most, closed = 0.2, 0
    for _ in range(20):
        mate = some_mates(rng, 30)
        n, first = len(mate), np.flatnonzero(mate == 1)
        ledger = _placements.Placements(
            mate, np.full(n, 50, np.uint32), model("fr", 1, 400), np.array([0, 5000], np.int64)
        )
        places = [
            (read_strand, end + int(rng.integers(40)), int(rng.integers(5)))
            for r in first.tolist()
            for read_strand, end in ((2 * r, 1050), (2 * r, 1200), (2 * r + 3, 1350))
            if rng.random() < 0.8
        ]
        ledger.add(*flat(places, np.uint32, np.int64, np.uint16))
        ledger.unguided[rng.random(n) < 0.2] = 1
        search = SimpleNamespace(capped=(rng.random(n) < 0.2).astype(np.uint8))
        is_open = rng.random(n) < 0.9
        is_open[first + 1] = is_open[first]
        state = SimpleNamespace(
            open=is_open.copy(),
            unsettled=first,
            looked_row=rng.integers(0, 3, n).astype(np.uint8),
        )
        missed = rng.random((3, 1, 4)) / 2
        pairs = SimpleNamespace(missed=missed, length_rank=np.zeros(51, np.int64))
        preset = SimpleNamespace(pair_missed=most)
        context = SimpleNamespace(plan=SimpleNamespace(preset=preset))
        ledger.settle(search, state, pairs, context, guided)
        assert state.unsettled.tolist() == first[is_open[first]].tolist()
        for r in first.tolist():
            done = False
            if is_open[r] and NO_SCORE not in ledger.paired[r : r + 2]:
                errors = ledger.paired[r : r + 2].tolist()
                shares = [
                    1.0 if search.capped[i] else missed[state.looked_row[i], 0, min(e, 3)]
                    for i, e in zip((r, r + 1), errors, strict=True)
                ]
                unseen = sum(shares)
                if guided:
                    own, other = (
                        1.0 if ledger.unguided[i] else share
                        for i, share in zip((r, r + 1), shares, strict=True)
                    )
                    unseen = min(unseen, own * other)
                done = unseen <= most
            closed += done
            assert state.open[r] == state.open[r + 1] == (is_open[r] and not done)
    assert closed > 5


@pytest.mark.parametrize("orientation, seed", CASES)
def test_placements_know_what_brute_force_knows(orientation, seed):
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(6):
        mate = some_mates(rng, 7)
        n = len(mate)
        lengths = rng.integers(20, 200, n).astype(np.uint32)
        low = int(rng.integers(1, 250))
        high, slack, shift = (
            low + int(rng.integers(0, 120)),
            int(rng.integers(0, 17)),
            int(rng.integers(3, 6)),
        )
        insert = model(orientation, low, high)
        borders = [0, *sorted(rng.integers(200, 1600, int(rng.integers(0, 3))).tolist()), 1700]
        ledger, plain = (
            _placements.Placements(mate, lengths, insert, np.array(borders, np.int64)),
            PlainPlacements(mate, lengths, orientation, low, high, borders),
        )
        best = np.full(n, NO_SCORE, np.uint16)
        passed_over: set[int] = set()
        for _ in range(4):
            k = int(rng.integers(0, 25))
            rows = [
                (
                    int(rng.integers(n)) << 1 | int(rng.integers(2)),
                    int(rng.integers(250, 1500)),
                    int(rng.integers(12)),
                )
                for _ in range(k)
            ]
            for rs, _, edits in rows:
                best[rs >> 1] = min(best[rs >> 1], edits)
            ledger.add(*flat(rows, np.uint32, np.int64, np.uint16))
            plain.add(rows)
            for r in np.flatnonzero(mate == 1).tolist():
                expected = plain.paired(r)
                assert (int(ledger.paired[r]), int(ledger.paired[r + 1])) == expected
                found += expected[0] < NO_SCORE
            wanted = rng.random(n) < 0.7
            most = int(rng.integers(1, 6))
            read_strand, bucket = ledger.windows(
                np.flatnonzero(wanted).astype(np.uint32), best, most, shift, slack
            )
            buckets, unguided = plain.windows(wanted, best, ledger.paired, most, shift, slack)
            assert {*zip(read_strand.tolist(), bucket.tolist(), strict=True)} == buckets
            passed_over |= unguided
            assert passed_over == set(np.flatnonzero(ledger.unguided).tolist())
    assert found >= 4


@pytest.mark.parametrize("first_added", [0, 1])
@pytest.mark.parametrize(
    "first, second, concordant", [(900, 974, True), (900, 975, False), (974, 1050, False), (975, 1050, True)]
)
def test_a_place_is_on_the_contig_that_its_middle_is_on(first, second, concordant, first_added):
    """Reads of 50 bases and a border at 1000: a middle at 999 is before it, one at 1000 behind it."""
    mate, lengths = np.array([1, 2], np.uint8), np.full(2, 50, np.uint32)
    placements = _placements.Placements(mate, lengths, model("fr", 50, 300), np.array([0, 1000, 2000]))
    rows = [(0, first + 50, 3), (3, second + 50, 4)]  # forward and reverse
    for row in (rows[first_added], rows[1 - first_added]):
        placements.add(*flat([row], np.uint32, np.int64, np.uint16))
    assert placements.paired.tolist() == ([3, 4] if concordant else [NO_SCORE] * 2)


def test_limits_follow_the_place_that_a_read_needs():
    rng = np.random.default_rng(5)
    for _ in range(40):
        mate = some_mates(rng, 6)
        n = len(mate)
        lengths, errors = np.full(n, 50, np.uint32), np.full(n, 10, np.uint16)
        ledger = _placements.Placements(mate, lengths, model("fr", 100, 200), np.array([0, 2000]))
        best, limit = np.full(n, NO_SCORE, np.uint16), errors.copy()
        for _ in range(3):
            rows = [
                (int(rng.integers(2 * n)), int(rng.integers(300, 500)), int(rng.integers(10)))
                for _ in range(5)
            ]
            for rs, _, edits in rows:
                best[rs >> 1] = min(best[rs >> 1], edits)
            columns = flat(rows, np.uint32, np.int64, np.uint16)
            ledger.add(*columns)
            ledger.tighten(columns[0], best, errors, 2, limit)
            for r in range(n):
                paired = int(ledger.paired[r])
                needs = int(best[r])
                if mate[r]:
                    needs = needs if paired == NO_SCORE else max(needs, paired)
                assert limit[r] == (10 if best[r] == NO_SCORE else min(10, needs + 2))


def test_mates_around_which_a_mate_is_looked_for():
    """Those of open pairs of which one is active; `windows` of the placements would be asked for them."""
    rng = np.random.default_rng(6)
    for _ in range(50):
        mate = some_mates(rng, 12)
        n = len(mate)
        active = np.flatnonzero(rng.random(n) < 0.4).astype(np.uint32)
        is_open, wanted = rng.random(n) < 0.5, rng.random(n) < 0.7
        expected = []
        for r in np.flatnonzero(mate == 1).tolist():
            is_open[r + 1] = is_open[r]
            if is_open[r] and ({r, r + 1} & set(active.tolist())):
                expected += [own for own, other in ((r, r + 1), (r + 1, r)) if wanted[other]]
        asked: list[int] = []
        placements = SimpleNamespace(windows=lambda reads, *_, asked=asked: asked.extend(reads) or ([], []))
        passes = passes_of(mate, np.zeros(n, np.uint32), rescuable=wanted)
        passes.rescue_windows(
            active, SimpleNamespace(best=None), SimpleNamespace(open=is_open, placements=placements)
        )
        assert asked == expected


def passes_of(mate: np.ndarray, lengths: np.ndarray, **pairs) -> HostPairPasses:
    partner = np.arange(len(mate)) + (mate == 1) - (mate == 2)
    context = SimpleNamespace(n=len(mate), lengths=lengths, plan=SimpleNamespace(gaps=0), shift=5)
    return HostPairPasses(context, SimpleNamespace(partner=partner, paired=mate > 0, **pairs), Stats())


@pytest.mark.parametrize("seed", range(4))
def test_anchors_outside_of_buckets_by_looking_at_each(seed):
    rng = np.random.default_rng(seed)
    reads = np.array([1, 4, 5, 9], np.uint32)
    rows = sorted(
        (r, int(rng.integers(2)), int(rng.integers(200))) for r in reads for _ in range(rng.integers(30))
    )
    rows = [row for row in rows if row[0] != 5]  # a read without an anchor
    read, strand, diagonal = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    start = np.searchsorted(read, [*reads, 10])
    read_strand = (2 * read + strand).astype(np.uint32)
    short = np.zeros(len(rows), np.uint16)
    anchors = Anchors(read_strand, diagonal.astype(np.int64), short, short, start, reads)
    buckets = Buckets(np.array([2, 9, 19], np.uint32), np.array([3, 1, 4], np.uint32))
    chosen = rng.integers(0, 2, len(rows)).astype(np.uint8)
    known = set(zip(*(column.tolist() for column in buckets), strict=True))
    expected = [
        int(c and (2 * r + s, d >> 5) not in known) for c, (r, s, d) in zip(chosen, rows, strict=True)
    ]
    before = chosen.copy()
    assert _mate_anchors.outside_buckets(anchors, chosen, buckets, 5).tolist() == expected
    assert chosen.tolist() == before.tolist()
    assert sum(expected) < chosen.sum()
    none = Buckets.none()
    assert _mate_anchors.outside_buckets(anchors, chosen, none, 5).tolist() == before.tolist()


def test_places_of_bands_end_behind_their_reads():
    rng = np.random.default_rng(10)
    mate = some_mates(rng, 30)
    n, k = len(mate), 60
    lengths, errors = rng.integers(40, 60, n).astype(np.uint32), np.full(n, 12, np.uint16)
    read_strand = np.sort(rng.integers(0, 2 * n, k)).astype(np.uint32)
    first, end = rng.integers(1000, 1300, k), rng.integers(0, 64, k).astype(np.uint16)
    edits = rng.integers(0, 6, k).astype(np.uint16)
    best, ledgers = rng.integers(0, 4, n).astype(np.uint16), []
    for _ in range(2):
        ledgers.append(_placements.Placements(mate, lengths, model("fr", 100, 300), np.array([0, 5000])))
    bands = SimpleNamespace(read_strand=read_strand, band_start=first, end=end, edits=edits)
    search = SimpleNamespace(best=best, limit=errors.copy())
    ledgers[0].add_bands(bands, search, SimpleNamespace(errors=errors), 2)
    limit = errors.copy()
    ledgers[1].add(read_strand, first + end + lengths[read_strand >> 1], edits)
    ledgers[1].tighten(read_strand, best, errors, 2, limit)
    assert (search.limit < 12).any() and search.limit.tolist() == limit.tolist()
    assert (ledgers[0].paired < NO_SCORE).any() and ledgers[0].paired.tolist() == ledgers[1].paired.tolist()


def test_places_of_rows_lie_on_the_contig_of_their_middle():
    rng = np.random.default_rng(1)
    borders, n, k = np.array([1000, 1500, 4000, 9000], np.int64), 50, 3000
    lengths = rng.integers(30, 200, n).astype(np.uint32)
    columns = rng.integers(0, 2 * n, k).astype(np.uint32), rng.integers(200, 10_000, k)
    edits, rows = rng.integers(0, 9, k).astype(np.uint16), rng.integers(0, k, 2000)
    found = SimpleNamespace(bands=SimpleNamespace(read_strand=columns[0], edits=edits), ends=columns[1])
    *got, contig = _pair_scoring.places_of_rows(found, SimpleNamespace(rows=rows), lengths, borders)
    for column, expected in zip(got, (*columns, edits), strict=True):
        assert column.tolist() == expected[rows].tolist()
    middle = got[1].astype(np.int64) - ((lengths[got[0] >> 1] + 1) >> 1)
    assert contig.tolist() == np.searchsorted(borders, middle, side="right").tolist()


def test_no_place_is_looked_around_twice():
    mate, lengths = np.array([1, 2], np.uint8), np.full(2, 100, np.uint32)
    ledger = _placements.Placements(mate, lengths, model("fr", 200, 400), np.array([0, 20_000]))
    ledger.add(*flat([(0, 5000, 2)], np.uint32, np.int64, np.uint16))
    best = np.array([2, NO_SCORE], np.uint16)
    once = ledger.windows(np.arange(2, dtype=np.uint32), best, 16, 5, 16)
    assert set(once[0].tolist()) == {3}
    assert len(once[0]) == len(set(once[1].tolist())) > 5
    assert len(ledger.windows(np.arange(2, dtype=np.uint32), best, 16, 5, 16)[0]) == 0


def test_mates_with_very_many_places_are_paired_within_their_windows():
    """A tandem repeat; the best pair lies in its middle. Each place against each other one would be 10^10 steps."""
    n, mate, lengths = 100_000, np.array([1, 2], np.uint8), np.full(2, 100, np.uint32)
    ledger = _placements.Placements(mate, lengths, model("fr", 200, 400), np.array([0, 1 << 32]))
    ends = 5000 + 32 * np.arange(n)
    edits = np.full((2, n), 9, np.uint16)
    edits[0, 50_000], edits[1, [50_005, 50_011]] = 1, (3, 0)  # the latter lies beyond the window
    for read in range(2):
        half = np.r_[np.arange(1, n, 2), np.arange(0, n, 2)]
        for some in np.array_split(half, 3):
            strand = np.full(some.size, 3 * read, np.uint32)
            ledger.add(strand, ends[some], edits[read, some])
    assert ledger.paired.tolist() == [1, 3]


# --- bands in windows ----------------------------------------------------------------------------------------------


def plane_rows(codes):
    codes = np.r_[codes, np.zeros(-len(codes) % 64, codes.dtype)].reshape(-1, 64)
    bits = np.stack([codes & 1, codes >> 1 & 1, codes >> 2], axis=1).astype(np.uint64)
    return (bits << np.arange(64, dtype=np.uint64)).sum(axis=2, dtype=np.uint64)


@pytest.mark.parametrize("run", [8, 9, 12])
def test_bands_in_windows_that_have_bases_in_a_row(run):
    """A masked base (4) equals nothing; a window may begin before the reference and end behind it."""
    rng = np.random.default_rng(run)
    reference = rng.integers(0, 4, 2000)
    reference[rng.random(2000) < 0.01] = 4
    reference[700:760] = 2
    lengths = np.array([150, 64, 40, 9, 7, 100, 71], np.uint32)
    strands, starts, rows, places = [], [], 0, rng.integers(300, 1500, len(lengths))
    for i, m in enumerate(lengths.tolist()):
        at = int(places[i])
        bases = [reference[at : at + m].copy(), rng.integers(0, 4, m)]
        bases[0][rng.random(m) < 0.06] = 1
        if i == 5:
            bases[1][:] = 2
        starts.append(rows)
        for codes in bases:
            strands.append(plane_rows(codes))
            rows += len(strands[-1])
        strands[-2:] = [np.concatenate(strands[-2:])]
        lengths[i] = m
    packed = SimpleNamespace(
        lengths=lengths,
        plane_start=np.array(starts, np.uint32),
        planes=np.concatenate(strands),
        conversions=np.empty(0, np.uint8),
    )
    n, shift = len(lengths), 5
    words = np.array([1, 1, 2, 1, 1, 1, 1], np.uint8)
    lead = 32 * words.astype(np.uint32) - 16
    context = SimpleNamespace(
        packed=packed,
        reference=SimpleNamespace(planes=plane_rows(reference)),
        shift=shift,
        lead=lead,
        words=words,
    )
    windows = np.stack(
        [places - rng.integers(0, 500, n), places + rng.integers(0, 300, n), rng.random(n) < 0.2]
    )
    windows[:, 1] = 500, 400, 0
    windows[:, 6] = 0, 1 + (40 << shift), 1
    most = 40
    expected = []
    for r in range(n):
        low, high, strand = (int(w) for w in windows[:, r])
        low = max(low, 0) >> shift
        if high < 0 or high < windows[0, r] or (high >> shift) - low + 1 > most:
            continue
        m, first = int(lengths[r]), 64 * (int(packed.plane_start[r]) + strand * (-(-int(lengths[r]) // 64)))
        bits = packed.planes[first // 64 : first // 64 + -(-m // 64)]
        read = sum(
            (
                (bits[:, plane, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)).astype(int).ravel()
                << plane
            )
            for plane in range(3)
        )[:m]
        for bucket in range(low, (high >> shift) + 1):
            begin = (bucket << shift) - int(lead[r])
            for diagonal in range(begin, begin + 64 * int(words[r])):
                at = diagonal + np.arange(m)
                there = np.where((at >= 0) & (at < 2000), reference[np.clip(at, 0, 1999)], 4)
                equal = "".join("=" if a == b < 4 else "x" for a, b in zip(read, there, strict=True))
                if "=" * run in equal:
                    expected.append((2 * r + strand, begin, int(words[r])))
                    break
    got = _mate_anchors.bands_in_windows(np.arange(n), windows, context, most, run)
    assert list(zip(*(column.tolist() for column in got), strict=True)) == expected
    assert expected
    # A read may have several windows, in any order.
    some = expected[0][0] >> 1, expected[-1][0] >> 1
    again = np.array([some[1], some[0], 3, some[1]])
    got = _mate_anchors.bands_in_windows(again, windows[:, again].copy(), context, most, run)
    of_read = [[band for band in expected if band[0] >> 1 == r] for r in again]
    assert list(zip(*(column.tolist() for column in got), strict=True)) == sum(of_read, [])
    assert sum(map(bool, of_read)) >= 3


def test_what_lies_behind_a_read_is_no_base_of_it():
    """Its planes end in zeros there, as A has them."""
    codes = np.array([1, 1, 2, 2, 3, 3, 1, 1])
    reference = np.r_[np.full(100, 2), codes, np.zeros(100, int)]
    rows = plane_rows(codes)
    packed = SimpleNamespace(
        lengths=np.array([8], np.uint32),
        plane_start=np.zeros(1, np.uint32),
        planes=np.concatenate([rows, rows]),
        conversions=np.empty(0, np.uint8),
    )
    context = SimpleNamespace(
        packed=packed,
        reference=SimpleNamespace(planes=plane_rows(reference)),
        shift=5,
        lead=np.array([16], np.uint32),
        words=np.ones(1, np.uint8),
    )
    windows = np.array([[96], [127], [0]])
    for run, bands in ((8, 1), (9, 0)):
        assert len(_mate_anchors.bands_in_windows(np.zeros(1, int), windows, context, 8, run)[0]) == bands


# --- choose ----------------------------------------------------------------------------------------------------


BORDER = 2000  # of two contigs


def on_contig(place) -> int:
    return int(place[1] >= BORDER)


def weigh(orientation, insert, places, lengths, odds, unpaired, each):
    """(cost, weight, is concordant) of every pair of places, which are (reverse, left end, edits)."""
    (first, last), best = places, [min(p[2] for p in side) for side in places]
    u = 10 ** (-unpaired / 10)
    table = {}
    for i, a in enumerate(first):
        for j, b in enumerate(last):
            likelihood = odds[0] ** (a[2] - best[0]) * odds[1] ** (b[2] - best[1])
            t = template(orientation, (*a[:2], lengths[0]), (*b[:2], lengths[1]))
            fits = t is not None and insert.low <= t <= insert.high and on_contig(a) == on_contig(b)
            z = (t - insert.mean) / insert.sd if fits else 0.0
            cost = each * (a[2] + b[2]) + (-10 * math.log10(math.exp(-z * z / 2)) if fits else unpaired)
            weight = likelihood * (math.exp(-z * z / 2) * fits + u)
            table[i, j] = (cost, weight, fits)
    return table


def random_places(rng, size, n):
    """Places at least ten apart on a strand, as selection leaves them, in any order."""
    places = set()
    while len(places) < n:
        at, reverse = int(rng.integers(size)), bool(rng.integers(2))
        if all(abs(at - p[1]) > 10 or reverse != p[0] for p in places):
            places.add((reverse, at, int(rng.integers(6))))
    return [list(places)[i] for i in rng.permutation(n)]


def choose(sides, lengths, mate, odds, digest, flip, insert, unpaired, each=18.0):
    rows = [(r << 1 | p[0], p[1] + lengths[r], p[2]) for r, side in enumerate(sides) for p in side]
    start = np.concatenate([[0], np.cumsum([len(side) for side in sides])]).astype(np.int64)
    contig = np.array([on_contig(p) for side in sides for p in side], np.int32)
    places = PlacesByRead(*flat(rows, np.uint32, np.int64, np.uint16), contig, start)
    of_reads = flat(
        [*zip(lengths, flip, digest, mate, strict=True)], np.uint32, np.uint8, np.uint64, np.uint8
    )
    reads = PairedReads(*of_reads, insert)
    return _pair_scoring.choose_pairs(places, np.array(odds), reads, unpaired, each), start


@pytest.mark.parametrize("orientation, seed", CASES)
def test_choice_and_doubt_by_looking_at_every_pair_of_places(orientation, seed):
    rng = np.random.default_rng(seed)
    seen = defaultdict(int)
    for _ in range(150):
        insert = InsertModel.given(orientation, int(rng.integers(100, 400)), int(rng.integers(5, 60)))
        lengths = [int(m) for m in rng.integers(30, 150, 2)]
        n = [int(k) for k in rng.choice([1, 1, 2, 5, 12], 2)]
        sides = [random_places(rng, int(rng.choice([500, 4000])), k) for k in n]
        odds, unpaired = [float(x) for x in rng.uniform(0.001, 0.3, 2)], float(rng.uniform(20, 70))
        digest = [int(x) for x in rng.integers(0, 1 << 63, 2)]
        each = float(rng.choice([18.0, 3.6]))  # of an error, of a point of score
        (primary, proper, wrong, decided), start = choose(
            sides, lengths, (1, 2), odds, digest, rng.integers(0, 2, 2), insert, unpaired, each
        )
        table = weigh(orientation, insert, sides, lengths, odds, unpaired, each)
        best = [min(p[2] for p in side) for side in sides]
        alone = each * sum(best) + unpaired
        least = min([alone, *(cost for cost, _, fits in table.values() if fits)])
        i, j = int(primary[0] - start[0]), int(primary[1] - start[1])
        assert decided.tolist() == [1, 1]
        assert proper[0] == proper[1]
        assert proper[0] == table[i, j][2]
        if not proper[0] or table[i, j][0] > least + 0.02:
            assert (i, j) == (0, 0)  # each mate keeps its own primary
            assert least >= alone - 0.02
        total = sum(weight for _, weight, _ in table.values())
        with_i = sum(weight for (a, _), (_, weight, _) in table.items() if a == i)
        with_j = sum(weight for (_, b), (_, weight, _) in table.items() if b == j)
        assert wrong[0] == pytest.approx((total - with_i) / with_i, rel=1e-6, abs=1e-9)
        assert wrong[1] == pytest.approx((total - with_j) / with_j, rel=1e-6, abs=1e-9)
        seen["proper" if proper[0] else "not"] += 1
        seen["by its mate"] += proper[0] and (sides[0][i][2] > best[0] or sides[1][j][2] > best[1])
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
        (primary, proper, wrong, _), _ = choose(
            sides, (100, 100), (1, 2), (0.01, 0.01), (digest * 7919, digest), (0, 0), insert, 60.0
        )
        a, b = sides[0][primary[0]], sides[1][primary[1] - 3]
        assert b[1] - a[1] == 200
        assert proper.all()
        assert wrong.tolist() == pytest.approx([2, 2], rel=1e-3)
        drawn.add(a[1])
    assert drawn == {1000, 5000, 9000}


@pytest.mark.parametrize(
    "last, expected",
    [
        ((True, 5200, 0), 1),
        ((True, 5321, 0), 0),
        ((True, 5079, 0), 0),
        ((False, 5200, 0), 0),
        ((True, 4800, 0), 0),
    ],
)
def test_proper_is_within_the_window_and_on_the_right_strands(last, expected):
    insert = InsertModel.given("fr", 300, 30)  # 180..420
    (_, proper, _, decided), _ = choose(
        [[(False, 5000, 0)], [last]], (100, 100), (1, 2), (0.01, 0.01), (5, 6), (0, 0), insert, 60.0
    )
    assert proper.tolist() == [expected] * 2
    assert decided.all()


def test_proper_is_within_the_window_even_where_chance_explains_the_length_better():
    """Four deviations off cost 35 Phred; in a small genome mates lie that near for less."""
    insert = InsertModel.given("fr", 300, 30)
    for unpaired in (60.0, 25.0):
        for last, expected in (((True, 5318, 0), 1), ((True, 5322, 0), 0)):
            (_, proper, _, _), _ = choose(
                [[(False, 5000, 0)], [last]], (100, 100), (1, 2), (0.01, 0.01), (5, 6), (0, 0), insert,
                unpaired,
            )  # fmt: skip
            assert proper.tolist() == [expected] * 2


def test_a_mate_without_a_place_and_a_single_read_are_not_decided():
    insert = InsertModel.given("fr", 300, 30)
    sides = [[(False, 5000, 0)], [], [(True, 7000, 2), (True, 9000, 2)], [], []]
    (primary, proper, wrong, decided), _ = choose(
        sides, (100,) * 5, (1, 2, 0, 1, 2), (0.01,) * 5, range(5), (0,) * 5, insert, 60.0
    )
    assert primary.tolist() == [0, -1, 1, -1, -1]
    assert not proper.any()
    assert not decided.any()
    assert not wrong.any()


@pytest.mark.parametrize("top", [(1 << 32) - 5000, (1 << 32) - 100, (1 << 35) + 9])
def test_choice_beyond_two_billion(top):
    """Coordinates use more than 32 bits."""
    insert = InsertModel.given("fr", 300, 30)
    sides = [[(False, 300, 0), (False, top, 1)], [(True, top + 200, 1), (True, 100_000, 0)]]
    (primary, proper, _, _), _ = choose(sides, (100, 100), (1, 2), (0.01, 0.01), (5, 6), (0, 0), insert, 60.0)
    assert (primary.tolist(), proper.tolist()) == ([1, 2], [1, 1])
    middle = 1 << 31
    sides = [[(False, middle - 1000, 0)], [(True, middle + 5000, 0), (True, middle - 800, 0)]]
    (primary, proper, _, _), _ = choose(sides, (100, 100), (1, 2), (0.01, 0.01), (5, 6), (0, 0), insert, 60.0)
    assert (primary.tolist(), proper.tolist()) == ([0, 2], [1, 1])
