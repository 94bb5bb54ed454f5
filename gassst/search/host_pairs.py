"""The passes over pairs in compiled code on the host."""

from __future__ import annotations

import numpy as np

from gassst._core import mate_anchors as _mate_anchors
from gassst._core import pair_scoring as _pair_scoring
from gassst._core import selection as _selection
from gassst.model.array_types import U8, U32
from gassst.model.layouts import NO_SCORE
from gassst.model.stats import Stats
from gassst.pairing.pair_scoring import EDIT_PHRED, PairChoice, PairedReads, PlacesByRead
from gassst.search.arrays import Anchors, Bands, Buckets, GlobalResult
from gassst.search.backend import Grouped, Selected
from gassst.search.context import BatchContext, PairContext
from gassst.search.plan import EXTRA_STRATA
from gassst.search.state import PairState, SearchState

# A read with more places as good as its best is no guide to its mate, and no window of more buckets is scored. With 16
# a third more mates of human133 are wrong at MAPQ 20 or more: one mate lies in a repeat of many copies, and the seeds
# of the other miss its true place.
RESCUE_PLACES = 256


class HostPairPasses:
    """The passes over the pairs of a batch, beside those of its `HostBackend`."""

    def __init__(self, context: BatchContext, pairs: PairContext, stats: Stats):
        self.context, self.pairs, self.stats = context, pairs, stats

    # --- candidates ----------------------------------------------------------------------------------------------

    def near_mates(self, anchors: Anchors) -> U8:
        """uint8[c]: anchors that have an anchor of the mate in the window of the template length."""
        with self.stats.timed("pairs"):
            return _mate_anchors.mark_near_mates(anchors, self.context, self.pairs)

    def of_open(self, anchors: Anchors, near: U8, is_near: bool, state: PairState) -> U8:
        """uint8[c]: anchors that are near their mate, or are not, of the reads whose pairs are open."""
        with self.stats.timed("candidates"):
            return ((near == is_near) & state.open[anchors.read_strand >> 1]).view(np.uint8)

    def outside(self, anchors: Anchors, chosen: U8, scored: Buckets) -> U8:
        """uint8[c]: the chosen anchors that lie in none of the scored buckets, at most one of each read."""
        with self.stats.timed("candidates"):
            return _mate_anchors.outside_buckets(anchors, chosen, scored, self.context.shift)

    def fresh(self, buckets: Buckets, state: PairState) -> Buckets:
        """The distinct buckets that this stage has not scored. Adds them to `tried`."""
        with self.stats.timed("candidates"):
            read_strand, bucket, keys = _mate_anchors.unscored_buckets(*buckets, *state.tried)
        state.tried.append(keys)
        return Buckets(read_strand, bucket)

    # --- mate rescue ---------------------------------------------------------------------------------------------

    def rescue_windows(self, reads: U32, search: SearchState, state: PairState) -> Buckets:
        """The buckets in which the mates of the best places may lie."""
        context = self.context
        with self.stats.timed("pairs"):
            active, partner = np.bincount(reads, minlength=context.n) > 0, self.pairs.partner
            wanted = self.pairs.paired & state.open & self.pairs.rescuable[partner]
            reads = np.flatnonzero((active | active[partner]) & wanted).astype(np.uint32)
            return Buckets(
                *state.placements.windows(reads, search.best, RESCUE_PLACES, context.shift, context.plan.gaps)
            )

    # --- state ---------------------------------------------------------------------------------------------------

    def add_places(self, bands: Bands, search: SearchState, state: PairState) -> None:
        """Add scored bands to the placements, and tighten the limits of their reads."""
        with self.stats.timed("pairs"):
            state.placements.add_bands(bands, search, self.context, EXTRA_STRATA)

    def settle(self, search: SearchState, state: PairState, guided: bool) -> None:
        """Close the pairs whose concordant place is good enough.

        A rival of as many errors stays unseen when a mate has no seed free of errors there. Where the mates of all
        places were looked for (`guided`), it does only when neither has one.
        """
        with self.stats.timed("pairs"):
            state.placements.settle(search, state, self.pairs, self.context, guided)

    # --- selection -----------------------------------------------------------------------------------------------

    def choose(self, found: Grouped, selected: Selected) -> PairChoice:
        """Of the rows of every read the one that makes the best pair."""
        context, best = self.context, selected.summary["best"]
        odds = context.library.odds(np.where(best == NO_SCORE, 0, best), context.lengths)
        with self.stats.timed("select"):
            where = context.lengths, self.pairs.borders
            columns = _pair_scoring.places_of_rows(found, selected, *where)
            places = PlacesByRead(*columns, selected.start)
            unpaired = self.pairs.insert.unpaired_phred(context.plan.n_bases)
            reads = PairedReads(
                context.lengths, context.flip, context.digest, self.pairs.mate, self.pairs.insert
            )
            chosen = _pair_scoring.choose_pairs(places, odds, reads, unpaired, EDIT_PHRED)
        primary, proper, wrong, decided = chosen
        return PairChoice(primary, proper.view(bool), wrong, decided.view(bool))

    def chosen_first(
        self, found: Grouped, selected: Selected, choice: PairChoice, extra: int, most: int
    ) -> Selected:
        """At most `most` rows of every read, up to `extra` errors above its best, the chosen one first."""
        rows, start, summary = selected
        limit = np.minimum(summary["best"].astype(np.int64) + extra, NO_SCORE).astype(np.uint16)
        with self.stats.timed("select"):
            rows, start = _selection.chosen_first(rows, start, choice.primary, found.bands.edits, limit, most)
        # Of structs each field would be copied on its own.
        summary = summary.view(np.uint8).copy().view(summary.dtype)
        summary["n_reported"] = np.diff(start)
        return Selected(rows, start, summary)

    def rate(
        self,
        search: SearchState,
        state: PairState | None,
        found: Grouped,
        selected: Selected,
        choice: PairChoice,
    ) -> GlobalResult:
        """The result of the search of pairs, with mapping qualities. Counts reads with seeds passed over.

        `state` is None where all places were asked for.
        """
        self.stats.capped += int(search.capped.sum())
        context, seen = self.context, search.seen()
        decided = choice.decided.view(np.uint8)
        rated = context.rater.wholes(context, selected.summary, seen, choice.wrong, self.pairs, decided)
        return GlobalResult(found.bands, *selected, rated, proper=choice.proper, seen=seen)
