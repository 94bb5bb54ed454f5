"""The rate of mismatches of a library, and what it makes of one more error."""

from math import comb

import numpy as np
import pytest

from gassst.pairing.error_rate import MOST_BASES, UNKNOWN_LIBRARY, UNLIKE, ErrorRate


def test_reads_that_are_alike_are_judged_by_the_library():
    rng = np.random.default_rng(1)
    aligned = rng.integers(50, 151, 4000)
    known = ErrorRate.learned(rng.binomial(aligned, 0.02), aligned)
    assert known.rate == pytest.approx(0.02, rel=0.05)
    assert known.bases > 2000
    # A base in three looks like the other place: 0.02 / 3 / 0.98.
    assert known.odds([0, 2, 6], [100, 100, 100]) == pytest.approx(0.0068, rel=0.25)


def test_the_spread_of_a_beta_binomial_library_is_found():
    rng = np.random.default_rng(2)
    aligned = np.full(20_000, 100)
    seen = rng.binomial(aligned, rng.beta(0.02 * 150, 0.98 * 150, len(aligned)))
    known = ErrorRate.learned(seen, aligned)
    assert known.rate == pytest.approx(0.02, rel=0.05)
    assert known.bases == pytest.approx(150, rel=0.15)
    clean, bad = known.odds([0, 12], [100, 100])
    assert 5 * clean < bad


def beta_binomial(errors: int, length: int, rate: float, bases: float) -> float:
    """Probability of these errors at given bases, as a product of what the bases before say of each."""
    probability, seen = 1.0, 0
    for i in range(length):
        share = (rate * bases + seen) / (bases + i)
        is_error = i < errors
        probability *= share if is_error else 1 - share
        seen += is_error
    return probability


@pytest.mark.parametrize("length", [30, 100, 250])
@pytest.mark.parametrize("rate, bases", [(0.001, 40.0), (0.02, 300.0), (0.08, MOST_BASES)])
def test_odds_are_those_of_a_mixture_of_the_library_and_of_reads_unlike_it(length, rate, bases):
    def chance(errors: int) -> float:
        alone = beta_binomial(errors, length, UNKNOWN_LIBRARY.rate, UNKNOWN_LIBRARY.bases)
        return UNLIKE * alone + (1 - UNLIKE) * beta_binomial(errors, length, rate, bases)

    errors = np.arange(length // 4)
    odds = ErrorRate(rate, bases).odds(errors, np.full(len(errors), length))
    # An error in three makes a base look like the other place. The read has that base whichever place is true, so the
    # share of errors is that of all bases, not of all but one.
    expected = np.array([chance(e + 1) / chance(e) for e in range(len(errors))]) / 3
    assert odds == pytest.approx(expected, rel=1.5 / length + 0.05)


@pytest.mark.parametrize("rate, bases", [(0.001, 40.0), (0.02, 300.0), (0.08, MOST_BASES)])
def test_how_many_reads_have_each_number_of_errors(rate, bases):
    lengths = np.array([100, 5, 250])
    shares = ErrorRate(rate, bases).shares(lengths, 12)
    expected = [[comb(m, e) * beta_binomial(e, m, rate, bases) for e in range(12)] for m in lengths.tolist()]
    assert shares == pytest.approx(np.array(expected), rel=1e-6)


def test_of_too_few_sure_reads_the_share_that_has_a_place_is_kept():
    few, enough = np.zeros(63, int), np.zeros(64, int)
    silent = ErrorRate.learned(few, few + 100, elsewhere=0.9)
    assert not silent.is_known and silent.elsewhere == 0.9 and silent.table is UNKNOWN_LIBRARY.table
    known = ErrorRate.learned(enough, enough + 100, elsewhere=0.9)
    assert known.is_known and known.elsewhere == 0


def test_a_read_that_its_library_does_not_explain_speaks_for_itself():
    clean = ErrorRate(0.001, MOST_BASES)
    assert clean.odds(0, 100) == pytest.approx(0.001 / 3, rel=0.1)
    assert clean.odds(12, 100) == pytest.approx(UNKNOWN_LIBRARY.odds(12, 100), rel=0.01)
    assert UNKNOWN_LIBRARY.odds(12, 100) == pytest.approx(12.6 / (3 * 88.6), rel=0.01)
