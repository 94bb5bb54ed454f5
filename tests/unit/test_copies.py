"""What copies weigh that a search has not seen (`_core.read_search`), against reads that are drawn at random."""

from types import SimpleNamespace

import numpy as np
import pytest
from rating import alike, rated_wholes, rater

from gassst.index.miss_model import NO_SEEDS, SeedsLooked, Stage, stage_misses
from gassst.index.spectrum import DIFFERENCES

M, W = 60, 15
DISJOINT = SeedsLooked.of(
    W, stage_misses(M, (Stage(W, M // W, False),))[0]
)  # without the rule for disjoint ones


def copies(m, errors, odds, seeds):
    """Weighs the copies of one read."""
    some = rater([seeds], alike(odds))
    rated_wholes(some, [m], [[errors]])
    [case] = some.cases.kept
    return SimpleNamespace(**{name: np.array(case[name]) for name in ("missed", "both", "lost")})


def drawn(rng, n, differences, errors):
    """Errors of n reads at the place and at a copy, and whether a disjoint seed is free of them: int64[n], bool[n]."""
    order = rng.random((n, M)).argpartition(differences, axis=1)
    differs = np.zeros((n, M), bool)
    np.put_along_axis(differs, order[:, :differences], True, axis=1)
    order = rng.random((n, M)).argpartition(errors, axis=1)
    is_error = np.zeros((n, M), bool)
    np.put_along_axis(is_error, order[:, :errors], True, axis=1)
    like_copy = differs & is_error & (rng.random((n, M)) < 1 / 3)
    at_copy = (differs | is_error) & ~like_copy
    clean = [~wrong.reshape(n, M // W, W).any(axis=2) for wrong in (is_error, at_copy)]
    return at_copy.sum(axis=1), *(some.any(axis=1) for some in clean)


@pytest.mark.parametrize("differences", [1, 3, 8])
@pytest.mark.parametrize("errors", [0, 2, 6])
def test_weights_are_those_of_random_reads(differences, errors):
    odds, n = 0.2, 200_000
    rng = np.random.default_rng(differences * 10 + errors)
    found, leads, leads_to_copy = drawn(rng, n, differences, errors)
    weight = odds ** (found - errors).astype(float)
    some = copies(M, errors, odds, DISJOINT)
    every = copies(M, errors, odds, NO_SEEDS)
    assert every.missed[differences] == pytest.approx(weight.mean(), rel=0.05, abs=2e-5)
    # What both places miss is estimated.
    near = {"rel": 0.3, "abs": 2e-3}
    assert some.missed[differences] == pytest.approx((weight * ~leads_to_copy).mean(), **near)
    assert some.both[differences] == pytest.approx((weight * ~leads_to_copy * ~leads).mean(), **near)
    assert some.lost == pytest.approx((~leads).mean(), abs=0.03)


def test_seeds_that_lead_to_a_place_lead_to_its_exact_copies():
    for errors in range(10):
        some = copies(M, errors, 0.02, DISJOINT)
        assert some.missed[0] == some.both[0]


def test_where_no_seed_was_looked_up_everything_is_missed():
    some = copies(M, 3, 0.02, NO_SEEDS)
    assert np.array_equal(some.missed, some.both) and (some.missed > 0).all() and some.lost == 1


def test_no_alignment_with_fewer_errors_than_are_complete_is_missed():
    missed = np.r_[np.zeros(5), np.ones(20)]
    assert not copies(M, 2, 0.02, SeedsLooked.of(W, missed)).missed[:2].any()


@pytest.mark.parametrize("m", [1, 20, 36, 250, 4000])
def test_any_read_has_finite_weights(m):
    for errors in {0, 1, m // 5, m}:
        some, every = copies(m, errors, 0.3, DISJOINT), copies(m, errors, 0.3, NO_SEEDS)
        for column in (some.missed, some.both):
            assert column.shape == (DIFFERENCES,) and np.isfinite(column).all() and (column >= 0).all()
        assert (some.both <= some.missed).all() and (some.missed <= every.missed + 1e-12).all()
