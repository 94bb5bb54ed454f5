"""The search of a batch that holds pairs: mates help each other, so that a pair costs less than two reads.

In every stage the candidates of mates that lie near each other are verified first. A pair that they settle is done
with: its other candidates are never looked at. Where they settle nothing, the best supported places of each mate are
scored, and the other mate is looked for in the window around them, by scoring all of its bands. Only then the search
goes on as for single reads.

What must be true: the result of a pair depends on the pair, the reference, the parameters and the insert sizes alone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gassst._core import anchors as _anchors
from gassst._core import bookkeeping as _bookkeeping
from gassst._core import mate_anchors as _mate_anchors
from gassst._core import pair_scoring as _pair_scoring
from gassst._core import placements as _placements
from gassst._core import proper_pairs as _proper_pairs
from gassst._core import selection as _selection
from gassst.io.reference import GAP
from gassst.layouts import NO_SCORE
from gassst.local.paired import PairedEnds
from gassst.pairing.insert_size import InsertModel
from gassst.params import MAX_READ_LENGTH
from gassst.search.filters import Candidates
from gassst.search.mapq import edit_odds, mapping_quality, phred, unseen_rivals
from gassst.search.single import Bands, BatchResult, BatchSearch
from gassst.seeding.plan import MARGIN, SearchPlan, Stage, stage_miss

# Errors by which a place may be worse than the best one of its read and still make the better pair.
PAIR_MARGIN = 5
RESCUE_PLACES = 16  # a read with more best places than that is no guide to its mate
WIDE = 64  # buckets in a window from which on a mate is left to its own seeds first
MISS_ERRORS = 64
# Seeds that the first stage has at least where every second one of them is looked up first; and near anchors of a
# mate from which on its pair is left to all of them.
QUICK_SEEDS = 4
QUICK_EVERY = 2
QUICK_PLACES = 8
# A pair begins with the first stage that has as many seeds, too long to be found by chance: two of 25 bases hit a read
# of 50 bases with 5 % errors every other time only, and what short ones find far from the mate costs a pair nothing.
FIRST_SEEDS = 3
EVERY = 0xFFFFFFFF
# Most buckets without the other mate near that a stage scores, by sensitivity level, of mates that only seeds of too
# many occurrences keep open: copies of a repeat.
REPEAT_PLACES = (8, 8, 16, None, None, None)
# Most of the rivals of a concordant pair, with as many errors, that may go unseen, by sensitivity level.
UNSEEN_SHARE = (0.5, 0.2, 0.1, 0.02, 0.0, 0.0)
# The same where no other concordant pair came within two errors of the best.
UNSEEN_ALONE = (1.0, 0.7, 0.25, 0.05, 0.0, 0.0)


@lru_cache(maxsize=4096)
def _miss_row(m: int, stages: tuple[Stage, ...]) -> np.ndarray:
    """Share of alignments of `m` bases in which the best of these stages finds no seed, float64[errors]."""
    errors = range(min(m, MISS_ERRORS))
    shares = [min((stage_miss(m, e, stage) for stage in stages), default=1.0) for e in errors]
    return np.array(shares + [1.0] * (MISS_ERRORS - len(shares)))


def _quick_stages(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """What `PairSearch._quick` looks up of the first of these stages."""
    return tuple(stage._replace(every=QUICK_EVERY) for stage in stages[:1])


def _first_stages(plan: SearchPlan) -> np.ndarray:
    """With which stage pairs of such reads begin, int64[MAX_READ_LENGTH + 1] by length."""
    by_chance = plan.n_bases / 4.0**plan.seed_length
    enough = (plan.disjoint >= FIRST_SEEDS) & (by_chance < 1)
    return np.where(enough.any(axis=0), enough.argmax(axis=0), 0)


class PairSearch(BatchSearch):
    """Search of one batch in which some reads are pairs (`mate` uint8[n] of the ReadBatch)."""

    def __init__(self, *arguments, mate: np.ndarray, insert: InsertModel):
        super().__init__(*arguments)
        self.mate, self.insert = mate, insert
        self.first = self.unsettled = np.flatnonzero(mate == 1)
        self.partner = np.arange(self.n)
        self.partner[self.first] += 1
        self.partner[self.first + 1] -= 1
        self.paired = mate > 0
        self.open = np.ones(self.n, bool)  # not settled as a pair
        self.hasty = np.zeros(self.n, bool)  # settled before mates were looked for around all places
        window = insert.code, insert.low, insert.high
        reference = self.index.reference
        self.borders = np.append(reference.starts - GAP // 2, reference.total)
        self.ledger = _placements.Ledger(mate, self.lengths, *window, self.borders)
        # Rows of `miss_table`: 0 where no seed was looked up, 1 for the quick look, 2 + the last stage that was.
        self.miss_row = np.zeros(self.n, np.uint8)
        self.slack = self.plan.gaps
        self.wide = (insert.high - insert.low + 2 * self.slack) >> self.shift >= WIDE
        if self.wide:
            self.ledger.unguided[self.paired] = 1
        # Mates of different lengths begin together: no pair is settled before both were looked up.
        begin = _first_stages(self.plan)[self.lengths]
        self.begin = np.where(self.paired, np.minimum(begin, begin[self.partner]), 0)
        present = np.flatnonzero(np.bincount(self.lengths, minlength=1))
        self.length_rank = np.cumsum(np.bincount(self.lengths, minlength=1) > 0) - 1
        stages = {int(m): self.plan.plan(int(m)).stages for m in present}
        seen: list[list[tuple[Stage, ...]]]
        seen = [[() for _ in stages], [_quick_stages(stages[m]) for m in stages]]
        seen += [[stages[m][: i + 1] for m in stages] for i in range(self.plan.MAX_STAGES)]
        self.miss_table = np.array(
            [[_miss_row(*key) for key in zip(stages, row, strict=True)] for row in seen]
        )

    # --- which reads go on ---------------------------------------------------------------------------------

    def _active(self, stage: int) -> np.ndarray:
        """As for single reads, without settled pairs.

        So a mate that maps alone maps as a mate, too: one that its partner could not find goes on to the last stage.
        """
        active = super()._active(stage)
        return active[self.open[active] & (self.begin[active] <= stage)]

    def _settle(self, guided: bool, quick: bool = False) -> None:
        """Close pairs whose concordant place is good enough.

        A rival of as many errors goes unseen when a mate has no seed free of errors there or, where the mates of
        all places were looked for (`guided`), when neither has. After a look at half of the seeds (`quick`), and a
        guided one, a larger share may go unseen where no other concordant pair came near.
        """
        a, miss_a, miss_b = self._rivals_missed()
        b = a + 1
        miss_a[self.capped[a] > 0] = 1.0  # a seed was passed over as it occurs too often
        miss_b[self.capped[b] > 0] = 1.0
        unseen = miss_a + miss_b
        if guided:
            miss_a[self.ledger.unguided[a] > 0] = 1.0
            miss_b[self.ledger.unguided[b] > 0] = 1.0
            unseen = np.minimum(unseen, miss_a * miss_b)
        share = np.full(a.size, UNSEEN_SHARE[self.params.sensitivity])
        if quick or guided:
            unsure = np.flatnonzero((unseen > share) & (unseen <= UNSEEN_ALONE[self.params.sensitivity]))
            alone = self.ledger.alone(a[unsure], MARGIN).view(bool)
            share[unsure[alone]] = UNSEEN_ALONE[self.params.sensitivity]
        done = a[unseen <= share]
        self.open[done] = self.open[done + 1] = False
        if not guided:
            self.hasty[done] = self.hasty[done + 1] = True

    def _rivals_missed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First mates of the open pairs that have a concordant place; and which share of places with as many errors
        the seeds looked at so far miss, of the first mate's and of the other's, float64[k]."""
        paired = self.ledger.paired
        self.unsettled = a = self.unsettled[self.open[self.unsettled]]
        a = a[(paired[a] != NO_SCORE) & (paired[a + 1] != NO_SCORE)]
        missed = (
            self.miss_table[
                self.miss_row[mate],
                self.length_rank[self.lengths[mate]],
                np.minimum(paired[mate], MISS_ERRORS - 1),
            ]
            for mate in (a, a + 1)
        )
        return a, *missed

    # --- one stage -----------------------------------------------------------------------------------------

    def _stage(self, stage: int, active: np.ndarray) -> None:
        if self.params.all_hits:
            super()._stage(stage, active)
            return
        if stage == 0:
            active, anchors, start = self._first_anchors(active)
        else:
            anchors, start = self._anchors(stage, active)
            self.tried = [self.scored]
        self.miss_row[active] = stage + 2
        near = self._near(anchors, start, active)
        if near.any():
            self._scout(anchors, start, near)
            self._verify(anchors, near)
        self._settle(guided=False)
        self._scout(anchors, start, self._of_open(anchors, near, False))
        self._rescue(stage, active)
        self._settle(guided=False)
        rest = self._of_open(anchors, near, False)
        self._verify(anchors, self._without_copies(anchors, start, active, rest))
        self._rescue(stage, active)
        self._settle(guided=True)

    def _first_anchors(self, active: np.ndarray) -> tuple[np.ndarray, Candidates, np.ndarray]:
        """The reads that `_quick` leaves open, their anchors and where each read's begin."""
        self.tried = []
        self._quick(active)
        active = active[self.open[active]]
        seeds = self._look_up(0, active)
        anchors, start = self._gather(seeds, active, *self.nothing_scored())
        self.stats.candidates += len(anchors)
        return active, anchors, start

    def _quick(self, active: np.ndarray) -> None:
        """Settle the pairs that half of the seeds of the first stage settle."""
        able = self.paired & (self.plan.disjoint[0][self.lengths] >= QUICK_SEEDS)
        able &= able[self.partner]
        active = active[able[active]]
        if not active.size:
            return
        seeds = self._look_up(0, active, np.full(MAX_READ_LENGTH + 1, QUICK_EVERY, np.uint16))
        self.miss_row[active] = 1
        anchors, start = self._gather(seeds, active, *self.nothing_scored())
        near = self._near(anchors, start, active)
        with self.stats.timed("candidates"):
            reads = _mate_anchors.few(near, start, active, self.mate, QUICK_PLACES)
            chosen = anchors.take(
                np.flatnonzero(_mate_anchors.of_reads(anchors.read_strand, near, reads, True))
            )
        self._score_fresh(chosen.read_strand, chosen.diagonal >> np.uint32(self.shift))
        self._settle(guided=False, quick=True)
        closed = _mate_anchors.of_reads(anchors.read_strand, near, (~self.open).view(np.uint8), True)
        self.stats.candidates += int(np.count_nonzero(closed))  # those of open pairs come again

    def _near(self, anchors: Candidates, start: np.ndarray, active: np.ndarray) -> np.ndarray:
        """uint8[c]: anchors that have an anchor of the mate in the window."""
        with self.stats.timed("pairs"):
            return _mate_anchors.near(
                anchors.read_strand, anchors.diagonal, start, active, self.mate, self.flip, self.lengths,
                self.insert.code, self.insert.low, self.insert.high, self.slack,
            )  # fmt: skip

    def _without_copies(
        self, anchors: Candidates, start: np.ndarray, active: np.ndarray, chosen: np.ndarray
    ) -> np.ndarray:
        """uint8[c]: the chosen anchors; of mates whose concordant place would settle the pair but for seeds that occur
        too often, those in the best supported buckets."""
        most = REPEAT_PLACES[self.params.sensitivity]
        if most is None:
            return chosen
        a, miss_a, miss_b = self._rivals_missed()
        settled = a[miss_a + miss_b <= UNSEEN_SHARE[self.params.sensitivity]]
        limited = np.zeros(self.n, np.uint8)
        limited[settled] = limited[settled + 1] = 1
        with self.stats.timed("pairs"):
            return _mate_anchors.best_buckets(
                chosen, anchors.read_strand, anchors.diagonal, anchors.length, start, active, limited, self.mate,
                self.digest, self.shift, most,
            )  # fmt: skip

    def _of_open(self, anchors: Candidates, near: np.ndarray, is_near: bool) -> np.ndarray:
        """uint8[c]: anchors that are near, or are not, of the reads whose pairs are not settled."""
        with self.stats.timed("candidates"):
            return _mate_anchors.of_reads(anchors.read_strand, near, self.open.view(np.uint8), is_near)

    def _scout(self, anchors: Candidates, start: np.ndarray, chosen: np.ndarray) -> None:
        """Score the best supported bucket of every read among the chosen anchors (uint8[c])."""
        with self.stats.timed("candidates"):
            columns = anchors.read_strand, anchors.diagonal, anchors.length
            scouts = _anchors.best_supported(*columns, start, self.shift, chosen)
        self._score_fresh(*scouts)

    def _verify(self, anchors: Candidates, chosen: np.ndarray) -> None:
        """Filter the chosen anchors (uint8[c]) and score the buckets of those that pass."""
        planes, funnel = self.index.reference.planes, self.stats.funnel
        with self.stats.timed("candidates"):
            anchors = anchors.take(np.flatnonzero(chosen))
        survivors = self.cascade.run(anchors, self.limit, self.packed, planes, counters=funnel)
        self._score_fresh(survivors.read_strand, survivors.diagonal >> np.uint32(self.shift))

    def _rescue(self, stage: int, active: np.ndarray) -> None:
        """Score the bands in which the mates of the best places may lie, in the pairs that take part in this stage.

        In those alone: whether a stage is run at all depends on the rest of the batch.
        """
        with self.stats.timed("pairs"):
            reads = _mate_anchors.of_open_pairs(active, self.mate, self.open.view(np.uint8))
            if self.wide:
                reads = reads[self._worth_a_wide_window(stage, reads)]
            found = self.ledger.windows(reads, self.best, RESCUE_PLACES, self.shift, self.slack)
        before = self.stats.scored
        self._score_fresh(*found)
        self.stats.rescued += self.stats.scored - before

    def _worth_a_wide_window(self, stage: int, reads: np.ndarray) -> np.ndarray:
        """Reads around which a mate is looked for though that costs more than its seeds do, bool[k].

        Not before the mate's second stage, as most are found by then. And not where both mates have places but no
        concordant ones: there may be none, as when the insert size given is that of another library.
        """
        partner = self.partner[reads]
        begin = self.begin[partner]
        due = (stage > begin) | (self.plan.seed_count[begin + 1, self.lengths[partner]] == 0)
        return due & ((self.best[partner] == NO_SCORE) | (self.ledger.paired[reads] != NO_SCORE))

    def _score_fresh(self, read_strand: np.ndarray, bucket: np.ndarray) -> None:
        """Score those of the buckets that were not scored before."""
        with self.stats.timed("candidates"):
            read_strand, bucket, keys = _mate_anchors.fresh(read_strand, bucket, *self.tried)
        self.tried.append(keys)
        self._remember(read_strand, bucket)
        self._score(read_strand, bucket)

    # --- limits and scored bands -----------------------------------------------------------------------------

    def _within(self, read_strand: np.ndarray, edits: np.ndarray) -> np.ndarray:
        """As for single reads, with room for what makes the better pair; `_keep` brings the limits up to date."""
        margin = MARGIN + PAIR_MARGIN
        return _bookkeeping.within_limit(read_strand, edits, self.best, self.rival, self.limit.copy(), margin)

    def _keep(self, bands: Bands) -> None:
        super()._keep(bands)
        if not self.params.all_hits:
            self.ledger.add(bands.read_strand, bands.ends(self.lengths), bands.edits)
            self.ledger.tighten(bands.read_strand, self.best, self.errors, MARGIN, PAIR_MARGIN, self.limit)

    # --- what is reported -------------------------------------------------------------------------------------

    def _report_best(self) -> BatchResult:
        with self.stats.timed("select"):
            bands, ends, start = self._bands_by_read()
            rows, row_start, summary = self._select(bands, ends, start, MARGIN + PAIR_MARGIN, EVERY)
            best = summary["best"]
            primary = self._choose(bands, ends, rows, row_start, best)
            limit = np.where(best == NO_SCORE, NO_SCORE, best + np.uint16(MARGIN))
            rows, row_start = _selection.chosen_first(
                rows, row_start, primary, bands.edits, limit, self.params.max_hits
            )
            summary["n_reported"] = np.diff(row_start)
        return self._finish(bands, rows, row_start, summary)

    def _primary_order(self, bands: Bands, start: np.ndarray, summary: np.ndarray) -> np.ndarray:
        order = super()._primary_order(bands, start, summary)
        primary = self._choose(bands, bands.ends(self.lengths), order, start, summary["best"])
        return _selection.chosen_first(
            order, start, primary, bands.edits, np.full(self.n, NO_SCORE, np.uint16), EVERY
        )[0]

    def _choose(
        self, bands: Bands, ends: np.ndarray, rows: np.ndarray, start: np.ndarray, best: np.ndarray
    ) -> np.ndarray:
        """Of the rows of bands, read by read from `start` on, the one of every read that makes the best pair: int64[n],
        an index into `rows`, -1 for none."""
        read_strand, ends, edits = (np.take(c, rows) for c in (bands.read_strand, ends, bands.edits))
        contig = _selection.contigs(read_strand, ends, self.lengths, self.borders)
        odds = edit_odds(np.where(best == NO_SCORE, 0, best), self.lengths)
        primary, proper, wrong, decided = _pair_scoring.choose(
            read_strand, ends, edits, contig, start, self.mate, self.flip, self.lengths, self.digest, odds,
            self.insert, self.insert.unpaired_phred(len(self.index.positions)),
        )  # fmt: skip
        self.proper, self.wrong, self.decided = proper.astype(bool), wrong, decided.astype(bool)
        return primary

    def _qualities(self, summary: np.ndarray, unseen: np.ndarray | None = None) -> np.ndarray:
        unseen = unseen_rivals(summary, self.lengths, self.seen) if unseen is None else unseen
        other = unseen[self.partner]
        # A rival of a pair that was settled hastily goes unseen where either mate does; otherwise both must.
        together = np.where(self.hasty, unseen + other, np.minimum(unseen, other))
        quality = phred(self.wrong + together)
        alone = np.flatnonzero(~self.decided)
        quality[alone] = mapping_quality(summary[alone], self.lengths[alone], self.seen, unseen[alone])
        return quality

    def _local_ends(self, *found) -> PairedEnds:
        return PairedEnds(self, *found)

    def _finish(self, found: Bands, rows: np.ndarray, start: np.ndarray, summary: np.ndarray) -> BatchResult:
        result = super()._finish(found, rows, start, summary)
        # Proper as they lie in the end, gaps and clipped ends told.
        insert, starts = self.insert, self.index.reference.starts
        window = insert.code, insert.low, insert.high
        self.stats.proper += _proper_pairs.flag_proper(result.hits, result.cigars, self.mate, starts, *window)
        self.stats.pairs += len(self.first)
        return result
