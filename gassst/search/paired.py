"""The schedule for pairs: mates help each other, so that a pair costs less than two reads.

In every stage the candidates of mates that lie near each other are scored first. A pair that they settle is done: its
other candidates are never looked at. Where they settle nothing, the best supported places of each mate are scored. The
other mate is then looked for around them, by scoring every band in the window (mate rescue). Only then the search goes
on as for single reads.

What must be true: the result of a pair depends on the pair, the reference, the parameters and the insert sizes alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from gassst.model.array_types import U8, U16, U32
from gassst.model.layouts import NO_SCORE
from gassst.model.params import EVERY_HIT
from gassst.search import single
from gassst.search.arrays import Anchors, Buckets, GlobalResult
from gassst.search.host import HostBackend
from gassst.search.host_pairs import HostPairPasses
from gassst.search.plan import EXTRA_STRATA
from gassst.search.state import PairState, SearchState


def search(backend: HostBackend, passes: HostPairPasses) -> GlobalResult:
    """Find the places of every read of a batch in which some reads are pairs."""
    context = backend.context
    if context.params.exhaustive:
        state, pair_state = single.run_stages(backend), None
        found, selected = backend.select_all(backend.group(state.bands))
        limits = NO_SCORE, EVERY_HIT
    else:
        state, pair_state = SearchState.initial(context), PairState.initial(context, passes.pairs)
        PairedSearch(backend, passes, state, pair_state).run_stages()
        found = backend.group(state.bands)
        selected = backend.select_best(found, EVERY_HIT)
        limits = EXTRA_STRATA, context.params.max_hits
    choice = passes.choose(found, selected)
    selected = passes.chosen_first(found, selected, choice, *limits)
    return passes.rate(state, pair_state, found, selected, choice)


@dataclass(frozen=True, eq=False, repr=False)
class PairedSearch:
    """One run of the schedule: the passes, and the state that they change."""

    backend: HostBackend
    passes: HostPairPasses
    state: SearchState
    pair_state: PairState

    def run_stages(self) -> None:
        """Look up stages of seeds until every pair and every single read is settled."""
        for stage in range(self.backend.context.plan.MAX_STAGES):
            # A mate that its partner cannot find goes on to the last stage, so it maps as it would alone.
            reads = self.backend.unsettled(self.state, stage, self.passes.pairs.partner)
            reads = reads[self.pair_state.open[reads]]
            if reads.size:
                self._run_stage(stage, reads)

    def _run_stage(self, stage: int, reads: U32) -> None:
        passes, state, pair_state = self.passes, self.state, self.pair_state
        if stage == 0:
            # Those in scored buckets, too: pairs are formed of them.
            anchors = self.backend.gather(self.backend.look_up(state, 0, reads), reads, None)
            self.backend.count_candidates(anchors)
        else:
            self.backend.merge_scored(state, reads)
            anchors = single.anchors_of(self.backend, state, stage, reads)
        pair_state.tried = [state.scored.keys] if len(state.scored.keys) else []
        pair_state.looked_row[reads] = stage + 1
        near = passes.near_mates(anchors)
        if near.any():
            scored = self._score_top_buckets(anchors, near)
            self._verify(anchors, passes.of_open(anchors, near, True, pair_state), scored)
        passes.settle(state, pair_state, guided=False)
        scored = self._score_top_buckets(anchors, passes.of_open(anchors, near, False, pair_state))
        self._rescue(reads)
        self._verify(anchors, passes.of_open(anchors, near, False, pair_state), scored)
        self._rescue(reads)
        passes.settle(state, pair_state, guided=True)

    def _score_top_buckets(self, anchors: Anchors, chosen: U8) -> Buckets:
        """Score the best supported bucket of every read among the chosen anchors (uint8[c]), and return these."""
        buckets = self.backend.best_supported(anchors, chosen)
        self._score_fresh(buckets)
        return buckets

    def _verify(self, anchors: Anchors, chosen: U8, scored: Buckets) -> None:
        """Filter the chosen anchors (uint8[c]) and score the buckets of those that pass.

        Anchors in the best supported buckets, which are `scored`, are left out: a filter would look at most of
        their read.
        """
        unknown = self.passes.outside(anchors, chosen, scored)
        survivors = self.backend.filter(self.backend.take(anchors, unknown), self.state)
        self._score_fresh(self.backend.buckets(survivors, Buckets.none()))

    def _rescue(self, reads: U32) -> None:
        """Score the bands in which the mates of the best places may lie, in the pairs that take part in this stage.

        In those alone: whether a stage is run at all depends on the rest of the batch.
        """
        before = self.backend.stats.scored
        windows = self.passes.rescue_windows(reads, self.state, self.pair_state)
        # Nearly all hold other bases, and show it in their first rows.
        self._score_fresh(windows, self.state.limit)
        self.backend.stats.rescued += self.backend.stats.scored - before

    def _score_fresh(self, buckets: Buckets, limit: U16 | None = None) -> None:
        """Score those of the buckets that were not scored before; keep places that may make the better pair.

        `limit`: as `HostBackend.score` takes it.
        """
        buckets = self.passes.fresh(buckets, self.pair_state)
        self.state.fresh.append(buckets)
        for bands in self.backend.score(buckets, limit):
            kept = self.backend.within_limit(bands, self.state, EXTRA_STRATA, tighten=False)
            self.state.bands.append(kept)
            self.passes.add_places(kept, self.state, self.pair_state)
