"""Pairs that whole reads do not decide: both mates' places are weighed together.

The oracle scores both mates against every copy of a family with parasail, which knows no bands, seeds or filters.
"""

from types import SimpleNamespace

import numpy as np
import parasail
import pytest
from text_bases import random_bases, reverse_complement

import gassst
from gassst.index.reference import Reference
from gassst.local.joint import LAST_DIAGONAL, PAIR_BONUS, any_within, candidates_of
from gassst.local.places import Places
from gassst.model.array_types import COORDINATE_BITS
from gassst.model.layouts import SAME_PLACE
from gassst.model.params import Scoring

M, INSERT = 100, 260
TAIL = 26  # bases at the end of a mate that are of no genome: whole reads do not decide
SCORING = Scoring()
MATRIX = parasail.matrix_create("ACGT", SCORING.match, -SCORING.mismatch)
CERTAIN = 11  # score: two ends that are reached, and a point


def changed(bases, at):
    """With another base at each of some places."""
    codes = list(bases)
    for i in at:
        codes[i] = "ACGT"["CATG".index(codes[i])]
    return "".join(codes)


def family(rng, n, size, private):
    """`n` copies of random bases, each with `private` differences of its own."""
    first = random_bases(rng, size)
    return [changed(first, rng.choice(size, private, replace=False)) for _ in range(n)]


def built(copies, rng):
    """The index of the copies among random bases, and where each begins."""
    text, starts = "", []
    for copy in copies:
        text += random_bases(rng, 700)
        starts.append(len(text))
        text += copy
    text += random_bases(rng, 700)
    return gassst.Index.build(Reference.from_sequences([("a", text.encode())])), starts


def map_pairs(index, pairs):
    """Primary records of both mates, by pair."""
    sides = [[(f"p{i}", pair[mate], "I" * M) for i, pair in enumerate(pairs)] for mate in (0, 1)]
    mapper = gassst.Mapper(index, device="none", insert=(float(INSERT), 20.0))
    found = [r for r in mapper.map(*sides) if not r.flag & 0x900]
    return list(zip(found[::2], found[1::2], strict=True))


def pair_of(fragment, rng, errors):
    """Both mates of a fragment, with errors at so many places of each; the last bases are of no genome."""
    sides = [fragment, reverse_complement(fragment)]
    return [
        changed(side[: M - TAIL], rng.choice(M - TAIL, errors, replace=False)) + random_bases(rng, TAIL)
        for side in sides
    ]


def local_score(read, copy):
    """Of the best alignment of any part of the read."""
    gap = SCORING.gap_open[0] + SCORING.gap_extend[0], SCORING.gap_extend[0]
    return parasail.sw_striped_16(read, copy, *gap, MATRIX).score


@pytest.fixture(scope="module")
def in_a_family():
    """300 pairs in eight copies of 600 bases, each with eight differences of its own."""
    rng = np.random.default_rng(31)
    copies = family(rng, 8, 600, 8)
    index, starts = built(copies, rng)
    pairs, at = [], []
    for _ in range(300):
        copy, begin = int(rng.integers(8)), int(rng.integers(0, 600 - INSERT))
        pairs.append(pair_of(copies[copy][begin : begin + INSERT], rng, 3))
        at.append(begin)
    return copies, starts, pairs, at, map_pairs(index, pairs)


def totals_of(pair, copies):
    """Best score of the first mate and of the second, by copy, added up."""
    one, two = pair[0], reverse_complement(pair[1])
    return np.array([local_score(one, copy) + local_score(two, copy) for copy in copies])


def copy_of(record, starts):
    """The copy that a record lies in."""
    return int(np.searchsorted(starts, record.reference_start + M // 2, side="right")) - 1


def test_the_pair_with_the_best_scores_of_both_mates_is_reported(in_a_family):
    copies, starts, pairs, at, records = in_a_family
    decided = split = 0
    for pair, begin, both in zip(pairs, at, records, strict=True):
        totals = totals_of(pair, copies)
        best = int(totals.argmax())
        if totals[best] - np.sort(totals)[-2] < CERTAIN:
            continue
        decided += 1
        alone = [local_score(mate, copies[best]) for mate in (pair[0], reverse_complement(pair[1]))]
        others = [
            max(local_score(mate, copy) for copy in copies) for mate in (pair[0], reverse_complement(pair[1]))
        ]
        split += alone != others
        assert [copy_of(r, starts) for r in both] == [best, best]
        assert abs(both[0].reference_start - starts[best] - begin) <= M
        assert all(r.is_proper_pair for r in both)
    assert decided > 100
    # Of these some have a mate that fits another copy better.
    assert split >= 3


def test_mates_are_sure_where_the_scores_of_both_leave_no_rival(in_a_family):
    """Another copy that scores as well leaves nothing; one that lacks three mismatches is no rival at all."""
    copies, _, pairs, _, records = in_a_family
    sure = ties = 0
    for pair, both in zip(pairs, records, strict=True):
        totals = np.sort(totals_of(pair, copies))
        behind = totals[-1] - totals[-2]
        if behind == 0:
            ties += 1
            assert max(r.mapping_quality for r in both) <= 3
        if behind >= 4 * (SCORING.match + SCORING.mismatch):
            sure += 1
            assert min(r.mapping_quality for r in both) >= 20
    assert sure > 15
    assert ties > 10


def test_pairs_in_large_families_are_looked_up_deeper_or_not_sure():
    """Of 90 copies each has one base of its own in either mate's part; an error on each side leaves no seed with it."""
    rng = np.random.default_rng(32)
    n, size = 90, INSERT
    first = random_bases(rng, size)
    own = [(30 + i % 15, size - 1 - 30 - i // 15) for i in range(n)]
    copies = [changed(first, bases) for bases in own]
    index, starts = built(copies, rng)
    true = np.repeat(range(0, n, 3), 2)
    pairs = []
    for i in true:
        left, right = own[i][0], size - 1 - own[i][1]
        pairs.append(
            [
                changed(side[: M - TAIL], [at - 5, at + 6]) + random_bases(rng, TAIL)
                for side, at in zip((copies[i], reverse_complement(copies[i])), (left, right), strict=True)
            ]
        )
    right = 0
    for i, both in zip(true, map_pairs(index, pairs), strict=True):
        at_home = [copy_of(record, starts) for record in both] == [i, i]
        right += at_home
        assert at_home or max(record.mapping_quality for record in both) <= 3
    assert right >= len(true) // 4


@pytest.mark.parametrize("every", [1, 2, 3])
def test_a_mate_without_an_error_in_two_copies_vouches_for_none(every):
    """The other mate has a bad end, so whole reads decide nothing. What fits of it lies in both copies, too."""
    rng = np.random.default_rng(33)
    copy = random_bases(rng, 600)
    index, starts = built([copy, copy], rng)
    pairs = []
    for begin in range(20, 300, 10):
        fragment = copy[begin : begin + INSERT]
        bad = range(M - TAIL, M, every)
        sides = [fragment[:M], changed(reverse_complement(fragment)[:M], bad)]
        pairs.append(sides if begin % 20 else sides[::-1])
    records = map_pairs(index, pairs)
    assert all(r.is_proper_pair and r.mapping_quality <= 3 for both in records for r in both)
    assert {copy_of(both[0], starts) for both in records} == {0, 1}


def test_a_short_mate_is_looked_for_beside_all_of_seven_copies():
    """One mate fits in all copies, and 26 bases of the other behind two of them. Those beside one alone had MAPQ 40."""
    rng = np.random.default_rng(21)
    pairs, copies = [], []
    for _ in range(12):
        common, tail = random_bases(rng, INSERT - 26), random_bases(rng, 26)
        copies += [common + (random_bases(rng, 26) if i not in (1, 5) else tail) for i in range(7)]
        fragment = common + tail
        pairs.append([fragment[:M], reverse_complement(fragment)[:26] + random_bases(rng, M - 26)])
    index, _ = built(copies, rng)
    qualities = [record.mapping_quality for mates in map_pairs(index, pairs) for record in mates]
    assert max(qualities) <= 3


ALIGNER = SimpleNamespace(
    context=SimpleNamespace(n=3), least_scores=lambda read_strand, bonus: np.full(len(read_strand), 30)
)
ALL = np.ones(3, bool)


def random_places(rng, k):
    """Of three reads, many of them near each other; totals and places chosen before are often the same."""
    diagonal = (rng.choice([0, 4000, LAST_DIAGONAL - 300], k) + rng.integers(0, 300, k)).astype(np.int64)
    total = rng.integers(40, 44, k).astype(np.int32)
    band = diagonal, np.full(k, 64)
    ends = np.full(k, 3, np.uint8), np.full(k, 50, np.uint16)
    columns = rng.integers(0, 6, k).astype(np.uint32), *band, total, total, *ends, diagonal
    return Places(*columns, rng.random(k) < 0.3, diagonal)


def test_candidates_are_of_the_reads_concerned_and_score_enough():
    """Up to 29 behind the best place of their read, and 30 at least."""
    rng = np.random.default_rng(7)
    total = np.tile(np.arange(25, 75, dtype=np.int32), 3)
    strand, diagonal = np.repeat(np.array([0, 2, 4], np.uint32), 50), 100 * rng.permutation(150)
    ends = np.full(150, 3, np.uint8), np.full(150, 50, np.uint16)
    none = np.zeros(150, bool)
    places = Places(strand, diagonal, np.full(150, 64), total, total, *ends, diagonal, none, diagonal)
    rows = candidates_of(ALIGNER, np.array([True, False, True]), places)
    expected = [(s, t) for s in (0, 4) for t in range(74 - PAIR_BONUS, 75)]
    assert sorted(zip(strand[rows].tolist(), total[rows].tolist(), strict=True)) == expected


def places_of(candidates):
    """Rows of each place: those of one strand, with at most SAME_PLACE diagonals from one to the next."""
    rows = range(len(candidates.total))
    keys = [(int(candidates.read_strand[row]), int(candidates.diagonal[row]), row) for row in rows]
    places, before = [], (-1, 0)
    for strand, diagonal, row in sorted(keys):
        if strand != before[0] or diagonal - before[1] > SAME_PLACE:
            places.append([])
        places[-1].append(row)
        before = strand, diagonal
    return places


@pytest.mark.parametrize("k", [0, 1, 2, 30, 200])
def test_the_best_candidate_of_each_place_is_left(k):
    """Of equal ones that chosen before, then the one on the first diagonal."""
    rng = np.random.default_rng(k)
    for _ in range(30):
        some = random_places(rng, k)
        rows = candidates_of(ALIGNER, ALL, some)
        left = some.take(rows)
        expected = [
            min((-some.total[row], not some.given[row], some.diagonal[row]) for row in place)
            for place in places_of(some)
        ]
        found = zip(-left.total, ~left.given, left.diagonal, strict=True)
        assert [tuple(map(int, row)) for row in found] == [tuple(map(int, row)) for row in expected]
        keys = left.read_strand.astype(np.int64) << COORDINATE_BITS | left.diagonal
        assert (np.diff(keys) > 0).all()


@pytest.mark.parametrize("k", [0, 1, 50])
def test_candidates_in_a_window_are_those_on_its_diagonals(k):
    """Both ends belong to it; what lies outside of the reference is left out of it."""
    rng = np.random.default_rng(100 + k)
    some = random_places(rng, k)
    some = some.take(candidates_of(ALIGNER, ALL, some))
    n = 2000
    strand = rng.integers(0, 6, n)
    low = rng.choice([-200, 0, 3900, LAST_DIAGONAL - 400], n) + rng.integers(0, 500, n)
    high = low + rng.integers(0, 40, n)
    if k:  # many windows end at a candidate, at one side or the other
        row = rng.integers(0, len(some.total), n)
        end = np.where(np.arange(n) % 2, low, high)
        shift = some.diagonal[row].astype(np.int64) - end + rng.integers(-1, 2, n)
        shift[n // 2 :] = 0
        strand = np.where(shift != 0, some.read_strand[row], strand)
        low, high = low + shift, high + shift
    expected = [
        any(s == w and a <= d <= b for s, d in zip(some.read_strand, some.diagonal.astype(int), strict=True))
        for w, a, b in zip(strand, low, high, strict=True)
    ]
    found = any_within(some, strand, low, high)
    assert found.tolist() == expected
    assert not k or 100 < found.sum() < n - 100
