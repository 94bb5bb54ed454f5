"""The rate of mismatches of a library, and what it makes of one more error."""

import numpy as np
import pytest

from gassst.pairing.error_rate import ENOUGH_READS, MOST_BASES, UNKNOWN_LIBRARY, UNLIKE, ErrorRate


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


@pytest.mark.parametrize("n", [0, ENOUGH_READS - 1])
def test_few_reads_teach_nothing(n):
    assert ErrorRate.learned(np.zeros(n, np.int64), np.full(n, 100)) is UNKNOWN_LIBRARY


def test_reads_without_aligned_bases_do_not_count():
    aligned = np.r_[np.zeros(500, np.int64), np.full(ENOUGH_READS - 1, 100)]
    assert ErrorRate.learned(np.zeros(len(aligned), np.int64), aligned) is UNKNOWN_LIBRARY


def test_a_library_without_mismatches_still_has_a_rate():
    known = ErrorRate.learned(np.zeros(1000, np.int64), np.full(1000, 100))
    assert 0 < known.rate < 1e-4 and known.bases == MOST_BASES
    assert known.odds(0, 100) > 0


def test_odds_grow_with_errors_and_stay_below_one():
    known = ErrorRate(0.01, 50.0)
    odds = known.odds(np.arange(101), np.full(101, 100))
    assert (np.diff(odds) >= 0).all() and odds.max() <= 1


def test_the_order_of_reads_does_not_matter():
    rng = np.random.default_rng(3)
    aligned = rng.integers(30, 151, 500)
    seen = rng.binomial(aligned, 0.03)
    order = rng.permutation(500)
    assert ErrorRate.learned(seen, aligned) == ErrorRate.learned(seen[order], aligned[order])


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


def test_a_read_that_its_library_does_not_explain_speaks_for_itself():
    clean = ErrorRate(0.001, MOST_BASES)
    assert clean.odds(0, 100) == pytest.approx(0.001 / 3, rel=0.1)
    assert clean.odds(12, 100) == pytest.approx(UNKNOWN_LIBRARY.odds(12, 100), rel=0.01)
    assert UNKNOWN_LIBRARY.odds(12, 100) == pytest.approx(12.6 / (3 * 88.6), rel=0.01)


def test_a_library_of_the_strangest_reads_has_odds():
    """Some reads without an error and some of nothing else."""
    known = ErrorRate.learned(np.repeat([0, 60], 50), np.full(100, 60))
    assert known.bases >= UNKNOWN_LIBRARY.bases
    assert np.isfinite(known.odds([0, 30, 60], [60, 60, 60])).all()
