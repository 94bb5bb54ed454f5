"""Which seeds of a read are looked up: how many, how long, in which order.

The search goes in stages. A stage looks up `count` seeds of `length` bases of both strands, spread evenly over
the read. Where they are disjoint, the pigeonhole principle holds: every alignment with fewer errors than
there are seeds contains one of them free of errors. So a read needs no further stage once the strata of errors that
its sensitivity level asks for (`presets.Preset`) are known to be complete. Overlapping seeds, which are used where
disjoint ones would have to be too short, miss the share that Rizk 4.6.7 computes.

The stages of a length are the cheapest list of them that ends with one that loses too few reads to matter. What a list
costs is expected of reads with few errors or many: each stage is paid for by the reads that those before leave open.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import lru_cache, partial
from operator import is_not
from typing import Any, TypeVar
from weakref import WeakValueDictionary, proxy

import numpy as np

from gassst._core.read_search import DIFFERENCES, Cases, Odds, Rater, chance_hits
from gassst._core.seeds import cheapest_path, judge_stages
from gassst._core.stages import BAND_REACH
from gassst.frozen import frozen, replace
from gassst.index.file import MIN_K, SORTED
from gassst.index.miss_model import (
    MISS_ERRORS,
    NO_SEEDS,
    SeedsLooked,
    Stage,
    dense_seeds,
    longest_seed,
    miss_share,
    stage_misses,
)
from gassst.index.spectrum import LENGTHS, LETTERS, SHIFT, Spectrum
from gassst.model.params import (
    LEAST_SHARE,
    MAX_ERRORS,
    MAX_GAPS,
    MAX_READ_LENGTH,
    MIN_READ_LENGTH,
    MapParams,
)
from gassst.model.presets import EXTRA_STRATA, PRESETS
from gassst.model.rules import rule
from gassst.pairing.error_rate import ErrorRate
from gassst.workers.forks import watch_forks

DEFAULT_IDENTITY = 80.0
# Seldom enough: for a random read to fit somewhere within the default limit of errors, and for seeds to miss a read
# (thesis: "missing at most 1 %").
SELDOM = 0.01
DEFAULT_MAX_GAPS = BAND_REACH
WORD_GAPS = DEFAULT_MAX_GAPS + 1  # most with which a bucket of 32 diagonals fits one 64-bit word
# Bases of a read for each error that it is expected to have at most. 5 to 20 place the same reads right
# (lab/constants.md).
LIKELY_ERRORS = 10
LIKELY = ErrorRate(1 / LIKELY_ERRORS, 1 << 40)
"""A library of reads that are all as bad."""
# Places in repeats, beside its own, that a seed of the genome leads to, times its bases (lab/constants.md).
COPIES = 100
# Share of reads without a place, which pay for every stage. 0.002 to 0.005 make the same stages of 75 and 100 bases.
NOWHERE = SELDOM / 2
SETTLED_BY_SHARE = rule("settled-by-share", "Leaves out a stage that would find hardly any further place.")
# Bases by which a dense seed is longer than one that occurs once by chance. With 2 and 6 fewer are right.
SPECIFIC = 4
LOOKS = "of copies", "dense", "side by side", "disjoint", "dense disjoint"
"""Rows of seeds behind the stages, as `stages.pxd` has them. The last two lead to copies that are listed."""
SEES_COPIES = rule(
    "copies", "Looks up the reference at the place of a read, for copies that its own seeds miss."
)
LOOKS_AGAIN = rule("dense-seeds", "Looks up seeds at every fifth base of reads that fit at one end only.")
TANDEM_COPIES = rule(
    "tandem-copies", "Bounds the mapping quality of reads in tandem repeats by the copies beside them."
)


Made = TypeVar("Made")


def errors_within(m: int, identity: float) -> int:
    """Most errors of an alignment of `m` bases with at least this identity, in per cent."""
    # In single precision: of 50 bases with 94 % 3 are left.
    return min(MAX_ERRORS, math.floor(np.float32(m * (1 - identity / 100))))


@lru_cache(maxsize=4096)
def default_errors(m: int, n_bases: int, letters: float = LETTERS) -> int:
    """Errors allowed by default in a read of `m` bases on a reference of `n_bases`.

    20 % of the read, but never so many that a random read would be expected to align by chance.
    """
    errors = errors_within(m, DEFAULT_IDENTITY)
    while errors > 0 and chance_hits(m, errors, n_bases, letters) > SELDOM:
        errors -= 1
    return errors


@frozen(eq=False)
class LengthPlan:
    """The plan for reads of one length: errors, gaps, words of a band, stages."""

    errors: int
    gaps: int
    words: int
    stages: tuple[Stage, ...]


def band_words(gaps: int, shift: int) -> int:
    """Words of 64 diagonals, a power of two, that hold a bucket of 2^shift diagonals and `gaps` more on either side."""
    return 1 << ((2 * gaps + (1 << shift) - 1) // 64).bit_length()


class SearchPlan:
    """Plans by read length, filled as lengths turn up, as arrays that the compiled stages index by length.

    Attributes
    ----------
    affordable : int
        Bases of the shortest seed that chance does not find in the genome more than once.
    shift : int
        log2 of the diagonals in a bucket: 5 where they share a word with the gaps, else 4. The same for all reads.
    gaps : int
        Gap bases up to which no alignment of any read is missed.
    known_lengths, errors, words : bool/uint16/uint8[MAX_READ_LENGTH + 1]
    spectrum : Spectrum
        Of the genome.
    letters : float
        `SeedIndex.letters`.
    settled : int16[stages, MAX_READ_LENGTH + 1]
        A read with an alignment of no more errors does not need this stage at this sensitivity level. -1: no alignment
        is good enough.
    lost : float64[2, stages, MAX_READ_LENGTH + 1]
        `lost_of` a library of which nothing is known.
    seed_length, seed_count, seed_every, disjoint : uint16[stages + len(LOOKS), MAX_READ_LENGTH + 1]
        As `Stage` has them; `seed_count` is 0 where a length has no such stage, `disjoint` how many disjoint seeds. The
        row behind the stages has the seeds of the reference that lead from the place of a read to its copies.
    dense_length : int
        Bases of a dense seed.
    """

    # Bases from seed to seed of another look. At 3 it costs a third more, and .01 % more of human reads with adapters
    # are right.
    STRIDE = 5
    MAX_STAGES = np.iinfo(np.uint8).bits - 1  # bits of `looked`, of which the last one stands for copies

    def __init__(
        self,
        params: MapParams,
        k: int,
        n_bases: int,
        spectrum: Spectrum | None = None,
        letters: float = LETTERS,
    ):
        self.params, self.k, self.n_bases, self.letters = params, k, n_bases, letters
        self.spectrum = spectrum or Spectrum.none()
        self.preset = PRESETS[params.sensitivity]
        if params.strata:
            self.preset = replace(self.preset, strata=1, missed=0.0)
        # Most alignments with as many errors that a stage may miss of a read that it settles; -1: it settles none.
        self.settled_share = self.preset.missed if self.preset.missed and SETTLED_BY_SHARE else -1.0
        size = MAX_READ_LENGTH + 1
        self.errors = np.zeros(size, np.uint16)
        default_gaps = MAX_GAPS if params.exhaustive else DEFAULT_MAX_GAPS
        self.gaps = default_gaps if params.gaps is None else params.gaps
        self.shift = SHIFT if self.gaps <= WORD_GAPS else SHIFT - 1
        self.words = np.zeros(size, np.uint8)
        self.settled = np.full((self.MAX_STAGES, size), -1, np.int16)
        self.lost = np.ones((2, self.MAX_STAGES, size))
        self.seed_length = np.zeros((self.MAX_STAGES + len(LOOKS), size), np.uint16)
        self.seed_count, self.disjoint = self.seed_length.copy(), self.seed_length.copy()
        self.seed_every = np.ones_like(self.seed_length)
        self.affordable = math.ceil(math.log(max(n_bases, letters), letters))
        self.dense_length = min(self.affordable + SPECIFIC, k + SORTED)
        # A copy that scores LEAST_SHARE has no more errors than one in so many bases.
        costs = params.scoring
        self._disjoint_bases = int((costs.match + costs.mismatch) / ((1 - LEAST_SHARE) * costs.match))
        self.caps = np.array([self.occurrence_cap(w) for w in range(k + SORTED + 1)], np.uint32)
        self.known_lengths = np.zeros(size, bool)
        self._planned: list[int] = []  # those lengths, in the order in which they were
        # By length, float64[stages, MISS_ERRORS]: which share of alignments, by errors, no stage before each one finds,
        # as the best of these alone would.
        self._missed_before: dict[int, np.ndarray] = {}
        # Asked for the same few hundred in every batch; by a proxy, for a plan is to end with its last reference.
        self.looked_up = lru_cache(maxsize=1 << 14)(partial(SearchPlan._looked_up, proxy(self)))
        self._cases: WeakValueDictionary[Odds, Cases] = WeakValueDictionary()
        self._of_thread = threading.local()
        self._lock = threading.Lock()
        watch_forks(self)

    def after_fork(self) -> None:
        """As `workers.forks.ForkAware`."""
        self._lock, self._of_thread, self._cases = threading.Lock(), threading.local(), WeakValueDictionary()

    def prepare(self, lengths: np.ndarray) -> None:
        """Fill the arrays for every length of `lengths` (uint32[n])."""
        present = np.flatnonzero(np.bincount(lengths, minlength=1))
        with self._lock:
            new = present[~self.known_lengths[present]]
            for m in new.tolist():
                self._store(m, self.plan(m))
            if len(new):
                self.lost[..., new] = self._lost(LIKELY, new)
                self.known_lengths[new] = True
                self._planned += new.tolist()

    def rater(self, library: ErrorRate) -> Rater:
        """What rates the places of reads of a library in this thread."""
        return self.kept(
            "rater",
            lambda: Rater(self, self._cases_of(library.table), EXTRA_STRATA, TANDEM_COPIES),
            library.table,
        )

    def _cases_of(self, odds: Odds) -> Cases:
        """What all threads know of the copies of such reads."""
        with self._lock:
            cases = self._cases.get(odds)
            if cases is None:
                cases = self._cases[odds] = Cases(self, odds, LENGTHS, dense_seeds)
            return cases

    def kept(self, name: str, make: Callable[[], Made], *made_of: object) -> Made:
        """What `make` returns, made once in this thread for as long as it is `made_of` the same things."""
        mine = vars(self._of_thread)
        if name not in mine or any(map(is_not, mine[name][0], made_of)):
            mine[name] = made_of, make()
        return mine[name][1]

    def _store(self, m: int, plan: LengthPlan) -> None:
        missed = stage_misses(m, plan.stages, max(plan.errors + 1, MISS_ERRORS))
        settled = (missed[:, : plan.errors + 1] <= self.settled_share).sum(axis=1) - 1
        before = self._missed_before[m] = np.ones((self.MAX_STAGES, MISS_ERRORS))
        for i in range(1, self.MAX_STAGES if plan.stages else 0):
            before[i] = np.minimum(before[i - 1], missed[min(i, len(missed)) - 1, :MISS_ERRORS])
        self.errors[m], self.words[m] = plan.errors, plan.words
        for i, stage in enumerate(plan.stages):
            self.seed_length[i, m], self.seed_count[i, m], _, self.seed_every[i, m] = stage
            self.disjoint[i, m] = stage.number if stage.disjoint else 0
            if i:
                self.settled[i, m] = settled[i - 1]
        if plan.stages and SEES_COPIES:
            # They miss no copy with as few differences as strata count, where the read has the bases.
            number = EXTRA_STRATA + 1
            w = min(max(m // number, self.affordable), self.k + SORTED, m)
            self.seed_length[self.MAX_STAGES, m], self.seed_count[self.MAX_STAGES, m] = w, min(number, m // w)
        pieces = m // self._disjoint_bases + 1
        dense, w = self.dense_length, min(m // pieces, self.k + SORTED)
        at_every = [max(m - each + self.STRIDE, 0) // self.STRIDE for each in (dense, w)]
        self.seed_length[1 - len(LOOKS) :, m] = dense, dense, w, w
        self.seed_count[1 - len(LOOKS) :, m] = at_every[0] * LOOKS_AGAIN, m // dense, pieces, at_every[1]

    def lost_of(self, library: ErrorRate) -> np.ndarray:
        """Which share of its reads the stages before each one miss, by length: float64[2, stages, MAX_READ_LENGTH + 1].

        The second row is for mates: what two of them lose together is at most the product of both.
        """
        kept: list[Any] = self.kept("lost", lambda: [np.ones_like(self.lost), 0], library)
        lost, done = kept
        if new := self._planned[done:]:
            share = np.array([1 - library.elsewhere, math.sqrt(1 - library.elsewhere)])[:, None, None]
            of_new = self._lost(library, np.array(new)) if library.is_known else self.lost[..., new] * share
            lost[..., new], kept[1] = of_new, done + len(new)
        return np.asarray(lost)

    def _lost(self, library: ErrorRate, lengths: np.ndarray) -> np.ndarray:
        missed = np.stack([self._missed_before[m] for m in lengths.tolist()], axis=1)
        shares = library.shares(lengths, MISS_ERRORS)
        # Those with more errors are lost.
        lost, both = (1 - ((1 - each) * shares).sum(axis=2) for each in (missed, missed**2))
        return np.stack([lost, np.sqrt(np.maximum(both, 0))])

    def plan(self, m: int) -> LengthPlan:
        """The plan for reads of `m` bases."""
        errors = self.most_errors(m)
        gaps = min(errors, self.gaps)
        return LengthPlan(errors, gaps, band_words(gaps, self.shift), tuple(self._stages(m, errors)))

    def by_chance(self, w: Any) -> Any:
        """How often a seed of `w` bases occurs by chance on one strand: the one place that knows of letters."""
        return self.n_bases / self.letters**w

    def most_errors(self, m: int) -> int:
        """Most errors of an alignment of a read of `m` bases."""
        if self.params.min_identity is None:
            return default_errors(m, self.n_bases, self.letters)
        return errors_within(m, self.params.min_identity)

    def missed(self, m: int, complete: int, looked: int) -> np.ndarray:
        """Share of alignments of `m` bases that a search would have missed, by errors up to those allowed: float64[n].

        `complete`: every alignment with fewer errors has been seen; `looked`: bit s is set where the seeds of stage s
        were looked up, at least one.
        """
        last = looked.bit_length() - 1
        w, count, every = (int(row[last, m]) for row in (self.seed_length, self.seed_count, self.seed_every))
        stage = Stage(w, max(complete, 1), True) if self.disjoint[last, m] else Stage(w, count, False, every)
        allowed = np.arange(self.errors[m] + 1)
        return np.where(allowed < complete, 0.0, stage_misses(m, (stage,), len(allowed))[0])

    def _looked_up(self, m: int, complete: int, looked: int, passed_over: float) -> SeedsLooked:
        """What the seeds that a search has looked up of a read of `m` bases miss: of those of the last stage, all but
        the share `passed_over`. `complete` and `looked` are as for `missed`."""
        sees_copies, looked = divmod(looked, 1 << self.MAX_STAGES)
        if not looked:
            return NO_SEEDS
        last = looked.bit_length() - 1
        missed = self.missed(m, complete, looked)
        # Of disjoint seeds `complete` counts those that were looked up as planned.
        if not self.disjoint[last, m]:
            missed **= 1 - passed_over
        w, count = int(self.seed_length[self.MAX_STAGES, m]), int(self.seed_count[self.MAX_STAGES, m])
        number = np.arange(DIFFERENCES if sees_copies else 0)
        copies = np.where(number < count, 0.0, miss_share(m, np.minimum(number, m), w, count))
        return SeedsLooked.of(int(self.seed_length[last, m]), missed, copies)

    def shortest_seed(self, m: int, errors: int) -> int:
        """Seed length of the last stage: -w, or the longest that misses 1 %, but not one that chance drowns.

        A search for all hits, or those of the best stratum, misses nothing where it passes over no seed, unless that
        takes seeds that are too short.
        """
        longest = min(self.k + SORTED, m)
        if self.params.seed_length is not None:
            return min(self.params.seed_length, longest)
        affordable = self.affordable
        if self.params.exhaustive:
            affordable = max(self.k - 2, MIN_K[1])
            lossless = m // (errors + 1)
            if lossless >= affordable and (self.params.strata or self.preset.occurrences is None):
                return min(longest, lossless)
        return min(longest, longest_seed(m, errors, SELDOM, affordable))

    def _stages(self, m: int, errors: int) -> list[Stage]:
        if m < MIN_READ_LENGTH:
            return []
        w = self.shortest_seed(m, errors)
        is_lossless = w * (errors + 1) <= m
        if self.params.exhaustive:
            last = Stage(w, errors + 1, True) if is_lossless else self._cheapest(m, w, errors, False, 1)[0]
            whole = Stage(min(m, self.k + SORTED), 1, True)
            return [whole, last] if self.params.strata and errors else [last]
        return self._cheapest(m, w, errors, is_lossless, self.MAX_STAGES)

    def _cheapest(self, m: int, w: int, errors: int, is_lossless: bool, stages_at_most: int) -> list[Stage]:
        """The cheapest list of stages, of which none has seeds below `w` bases.

        Of reads with an error in `LIKELY_ERRORS` bases, the last stage may lose the share `SELDOM` of what the
        level misses, beyond what all seeds of `w` bases lose. Costs are expected of reads with up to so many errors,
        each number less likely the larger it is; those without a place take all stages. A read is settled by a stage
        that finds it and shows what the level asks for of its rivals.
        """
        most = errors if is_lossless else m // w
        # A stage shows every rival of a read without errors, within `EXTRA_STRATA`, where its bases allow that.
        fewest = min(EXTRA_STRATA + 1, most)
        stages = [Stage(min(m // s, self.k + SORTED), s, True) for s in range(max(fewest, 1), most + 1)]
        if is_lossless:
            stages.append(Stage(w, errors + 1, True))
        else:
            stages += [Stage(w, m - w + 1, False, every) for every in range(w, 0, -1)]
        number = np.arange(errors + 1)
        share = np.where(number <= m // LIKELY_ERRORS, 1 / (1 + number), 0.0)
        likely = LIKELY.shares(np.array([m]), errors + 1)[0]
        likely /= likely.sum()
        # Lookups of a seed on both strands, and the places they lead to, at the same price.
        price = {w: 1 + COPIES / w + 2 * float(self.by_chance(w)) for w in {stage.length for stage in stages}}
        cost = np.array([stage.looked_up * price[stage.length] for stage in stages])
        order = np.append(np.argsort(cost[:-1], kind="stable"), len(stages) - 1)
        rules = self.preset.strata, self.settled_share, SELDOM * self.preset.missed, NOWHERE
        open_after, is_last = judge_stages(
            m, np.array(stages, np.int64)[order], share / share.sum(), likely, *rules
        )
        path = cheapest_path(open_after, cost[order[: len(open_after)]], is_last, stages_at_most)
        return [stages[order[i]] for i in path]

    def occurrence_cap(self, w: int) -> int:
        """Occurrences above which a seed of `w` bases is passed over at this sensitivity level."""
        most, usual = 0xFFFFFFFF, self.preset.occurrences
        return most if usual is None else min(most, int(usual * (1 + self.by_chance(w))))
