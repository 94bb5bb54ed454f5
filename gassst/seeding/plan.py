"""Which seeds of a read are looked up: how many, how long, in which order.

The search goes in stages. A stage looks up `count` seeds of `length` bases of both strands, spread evenly over
the read. Where they are disjoint, the pigeonhole principle holds: every alignment with fewer errors than
there are seeds contains one of them free of errors. So a read needs no further stage once the strata of errors that
its sensitivity level asks for (`params.Level`) are known to be complete. The last stage takes overlapping seeds where
disjoint ones would have to be too short, and misses the share that Rizk 4.6.7 computes.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gassst.params import LEVELS, MAX_ERRORS, MAX_GAPS, MAX_READ_LENGTH, MIN_READ_LENGTH, MapParams

DEFAULT_IDENTITY = 80.0
CHANCE_HITS = 0.01  # most alignments of a random read to expect within the default error limit
DEFAULT_MAX_GAPS = 16  # the widest that shares one 64-bit word with a bucket of 32 diagonals
MISS_SHARE = 0.01  # thesis: "missing at most 1 %"
STAGE_LENGTHS = (25, 20, 14)  # of disjoint seeds, before the shortest
LONG_SEED = 20  # `params.Level` limits occurrences of longer and shorter seeds apart
# Overlapping seeds are taken this far apart at first, and all of them only where that settles nothing.
SPARSE = 6
MARGIN = 2  # strata looked at beyond the best one: enough to tell how far the second best is


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


@lru_cache(maxsize=4096)
def _missed_by_seeds(m: int, stage: Stage) -> np.ndarray:
    """Share of alignments of `m` bases with 0 to m - 1 errors that leave no seed of a stage free of them, float64[m].

    Errors are spread uniformly. Of sets of errors, those that hit every seed are counted by their last error: the
    one before it must not lie so far back that a seed fits between the two.
    """
    starts = np.array(seed_offsets(m, stage))
    # The last seed to end at or before each base, or -1: an error must have hit it.
    last = np.searchsorted(starts + stage.length, np.arange(m + 1), side="right") - 1
    due = np.where(last >= 0, starts[last], -1) + 1
    share = np.empty(m)
    sets = np.zeros(m + 1)  # by 1 + last error; divided by the number of all sets of so many errors
    sets[0] = 1.0
    for errors in range(m):
        share[errors] = sets[due[m] :].sum()
        before = np.concatenate([[0.0], np.cumsum(sets)])
        sets[1:] = np.maximum(before[1 : m + 1] - before[np.minimum(due[:m], np.arange(1, m + 1))], 0.0)
        sets[0] = 0.0
        sets *= (errors + 1) / (m - errors)
    return np.minimum(share, 1.0)


def stage_miss(m: int, errors: int, stage: Stage) -> float:
    """Share of alignments of `m` bases with `errors` errors that leave none of the seeds of a stage free of them."""
    if stage.disjoint:
        return miss_share(m, errors, stage.length, stage.looked_up)
    if stage.every == 1 and stage.number == m - stage.length + 1:
        return _cached_miss_probability(m, errors, stage.length)
    return float(_missed_by_seeds(m, stage)[errors]) if errors < m else 1.0


def settled_errors(m: int, most: int, stage: Stage, share: float) -> int:
    """Most errors, up to `most`, of which a stage misses at most `share` of the alignments; -1: none."""
    return next((d for d in range(most, -1, -1) if share and stage_miss(m, d, stage) <= share), -1)


@lru_cache(maxsize=4096)
def default_errors(m: int, n_bases: int) -> int:
    """Errors allowed by default in a read of `m` bases on a reference of `n_bases`.

    20 % of the read, but never so many that a random read would be expected to align by chance:
    about C(m, d) * 8^d words lie within d errors (3 substitutions, 4 insertions and 1 deletion a base).
    """
    errors = min(MAX_ERRORS, math.floor(m * (100 - DEFAULT_IDENTITY) / 100))
    while errors > 0 and chance_hits(m, errors, n_bases) > CHANCE_HITS:
        errors -= 1
    return errors


def chance_hits(m: int, d: int, n_bases: int) -> float:
    """Expected number of places on both strands of `n_bases` random bases within `d` errors of a random read."""
    log_words = math.log(math.comb(m, d)) + d * math.log(8) - m * math.log(4) if d <= m else 0.0
    return 2.0 * n_bases * math.exp(min(0.0, log_words))


@dataclass(frozen=True)
class LengthPlan:
    """The plan for reads of one length: errors, gaps, words of a band, stages."""

    errors: int
    gaps: int
    words: int
    stages: tuple[Stage, ...]


def band_words(gaps: int, shift: int) -> int:
    """Words of 64 diagonals that hold a bucket of 2^shift diagonals and `gaps` more on either side."""
    return next(w for w in (1, 2, 4, 8) if 64 * w >= 2 * gaps + (1 << shift))


class SearchPlan:
    """Plans by read length, filled as lengths turn up, as arrays that the compiled stages index by length.

    Attributes
    ----------
    shift : int
        log2 of the diagonals in a bucket: 5 where they share a word with the gaps, else 4. The same for all reads.
    gaps : int
        Gap bases up to which no alignment of any read is missed.
    errors, words : uint16/uint8[MAX_READ_LENGTH + 1]
    settled, settled_alone : int16[stages, MAX_READ_LENGTH + 1]
        A read with an alignment of no more errors does not need this stage at this sensitivity level, the second where
        no other band came near; -1: no alignment is good enough.
    seed_length, seed_count, seed_every, disjoint : uint16[stages, MAX_READ_LENGTH + 1]
        As `Stage` has them; `seed_count` is 0 where a length has no such stage, `disjoint` how many disjoint seeds.
    """

    MAX_STAGES = 8  # bits of BatchSearch.looked

    def __init__(self, params: MapParams, k: int, n_bases: int):
        self.params, self.k, self.n_bases = params, k, n_bases
        self.level = LEVELS[params.sensitivity]
        size = MAX_READ_LENGTH + 1
        self.errors = np.zeros(size, np.uint16)
        default_gaps = MAX_GAPS if params.all_hits else DEFAULT_MAX_GAPS
        self.gaps = default_gaps if params.gaps is None else params.gaps
        self.shift = 5 if self.gaps <= DEFAULT_MAX_GAPS else 4
        self.words = np.zeros(size, np.uint8)
        self.settled = np.full((self.MAX_STAGES, size), -1, np.int16)
        self.settled_alone = self.settled.copy()
        self.seed_length = np.zeros((self.MAX_STAGES, size), np.uint16)
        self.seed_count = np.zeros((self.MAX_STAGES, size), np.uint16)
        self.seed_every = np.ones((self.MAX_STAGES, size), np.uint16)
        self.disjoint = np.zeros((self.MAX_STAGES, size), np.uint16)
        self.caps = np.array([self.occurrence_cap(w) for w in range(k + 17)], np.uint32)
        self._known = np.zeros(size, bool)
        self.missed = lru_cache(maxsize=1 << 16)(
            self._missed
        )  # asked for the same few hundred in every batch
        self._lock = threading.Lock()

    def prepare(self, lengths: np.ndarray) -> None:
        """Fill the arrays for every length of `lengths` (uint32[n])."""
        present = np.flatnonzero(np.bincount(lengths, minlength=1))
        if self._known[present].all():
            return
        with self._lock:
            for m in present[~self._known[present]]:
                self._store(int(m), self.plan(int(m)))

    def _store(self, m: int, plan: LengthPlan) -> None:
        self.errors[m], self.words[m] = plan.errors, plan.words
        for i, stage in enumerate(plan.stages):
            self.seed_length[i, m], self.seed_count[i, m], self.seed_every[i, m] = (
                stage.length,
                stage.number,
                stage.every,
            )
            self.disjoint[i, m] = stage.number if stage.disjoint else 0
            if i:
                before = plan.stages[i - 1]
                self.settled[i, m] = settled_errors(m, plan.errors, before, self.level.share)
                self.settled_alone[i, m] = settled_errors(m, plan.errors, before, self.level.share_alone)
        self._known[m] = True

    def plan(self, m: int) -> LengthPlan:
        """The plan for reads of `m` bases."""
        errors = self._errors(m)
        gaps = min(errors, self.gaps)
        return LengthPlan(errors, gaps, band_words(gaps, self.shift), tuple(self._stages(m, errors)))

    def _errors(self, m: int) -> int:
        if self.params.min_identity is None:
            return default_errors(m, self.n_bases)
        return min(MAX_ERRORS, math.floor(m * (100 - self.params.min_identity) / 100 + 1e-9))

    def _missed(self, m: int, errors: int, complete: int, looked: int) -> float:
        """Share of alignments of `m` bases with `errors` errors that a search would have missed.

        `complete`: every alignment with fewer errors has been seen; `looked`: bit s is set where the seeds of stage s
        were looked up. 1 for more errors than are allowed, and where none were, as of a mate too short for seeds.
        """
        if errors < complete:
            return 0.0
        if errors > self.errors[m] or not looked:
            return 1.0
        last = looked.bit_length() - 1
        w, count, every = (int(row[last, m]) for row in (self.seed_length, self.seed_count, self.seed_every))
        if self.disjoint[last, m]:
            return miss_share(m, errors, w, max(complete, 1))
        return stage_miss(m, errors, Stage(w, count, False, every))

    def shortest_seed(self, m: int, errors: int) -> int:
        """Seed length of the last stage: -w, or the longest that misses 1 %, but not one that chance drowns."""
        longest = min(self.k + 16, m)
        if self.params.seed_length is not None:
            return min(self.params.seed_length, longest)
        affordable = math.ceil(math.log(max(self.n_bases, 4), 4))
        if self.params.all_hits:
            affordable = max(self.k - 2, 4)
        return min(longest, max(longest_seed(m, errors, MISS_SHARE), affordable))

    def _stages(self, m: int, errors: int) -> list[Stage]:
        if m < MIN_READ_LENGTH:
            return []
        w = self.shortest_seed(m, errors)
        overlapping = Stage(w, math.ceil((m - w) / self.level.step) + 1, False)
        last = Stage(w, errors + 1, True) if w * (errors + 1) <= m else overlapping
        if self.params.all_hits:
            return [last]
        counts = sorted({m // v for v in (*STAGE_LENGTHS, w) if w <= v <= m})
        stages = [Stage(min(m // s, self.k + 16), s, True) for s in counts if s < last.number]
        if not last.disjoint and self.level.share_alone and last.number > SPARSE:
            stages.append(last._replace(every=max(2, SPARSE // self.level.step)))
        return [*stages, last]

    def occurrence_cap(self, w: int) -> int:
        """Occurrences above which a seed of `w` bases is passed over at this sensitivity level."""
        factor = self.level.occurrences if w >= LONG_SEED else self.level.occurrences_short
        most = 0xFFFFFFFF
        return most if factor is None else min(most, int(factor * (1 + self.n_bases / 4.0**w)))
