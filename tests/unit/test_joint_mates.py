"""Pairs that whole reads do not decide: both mates' places are weighed together.

The oracle scores both mates against every copy of a family with parasail, which knows no bands, seeds or filters.
"""

import numpy as np
import parasail
import pytest
from text_bases import random_bases, reverse_complement

import gassst
from gassst.model.params import Scoring
from gassst.model.reference import Reference

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


def test_copies_on_both_strands_leave_no_quality():
    """Mates that fit in the middle only: by their scores alone the parts that copies align need not be the same."""
    rng = np.random.default_rng(34)
    copy = random_bases(rng, 600)
    index, _ = built([copy, reverse_complement(copy)], rng)
    pairs = []
    for at in range(0, 600 - INSERT, 20):
        sides = copy[at : at + INSERT], reverse_complement(copy[at : at + INSERT])
        middles = (changed(side[9 : M - 9], rng.choice(M - 18, 7, replace=False)) for side in sides)
        pairs.append([random_bases(rng, 9) + middle + random_bases(rng, 9) for middle in middles])
    records = map_pairs(index, pairs)
    together = [both for both in records if both[0].is_proper_pair]
    assert len(together) > 10
    assert {record.mapping_quality for both in together for record in both} == {0}


def test_a_mate_without_rivals_is_looked_for_beside_no_other_copy_of_its_partner():
    rng = np.random.default_rng(35)
    family, alone = random_bases(rng, INSERT - M), random_bases(rng, M)
    decoy = random_bases(rng, M // 2) + alone[M // 2 :]
    index, (start, _) = built([family + alone, family + decoy], rng)
    [both] = map_pairs(index, [[changed(family[:M], [50]), reverse_complement(alone)]])
    assert [r.reference_start for r in both] == [start, start + INSERT - M]
    assert [r.mapping_quality for r in both] == [60, 60]
    assert [r.has_tag("XS") for r in both] == [True, False]


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


@pytest.mark.parametrize("mode", ["local", "global"])
def test_rivals_that_both_mates_have_count_however_many_places_each_has(mode):
    """A pair fits one copy; 40 copies of a mate differ by one base, and 40 others of its mate."""
    rng = np.random.default_rng(4)
    first, last = random_bases(rng, 200), random_bases(rng, 200)
    copies = [(first, last)] + [(first, changed(last, [100]))] * 40 + [(changed(first, [70]), last)] * 40
    genome = "".join(base for copy in copies for base in (*copy, random_bases(rng, 500)))
    index = gassst.Index.build(Reference.from_sequences([("g", genome.encode())]), threads=1)
    mapper = gassst.Mapper(index, mode=mode, device="none", threads=1, insert=(350, 30))
    sides = [first[20:120]] * 4, [reverse_complement(last[60:160])] * 4
    mapped = list(mapper.map(*([("p", bases, None) for bases in side] for side in sides)))
    assert [(hit.reference_start, hit.is_proper_pair) for hit in mapped] == [(20, True), (260, True)] * 4
    assert max(hit.mapping_quality for hit in mapped) < 20
