"""Pairs of copies that no seed led to (`search.mapq.unseen_pairs`)."""

import numpy as np
import pytest

from gassst.index.miss_model import SeedsLooked, Stage, stage_misses
from gassst.index.spectrum import Spectrum
from gassst.search.copies import copies
from gassst.search.mapq import Mates, beside_known, unseen_pairs


def spectrum(alone=0.01, beside=0.3):
    shares = np.zeros(Spectrum.SHAPE, np.float32)
    shares[:, 0], shares[:, 1] = alone, beside
    return Spectrum(shares)


def seeds(m, length, number):
    return SeedsLooked.of(length, stage_misses(m, (Stage(length, number, True),))[0])


def mates(*cases, passed_over=0.0):
    """Each (bases, errors, seeds)."""
    found = [copies(m, errors, 0.01, looked, None) for m, errors, looked in cases]
    shares = np.full(len(cases), passed_over)
    return Mates.of(np.array([case[0] for case in cases]), found, shares)


def weigh(some, own, other, beside=0, before_rescue=False, genome=None):
    columns = (np.atleast_1d(np.array(column)) for column in (own, other, beside, before_rescue))
    return unseen_pairs(some, *columns, genome or spectrum())


FEW, MANY = seeds(100, 25, 4), seeds(100, 12, 8)
SOME = mates((100, 3, FEW), (100, 3, MANY), (60, 1, seeds(60, 20, 3)))


def test_both_mates_must_hide_a_copy():
    few, mixed, many = (weigh(SOME, one, two)[0] for one, two in ((0, 0), (0, 1), (1, 1)))
    assert few > 3 * mixed > 9 * many > 0


def test_beside_known_copies_there_are_more():
    none, one, both = (weigh(SOME, 0, 0, beside)[0] for beside in (0, 1, 2))
    assert both / none == pytest.approx(30) and one / none == pytest.approx(30**0.5)
    wrong, near = np.array([0, 0, 0, 1e-3]), np.array([False, True, True, False])
    assert beside_known(near, np.array([False, False, True, False]), wrong).tolist() == [0, 1, 2, 2]


def test_seeds_passed_over_tell_of_a_large_family():
    often = mates((100, 3, FEW), passed_over=0.5)
    assert weigh(often, 0, 0)[0] == pytest.approx(81 * weigh(SOME, 0, 0)[0])


def test_a_pair_does_not_depend_on_the_others():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 3, (2, 300))
    beside, early = rng.integers(0, 3, 300), rng.random(300) < 0.5
    together = weigh(SOME, *rows, beside, early)
    alone = [weigh(SOME, *rows[:, [i]], beside[[i]], early[[i]])[0] for i in range(300)]
    assert together.tolist() == alone
