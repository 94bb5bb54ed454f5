"""Mapping qualities of alignments that no mate vouches for (`_core.read_search`)."""

import numpy as np
import pytest
from rating import lines_of, packed_of, report_of, rivals_of

from gassst.index.miss_model import NO_SEEDS, dense_seeds
from gassst.index.spectrum import Spectrum
from gassst.model.layouts import OVER
from gassst.model.params import MapParams
from gassst.pairing.error_rate import UNKNOWN_LIBRARY
from gassst.search.plan import SearchPlan


def spectrum(alone):
    shares = np.zeros(Spectrum.SHAPE, np.float32)
    shares[:, 0], shares[:, 1] = alone, 0.4
    return Spectrum(shares)


def rated(
    begin=0,
    end=60,
    length=60,
    edits=2,
    over=0.0,
    rivals=0,
    behind=5,
    further=0,
    dense=True,
    alone=0.01,
    n_bases=10**7,
    complete=2,
    primary=None,
):
    """Rate one line: bases begin .. end - 1 of `length` ones; `primary`: those of the line of which it is a part.

    As many `rivals` score `behind` less, and `further` ones an error less than these.
    """
    plan = SearchPlan(MapParams(), 11, n_bases, spectrum(alone))
    plan.prepare(np.array([length], np.uint32))
    score = end - begin - 5 * edits
    line = lines_of([0], begin, end, score, cigar_runs=2)
    places = rivals_of(line, rivals + further, score - behind)
    places.rows["total"][rivals:] -= 5
    first, parts = (lines_of([0], *primary, 1), line) if primary else (line, None)
    over = np.array([(over, 0, length, True) if dense else (0, 0, 0, False)], OVER)
    rater = plan.rater(UNKNOWN_LIBRARY)
    report = report_of(rater, packed_of([length]), first, places, parts, (complete, 3, 4), over=over)
    return report.rows()[1]["rating"][-1]


def quality(*line, **seen):
    """Its mapping quality."""
    return int(rated(*line, **seen)["mapq"])


def test_known_rivals_weigh_the_odds_of_what_they_score_less():
    assert quality(rivals=1, behind=10) > quality(rivals=1) > quality(rivals=3) > 0
    assert quality(rivals=1, behind=0) == quality(rivals=1, behind=-3) == 0


def test_every_known_rival_weighs_the_odds_of_what_it_scores_less():
    """A few copies of a family are one error further, and most are two: the few alone were counted."""

    def known(rivals, further):  # of so many bases that no place with two errors is missed
        return float(rated(0, 250, 250, 0, rivals=rivals, further=further)["known"])

    assert known(2, 0) == pytest.approx(2 * known(1, 0))
    assert known(2, 30) == pytest.approx(2 * known(1, 0) + 30 * known(1, 0) ** 2)


def test_a_known_rival_stands_for_those_like_it_that_no_seed_led_to():
    """Seeds miss a share of places with three errors in 60 bases, and more where 24 of 49 bases begin none."""
    missed = [np.frombuffer(dense_seeds(60, 16, 5, share).missed)[3] for share in (0.0, 24 / 49)]
    some, fewer = (float(rated(rivals=1, over=over)["known"]) for over in (0, 24))
    assert missed[0] < missed[1] < 1 and fewer / some == pytest.approx((1 - missed[0]) / (1 - missed[1]))


def test_a_long_end_is_an_adapter_where_every_seed_was_looked_at():
    assert quality(0, 60, 100, rivals=1) == quality(0, 60, 60, rivals=1)
    assert quality(0, 60, 100, rivals=1, over=5) < quality(0, 60, 60, rivals=1, over=5)


@pytest.mark.parametrize("begin, end, primary", [(0, 60, (60, 160)), (100, 160, (0, 100))])
def test_what_the_primary_line_aligns_is_no_doubt_of_another_part(begin, end, primary):
    """The seeds of an Alu occur too often; a unique part next to it had MAPQ 0."""
    assert quality(begin, end, 160, over=120) < 10 < quality(begin, end, 160, over=120, primary=primary)
    # As an end that errors hide it would be 100 errors more.
    assert quality(begin, end, 160, over=1, primary=primary) > quality(begin, end, 160, over=1)


def test_seeds_passed_over_are_counted_by_how_many_begin_in_the_part():
    """Of 60 bases all dense seeds but one are passed over: a copy that differs in that one was not seen."""
    all_but_one = quality(rivals=1, edits=0, n_bases=10**5, over=45, end=60)
    assert all_but_one < 20 < quality(rivals=1, edits=0, n_bases=10**5, over=5)


def test_dense_seeds_that_overlap_tell_of_one_family():
    """Seeds that are passed over begin at 4 of 60 bases, 11 / 128 of them; the others still lie 5 bases apart."""
    some, none = (float(rated(over=over)["unseen"]) for over in (4, 0))
    assert some / none == pytest.approx(1 + 80 * 5 / 18 * 11 / 117, rel=0.02)


def test_seeds_that_are_left_miss_what_lies_between_them():
    whole, one = (np.frombuffer(dense_seeds(73, 18, 5, share).missed) for share in (0.0, 11 / 12))
    assert whole[1] == 0
    # One of 12 seeds is left. A copy with one difference has it there in 18 of 73 cases.
    assert one[1] == pytest.approx(18 / 73)
    assert dense_seeds(73, 18, 5, 1.0) is NO_SEEDS


def test_without_dense_seeds_those_of_the_search_count():
    assert quality(dense=False, edits=4, complete=4) > quality(dense=False, edits=4, complete=1)


def test_chance_puts_parts_of_a_read_anywhere():
    """13 of 100 bases fit by chance at 88 times as many places as a read of 13 bases does."""

    def number(length):
        return float(rated(0, 13, length, 0, n_bases=200)["chance"])

    assert number(100) == pytest.approx(88 * number(13))
    assert number(13) == pytest.approx(400 / 4**13)
