"""The passes of the search on an OpenCL device (`gassst/gpu/kernels/search.h`), for single reads.

From packed reads to the bands within the limits everything stays on the device. A stage comes back to the host twice:
for the number of reads that take part, and for that of the anchors. Places are selected and rated on the host.

A launch, and a wait, cost the same for 20,000 reads as for 200,000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gassst.gpu.arrays import (
    COUNTERS,
    STATE,
    DeviceAnchors,
    DeviceBands,
    DeviceReads,
    DeviceSeeds,
    DeviceState,
)
from gassst.gpu.device import OutOfDeviceMemory
from gassst.gpu.found import Found
from gassst.gpu.index import SOURCES, Slot
from gassst.model.array_types import COORDINATE, I64, U8, U16, U32, U64
from gassst.model.params import MapParams
from gassst.model.presets import EXTRA_STRATA
from gassst.model.stats import Stats
from gassst.model.times import Times
from gassst.pairing.error_rate import ErrorRate
from gassst.search.context import BatchContext
from gassst.search.filters import Cascade
from gassst.search.host import given_up
from gassst.search.plan import SearchPlan

if TYPE_CHECKING:
    from gassst.gpu.device import Memory

SORTING = 256
"""Work-items that sort the anchors of one read, where there are many."""
COUNTERS_BYTES = 4096
"""From the counters of one stage to those of the next: buffers may begin there."""
ITEMS = 1 << 18
"""Work-items at most where the device alone knows how many there would be."""


class DeviceBatch(NamedTuple):
    """Reads that a device searches, and what they are searched by.

    Attributes
    ----------
    plan, cascade, params, library
        As `BatchContext` has them.
    planes, plane_start, lengths
        As `PackedReads` has them.
    flip : uint8[n]
    """

    plan: SearchPlan
    cascade: Cascade
    params: MapParams
    library: ErrorRate
    planes: U64
    plane_start: U32
    lengths: U32
    flip: U8

    @classmethod
    def of(cls, context: BatchContext) -> DeviceBatch:
        """All reads of a batch."""
        packed = context.packed
        searched = context.plan, context.cascade, context.params, context.library
        return cls(*searched, packed.planes, packed.plane_start, packed.lengths, context.flip)

    @property
    def n(self) -> int:
        """Reads."""
        return len(self.lengths)

    @property
    def present(self) -> I64:
        """int64[]: their distinct lengths."""
        return np.flatnonzero(np.bincount(self.lengths, minlength=1))


class DeviceBackend:
    """The search of single reads on a device: the schedule of `_core.stages.Stages`.

    Parameters
    ----------
    batch : DeviceBatch
    slot : Slot
        Of the index on the device; the caller gives it back.
    """

    sources = SOURCES
    """Names the sources of the kernels."""

    def __init__(self, batch: DeviceBatch, slot: Slot):
        self.context, self.stats, self.present = batch, Stats(), batch.present
        self._slot, self._index = slot, slot.index
        *self._plans, self._caps = slot.begin(batch.plan, batch.library, given_up(batch.params), self.sources)
        self._reads = [
            slot.upload("read_planes", batch.planes.ravel()),
            np.uint64(len(batch.planes)),
            slot.upload("read_row", batch.plane_start),
            slot.upload("read_length", batch.lengths),
            slot.upload("read_flip", batch.flip),
        ]
        self._lengths, self._flips = self._reads[3:]
        self._n, self._shift = np.uint32(batch.n), np.uint32(batch.plan.shift)
        self._planes = self._index.engine.planes, np.uint64(len(self._index.engine.reference))
        self._counters = slot.filled("counters", COUNTERS_BYTES * batch.plan.MAX_STAGES)

    def searched(self) -> Found:
        """What the whole search finds."""
        state = self.initial_state()
        for stage in range(self.context.plan.MAX_STAGES):
            reads = self.unsettled(state, stage)
            if len(reads):
                self.run_stage(state, stage, reads)
        return self.collect(state)

    def run_stage(self, state: DeviceState, stage: int, reads: DeviceReads) -> None:
        """Look up one stage of seeds of these reads and score what they lead to."""
        anchors = self.gather(self.look_up(state, stage, reads), reads, state)
        # The best supported place tightens the limit, by which the filters reject more of the others.
        self.score(self.best_supported(anchors), state)
        self.filter(anchors, state)
        self.score(self.buckets(anchors), state)

    # --- seeds ---------------------------------------------------------------------------------------------------

    def initial_state(self) -> DeviceState:
        slot, n = self._slot, self.context.n
        columns = slot.buffer("state", 2 * len(STATE) * n)
        slot.launch("begin_reads", n, self._n, self._lengths, self._plans[0], columns)
        return DeviceState(columns, slot.filled("number", 4 * n))

    def unsettled(self, state: DeviceState, stage: int) -> DeviceReads:
        slot, plan, columns = self._slot, self.context.plan, self._plans[stage]
        counters, active = self._counters_of(stage), slot.buffer(f"active{stage}", 4 * self.context.n)
        if not plan.seed_count[stage, self.present].any():
            return DeviceReads(stage, 0, active, counters, columns)
        strata = np.uint32(plan.preset.strata)
        of_reads = self._lengths, columns, state.columns, counters, active
        slot.launch("choose_reads", self.context.n, self._n, strata, *of_reads)
        size = self._counts(stage)["ACTIVE"]
        return DeviceReads(stage, size, active, counters, columns)

    def _counts(self, stage: int) -> dict[str, int]:
        """Those of a stage, as they are once all that is under way is done."""
        slot, stages = self._slot, self.context.plan.MAX_STAGES
        counts = slot.download("counters", self._counters, COUNTERS_BYTES // 4 * stages, np.uint32)
        slot.wait()
        return self._counts_in(counts, stage)

    def _counts_in(self, counts: U32, stage: int) -> dict[str, int]:
        of_stage = counts.reshape(-1, COUNTERS_BYTES // 4)[stage, : len(COUNTERS)].tolist()
        found = dict(zip(COUNTERS, of_stage, strict=True))
        if found["OVERFLOW"]:
            raise OutOfDeviceMemory(f"{self._index.engine.info.name}: a batch has too many anchors")
        return found

    def look_up(self, state: DeviceState, stage: int, reads: DeviceReads) -> DeviceSeeds:
        rows, present = self.context.plan.rows(stage), self.present
        width = 2 * int((-(-rows.number[present].astype(np.int64) // rows.every[present])).max())
        slot, index, caps, a = self._slot, self._index, self._caps, reads.size
        lo, count, at = (slot.buffer(name, 4 * a * width) for name in ("lo", "count", "at"))
        length = slot.buffer("length", a * width)
        whole = index.index
        arrays = *index.table, *index.positions, *index.following, *self._planes
        sizes = np.uint32(whole.k), np.uint32(len(whole.positions))
        active = np.uint32(a), reads.numbers
        of_reads = *self._reads, *active, reads.plan
        slot.launch("look_up", (a, width), *of_reads, *arrays, *sizes, caps, lo, count, length)
        segment = slot.filled(f"segment{stage}", 8 * self.context.n)
        many = slot.buffer("many", 4 * a)
        seeds = reads.plan, caps, count, length, at, np.uint32(stage)
        out = state.columns, reads.counters, segment, many
        slot.launch("limit_seeds", a, self._n, self._lengths, *active, *seeds, *out)
        counts = self._counts(stage)
        self.stats.occurrences += counts["ANCHORS"]
        return DeviceSeeds(
            reads, width, lo, count, length, at, segment, many, counts["ANCHORS"], counts["MANY"]
        )

    def gather(self, seeds: DeviceSeeds, reads: DeviceReads, state: DeviceState) -> DeviceAnchors:
        slot, size, stage = self._slot, seeds.n_anchors, reads.stage
        anchors, owner = slot.buffer(f"anchors{stage}", 8 * size), slot.buffer("owner", 4 * size)
        top_bucket = slot.buffer(f"top_bucket{stage}", 8 * self.context.n)
        active = np.uint32(reads.size), reads.numbers
        where = self._lengths, self._flips, *active, reads.plan, *self._index.positions
        columns = seeds.lo, seeds.count, seeds.length, seeds.at, seeds.segment
        slot.launch("gather_anchors", (reads.size, seeds.width), *where, *columns, anchors, owner)
        slot.launch("sort_many", SORTING * seeds.n_many, seeds.many, seeds.segment, anchors, group=SORTING)
        slot.launch("merge_anchors", reads.size, *active, seeds.segment, anchors)
        for known in state.stages:
            since = np.uint32((1 << stage + 1) - (1 << known.reads.stage + 1))
            place = np.uint32(size), self._shift, self._n, state.columns, since, owner, self._flips, anchors
            slot.launch("drop_known", size, *place, known.segment, known.anchors, known.top_bucket)
        found = DeviceAnchors(reads, size, anchors, owner, seeds.segment, top_bucket)
        state.stages.append(found)
        return found

    # --- candidates ----------------------------------------------------------------------------------------------

    def best_supported(self, anchors: DeviceAnchors) -> DeviceBands:
        slot, reads = self._slot, anchors.reads
        pairs = slot.buffer(f"top_pairs{reads.stage}", 8 * reads.size)
        active = np.uint32(reads.size), reads.numbers, reads.plan, self._shift
        columns = anchors.segment, anchors.anchors, anchors.top_bucket, pairs, reads.counters
        slot.launch("choose_top_buckets", reads.size, self._lengths, self._flips, *active, *columns)
        return self._bands(reads, True, reads.size, pairs, anchors.segment)

    def filter(self, candidates: DeviceAnchors, state: DeviceState) -> None:
        """Drop the candidates that the narrow band rejects, where the cascade has it."""
        slot, cascade, counters = self._slot, self.context.cascade, candidates.reads.counters
        if not cascade.names:
            return
        listed = self._listed(candidates)
        seen = self._n, state.columns, *self._planes, np.uint32(cascade.gaps)
        bands = candidates.owner, listed, candidates.anchors, counters
        slot.launch("bound_bands", min(candidates.size, ITEMS), *self._reads, *seen, *bands)

    def _listed(self, candidates: DeviceAnchors) -> Memory:
        """Returns those that were not dropped, in a buffer of uint32[]."""
        listed, size = self._slot.buffer("listed", 4 * candidates.size), candidates.size
        self._slot.launch(
            "list_anchors", size, np.uint32(size), candidates.anchors, listed, candidates.reads.counters
        )
        return listed

    def buckets(self, candidates: DeviceAnchors) -> DeviceBands:
        """The distinct buckets of candidates, without the best supported ones."""
        slot, reads, room = self._slot, candidates.reads, candidates.size
        pairs = slot.buffer(f"pairs{reads.stage}", 8 * room)
        bands = slot.buffer(f"bands{reads.stage}", 8 * reads.size)
        active = np.uint32(reads.size), reads.numbers, reads.plan, self._shift
        columns = candidates.segment, candidates.anchors, candidates.top_bucket, np.uint32(room)
        out = pairs, bands, reads.counters
        slot.launch("list_bands", reads.size, self._lengths, self._flips, *active, *columns, *out)
        return self._bands(reads, False, room, pairs, bands)

    def _bands(
        self, reads: DeviceReads, is_top: bool, room: int, pairs: Memory, bands: Memory
    ) -> DeviceBands:
        name = f"{'top_' if is_top else ''}{{}}{reads.stage}"
        found, kept = (
            self._slot.buffer(name.format("found"), 4 * room),
            self._slot.buffer(name.format("kept"), room),
        )
        return DeviceBands(reads, is_top, room, pairs, bands, found, kept)

    # --- bands ---------------------------------------------------------------------------------------------------

    def score(self, buckets: DeviceBands, state: DeviceState) -> None:
        """Score the bands of buckets; those within the limits of their reads, which tighten, are added to the state."""
        slot, reads = self._slot, buckets.reads
        count = np.uint32(COUNTERS.index("ACTIVE" if buckets.is_top else "BANDS"))
        pairs = buckets.pairs, np.uint32(buckets.room), reads.counters, count, buckets.found
        for words in np.unique(self.context.plan.words[self.present]).tolist():
            items, seen = min(buckets.room, ITEMS), (reads.plan, *self._planes)
            slot.launch("score_bands", items, *self._reads, *seen, *pairs, words=words)
        which = self._n, np.uint32(reads.size), reads.numbers, np.int32(buckets.is_top), buckets.bands
        columns = buckets.pairs, np.uint32(buckets.room), buckets.found, np.int32(EXTRA_STRATA)
        out = state.columns, buckets.kept, state.number
        slot.launch("keep_bands", reads.size, *which, *columns, *out)
        state.bands.append(buckets)

    # --- back to the host ----------------------------------------------------------------------------------------

    def _starts(self, number: U32) -> tuple[I64, Memory]:
        """Where what each read has so many of begins, int64[n + 1]; and a buffer with the same."""
        start = np.append(0, np.cumsum(number, dtype=np.int64))
        return start, self._slot.upload("next", start[:-1].astype(np.uint32))

    def _counters_of(self, stage: int) -> Memory:
        return self._slot.part(self._counters, COUNTERS_BYTES * stage, COUNTERS_BYTES)

    def collect(self, state: DeviceState) -> Found:
        """What was found. The bands of a read come in the order of its stages."""
        slot, batch, stages = self._slot, self.context, self.context.plan.MAX_STAGES
        number = slot.download("number", state.number, batch.n, np.uint32)
        columns = slot.download("state", state.columns, len(STATE) * batch.n, np.uint16)
        counters = slot.download("counters", self._counters, COUNTERS_BYTES // 4 * stages, np.uint32)
        slot.wait()
        for anchors in state.stages:
            self._count(self._counts_in(counters, anchors.reads.stage))
        start, (read_strand, first, edits, end) = self._collected(state.bands, number)
        slot.wait()
        bands = read_strand.copy(), first.astype(COORDINATE), edits.copy(), end.copy()
        return Found(*bands, start, columns.reshape(len(STATE), batch.n).copy())

    def _collected(self, bands: list[DeviceBands], number: U32) -> tuple[I64, tuple[U32, U32, U16, U16]]:
        """Where the bands of every read begin that are kept, `number` uint32[n] of each; and once `wait` has returned
        their columns: read strands and first diagonals, errors and ends."""
        slot = self._slot
        start, following = self._starts(number)
        kept = int(start[-1])
        places = slot.buffer("columns", 8 * kept)
        scores = slot.buffer("scores", 4 * kept)
        for part in bands:
            which = np.uint32(part.reads.size), part.reads.numbers, np.int32(part.is_top), part.bands
            rows = part.pairs, np.uint32(part.room), part.found, part.kept
            out = following, np.uint32(kept), places, scores
            slot.launch("collect_bands", part.reads.size, *which, *rows, *out)
        columns = slot.download("columns", places, 2 * kept, np.uint32).reshape(2, kept)
        edits, end = slot.download("scores", scores, 2 * kept, np.uint16).reshape(2, kept)
        return start, (*columns, edits, end)

    def _count(self, counts: dict[str, int]) -> None:
        stats, names = self.stats, self.context.cascade.names
        stats.candidates += counts["CANDIDATES"]
        self._count_bands(counts["TOP_BUCKETS"] + counts["BANDS"])
        if "band32" in names:
            stats.funnel.count("band32", counts["LISTED"], counts["LISTED"] - counts["REJECTED"], 0)

    def _count_bands(self, scored: int, traced: int = 0) -> None:
        self.stats.scored += scored
        self.stats.traced += traced
        self.stats.extension += Times(device_scored=scored, device_traced=traced)
