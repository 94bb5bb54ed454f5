"""Another look at reads on an OpenCL device (`search.dense`): anchors, and the best stretch on each one's diagonal.

In a large genome dense seeds of repeats, and the bases that they lead to, are what the host waits for: few of them lie
in a cache. What is promising among the anchors it finds out by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gassst.gpu.arrays import DeviceReads, DeviceSeeds
from gassst.gpu.backend import DeviceBackend
from gassst.gpu.requests import Densely

if TYPE_CHECKING:
    from gassst.gpu.device import Memory


class DenseLook(DeviceBackend):
    """The reads that the requests of a batch ask about, which are all of it."""

    def answers(self) -> Iterator[Densely]:
        """What was found of every request."""
        slot, batch = self._slot, self.context
        dense = batch.requests[0].dense
        columns, caps = slot.of_dense(batch.plan, dense)
        numbers = slot.upload("dense", np.arange(batch.n, dtype=np.uint32))
        reads = DeviceReads(0, batch.n, numbers, self._counters_of(0), columns)
        state, width = self.initial_state(), 2 * int(dense.rows().number[batch.present].max())
        seeds = self.look_up_width(state, 0, reads, width, caps)
        clipped = self._note_clipped(seeds)
        anchors = self.gather(seeds, reads, state)
        segment = slot.download("segment", anchors.segment, 2 * batch.n, np.uint32)
        slot.wait()
        start, places, scores = self.collect_anchors(anchors, segment[1::2])
        kept = int(start[-1])
        stretches = slot.buffer("stretches", 8 * kept)
        scoring = batch.params.scoring
        costs = map(np.int32, (scoring.match, scoring.mismatch, scoring.clip))
        which = np.uint32(kept), *self._planes
        slot.launch("score_stretches", kept, *self._reads, *which, *costs, places, stretches)
        read_strand, diagonal = slot.download("columns", places, 2 * kept, np.uint32).reshape(2, kept)
        offset, length = slot.download("scores", scores, 2 * kept, np.uint16).reshape(2, kept)
        best = slot.download("stretches", stretches, 2 * kept, np.uint32).reshape(2, kept)
        of_reads = slot.download("clipped", clipped, 3 * batch.n, np.int32).reshape(3, batch.n)
        slot.wait()
        for a, b in pairwise(batch.first):
            some = slice(start[a], start[b])
            of_anchors = read_strand[some], diagonal[some], offset[some], length[some], best[:, some]
            count, first, last = of_reads[:, a:b]
            yield Densely(a, *of_anchors, start[a : b + 1], count, first, last)

    def _note_clipped(self, seeds: DeviceSeeds) -> Memory:
        """Buffer of int32[3, n]: seeds that occur too often, the first one's base, the last one's."""
        slot, reads = self._slot, seeds.reads
        clipped = slot.buffer("clipped", 12 * reads.size)
        active = np.uint32(reads.size), reads.numbers, reads.plan
        slot.launch("note_clipped", reads.size, self._lengths, self._flips, *active, seeds.length, clipped)
        return clipped
