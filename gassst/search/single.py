"""The schedule for single reads: stages of seeds, each looked up, filtered and scored, until every read is settled.

What must be true: a read's result depends on the read, the reference and the parameters alone. Buckets of diagonals
make it so (docs/pipeline.md): a band is scored for a bucket, not for the seed that led to it.
"""

from __future__ import annotations

from gassst.model.params import EVERY_HIT, MAX_ERRORS
from gassst.model.presets import EXTRA_STRATA
from gassst.search.arrays import GlobalResult
from gassst.search.backend import Anchors, Buckets, Candidates, Reads, Scored, Seeds, StagePasses, State
from gassst.search.host import HostBackend


def search(backend: HostBackend) -> GlobalResult:
    """Find the places of every read of a batch, each read on its own."""
    context = backend.context
    if not context.params.exhaustive:
        state, found = backend.best_places()
        most = EVERY_HIT if context.library.damage else context.params.max_hits
        return backend.rate(state, found, backend.select_best(found, most))
    state = run_stages(backend)
    return backend.rate(state, *backend.select_all(backend.group(state.bands)))


def run_stages(backend: StagePasses[State, Reads, Seeds, Anchors, Candidates, Buckets, Scored]) -> State:
    """Look up stages of seeds until every read is settled."""
    state = backend.initial_state()
    for stage in range(backend.context.plan.MAX_STAGES):
        reads = backend.unsettled(state, stage)
        backend.merge_scored(state, reads)
        if len(reads):
            run_stage(backend, state, stage, reads)
    return state


def run_stage(
    backend: StagePasses[State, Reads, Seeds, Anchors, Candidates, Buckets, Scored],
    state: State,
    stage: int,
    reads: Reads,
) -> None:
    """Look up one stage of seeds of these reads and score what they lead to."""
    anchors = anchors_of(backend, state, stage, reads)
    if backend.context.params.exhaustive:
        survivors = backend.filter(anchors, state)
        # What a stage before found of these reads is found again, with all that is as good.
        backend.forget(state, reads)
        minima = backend.all_minima(backend.buckets(survivors, None))
        state.bands += [backend.within_limit(bands, state, MAX_ERRORS) for bands in minima]
        return

    def scored(buckets: Buckets) -> list[Scored]:
        return [backend.within_limit(one, state, EXTRA_STRATA) for one in backend.score(buckets)]

    # The best supported place tightens the limit, by which the filters reject more of the others.
    top_buckets = backend.best_supported(anchors)
    state.bands += scored(top_buckets)
    survivors = backend.filter(anchors, state)
    found = backend.buckets(survivors, top_buckets)
    state.bands += scored(found)
    state.fresh += [top_buckets, found]


def anchors_of(
    backend: StagePasses[State, Reads, Seeds, Anchors, Candidates, Buckets, Scored],
    state: State,
    stage: int,
    reads: Reads,
) -> Anchors:
    """The anchors of these reads in a stage, without those that are known to be of no use."""
    seeds = backend.look_up(state, stage, reads)
    anchors = backend.gather(seeds, reads, state)
    backend.count_candidates(anchors)
    return anchors
