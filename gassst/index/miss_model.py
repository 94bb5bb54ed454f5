"""Which share of alignments the seeds of a stage miss (Rizk 4.6.7).

An alignment is missed when every seed holds an error. Errors are taken to be spread uniformly over the read.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from gassst._core import seeds
from gassst.frozen import NamedTuple

# Errors that `stage_misses` tells apart; a read with more is as good as lost to seeds.
MISS_ERRORS = 64


@lru_cache(maxsize=4096)
def longest_seed(m: int, r: int, share: float, least: int = 1) -> int:
    """Longest seed that misses at most `share` of alignments of `m` bases with `r` errors.

    It has m // (r + 1) bases at least, and `least`.
    """
    w = max(least, m // (r + 1))
    while w < m and _gap_missed(m, w + 1, r, share) <= share:
        w += 1
    return w


def _gap_missed(m: int, w: int, r: int, share: float) -> float:
    """Share of alignments of `m` bases with `r` errors that leave no `w` bases in a row free of them, or 0 for less.

    By inclusion and exclusion over the gaps between errors. These are negatively associated: where k are expected to be
    long enough, none is in a share of at most exp(-k).
    """
    missed, all_ways = 1.0, _log_choose(m, r)
    for gaps in range(1, min(r + 1, (m - r) // w) + 1):
        ways = _log_choose(r + 1, gaps) + _log_choose(m - gaps * w, r) - all_ways
        expected = math.exp(ways)
        if gaps == 1 and expected > -math.log(share):
            return 0.0
        missed += -expected if gaps % 2 else expected
    return missed


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def miss_share(m: int, errors: Any, w: int, count: int) -> Any:
    """Share of alignments of `m` bases with `errors` errors that leave none of `count` disjoint seeds free of them.

    `errors`: one number or an array of them; the share is of the same shape.
    """
    return (1 - (1 - errors / m) ** w) ** count


class Stage(NamedTuple):
    """Seeds of a read that are looked up together: the first of `number` seeds of `length` bases, spread evenly over
    the read, and every `every`-th after it."""

    length: int
    number: int
    disjoint: bool
    every: int = 1

    @property
    def looked_up(self) -> int:
        return -(-self.number // self.every)


class SeedsLooked(NamedTuple):
    """What the seeds that were looked up of a read miss.

    Attributes
    ----------
    length : int
        Bases of a seed.
    missed : bytes
        float64[errors], share of alignments with as many errors that leave none of the seeds free of them. Those with
        more errors are missed.
    copies : bytes
        float64[differences], share of copies with as many differences that seeds of the reference miss, where the read
        lies. None were looked up of the copies with more.
    """

    length: int
    missed: bytes
    copies: bytes = b""

    @classmethod
    def of(cls, length: int, *shares: np.ndarray) -> SeedsLooked:
        """From arrays."""
        return cls(length, *(np.ascontiguousarray(share, np.float64).tobytes() for share in shares))


NO_SEEDS = SeedsLooked(1, b"")
"""Of a read of which none was looked up."""


@lru_cache(maxsize=4096)
def stage_misses(m: int, stages: tuple[Stage, ...], most: int = MISS_ERRORS) -> np.ndarray:
    """Share of alignments of `m` bases that the seeds of each stage miss, by errors: float64[stages, most]."""
    return seeds.stage_misses(m, stages, most)


@lru_cache(maxsize=1 << 12)
def dense_seeds(m: int, w: int, stride: int, passed_over: float) -> SeedsLooked:
    """What seeds of `w` bases miss that begin every `stride` ones of `m`, except a share that was passed over."""
    if m < w or passed_over >= 1:
        return NO_SEEDS
    every = min(round(stride / (1 - passed_over)), m)  # those that are left lie further apart
    return SeedsLooked.of(w, stage_misses(m, (Stage(w, m - w + 1, False, every),))[0])
