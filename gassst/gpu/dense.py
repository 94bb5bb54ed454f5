"""Another look at reads on an OpenCL device (`search.dense`): anchors, and the best stretch on each one's diagonal.

In a large genome dense seeds of repeats, and the bases that they lead to, are what the host waits for: few of them lie
in a cache. What is promising among the anchors it finds out by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gassst.gpu.arrays import DeviceReads, DeviceSeeds
from gassst.gpu.backend import DeviceBackend
from gassst.model.array_types import U32
from gassst.search.dense import DenselyLooked, DenseSeeds

if TYPE_CHECKING:
    from gassst.gpu.device import Memory


class DenseLook(DeviceBackend):
    """Looks up dense seeds of all reads of a `DeviceBatch`."""

    def looked(self, seeds: DenseSeeds, reads: U32) -> DenselyLooked:
        """What dense seeds lead to. `reads`: uint32[n], what the reads are called there."""
        slot, batch = self._slot, self.context
        columns, caps = slot.of_dense(batch.plan, seeds)
        rows = np.arange(batch.n, dtype=np.uint32)
        asked = DeviceReads(0, batch.n, slot.upload("dense", rows), self._counters_of(0), columns)
        state, width = self.initial_state(), 2 * int(seeds.rows().number[self.present].max())
        looked_up = self.look_up_width(state, 0, asked, width, caps)
        clipped = self._note_clipped(looked_up)
        found, places = self.anchors_of_reads(self.gather(looked_up, asked, state), rows)
        kept = len(found)
        stretches = slot.buffer("stretches", 8 * kept)
        scoring = batch.params.scoring
        costs = map(np.int32, (scoring.match, scoring.mismatch, scoring.clip))
        which = np.uint32(kept), *self._planes
        slot.launch("score_stretches", kept, *self._reads, *which, *costs, places, stretches)
        best = slot.download("stretches", stretches, 2 * kept, np.uint32).reshape(2, kept)
        of_reads = slot.download("clipped", clipped, 3 * batch.n, np.int32).reshape(3, batch.n)
        slot.wait()
        own = found.read_strand
        read_strand = reads[own >> 1] << np.uint32(1) | own & np.uint32(1)
        anchors = replace(found, read_strand=read_strand, reads=reads)
        first, last = of_reads[1:].astype(np.int64)
        return DenselyLooked(anchors, of_reads[0].astype(np.uint16), first, last, best.copy())

    def _note_clipped(self, seeds: DeviceSeeds) -> Memory:
        """Buffer of int32[3, n]: seeds that occur too often, the first one's base, the last one's."""
        slot, reads = self._slot, seeds.reads
        clipped = slot.buffer("clipped", 12 * reads.size)
        active = np.uint32(reads.size), reads.numbers, reads.plan
        slot.launch("note_clipped", reads.size, self._lengths, self._flips, *active, seeds.length, clipped)
        return clipped
