"""The passes on the host, with anchors from a device: for searches that a device does not take as a whole, as of pairs.

Looking seeds up and sorting what they hit is half of the search of pairs, and more in a large genome, where every seed
misses the caches. What follows needs no index, and goes on where it is.
"""

from __future__ import annotations

from time import perf_counter_ns

import numpy as np

from gassst._core import bookkeeping as _bookkeeping
from gassst._core.seeds import Seeds
from gassst.gpu.asked import asked_of
from gassst.model.array_types import I64, U8, U16, U32, place_keys
from gassst.search.arrays import Anchors, Candidates, Diagonals, KeysByRead
from gassst.search.dense import DenselyLooked, DenseSeeds
from gassst.search.filters import BAND_LEAD
from gassst.search.host import HostBackend, without_contigs
from gassst.search.state import SearchState

# Reads for which a device is asked, at least: it answers after some milliseconds, in which the host looks up as many.
LEAST_READS = 2048
# The same of reads whose dense seeds are looked up, of which each costs the host a hundred times as much.
LEAST_DENSE = 8


class SeedsOnDevice(HostBackend):
    """The passes on the host; the device of the context looks seeds up."""

    _looked_up_in = 0  # nanoseconds of the host
    _bounded: tuple[Anchors, U16] | None = None  # anchors of which the device has told bounds, and these
    _taken: tuple[Candidates, U16] | None = None  # those of them that were taken last

    def look_up(self, state: SearchState, stage: int, reads: U32) -> Seeds | Anchors:
        """The anchors themselves, where the device has looked the seeds up."""
        context, stats, found = self.context, self.stats, None
        if len(reads) >= LEAST_READS:
            found = asked_of(context).look_up(context, stats, reads, stage)
        if found is None:
            began = perf_counter_ns()
            seeds = super().look_up(state, stage, reads)
            self._looked_up_in = perf_counter_ns() - began
            return seeds
        distance = context.plan.rows(stage).every
        lengths = context.lengths[reads]
        planned = (context.plan.disjoint[stage][lengths] + distance[lengths] - 1) // distance[lengths]
        noted = planned - found.complete[reads], found.capped[reads].astype(np.uint8)
        _bookkeeping.note_looked(state, context, stage, distance, reads, noted)
        stats.add_work_of(found.counted)
        anchors = found.anchors(reads)
        self._bounded = (anchors, found.bound.copy()) if context.cascade.is_narrow_band else None
        return anchors

    # --- candidates ----------------------------------------------------------------------------------------------

    def take(self, candidates: Candidates, chosen: U8) -> Candidates:
        taken, bounded = super().take(candidates, chosen), self._bounded
        if bounded is not None and bounded[0] is candidates:
            self._taken = taken, bounded[1][chosen.view(bool)]
        return taken

    def filter(self, candidates: Candidates, state: SearchState) -> Candidates:
        """By what the device has told of these candidates."""
        taken, self._taken = self._taken, None
        if taken is None or taken[0] is not candidates:
            return super().filter(candidates, state)
        began, bound = perf_counter_ns(), taken[1]
        limit = state.limit[candidates.read_strand >> 1]
        passes = (bound <= limit) | (np.minimum(limit, self.context.cascade.gaps) >= BAND_LEAD)
        rejected = np.flatnonzero(~passes)
        state.fresh_rejected.append(
            Diagonals(candidates.read_strand[rejected], candidates.diagonal[rejected])
        )
        took = perf_counter_ns() - began
        self.stats.funnel.count("band32", len(candidates), len(candidates) - rejected.size, took)
        return candidates.take(np.flatnonzero(passes))

    def look_densely(self, reads: U32, seeds: DenseSeeds) -> DenselyLooked:
        found = None
        if len(reads) >= LEAST_DENSE:
            found = asked_of(self.context).look_densely(self.context, self.stats, reads, seeds)
        return super().look_densely(reads, seeds) if found is None else found

    def gather(self, seeds: Seeds | Anchors, reads: U32, state: SearchState | None) -> Anchors:
        context = self.context
        if not isinstance(seeds, Anchors):
            began = perf_counter_ns()
            anchors = super().gather(seeds, reads, state)
            if len(reads) >= LEAST_READS:
                asked_of(context).note_host(len(reads), self._looked_up_in + perf_counter_ns() - began)
            return anchors
        if state is not None:
            with self.stats.timed("candidates"):
                seeds = _without_known(seeds, seeds.diagonal >> context.shift, state.scored)
                seeds = _without_known(seeds, seeds.diagonal, state.rejected)
        return seeds if context.left_out is None else without_contigs(seeds, context)


def _without_known(anchors: Anchors, place: I64, known: KeysByRead) -> Anchors:
    """The anchors without those whose bucket, or diagonal, is known: `place` int64[c]."""
    if not len(known.keys):
        return anchors
    key = place_keys(anchors.read_strand, place)
    at = np.minimum(np.searchsorted(known.keys, key), len(known.keys) - 1)
    return anchors.keep(known.keys[at] != key)
