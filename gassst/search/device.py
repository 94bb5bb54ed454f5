"""The passes of the search on an OpenCL device (`gassst/extension/kernels/search.h`), for single reads aligned whole.

From packed reads to the bands within the limits everything stays on the device. A stage comes back to the host twice:
for the number of reads that take part, and for that of the anchors. Places are selected and rated on the host.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from gassst.extension.opencl_engine import Engine, OutOfDeviceMemory
from gassst.layouts import NO_SCORE
from gassst.search import single
from gassst.search.arrays import I64, U8, Bands, Bool, GlobalResult
from gassst.search.backend import Grouped
from gassst.search.context import BatchContext
from gassst.search.device_arrays import (
    COUNTERS,
    STATE,
    DeviceAnchors,
    DeviceBands,
    DeviceReads,
    DeviceSeeds,
    DeviceState,
    plan_columns,
)
from gassst.search.device_index import DeviceIndex, Slot
from gassst.search.filters import FLANK_STEPS
from gassst.search.host import UNGAPPED_REACH, HostBackend
from gassst.search.state import SearchState
from gassst.seeding.plan import EXTRA_STRATA
from gassst.stats import Stats

log = logging.getLogger("gassst")

CASCADES = ((), ("flanks",), ("band32",), ("flanks", "band32"))
"""Filters that the device has, in the order that it has them in."""
SORTING = 256
"""Work-items that sort the anchors of one read, where there are many."""
ITEMS = 1 << 18
"""Work-items at most where the device alone knows how many there would be."""


class Found(NamedTuple):
    """What a device found in a batch of `n` reads: `h` bands within the limits.

    Attributes
    ----------
    bands : uint32[2, h]
        Read strands and first diagonals, by read.
    scores : uint16[2, h]
        Errors, and the diagonal offset of the best end.
    start : int64[n + 1]
        Bands of read r are start[r] .. start[r + 1].
    state : uint16[len(STATE), n]
    counted : Stats
        What was done.
    """

    bands: np.ndarray
    scores: np.ndarray
    start: np.ndarray
    state: np.ndarray
    counted: Stats

    def result(self, context: BatchContext, stats: Stats) -> GlobalResult:
        """The places of every read, as the host selects and rates them; adds to `stats`."""
        stats.add_work_of(self.counted)
        no_bands: Any = None
        host = HostBackend(context, no_bands, stats)
        read_strand, first = self.bands
        edits, end = self.scores
        reach = np.minimum(edits, np.uint16(UNGAPPED_REACH))
        bands = Bands(read_strand, first, end, edits, context.words[read_strand >> 1], reach)
        grouped = Grouped(bands, bands.ends(context.lengths), self.start)
        state = SearchState.initial(context)
        for name, column in zip(STATE, self.state, strict=True):
            getattr(state, name.lower())[:] = column
        return host.rate(state, grouped, host.select_best(grouped, EXTRA_STRATA, context.params.max_hits))


def is_searched(params: Any, index: Any, lookup: Any, cascade: Any) -> bool:
    """Whether a device can search so: reads aligned whole, with an index of step 1 in one piece."""
    plain = params.mode != "local" and not params.all_hits
    whole = index.step == 1 and not lookup.copies
    return plain and whole and cascade.names in CASCADES


def is_taken(context: BatchContext) -> bool:
    """Whether a device can search this batch."""
    suits = is_searched(context.params, context.index, context.lookup, context.cascade)
    return suits and context.left_out is None and context.n > 0


class DeviceSearch:
    """The search of whole batches on the device of an engine. The index is uploaded once, when it is first needed.

    `index`: of any run; `engine`: an Engine with the planes of its reference. `allocation`: as `DeviceIndex` takes it.
    """

    def __init__(self, index: Any, engine: Engine, allocation: int | None = None):
        self.index, self.engine = index, engine
        self._allocation = allocation
        self._lock = threading.Lock()
        self._on_device: DeviceIndex | None = None
        self._failed = self._told = False

    def describe(self) -> str:
        """One line for people."""
        return f"search on the {'host' if self._on_device is None else 'device'} ({self.engine.info.name})"

    def on_device(self) -> DeviceIndex | None:
        """The index on the device; None, with one warning, where it does not fit."""
        with self._lock:
            if self._on_device is None and not self._failed:
                try:
                    self._on_device = DeviceIndex(self.index, self.engine, self._allocation)
                except OutOfDeviceMemory as error:
                    self._failed = True
                    log.warning("%s; the search goes on on the host", error)
            return self._on_device

    def search(self, context: BatchContext, stats: Stats) -> GlobalResult | None:
        """What `search.single.search` finds, or None where the device cannot search this batch."""
        if not is_taken(context):
            return None
        began = perf_counter_ns()
        found = self.found(context)
        stats.nanoseconds["device"] += perf_counter_ns() - began
        return None if found is None else found.result(context, stats)

    def found(self, context: BatchContext) -> Found | None:
        """The bands of a batch that `is_taken`; None where it has no room."""
        device = self.on_device()
        if device is None:
            return None
        try:
            with device.slot() as slot, self.engine.errors():
                counted = Stats()
                backend: Any = DeviceBackend(context, slot, counted)  # its handles are not the host's arrays
                state: Any = single.run_stages(backend)
                columns = backend.state_of(state)
                bands, scores, start = backend.collect(state.bands)
                return Found(bands, scores, start, columns, counted)
        except OutOfDeviceMemory as error:
            if not self._told:
                self._told = True
                log.warning("%s: it is searched on the host", error)
            return None


class DeviceBackend:
    """`search.backend.SearchBackend` on a device, as far as the schedule for single reads needs it.

    Parameters
    ----------
    context : BatchContext
    slot : Slot
        Of the index on the device; the caller gives it back.
    stats : Stats
    """

    def __init__(self, context: BatchContext, slot: Slot, stats: Stats):
        self.context, self.stats = context, stats
        self._slot, self._index = slot, slot.index
        packed, n = context.packed, np.uint32(context.n)
        reads = (packed.planes, packed.plane_start, packed.lengths, context.flip)
        names = ("read_planes", "read_row", "read_length", "read_flip")
        self._reads = [slot.upload(name, array) for name, array in zip(names, reads, strict=True)]
        self._lengths, self._flips = self._reads[2:]
        self._caps = slot.upload("caps", context.plan.caps)
        self._n, self._shift = n, np.uint32(context.shift)
        self._planes = self._index.engine.planes, np.uint64(len(self._index.engine.reference))
        self._present = np.unique(context.lengths)

    # --- seeds ---------------------------------------------------------------------------------------------------

    def initial_state(self) -> DeviceState:
        n = self.context.n
        columns = np.zeros((len(STATE), n), np.uint16)
        columns[:2] = NO_SCORE
        columns[2] = self.context.errors
        return DeviceState(self._slot.upload("state", columns), self._slot.zeros("number", 4 * n))

    def unsettled(self, state: DeviceState, stage: int, partner: I64 | None = None) -> DeviceReads:
        slot, plan = self._slot, self.context.plan
        counters = slot.zeros(f"counters{stage}", 4 * len(COUNTERS))
        active = slot.buffer(f"active{stage}", 4 * self.context.n)
        columns = slot.upload("plan", plan_columns(plan, stage))
        strata, margin = np.uint32(plan.preset.strata), np.uint32(EXTRA_STRATA)
        arguments = strata, margin, self._lengths, columns, state.columns, counters, active
        slot.launch("choose_reads", self.context.n, self._n, *arguments)
        size = int(self._counts(counters)["ACTIVE"])
        return DeviceReads(stage, size, active, counters, columns)

    def _counts(self, counters: Any) -> dict[str, int]:
        counts = self._slot.download(counters, len(COUNTERS), np.uint32).tolist()
        found = dict(zip(COUNTERS, counts, strict=True))
        if found["OVERFLOW"]:
            raise OutOfDeviceMemory(f"{self._index.engine.info.name}: a batch has too many anchors")
        return found

    def look_up(
        self, state: DeviceState, stage: int, reads: DeviceReads, every: int | None = None
    ) -> DeviceSeeds:
        slot, index, plan = self._slot, self._index, self.context.plan
        rows, a = plan.rows(stage), reads.size
        width = 2 * int((-(-rows.number[self._present].astype(np.int64) // rows.every[self._present])).max())
        lo, count, at = (slot.buffer(name, 4 * a * width) for name in ("lo", "count", "at"))
        length = slot.buffer("length", a * width)
        whole = index.index
        arrays = *index.table, *index.positions, *index.following, *self._planes
        sizes = np.uint32(whole.k), np.uint32(len(whole.positions))
        active = np.uint32(a), reads.numbers
        of_reads = *self._reads, *active, reads.plan
        slot.launch("look_up", (a, width), *of_reads, *arrays, *sizes, self._caps, lo, count, length)
        segment = slot.zeros(f"segment{stage}", 8 * self.context.n)
        many = slot.buffer("many", 4 * a)
        seeds = reads.plan, self._caps, count, length, at, np.uint32(stage)
        out = state.columns, reads.counters, segment, many
        slot.launch("limit_seeds", a, self._n, self._lengths, *active, *seeds, *out)
        counts = self._counts(reads.counters)
        self.stats.occurrences += counts["ANCHORS"]
        return DeviceSeeds(
            reads, width, lo, count, length, at, segment, many, counts["ANCHORS"], counts["MANY"]
        )

    def merge_scored(self, state: DeviceState, reads: DeviceReads) -> None:
        """The anchors of the stages so far are kept as they are: `drop_known` looks into them."""

    def gather(self, seeds: DeviceSeeds, reads: DeviceReads, state: DeviceState) -> DeviceAnchors:
        slot, size, stage = self._slot, seeds.n_anchors, reads.stage
        anchors, owner = slot.buffer(f"anchors{stage}", 8 * size), slot.buffer("owner", 4 * size)
        scout = slot.buffer(f"scout{stage}", 8 * self.context.n)
        active = np.uint32(reads.size), reads.numbers
        where = self._lengths, self._flips, *active, reads.plan, *self._index.positions
        columns = seeds.lo, seeds.count, seeds.length, seeds.at, seeds.segment
        slot.launch("gather_anchors", (reads.size, seeds.width), *where, *columns, anchors, owner)
        slot.launch("sort_many", SORTING * seeds.n_many, seeds.many, seeds.segment, anchors, group=SORTING)
        slot.launch("merge_anchors", reads.size, *active, seeds.segment, anchors)
        for known in state.stages:
            since = np.uint32((1 << stage + 1) - (1 << known.reads.stage + 1))
            place = np.uint32(size), self._shift, self._n, state.columns, since, owner, self._flips, anchors
            slot.launch("drop_known", size, *place, known.segment, known.anchors, known.scout)
        found = DeviceAnchors(reads, size, anchors, owner, seeds.segment, scout)
        state.stages.append(found)
        return found

    def count_candidates(self, anchors: DeviceAnchors) -> None:
        """The device counts them: `on_host`."""

    def divert(
        self,
        state: DeviceState,
        anchors: DeviceAnchors,
        among: Bool | None = None,
        chosen: U8 | None = None,
        partner: I64 | None = None,
    ) -> bool:
        """No read is left to the search by local score."""
        return False

    # --- candidates ----------------------------------------------------------------------------------------------

    def best_supported(self, anchors: DeviceAnchors) -> DeviceBands:
        slot, reads = self._slot, anchors.reads
        pairs = slot.buffer(f"scout_pairs{reads.stage}", 8 * reads.size)
        active = np.uint32(reads.size), reads.numbers, reads.plan, self._shift
        columns = anchors.segment, anchors.anchors, anchors.scout, pairs, reads.counters
        slot.launch("choose_scouts", reads.size, self._lengths, self._flips, *active, *columns)
        return self._bands(reads, True, reads.size, pairs, anchors.segment)

    def supported(self, candidates: DeviceAnchors, state: DeviceState) -> DeviceAnchors:
        reads = candidates.reads
        active = np.uint32(reads.size), reads.numbers, reads.plan, state.columns, self._shift
        columns = candidates.segment, candidates.anchors
        self._slot.launch("keep_supported", reads.size, self._n, self._lengths, *active, *columns)
        return candidates

    def filter(self, candidates: DeviceAnchors, state: DeviceState) -> DeviceAnchors:
        slot, cascade, counters = self._slot, self.context.cascade, candidates.reads.counters
        if not cascade.names:
            return candidates
        # Without the flanks no limit is low enough for them: all anchors are listed for the narrow band.
        most = np.int32(cascade.flanks.most if "flanks" in cascade.names else -1)
        size, shortest = np.uint32(candidates.size), np.uint32(cascade.flanks.shortest)
        listed = slot.buffer("listed", 4 * candidates.size)
        rows = np.uint64(len(self.context.packed.planes)), self._n, state.columns, *self._planes
        flanks = size, candidates.owner, most, shortest, candidates.anchors, listed, counters
        slot.launch("bound_flanks", candidates.size, *self._reads, *rows, *flanks)
        if "band32" in cascade.names:
            seen = self._n, state.columns, *self._planes, np.uint32(cascade.gaps)
            bands = candidates.owner, listed, candidates.anchors, counters
            slot.launch("bound_bands", min(candidates.size, ITEMS), *self._reads, *seen, *bands)
        return candidates

    def buckets(self, candidates: DeviceAnchors, known: DeviceBands) -> DeviceBands:
        slot, reads, room = self._slot, candidates.reads, candidates.size
        pairs = slot.buffer(f"pairs{reads.stage}", 8 * room)
        bands = slot.buffer(f"bands{reads.stage}", 8 * reads.size)
        active = np.uint32(reads.size), reads.numbers, reads.plan, self._shift
        columns = candidates.segment, candidates.anchors, candidates.scout, np.uint32(room)
        out = pairs, bands, reads.counters
        slot.launch("list_bands", reads.size, self._lengths, self._flips, *active, *columns, *out)
        return self._bands(reads, False, room, pairs, bands)

    def _bands(self, reads: DeviceReads, is_scout: bool, room: int, pairs: Any, bands: Any) -> DeviceBands:
        name = f"{'scout_' if is_scout else ''}{{}}{reads.stage}"
        found, kept = (
            self._slot.buffer(name.format("found"), 4 * room),
            self._slot.buffer(name.format("kept"), room),
        )
        return DeviceBands(reads, is_scout, room, pairs, bands, found, kept)

    # --- bands ---------------------------------------------------------------------------------------------------

    def score(self, buckets: DeviceBands) -> Iterator[DeviceBands]:
        reads = buckets.reads
        count = np.uint32(COUNTERS.index("ACTIVE" if buckets.is_scout else "BANDS"))
        pairs = buckets.pairs, np.uint32(buckets.room), reads.counters, count, buckets.found
        for words in np.unique(self.context.plan.words[self._present]).tolist():
            items, seen = min(buckets.room, ITEMS), (reads.plan, *self._planes)
            self._slot.launch("score_bands", items, *self._reads, *seen, *pairs, words=words)
        yield buckets

    def within_limit(self, bands: DeviceBands, state: DeviceState, extra: int, tighten: bool) -> DeviceBands:
        reads = bands.reads
        which = self._n, np.uint32(reads.size), reads.numbers, np.int32(bands.is_scout), bands.bands
        columns = bands.pairs, np.uint32(bands.room), bands.found, np.int32(extra)
        out = state.columns, bands.kept, state.number
        self._slot.launch("keep_bands", reads.size, *which, *columns, *out)
        return bands

    # --- back to the host ----------------------------------------------------------------------------------------

    def collect(self, bands: list[DeviceBands]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`bands`, `scores` and `start` of `Found`. The bands of a read come in the order of its stages."""
        slot, context = self._slot, self.context
        start = np.zeros(context.n + 1, np.int64)
        np.cumsum(slot.download(slot.buffers["number"], context.n, np.uint32), out=start[1:])
        kept = int(start[-1])
        following = slot.upload("next", start[:-1].astype(np.uint32))
        columns, scores = slot.buffer("columns", 8 * kept), slot.buffer("scores", 4 * kept)
        for part in bands:
            which = np.uint32(part.reads.size), part.reads.numbers, np.int32(part.is_scout), part.bands
            rows = part.pairs, np.uint32(part.room), part.found, part.kept
            out = following, np.uint32(kept), columns, scores
            slot.launch("collect_bands", part.reads.size, *which, *rows, *out)
        return (
            slot.download(columns, (2, kept), np.uint32),
            slot.download(scores, (2, kept), np.uint16),
            start,
        )

    def state_of(self, state: DeviceState) -> np.ndarray:
        """uint16[len(STATE), n]: what is known of the reads. Adds what was counted to `stats`."""
        for anchors in state.stages:
            self._count(self._counts(anchors.reads.counters))
        return self._slot.download(state.columns, (len(STATE), self.context.n), np.uint16)

    def _count(self, counts: dict[str, int]) -> None:
        stats, names = self.stats, self.context.cascade.names
        stats.candidates += counts["CANDIDATES"]
        stats.scored += counts["SCOUTS"] + counts["BANDS"]
        left = counts["FILTERED"]
        if "flanks" in names and self._present[-1] >= self.context.cascade.flanks.shortest:
            for step, by in zip(FLANK_STEPS, ("BY_TNW4", "BY_FREQUENCY", "BY_SQUARE"), strict=True):
                stats.funnel.count(step, left, left - counts[by], 0)
                left -= counts[by]
        if "band32" in names:
            stats.funnel.count("band32", counts["LISTED"], counts["LISTED"] - counts["REJECTED"], 0)
