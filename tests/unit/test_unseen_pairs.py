"""Copies of pairs and of single reads that no seed led to (`search.copies.unseen`)."""

import numpy as np
import pytest

from gassst.index.miss_model import NO_SEEDS, SeedsLooked, Stage, stage_misses
from gassst.index.spectrum import Spectrum
from gassst.search.copies import Copies, Searched, unseen, unseen_alone
from gassst.search.mapq import beside_known


def spectrum(alone=0.01, beside=0.3):
    shares = np.zeros(Spectrum.SHAPE, np.float32)
    shares[:, 0], shares[:, 1] = alone, beside
    return Spectrum(shares)


def seeds(m, length, number):
    return SeedsLooked.of(length, stage_misses(m, (Stage(length, number, True),))[0])


def mates(*cases):
    """Each (bases, errors, seeds)."""
    length, errors, looked = zip(*cases, strict=True)
    found = Searched(np.array(length), np.array(errors), np.full(len(cases), 0.01), list(looked))
    copies, row = Copies.of(found)
    return copies.take(row)


def weigh(some, own, other, known=0, genome=None):
    columns = (np.atleast_1d(np.array(column)) for column in (own, other, known))
    return unseen(some, *columns, genome or spectrum())


FEW, MANY = seeds(100, 25, 4), seeds(100, 12, 8)
SOME = mates((100, 3, FEW), (100, 3, MANY), (60, 1, seeds(60, 20, 3)))


def test_both_mates_must_hide_a_copy():
    few, mixed, many = (weigh(SOME, one, two)[0] for one, two in ((0, 0), (0, 1), (1, 1)))
    assert few > 3 * mixed > 9 * many > 0


def test_beside_known_copies_there_are_more():
    none, one, both = (weigh(SOME, 0, 0, known)[0] for known in (0, 1, 2))
    assert both / none == pytest.approx(30) and one / none == pytest.approx(30**0.5)
    wrong, near = np.array([0, 0, 0, 1e-3]), np.array([False, True, True, False])
    assert beside_known(near, np.array([False, False, True, False]), wrong).tolist() == [0, 1, 2, 2]


def test_of_a_single_read_every_share_counts_by_itself():
    """Against the sum over differences, with shares of substrings that those of templates do not have."""
    genome, rng = spectrum(), np.random.default_rng(1)
    genome.shares[0] = rng.random(genome.shares[0].shape)
    own, known = np.array([0, 1, 2, 0]), np.array([False, False, True, True])
    for i, weight in enumerate(unseen_alone(SOME, own, known, genome)):
        some = SOME.take(own[[i]])
        shares = genome.of_length(int(some.length[0]))[0, int(known[i])]
        expected = (shares * (some.missed - some.both)[0]).sum() / (1 - some.lost[0])
        assert weight == pytest.approx(expected)


def test_a_mate_without_bases_is_none():
    some = mates((100, 3, FEW), (0, 0, NO_SEEDS))
    alone = unseen_alone(some, np.array([0]), np.array([False]), spectrum())
    assert weigh(some, 0, 1) == pytest.approx(alone) and weigh(some, 1, 0) == pytest.approx(alone)


def test_a_pair_does_not_depend_on_the_others():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 3, (2, 300))
    known = rng.integers(0, 3, 300)
    together = weigh(SOME, *rows, known)
    alone = [weigh(SOME, *rows[:, [i]], known[[i]])[0] for i in range(300)]
    assert together.tolist() == alone
