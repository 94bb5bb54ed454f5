"""What copies weigh that a search has not seen, beside the place that it reports.

A copy of the reported place is as far from it as the spectrum of the genome says (`gassst.index.spectrum`). How many
errors the read has there, and whether the seeds that led to the reported place lead to the copy, too, is exact.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst.index.miss_model import SeedsLooked
from gassst.index.spectrum import DIFFERENCES

# Where the reported place and a copy have no more probability than this together, as the odds of one error more are at
# least so much: the rest of thousands of cases adds nothing.
NEGLIGIBLE, LEAST_ODDS = 1e-10, 1e-3


class Copies(NamedTuple):
    """What a copy with 0 .. DIFFERENCES - 1 differences from the reported place weighs, float64[DIFFERENCES] each.

    Attributes
    ----------
    any : whether it was seen or not
    missed : where no seed leads to it
    both : where none leads to it nor to the reported place
    unseen : where none leads to it, but one does to the reported place; or where it is not counted
    lost : float
        Share of reads with so many errors of which no seed leads to the reported place.
    """

    any: NDArray[np.float64]
    missed: NDArray[np.float64]
    both: NDArray[np.float64]
    unseen: NDArray[np.float64]
    lost: float


class _Cases(NamedTuple):
    """How a read of m bases with some errors at a place may lie at a copy of it; a row for each case.

    Attributes
    ----------
    differences : of the copy
    further : errors that the read has more there
    chance : of this case, among those with as many differences
    common : errors at both places
    own, other : at the copy alone, at the reported place alone
    """

    differences: NDArray[np.int64]
    further: NDArray[np.int64]
    chance: NDArray[np.float64]
    common: NDArray[np.int64]
    own: NDArray[np.int64]
    other: NDArray[np.int64]


@cache
def _log_factorials(n: int) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])


def log_choose(n: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[j]: logarithms of binomial coefficients, of n (int64[j]) up to 4,096."""
    log = _log_factorials(1 << 12)
    return log[n] - log[k] - log[n - k]


@lru_cache(maxsize=1 << 10)
def _cases(m: int, errors: int) -> _Cases:
    """`hit` of the differences lie where the read has errors; of these, `same` errors are the base of the copy."""
    most = min(DIFFERENCES - 1, m)
    rows = np.indices((most + 1, most + 1, most + 1)).reshape(3, -1)
    differences, hit, same = rows[:, (rows[1] <= rows[0]) & (rows[2] <= rows[1])]
    fits = (hit <= errors) & (differences - hit <= m - errors)
    differences, hit, same = differences[fits], hit[fits], same[fits]
    e, every = np.full_like(hit, errors), np.full_like(hit, m)
    log = log_choose(e, hit) + log_choose(every - e, differences - hit) - log_choose(every, differences)
    # One error in three makes a base look like that of the copy.
    log += log_choose(hit, same) + same * np.log(1 / 3) + (hit - same) * np.log(2 / 3)
    chance, further = np.exp(log), differences - hit - same
    odds = max((errors + 0.1) / (3 * m), LEAST_ODDS)
    kept = chance * odds ** further.astype(np.float64) > NEGLIGIBLE
    columns = differences, further, chance, errors - same, differences - hit, same
    return _Cases(*(column[kept] for column in columns))


@lru_cache(maxsize=1 << 13)
def copies(m: int, errors: int, odds: float, seeds: SeedsLooked, counted: int | None) -> Copies:
    """Of a read of `m` bases with so many `errors` at the reported place.

    Parameters
    ----------
    m, errors : int
    odds : float
        How much less likely a place is for one error more.
    seeds : SeedsLooked
        That were looked up.
    counted : int or None
        Places with so many errors more were counted at most; None: all that were seen.
    """
    m = max(m, 1)  # a mate may be empty
    case = _cases(m, min(errors, m))
    w, known = seeds.length, np.frombuffer(seeds.missed)
    missed = np.ones(max(len(known), errors) + DIFFERENCES + 2)
    missed[: len(known)] = known
    weight = case.chance * odds ** case.further.astype(np.float64)
    # A seed misses both places where an error of both lies in it, or one of each: as if there were so many of both.
    hit = [1 - (1 - np.minimum(some / m, 1.0)) ** w for some in (case.own, case.other)]
    instead = case.common + m * (1 - (1 - hit[0] * hit[1]) ** (1 / w))
    low = instead.astype(np.int64)
    both = missed[low] + (instead - low) * (missed[low + 1] - missed[low])
    own = missed[errors + case.further]
    both, lost = np.minimum(both, own), float(missed[errors])
    unseen = np.minimum((own - both) / max(1 - lost, 1e-9), 1.0)
    if counted is not None:
        unseen[case.further > counted] = 1.0

    def by_differences(share: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.zeros(DIFFERENCES)
        np.add.at(sums, case.differences, weight * share)
        return sums

    return Copies(
        by_differences(np.ones(len(weight))),
        by_differences(own),
        by_differences(both),
        by_differences(unseen),
        lost,
    )
