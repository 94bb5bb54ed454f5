"""The search for all places of single reads on an OpenCL device, tracebacks included (`gassst/gpu/kernels/places.cl`).

Limits never fall, so the narrow band rejects occurrences before
they become anchors. The same anchors pass as on the host.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gassst.gpu.arrays import GROUP, STATE, DeviceAnchors, DeviceReads, DeviceSeeds, DeviceState
from gassst.gpu.backend import ITEMS, DeviceBackend
from gassst.gpu.found import Found, TracedRows
from gassst.gpu.index import SOURCES_OF_ALL
from gassst.model.array_types import U32

if TYPE_CHECKING:
    from gassst.gpu.device import Memory

MOST_OF_ALL = (1 << 32) - 1
"""Anchors, for which there is room once they are counted."""
DIAGONALS = 64
"""Of a band, for each of its words."""
TRACE_BYTES = 1 << 30
"""Of what work-items write on the way to their alignments, at most, unless a few reads need more."""


class Rows(NamedTuple):
    """Minima on the device: `n` of them, in buffers of uint32[2, n], read strands and first diagonals, and of
    uint16[3, n], errors, ends, and reach. `counters`: of the `stage` that found them."""

    n: int
    places: Memory
    scores: Memory
    counters: Memory
    stage: int


class AllPlaces(DeviceBackend):
    """The passes of one stage of seeds; the filters have the narrow band."""

    sources = SOURCES_OF_ALL

    def _counted(self, stage: int) -> dict[str, int]:
        """The counts of a stage, as they are once all that was noted is done."""
        self._download_counts()
        return self._counts_in(self._slot.finish()["counters"], stage)

    def gather(self, seeds: DeviceSeeds, state: DeviceState) -> DeviceAnchors:
        slot, reads, stage, all_reads = self._slot, seeds.reads, seeds.reads.stage, self._most
        counts = self._counted(stage)
        a = counts["ACTIVE"]
        listed, number = slot.buffer("occurrences", 4 * counts["ANCHORS"]), slot.buffer("passed", 4 * a)
        kept, many = slot.filled("kept_segment", 8 * all_reads), slot.buffer("many", 4 * a)
        active = np.uint32(a), reads.numbers
        seen = self._n, state.columns, *self._planes, np.uint32(self.context.cascade.gaps)
        found = *self._index.positions, *self._index.following, seeds.lo
        of_seeds = seeds.count, seeds.looked, seeds.at, seeds.segment, listed
        of_reads = self._lengths, self._flips, *active, reads.plan
        slot.launch("list_occurrences", (a, seeds.width), *of_reads, *found, *of_seeds)
        bounded = *seen, *active, reads.plan, seeds.count, seeds.at, seeds.segment, listed, number
        slot.launch("bound_occurrences", GROUP * a, *self._reads, *bounded)
        slot.launch("reserve_passed", a, *active, number, reads.counters, kept, many)
        counts = self._counted(stage)
        size = counts["PASSED"]
        anchors, owner = slot.buffer("anchors", 8 * size), slot.buffer("owner", 4 * size)
        slot.launch("gather_passed", GROUP * a, *of_reads, *of_seeds, kept, anchors, owner)
        self._sort(reads, "MANY_PASSED", many, kept, anchors)
        slot.launch("merge_anchors", a, reads.counters, reads.numbers, kept, anchors)
        return DeviceAnchors(reads, size, anchors, owner, kept)

    def run_stage(self, state: DeviceState, reads: DeviceReads) -> None:
        anchors = self.gather(self.look_up(state, reads, MOST_OF_ALL), state)
        self._listed(anchors, "PASSED")  # for their number
        # No minimum is above the limit of its read; `collect` lists them when all bands are known.
        state.bands.append(self.buckets(anchors))

    # --- back to the host ----------------------------------------------------------------------------------------

    def collected(self, state: DeviceState, like: Hashable) -> dict[str, np.ndarray]:
        """What was found: all minima, read by read, and their alignments. Each batch notes its own commands."""
        slot = self._slot
        rows = self._minima(state)
        *paths, packed, n_cigars = self._traced(rows)
        slot.download("columns", rows.places, (2, rows.n), np.uint32)
        slot.download("scores", rows.scores, (3, rows.n), np.uint16)
        for i, path in enumerate(paths):
            slot.download(f"path{i}", path, (rows.n,), np.uint32 if i < 2 else np.uint16)
        slot.download("cigars", packed, (n_cigars,), np.uint32)
        slot.download("state", state.columns, (len(STATE), self._most), np.uint16)
        self._download_counts()
        return slot.finish()

    def _lacks(self, counters: U32) -> bool:
        return False  # there is as much room as was counted

    def found(self, arrays: dict[str, np.ndarray]) -> Found:
        edits, end, reach = arrays["scores"]
        read_strand, first = arrays["columns"]
        diagonals, start, errors, n_runs = (arrays[f"path{i}"] for i in range(4))
        traced = TracedRows(reach, diagonals, start, errors, n_runs, arrays["cigars"])
        state = np.ascontiguousarray(arrays["state"][:, : self.context.n])
        return Found(read_strand, first, edits, end, state, traced=traced)

    def _minima(self, state: DeviceState) -> Rows:
        """All minima."""
        slot = self._slot
        if not state.bands:
            nothing = slot.buffer("columns", 0), slot.buffer("scores", 0)
            return Rows(0, *nothing, slot.counters_of[0], 0)
        (bands,) = state.bands
        reads = bands.reads
        counts = self._counted(reads.stage)
        self._count(counts)
        n, widths = counts["BANDS"], self._widths
        stride = DIAGONALS * max(widths, default=1)
        profile, minima, before = (
            slot.buffer(name, size * n)
            for name, size in (("profile", 2 * stride), ("minima", 4), ("before", 4))
        )
        pairs = bands.pairs, np.uint32(bands.room), np.uint32(n)
        seen = self._lengths, reads.plan, self._n, state.columns, *pairs, np.uint32(stride), profile
        for words in widths:
            which = reads.plan, *self._planes, *pairs, np.uint32(stride), profile
            slot.launch("profile_bands", min(n, ITEMS), *self._reads, *which, words=words)
            slot.launch("count_minima", n, *seen, minima, words=words)
        a = counts["ACTIVE"]
        active = np.uint32(a), reads.numbers
        slot.launch("sum_minima", a, *active, bands.bands, minima, before, state.number)
        slot.download("number", state.number, (self._most,), np.uint32)
        number = slot.finish()["number"]
        start = np.append(0, np.cumsum(number, dtype=np.int64))
        h, following = int(start[-1]), slot.upload("next", start[:-1].astype(np.uint32))
        places, scores = slot.buffer("columns", 8 * h), slot.buffer("scores", 6 * h)
        for words in widths:
            slot.launch(
                "collect_minima", n, *seen, before, following, np.uint32(h), places, scores, words=words
            )
        return Rows(h, places, scores, reads.counters, reads.stage)

    def _traced(self, rows: Rows) -> tuple[Memory, Memory, Memory, Memory, Memory, int]:
        """The alignments of all rows.

        Returns
        -------
        diagonals, run_start : Memory
            uint32[h]: on which diagonals they begin, and where their runs are.
        edits, n_runs : Memory
            uint16[h]: their errors, and how many runs they have, 0 if ungapped.
        runs : Memory
            uint32[]
        int
            The number of all runs.
        """
        slot, h = self._slot, np.uint32(rows.n)
        diagonals, run_start, gapped, slot_end, first = (
            slot.buffer(name, 4 * rows.n)
            for name in ("diagonals", "run_start", "gapped", "slot_end", "first")
        )
        edits, n_runs = slot.buffer("edits", 2 * rows.n), slot.buffer("n_runs", 2 * rows.n)
        out = diagonals, edits, n_runs, gapped, slot_end, rows.counters
        slot.launch("find_ungapped", rows.n, *self._reads, *self._planes, h, rows.places, rows.scores, *out)
        counts = self._counted(rows.stage)
        n, room = counts["GAPPED"], counts["RUNS"]
        self._count_bands(0, n)
        longest, most = int(self.present.max()), int(self.context.plan.errors[self.present].max())
        widths = [words for words in (1, 2, 4, 8) if words == 1 or DIAGONALS * words <= 4 * most]
        of_item = DIAGONALS * widths[-1] * longest
        items = -(-min(n, max(TRACE_BYTES // of_item, 1)) // GROUP) * GROUP
        trace, runs = slot.buffer("trace", of_item * items), slot.buffer("runs", 4 * room)
        of_rows = h, rows.places, rows.scores, gapped, np.uint32(n), np.uint32(longest)
        to = trace, first, slot.buffer("ends", 4 * rows.n), slot_end, runs, diagonals, edits, n_runs
        for words in widths:
            slot.launch("trace_gapped", items, *self._reads, *self._planes, *of_rows, *to, words=words)
        total, packed = slot.filled("total", 4), slot.buffer("packed", 4 * room)
        of_runs = slot_end, n_runs, runs, total, run_start, packed, rows.counters
        slot.launch("pack_runs", rows.n, h, *of_runs)
        slot.download("total", total, (1,), np.uint32)
        return diagonals, run_start, edits, n_runs, packed, int(slot.finish()["total"][0])

    def _count(self, counts: dict[str, int]) -> None:
        stats = self.stats
        stats.occurrences += counts["ANCHORS"]
        stats.candidates += counts["LISTED"]
        self._count_bands(counts["BANDS"])
        stats.funnel.count("band32", counts["ANCHORS"], counts["PASSED"], 0)
