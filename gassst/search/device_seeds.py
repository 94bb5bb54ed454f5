"""The passes on the host, with anchors from a device: for searches that a device does not take as a whole, as of pairs.

Looking seeds up and sorting what they hit is half of the search of pairs, and more in a large genome, where every seed
misses the caches. What follows needs no index, and goes on where it is.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

import numpy as np

from gassst._core import bookkeeping as _bookkeeping
from gassst.search.arrays import U32, Anchors, KeysByRead
from gassst.search.dense import DenselyLooked, DenseSeeds
from gassst.search.device_requests import Looked
from gassst.search.host import HostBackend, without_contigs
from gassst.search.state import SearchState

# Reads for which a device is asked, at least: it answers after some milliseconds, in which the host looks up as many.
LEAST_READS = 2048
# The same of reads whose dense seeds are looked up, of which each costs the host a hundred times as much.
LEAST_DENSE = 8


class SeedsOnDevice(HostBackend):
    """`search.backend.SearchBackend` on the host; the device of the context looks seeds up."""

    _looked_up_in = 0  # nanoseconds of the host
    _ahead: tuple[U32, Looked] | None = None

    def keep_ahead(self, reads: U32, found: Looked) -> None:
        """The seeds of the first stage of these reads, which will be looked up next, are known already."""
        self._ahead = reads, found

    def look_up(self, state: SearchState, stage: int, reads: U32, every: int | None = None) -> Any:
        """The anchors themselves, where the device has looked the seeds up."""
        context, stats = self.context, self.stats
        found, self._ahead, ahead = None, None, self._ahead
        if ahead is not None and stage == 0 and every is None and np.array_equal(reads, ahead[0]):
            found = ahead[1]
        elif len(reads) >= LEAST_READS:
            found = context.on_device.look_up(context, stats, reads, stage, every)
        if found is None:
            began = perf_counter_ns()
            seeds = super().look_up(state, stage, reads, every)
            self._looked_up_in = perf_counter_ns() - began
            return seeds
        rows = context.plan.rows(stage)
        distance = rows.every if every is None else np.full_like(rows.every, every)
        lengths = context.lengths[reads]
        planned = (context.plan.disjoint[stage][lengths] + distance[lengths] - 1) // distance[lengths]
        noted = planned - found.complete[reads], found.capped[reads].astype(np.uint8)
        _bookkeeping.note_looked(state, context, stage, distance, reads, noted)
        state.known_seeds = None
        stats.add_work_of(found.counted)
        return found.anchors(reads)

    def of_first_stage(self, reads: U32) -> Anchors:
        """All anchors of some reads (uint32[a], ascending), whose seeds have been counted."""
        plan = self.context.plan
        with self.stats.timed("seeds"):
            seeds = self.resolve(reads, plan.rows(0), plan.caps).seeds
        return super().gather(seeds, reads, None)

    def look_densely(self, reads: U32, seeds: DenseSeeds) -> DenselyLooked:
        found = None
        if len(reads) >= LEAST_DENSE:
            found = self.context.on_device.look_densely(self.context, self.stats, reads, seeds)
        return super().look_densely(reads, seeds) if found is None else found

    def gather(self, seeds: Any, reads: U32, state: SearchState | None) -> Anchors:
        context = self.context
        if not isinstance(seeds, Anchors):
            began = perf_counter_ns()
            anchors = super().gather(seeds, reads, state)
            if len(reads) >= LEAST_READS:
                context.on_device.note_host(len(reads), self._looked_up_in + perf_counter_ns() - began)
            return anchors
        if state is not None:
            with self.stats.timed("candidates"):
                shift = np.uint32(context.shift)
                seeds = _without_known(seeds, seeds.diagonal >> shift, state.scored)
                seeds = _without_known(seeds, seeds.diagonal, state.rejected)
        return seeds if context.left_out is None else without_contigs(seeds, context)


def _without_known(anchors: Anchors, place: U32, known: KeysByRead) -> Anchors:
    """The anchors without those whose bucket, or diagonal, is known: `place` uint32[c]."""
    if not len(known.keys):
        return anchors
    key = anchors.read_strand.astype(np.uint64) << np.uint64(32) | place
    at = np.minimum(np.searchsorted(known.keys, key), len(known.keys) - 1)
    return anchors.keep(known.keys[at] != key)
