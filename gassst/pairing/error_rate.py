"""The rate of mismatches of a run's reads, learned from its first reads: what one more error says of a place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma

import numpy as np
from numpy.typing import ArrayLike

# Reads from which on a rate is learned, and insert sizes are.
ENOUGH_READS = 64
# A library without any spread counts as so many bases: then a read's own errors hardly matter.
MOST_BASES = 10_000.0
# Share of reads that are taken to be unlike their library: with gaps, or of another genome.
UNLIKE = 0.01


@dataclass(frozen=True)
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
    """

    rate: float
    bases: float

    @classmethod
    def learned(cls, mismatches: np.ndarray, aligned: np.ndarray) -> ErrorRate:
        """From the mismatches (int64[n]) and aligned bases (int64[n]) of confident reads; of too few `UNKNOWN_LIBRARY`.

        The spread is that of a beta-binomial distribution with the variance that was seen.
        """
        some = aligned > 1
        if np.count_nonzero(some) < ENOUGH_READS:
            return UNKNOWN_LIBRARY
        e, m = mismatches[some].astype(np.int64), aligned[some].astype(np.int64)
        # Sums of whole numbers: the order of the reads, and so the number of threads, does not matter.
        total, squares, pairs_of_bases = int(m.sum()), int((m * m).sum()), int((m * (m - 1)).sum())
        rate = (int(e.sum()) + 0.5) / (total + 1)
        deviation = int((e * e).sum()) - 2 * rate * int((e * m).sum()) + rate**2 * squares
        # Correlation of two bases of a read.
        alike = (deviation / (rate * (1 - rate)) - total) / pairs_of_bases
        bases = 1 / max(alike, 1 / (MOST_BASES + 1)) - 1
        return cls(rate, min(max(bases, UNKNOWN_LIBRARY.bases), MOST_BASES))

    def odds(self, errors: ArrayLike, lengths: ArrayLike) -> np.ndarray:
        """float64[n]: how much less likely a place is for one error more than `errors` in a read of `lengths` bases."""
        reads = np.asarray(lengths, np.int64) << 16 | np.asarray(errors, np.int64)
        cases, case = np.unique(reads, return_inverse=True)
        return np.array([_odds(self, c & 0xFFFF, c >> 16) for c in cases.tolist()], np.float64)[case]

    def _odds(self, errors: int, length: int) -> float:
        # One error in three makes a base look like the other place.
        share = (errors + self.rate * self.bases) / (length + self.bases)
        return share / (3 * max(1 - share, 1 / 3))

    def _log_chance(self, errors: int, length: int) -> float:
        """Returns the logarithm of the chance that a read has these errors at given bases."""
        a, b = self.rate * self.bases, (1 - self.rate) * self.bases
        right = max(length - errors, 0)
        pieces = (errors + a, a), (right + b, b), (a + b, errors + right + a + b)
        return sum(lgamma(one) - lgamma(other) for one, other in pieces)


# Of reads of which nothing is known but themselves: 0.613 errors before their own.
UNKNOWN_LIBRARY = ErrorRate(0.5, 2 * 0.613)


@lru_cache(maxsize=1 << 14)
def _odds(library: ErrorRate, errors: int, length: int) -> float:
    """Returns the odds in a read that is of its library, or is unlike it and speaks for itself, as its errors say."""
    alone = UNKNOWN_LIBRARY._odds(errors, length)
    chance = UNKNOWN_LIBRARY._log_chance(errors, length) - library._log_chance(errors, length)
    unlike = UNLIKE * exp(min(chance, 500.0))
    return (unlike * alone + (1 - UNLIKE) * library._odds(errors, length)) / (unlike + 1 - UNLIKE)
