"""Which share of alignments the seeds of a stage miss (Rizk 4.6.7).

An alignment is missed when every seed holds an error. Errors are taken to be spread uniformly over the read.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gassst.params import MAX_ERRORS

# Errors that `best_of_stages` tells apart; a read with more is as good as lost to seeds.
MISS_ERRORS = 64


def miss_probability(m: int, r: int, w: int) -> float:
    """Share of alignments of `m` bases with `r` errors that hold no error-free run of `w` bases (Rizk 4.6.7).

    The errors are spread uniformly; inclusion and exclusion over the r + 1 runs between them.
    """
    if w > m:
        return 1.0
    runs = range(min(r + 1, (m - r) // w) + 1)
    total = sum((-1) ** i * math.comb(r + 1, i) * math.comb(m - i * w, r) for i in runs)
    return total / math.comb(m, r)


_cached_miss_probability = lru_cache(maxsize=65536)(miss_probability)


@lru_cache(maxsize=4096)
def longest_seed(m: int, r: int, share: float) -> int:
    """Longest seed, at least m // (r + 1), that misses at most `share` of alignments of `m` bases with `r` errors."""
    w = max(1, m // (r + 1))
    while w < m and miss_probability(m, r, w + 1) <= share:
        w += 1
    return w


def miss_share(m: int, errors: int, w: int, count: int) -> float:
    """Share of alignments of `m` bases with `errors` errors that leave none of `count` disjoint seeds free of them."""
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


def seed_offsets(m: int, stage: Stage) -> list[int]:
    """Where the seeds of a stage begin in a read of `m` bases, ascending (as `_seeds.Seeds` has it)."""
    room, gaps = m - stage.length, stage.number - 1
    return [j * room // gaps if gaps else room // 2 for j in range(0, stage.number, stage.every)]


@lru_cache(maxsize=8192)
def _missed_by_seeds(m: int, stage: Stage, most: int = MAX_ERRORS) -> np.ndarray:
    """Share of alignments of `m` bases that leave no seed of a stage free of errors, by their number: float64[e].

    Up to `most` errors, which are spread uniformly. Sets of errors that hit every seed are counted by their last
    error. The one before it must not lie so far back that a seed fits between the two.
    """
    starts = np.array(seed_offsets(m, stage))
    # The last seed to end at or before each base, or -1: an error must have hit it.
    last = np.searchsorted(starts + stage.length, np.arange(m + 1), side="right") - 1
    due = np.where(last >= 0, starts[last], -1) + 1
    first = np.minimum(due[:m], np.arange(1, m + 1))
    share = np.empty(min(m, most + 1))
    sets = np.zeros(m + 1)  # by 1 + last error; divided by the number of all sets of so many errors
    sets[0] = 1.0
    before = np.zeros(m + 2)  # sums of all sets before each
    for errors in range(len(share)):
        share[errors] = sets[due[m] :].sum()
        np.cumsum(sets, out=before[1:])
        np.maximum(before[1 : m + 1] - before[first], 0.0, out=sets[1:])
        sets[0] = 0.0
        sets *= (errors + 1) / (m - errors)
    return np.minimum(share, 1.0)


def stage_miss(m: int, errors: int, stage: Stage) -> float:
    """Share of alignments of `m` bases with `errors` errors that leave none of the seeds of a stage free of them."""
    if stage.disjoint:
        return miss_share(m, errors, stage.length, stage.looked_up)
    if _has_every_seed(m, stage):
        return _cached_miss_probability(m, errors, stage.length)
    if errors >= min(m, MAX_ERRORS + 1):
        return 1.0
    most = MISS_ERRORS - 1 if errors < MISS_ERRORS else MAX_ERRORS
    return float(_missed_by_seeds(m, stage, most)[errors])


def settled_errors(m: int, most: int, stage: Stage, share: float) -> int:
    """Most errors, up to `most`, of which a stage misses at most `share` of the alignments; -1: none.

    A stage misses no less of alignments with more errors.
    """
    if not share:
        return -1
    return bisect_right(range(most + 1), share, key=lambda errors: stage_miss(m, errors, stage)) - 1


@lru_cache(maxsize=4096)
def _stage_misses(m: int, stage: Stage) -> np.ndarray:
    """`stage_miss` by errors, up to `MISS_ERRORS` - 1: float64[e]."""
    if not stage.disjoint and not _has_every_seed(m, stage):
        return _missed_by_seeds(m, stage, MISS_ERRORS - 1)
    return np.array([stage_miss(m, errors, stage) for errors in range(min(m, MISS_ERRORS))])


def _has_every_seed(m: int, stage: Stage) -> bool:
    """Whether a seed begins with each base of a read of `m` bases."""
    return stage.every == 1 and stage.number == m - stage.length + 1


@lru_cache(maxsize=4096)
def best_of_stages(m: int, stages: tuple[Stage, ...]) -> np.ndarray:
    """float64[MISS_ERRORS]: share of alignments of `m` bases, by errors, in which the best of these stages finds no
    seed."""
    best = np.ones(MISS_ERRORS)
    for stage in stages:
        misses = _stage_misses(m, stage)
        best[: len(misses)] = np.minimum(best[: len(misses)], misses)
    return best
