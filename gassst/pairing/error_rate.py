"""The rate of mismatches of a run's reads, learned from its first pairs: what one more error says of a place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

# Reads from which on a rate is learned, as many as for insert sizes.
ENOUGH_READS = 64
# A library without any spread counts as so many bases: then a read's own errors hardly matter.
MOST_BASES = 10_000.0


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
    def learned(cls, mismatches: np.ndarray, aligned: np.ndarray) -> ErrorRate | None:
        """From the mismatches (int64[n]) and aligned bases (int64[n]) of confident reads; None of too few.

        The spread is that of a beta-binomial distribution with the variance that was seen.
        """
        some = aligned > 1
        if np.count_nonzero(some) < ENOUGH_READS:
            return None
        e, m = mismatches[some].astype(np.int64), aligned[some].astype(np.int64)
        # Sums of whole numbers: the order of the reads, and so the number of threads, does not matter.
        total, squares, pairs_of_bases = int(m.sum()), int((m * m).sum()), int((m * (m - 1)).sum())
        rate = (int(e.sum()) + 0.5) / (total + 1)
        deviation = int((e * e).sum()) - 2 * rate * int((e * m).sum()) + rate**2 * squares
        alike = (
            deviation / (rate * (1 - rate)) - total
        ) / pairs_of_bases  # correlation of two bases of a read
        return cls(rate, min(1 / max(alike, 1 / (MOST_BASES + 1)) - 1, MOST_BASES))

    def odds(self, errors: ArrayLike, lengths: ArrayLike) -> np.ndarray:
        """float64[n]: how much less likely a place is for one error more than `errors` in a read of `lengths` bases.

        One error in three makes a base look like the other place.
        """
        errors, lengths = np.asarray(errors, np.float64), np.asarray(lengths, np.float64)
        share = (errors + self.rate * self.bases) / (lengths + self.bases)
        return share / (3 * np.maximum(1 - share, 1 / 3))
