"""What copies weigh that a search has not seen, beside the place that it reports.

A copy of the reported place is as far from it as the spectrum of the genome says (`gassst.index.spectrum`). How many
errors the read has there, and whether the seeds that led to the reported place lead to the copy, too, is exact.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gassst._core import copies as _copies
from gassst.index.miss_model import SeedsLooked
from gassst.index.spectrum import DIFFERENCES, Spectrum
from gassst.model.array_types import F64, I64, Bool


class Searched(NamedTuple):
    """How k places were found.

    Attributes
    ----------
    length, errors : int64[k]
        Bases that are aligned, and errors in them.
    odds : float64[k]
        How much less likely one more error makes a place.
    seeds : list of SeedsLooked
        That were looked up in these bases.
    """

    length: I64
    errors: I64
    odds: F64
    seeds: list[SeedsLooked]


class Copies(NamedTuple):
    """What copies of k places weigh, relative to these, by how many differences they have from them.

    Attributes
    ----------
    length : int64[k]
        Bases that are aligned.
    missed : float64[k, DIFFERENCES]
        Where no seed leads to it.
    both : float64[k, DIFFERENCES]
        Where none leads to it nor to the reported place.
    lost : float64[k]
        Share of reads with so many errors of which no seed leads to the reported place.
    """

    length: I64
    missed: F64
    both: F64
    lost: F64

    @classmethod
    def of(cls, found: Searched) -> tuple[Copies, I64]:
        """The copies of places that were found so, once where several are alike; int64[k], the row of each place."""
        columns = found.length.tolist(), found.errors.tolist(), found.odds.tolist(), found.seeds
        rows: dict[tuple[int, int, float, SeedsLooked], int] = {}
        row = [rows.setdefault(case, len(rows)) for case in zip(*columns, strict=True)]
        weights = [_weights(*case) for case in rows]
        sums = np.array([some for some, _ in weights]).reshape(-1, 2, DIFFERENCES)
        lost = np.array([share for _, share in weights], np.float64)
        length = np.array([case[0] for case in rows], np.int64)
        return cls(length, sums[:, 0], sums[:, 1], lost), np.array(row, np.int64)

    @classmethod
    def concatenate(cls, parts: list[Copies]) -> Copies:
        """All of them, in order."""
        columns: list[np.ndarray] = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return cls(*columns)

    def take(self, rows: I64) -> Copies:
        """Takes the rows of some places."""
        columns: list[np.ndarray] = [column[rows] for column in self]
        return Copies(*columns)


NO_MATE = Copies(np.zeros(1, np.int64), np.eye(1, DIFFERENCES), np.eye(1, DIFFERENCES), np.ones(1))
"""Of a mate without any bases."""


def log_choose(n: I64, k: I64) -> F64:
    """float64[j]: logarithms of binomial coefficients, of n (int64[j]) up to 4,096."""
    log = _copies.LOG_FACTORIALS
    return log[n] - log[k] - log[n - k]


@lru_cache(maxsize=1 << 13)
def _weights(m: int, errors: int, odds: float, seeds: SeedsLooked) -> tuple[F64, float]:
    """`missed` and `both` of `Copies` (float64[2, DIFFERENCES]) and `lost`, of a read of `m` bases.

    It has so many `errors` at the reported place; one more error makes a place less likely by `odds`.
    """
    m, known = max(m, 1), np.frombuffer(seeds.missed)  # a mate may be empty
    lost = float(known[errors]) if errors < len(known) else 1.0
    return _copies.copy_weights(m, min(errors, m), odds, seeds.length, known, DIFFERENCES), lost


def unseen(copies: Copies, own: I64, other: I64, known: I64, spectrum: Spectrum) -> F64:
    """float64[n]: weight, relative to the reported place of a read and of its mate, of the copies that no seed led to.

    A copy was seen where a seed led to either mate: mates are looked for around each other.

    Parameters
    ----------
    copies : Copies
        Of all cases.
    own, other : int64[n]
        Those of reads and of their mates.
    known : int64[n]
        How many of both mates have a near copy that is known: 2 where another pair of places is.
    """
    # Many pairs are alike.
    key = (own * len(copies.length) + other) * 3 + known
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    one, two = copies.take(own[first]), copies.take(other[first])
    lengths = one.length << 34 | two.length << 2 | known[first]
    cases, which = np.unique(lengths, return_inverse=True)
    by_case = [_of_both(spectrum, c >> 34, c >> 2 & 0xFFFFFFFF, c & 3) for c in cases.tolist()]
    shares = np.array(by_case).reshape(-1, DIFFERENCES, DIFFERENCES)
    # A product of matrices would round a row by how many there are.
    missed, both = np.zeros_like(two.missed), np.zeros_like(two.both)
    for d in range(DIFFERENCES):
        missed += one.missed[:, d, None] * shares[which, d]
        both += one.both[:, d, None] * shares[which, d]
    hidden = (missed * two.missed - both * two.both).sum(axis=1)
    return (np.maximum(hidden, 0) / np.maximum(1 - one.lost * two.lost, 1e-9))[inverse]


def unseen_alone(copies: Copies, own: I64, known: Bool, spectrum: Spectrum) -> F64:
    """float64[n]: the same of reads without a mate, of which a near copy is `known`."""
    nobody = np.full(len(own), len(copies.length))
    return unseen(Copies.concatenate([copies, NO_MATE]), own, nobody, 2 * known.astype(np.int64), spectrum)


@lru_cache(maxsize=1 << 11)
def _of_both(spectrum: Spectrum, m: int, other: int, known: int) -> F64:
    """float64[DIFFERENCES, DIFFERENCES]: share of pairs whose nearest copy has so many differences in either mate.

    Of mates of `m` and `other` bases, of which so many have a near copy that is `known`. Between none and both there
    is the geometric mean. The differences of a pair lie anywhere in its bases; a mate without bases has none.
    """
    of_pairs = m > 0 and other > 0
    bases = round(np.sqrt(m * other)) if of_pairs else m + other
    alone, beside = spectrum.of_length(bases)[int(of_pairs)]
    shares = alone ** (1 - known / 2) * beside ** (known / 2)
    one, two = np.indices((DIFFERENCES, DIFFERENCES))
    share = m / max(m + other, 1)
    divided = np.exp(log_choose(one + two, one)) * share**one * (1 - share) ** two
    inside = one + two < DIFFERENCES
    return np.where(inside, shares[np.where(inside, one + two, 0)] * divided, 0.0)
