"""The quick look of pairs on an OpenCL device (`search.paired`), in one visit.

Seeds are looked up, anchors gathered, and the buckets of those near their mates scored. What settles a pair is known on
the device, so most pairs come back finished. Of all other reads the host asks for the seeds of the whole first stage
next, so these are looked up at once. In a large genome they have hundreds of anchors. The host takes those near the
mate, and of the others those of the best buckets alone, except in rare pairs. So most of them stay here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gassst.gpu.arrays import STATE, DeviceAnchors, DeviceBands, DeviceReads, DeviceState
from gassst.gpu.backend import COUNTERS_BYTES, DeviceBackend
from gassst.gpu.requests import QuickLooked
from gassst.model.array_types import U8
from gassst.search.context import QUICK_EVERY
from gassst.search.host_pairs import QUICK_ANCHORS
from gassst.search.plan import EXTRA_STRATA

if TYPE_CHECKING:
    from gassst.gpu.device import Memory

NEAR_BYTES = 4 * (2 * 2 * QUICK_ANCHORS + 2 * 2 + 2)
"""Of the struct of a pair."""


class QuickLook(DeviceBackend):
    """The quick look at the pairs that the requests of a batch ask about."""

    def answers(self) -> Iterator[QuickLooked]:
        """What was found of every request."""
        slot, batch = self._slot, self.context
        state, is_open = self.initial_state(), slot.filled("is_open", batch.n, 1)
        mates = self.asked(0, QUICK_EVERY, "mates", [each.mates for each in batch.requests])
        anchors = self.gather(self.look_up(state, 0, mates, QUICK_EVERY), mates, state)
        near = slot.buffer("near", NEAR_BYTES * mates.size // 2)
        (bands,) = self.score(self._near_bands(anchors, near))
        self._settle(bands, near, state, is_open)
        columns = slot.download("quick_state", state.columns, len(STATE) * batch.n, np.uint16)
        number = slot.download("number", state.number, batch.n, np.uint32)
        left = slot.download("is_open", is_open, batch.n, np.uint8)
        repeats = self._note_repeats()
        still_open = self._still_open(is_open)  # waits
        start, found = self._collected("quick_", [bands], number)
        known = self._columns(columns, "BEST", "RIVAL", "COMPLETE", "CAPPED")
        requests = pairwise(batch.first)
        for looked in self.looked_up(still_open, DeviceState(state.columns, state.number), None):
            a, b = next(requests)
            of_bands = [column[start[a] : start[b]] for column in found]
            of_reads = [column[a:b] for column in (*known, left, repeats)]
            yield QuickLooked._make([a, *of_bands, *of_reads, looked])

    def _note_repeats(self) -> U8:
        """Once `wait` has returned, uint8[n]: `QuickLooked.repeats`."""
        slot, n = self._slot, self.context.n
        repeats = slot.buffer("repeats", n)
        slot.launch("note_repeats", n, *self._reads, np.uint32(n), repeats)
        return slot.download("repeats", repeats, n, np.uint8)

    @property
    def _window_with_gaps(self) -> tuple[np.int32, ...]:
        """The same of anchors, from which gaps may move an alignment away."""
        (orientation, low, high), gaps = self._window, np.int32(self.context.plan.gaps)
        return orientation, low - gaps, high + gaps

    @property
    def _window(self) -> tuple[np.int32, ...]:
        """Template lengths, as kernels take them."""
        return tuple(map(np.int32, self.context.requests[0].window))

    def _near_bands(self, anchors: DeviceAnchors, near: Memory) -> DeviceBands:
        """Bands of the buckets of anchors near the mate, in pairs that have few of them."""
        slot, reads = self._slot, anchors.reads
        room = min(anchors.size, QUICK_ANCHORS * reads.size)
        pairs, bands = slot.buffer("pairs0", 8 * room), slot.buffer("bands0", 8 * reads.size)
        active = np.uint32(reads.size // 2), reads.numbers, reads.plan, self._shift
        columns = *self._window_with_gaps, anchors.segment, anchors.anchors, np.uint32(room)
        out = near, pairs, bands, reads.counters
        slot.launch("list_near_bands", reads.size // 2, self._lengths, self._flips, *active, *columns, *out)
        return self._bands(reads, False, room, pairs, bands)

    def _settle(self, bands: DeviceBands, near: Memory, state: DeviceState, is_open: Memory) -> None:
        """Close the pairs whose best concordant pair has no rivals that may be unseen."""
        slot, reads, batch = self._slot, bands.reads, self.context
        borders, row, shares = slot.of_pairs(batch.plan, batch.present)
        active = self._n, np.uint32(reads.size // 2), reads.numbers, *self._window
        n_borders = np.uint32(len(self._index.index.reference.starts) + 1)
        known = borders, n_borders, np.int32(EXTRA_STRATA), row, shares, np.uint32(len(batch.present))
        columns = bands.bands, bands.pairs, np.uint32(bands.room), bands.found, near
        out = state.columns, bands.kept, state.number, is_open, reads.counters
        slot.launch("settle_pairs", reads.size // 2, self._lengths, *active, *known, *columns, *out)

    def _still_open(self, is_open: Memory) -> DeviceReads:
        """The reads asked for that are open. What was counted of the quick look is noted, and forgotten there."""
        slot, batch = self._slot, self.context
        asked = self.asked(0, None, "asked", [each.reads for each in batch.requests])
        numbers = slot.buffer("open", 4 * asked.size)
        slot.launch(
            "choose_open", asked.size, np.uint32(asked.size), asked.numbers, is_open, asked.counters, numbers
        )
        counts = self._counts(0)
        self._count_bands(counts["BANDS"])
        self.stats.candidates += counts["CANDIDATES"]
        slot.filled("counters", COUNTERS_BYTES * batch.plan.MAX_STAGES)
        return DeviceReads(0, counts["ACTIVE"], numbers, asked.counters, asked.plan)
