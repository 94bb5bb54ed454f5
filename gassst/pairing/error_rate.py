"""The rate of mismatches of a run's reads, learned from its first reads: what one more error says of a place."""

from __future__ import annotations

from functools import lru_cache
from math import log10
from typing import Any

import numpy as np

from gassst._core.read_search import Odds
from gassst.frozen import frozen, replace

# Reads from which on a rate is learned, and insert sizes are.
ENOUGH_READS = 64
# Share of reads that are taken to be unlike their library: with gaps, or of another genome.
UNLIKE = 0.01


def phred(chance: float) -> float:
    """Returns the Phred score of a chance, not rounded."""
    return -10 * log10(chance)


def share(seen: Any, of: Any) -> Any:
    """The share that so many of a number suggest: a half of one more is expected, as nothing is known of it."""
    return (2 * seen + 1) / (2 * of + 2)


@frozen()
class ErrorRate:
    """Mismatches per base of the reads of a library, and how far its reads differ in it.

    A read of m bases with e errors is expected to have (e + rate * bases) / (m + bases) of them per base: the mean of
    a beta distribution. Where all reads are alike, the library says more than the read does.

    Attributes
    ----------
    rate : float
        Mismatches per base of the library. Gaps do not count: one of five bases is no sign of a bad read.
    bases : float
        Bases of a read that weigh as much as the library does.
    damage : tuple of float
        As `deamination` has it.
    elsewhere : float
        Share of reads without a place, where the rate is unknown: a known one is that of the others.
    """

    rate: float
    bases: float
    damage: tuple[float, ...] = ()
    elsewhere: float = 0.0

    @classmethod
    def learned(
        cls,
        mismatches: np.ndarray,
        aligned: np.ndarray,
        damage: tuple[float, ...] = (),
        elsewhere: float = 0.0,
    ) -> ErrorRate:
        """From the mismatches (int64[n]) and aligned bases (int64[n]) of confident reads; of too few an unknown rate.

        The spread is that of a beta-binomial distribution with the variance that was seen. A library without any counts
        as all bases that were seen: then a read's own errors hardly matter.
        """
        some = aligned > 1
        if np.count_nonzero(some) < ENOUGH_READS:
            return replace(UNKNOWN_LIBRARY, elsewhere=elsewhere)
        e, m = mismatches[some].astype(np.int64), aligned[some].astype(np.int64)
        # Sums of whole numbers: the order of the reads, and so the number of threads, does not matter.
        total, squares, pairs_of_bases = int(m.sum()), int((m * m).sum()), int((m * (m - 1)).sum())
        rate = share(int(e.sum()), total)
        deviation = int((e * e).sum()) - 2 * rate * int((e * m).sum()) + rate**2 * squares
        # Correlation of two bases of a read.
        alike = (deviation / (rate * (1 - rate)) - total) / pairs_of_bases
        bases = 1 / max(alike, 1 / (total + 1)) - 1
        return cls(rate, max(bases, UNKNOWN_LIBRARY.bases), damage)

    @property
    def is_known(self) -> bool:
        """Whether a rate was learned."""
        return self.rate != UNKNOWN_LIBRARY.rate

    def shares(self, lengths: np.ndarray, most: int) -> np.ndarray:
        """float64[n, most]: how many reads of `lengths` bases (int64[n]) have 0 to `most` - 1 errors, as shares."""
        right, m, e = (1 - self.rate) * self.bases, lengths[:, None], np.arange(most - 1)
        base = np.arange(lengths.max())
        none = np.cumprod(np.append(1.0, (right + base) / (self.bases + base)))[m]
        left = np.maximum(m - e, 0)
        more = left * (self.rate * self.bases + e) / ((e + 1) * (right + np.maximum(left - 1, 0)))
        return np.cumprod(np.hstack([none, more]), axis=1)

    @property
    def cost(self) -> int:
        """Phred of a mismatch that no deamination explains, where those are known."""
        return round(phred(self.damage[0]))

    @property
    def costs(self) -> np.ndarray:
        """uint16[d, 2, 2]: the same of C read as T and of G read as A, by distance from the 5' and the 3' end."""
        costs = np.rint([phred(chance) for chance in self.damage[1:]]).astype(np.uint16)
        return np.minimum(costs, self.cost).reshape(-1, 2, 2)

    @property
    def average_cost(self) -> float:
        """Phred of a mismatch of the average kind."""
        return phred(self.rate / 3)

    @property
    def table(self) -> Odds:
        """The odds of one error more, as compiled code looks them up."""
        return _table(self.rate, self.bases)

    def odds(self, errors: Any, lengths: Any) -> np.ndarray:
        """float64[n]: how much less likely a place is for one error more than `errors` in a read of `lengths` bases."""
        return self.table.of(*(np.atleast_1d(np.asarray(column, np.int64)) for column in (errors, lengths)))


def deamination(cycles: np.ndarray, damage: np.ndarray) -> tuple[float, ...]:
    """Where the bases of a library are deaminated, of counts as `Stats` has them; () where that does not show.

    It does where one end has twice as many C read as T as G read as A, or the other way: what is no damage, errors and
    variants, is as often either. The first number is the chance that a base is read as any other one. Those that C is
    read as T and G as A follow, by distance from the 5' and the 3' end: float[d, 2, 2].
    """
    of, seen = damage[..., ::2], damage[..., 1::2]
    total = seen.sum(axis=0)
    if not ((total >= ENOUGH_READS) & (total > 2 * total[:, ::-1])).any():
        return ()
    bases, mismatches = cycles[: len(seen), :2].sum(axis=0).tolist()
    # Ten of the twelve ways to read a base as another one are left: 2.5 for each base.
    other = share(mismatches - int(total[0].sum()), bases) / 2.5
    return (other, *share(seen, of).ravel().tolist())


# Of reads of which nothing is known but themselves: 0.613 errors before their own.
UNKNOWN_LIBRARY: ErrorRate = ErrorRate(0.5, 2 * 0.613)


@lru_cache(maxsize=16)
def _table(rate: float, bases: float) -> Odds:
    return Odds(rate, bases, UNKNOWN_LIBRARY.rate, UNKNOWN_LIBRARY.bases, UNLIKE)
