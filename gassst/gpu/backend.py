"""The passes of the search on an OpenCL device (`gassst/gpu/kernels/search.h`), for single reads.

From packed reads to the bands within the limits everything stays on the device. A stage comes back to the host twice:
for the number of reads that take part, and for that of the anchors. Places are selected and rated on the host.

A read is searched on its own, so batches of several workers are searched as one: a launch, and a wait, cost the same
for 20,000 reads as for 200,000.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

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
from gassst.gpu.index import SOURCES, Slot
from gassst.gpu.requests import DENSE, SEARCH, Answer, Found, Looked, Request, Searched
from gassst.model.array_types import I64, U16, U32
from gassst.model.stats import Stats
from gassst.model.times import Times
from gassst.search import single

if TYPE_CHECKING:
    from gassst.gpu.device import Memory

SORTING = 256
"""Work-items that sort the anchors of one read, where there are many."""
COUNTERS_BYTES = 4096
"""From the counters of one stage to those of the next: buffers may begin there."""
ITEMS = 1 << 18
"""Work-items at most where the device alone knows how many there would be."""


class DeviceBatch:
    """Reads that a device searches together, of several requests of one kind.

    Attributes
    ----------
    first : list of int
        Reads of request i are first[i] .. first[i + 1].
    present : int64[]
        Their distinct lengths.
    """

    def __init__(self, searched: Searched, requests: Sequence[Request]):
        self.plan, self.cascade, self.params = searched
        self.requests = requests
        self.first = [0, *accumulate(len(each.lengths) for each in requests)]
        self.present = reduce(np.union1d, [each.present for each in requests])
        self.plan.prepare(self.present)

    @property
    def n(self) -> int:
        """Reads."""
        return self.first[-1]


class DeviceBackend:
    """The passes of the schedule for single reads (`search.backend.StagePasses`) on a device.

    Parameters
    ----------
    batch : DeviceBatch
    slot : Slot
        Of the index on the device; the caller gives it back.
    """

    sources = SOURCES
    """Names the sources of the kernels."""

    def __init__(self, batch: DeviceBatch, slot: Slot):
        self.context, self.stats = batch, Stats()
        self._slot, self._index = slot, slot.index
        requests = batch.requests
        is_small = requests[0].stage == DENSE
        *self._plans, self._caps = slot.begin(batch.plan, batch.n, is_small, self.sources)
        rows = slot.pinned("read_row", batch.n, np.uint32)
        row = 0
        for each, first in zip(requests, batch.first, strict=False):
            np.add(each.plane_start, np.uint32(row), out=rows[first : first + len(each.lengths)])
            row += len(each.planes)
        self._reads = [
            slot.upload("read_planes", *(each.planes.ravel() for each in requests)),
            np.uint64(sum(len(each.planes) for each in requests)),
            slot.upload_pinned("read_row", rows),
            slot.upload("read_length", *(each.lengths for each in requests)),
            slot.upload("read_flip", *(each.flip for each in requests)),
        ]
        self._lengths, self._flips = self._reads[3:]
        self._n, self._shift = np.uint32(batch.n), np.uint32(batch.plan.shift)
        self._planes = self._index.engine.planes, np.uint64(len(self._index.engine.reference))
        self._counters = slot.filled("counters", COUNTERS_BYTES * batch.plan.MAX_STAGES)

    def answers(self) -> Iterator[Answer]:
        """What was found of every request."""
        stage = self.context.requests[0].stage
        if stage == SEARCH:
            yield from self.collect(single.run_stages(self))
        else:
            yield from self.looked_up(stage)

    # --- seeds ---------------------------------------------------------------------------------------------------

    def initial_state(self) -> DeviceState:
        slot, n = self._slot, self.context.n
        columns = slot.buffer("state", 2 * len(STATE) * n)
        slot.launch("begin_reads", n, self._n, self._lengths, self._plans[0], columns)
        return DeviceState(columns, slot.filled("number", 4 * n))

    def unsettled(self, state: DeviceState, stage: int) -> DeviceReads:
        slot, plan, columns = self._slot, self.context.plan, self._plans[stage]
        counters, active = self._counters_of(stage), slot.buffer(f"active{stage}", 4 * self.context.n)
        if not plan.seed_count[stage, self.context.present].any():
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
        rows, present = self.context.plan.rows(stage), self.context.present
        width = 2 * int((-(-rows.number[present].astype(np.int64) // rows.every[present])).max())
        return self.look_up_width(state, stage, reads, width, self._caps)

    def look_up_width(
        self, state: DeviceState, stage: int, reads: DeviceReads, width: int, caps: Memory
    ) -> DeviceSeeds:
        """The seeds of the plan of `reads`, `width` of each at most; `caps`: a buffer of most occurrences by length."""
        slot, index, a = self._slot, self._index, reads.size
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

    def merge_scored(self, state: DeviceState, reads: DeviceReads) -> None:
        """The anchors of the stages so far are kept as they are: `drop_known` looks into them."""

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

    def count_candidates(self, anchors: DeviceAnchors) -> None:
        """The device counts them: `on_host`."""

    # --- candidates ----------------------------------------------------------------------------------------------

    def best_supported(self, anchors: DeviceAnchors) -> DeviceBands:
        slot, reads = self._slot, anchors.reads
        pairs = slot.buffer(f"top_pairs{reads.stage}", 8 * reads.size)
        active = np.uint32(reads.size), reads.numbers, reads.plan, self._shift
        columns = anchors.segment, anchors.anchors, anchors.top_bucket, pairs, reads.counters
        slot.launch("choose_top_buckets", reads.size, self._lengths, self._flips, *active, *columns)
        return self._bands(reads, True, reads.size, pairs, anchors.segment)

    def filter(self, candidates: DeviceAnchors, state: DeviceState) -> DeviceAnchors:
        slot, cascade, counters = self._slot, self.context.cascade, candidates.reads.counters
        if not cascade.names:
            return candidates
        listed = self._listed(candidates)
        seen = self._n, state.columns, *self._planes, np.uint32(cascade.gaps)
        bands = candidates.owner, listed, candidates.anchors, counters
        slot.launch("bound_bands", min(candidates.size, ITEMS), *self._reads, *seen, *bands)
        return candidates

    def _listed(self, candidates: DeviceAnchors) -> Memory:
        """Those that were not dropped, in a buffer of uint32[]."""
        listed, size = self._slot.buffer("listed", 4 * candidates.size), candidates.size
        self._slot.launch(
            "list_anchors", size, np.uint32(size), candidates.anchors, listed, candidates.reads.counters
        )
        return listed

    def buckets(self, candidates: DeviceAnchors, known: DeviceBands | None) -> DeviceBands:
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

    def all_minima(self, buckets: DeviceBands) -> Iterator[DeviceBands]:
        """Lists nothing: `AllPlaces` counts the minima when all bands are known."""
        yield buckets

    def forget(self, state: DeviceState, reads: DeviceReads) -> None:
        """No stage comes after the first one where all places are wanted."""

    def score(self, buckets: DeviceBands) -> Iterator[DeviceBands]:
        reads = buckets.reads
        count = np.uint32(COUNTERS.index("ACTIVE" if buckets.is_top else "BANDS"))
        pairs = buckets.pairs, np.uint32(buckets.room), reads.counters, count, buckets.found
        for words in np.unique(self.context.plan.words[self.context.present]).tolist():
            items, seen = min(buckets.room, ITEMS), (reads.plan, *self._planes)
            self._slot.launch("score_bands", items, *self._reads, *seen, *pairs, words=words)
        yield buckets

    def within_limit(self, bands: DeviceBands, state: DeviceState, extra: int) -> DeviceBands:
        reads = bands.reads
        which = self._n, np.uint32(reads.size), reads.numbers, np.int32(bands.is_top), bands.bands
        columns = bands.pairs, np.uint32(bands.room), bands.found, np.int32(extra)
        out = state.columns, bands.kept, state.number
        self._slot.launch("keep_bands", reads.size, *which, *columns, *out)
        return bands

    # --- back to the host ----------------------------------------------------------------------------------------

    def looked_up(self, stage: int) -> Iterator[Looked]:
        """The anchors of a stage of the reads that every request asks about."""
        slot, batch, state = self._slot, self.context, self.initial_state()
        reads = self.asked(stage)
        anchors = self.gather(self.look_up(state, stage, reads), reads, state)
        segment = slot.download("segment", anchors.segment, 2 * batch.n, np.uint32)
        columns = slot.download("state", state.columns, len(STATE) * batch.n, np.uint16)
        slot.wait()
        start, places, scores = self.collect_anchors(anchors, segment[1::2])
        kept = int(start[-1])
        read_strand, diagonal = slot.download("columns", places, 2 * kept, np.uint32).reshape(2, kept)
        offset, length = slot.download("scores", scores, 2 * kept, np.uint16).reshape(2, kept)
        slot.wait()
        complete, capped = self._columns(columns, "COMPLETE", "CAPPED")
        counted = self.stats
        for a, b in pairwise(batch.first):
            some = slice(start[a], start[b])
            of_anchors = read_strand[some], diagonal[some], offset[some], length[some]
            yield Looked(a, *of_anchors, start[a : b + 1], complete[a:b], capped[a:b], counted)
            counted = Stats()

    def collect_anchors(self, anchors: DeviceAnchors, number: U32) -> tuple[I64, Memory, Memory]:
        """Where the anchors of every read begin, int64[n + 1], from `number` uint32[n] of each. And buffers of their
        columns: uint32[2, c] of read strands and diagonals, uint16[2, c] of offsets and lengths."""
        slot = self._slot
        start, following = self._starts("next", number)
        kept = int(start[-1])
        places, scores = slot.buffer("columns", 8 * kept), slot.buffer("scores", 4 * kept)
        where = anchors.owner, self._flips, anchors.segment, anchors.anchors
        to = following, np.uint32(kept), places, scores
        slot.launch("collect_anchors", anchors.size, np.uint32(anchors.size), *where, *to)
        return start, places, scores

    def _columns(self, state: U16, *names: str) -> list[U16]:
        """Columns of the state by name, as they were downloaded."""
        columns = state.reshape(len(STATE), self.context.n)
        return [columns[STATE.index(name)] for name in names]

    def _starts(self, name: str, number: U32) -> tuple[I64, Memory]:
        """Where what each read has so many of begins, int64[n + 1]; and a buffer of this name with the same."""
        start, following = (
            np.zeros(len(number) + 1, np.int64),
            self._slot.pinned(name, len(number), np.uint32),
        )
        np.cumsum(number, out=start[1:])
        np.copyto(following, start[:-1], casting="unsafe")
        return start, self._slot.upload_pinned(name, following)

    def asked(self, stage: int) -> DeviceReads:
        """The reads whose seeds of a stage every request asks for."""
        slot, batch = self._slot, self.context
        size, at = sum(len(each.reads) for each in batch.requests), 0
        numbers = slot.pinned("asked", size, np.uint32)
        for each, first in zip(batch.requests, batch.first, strict=False):
            np.add(each.reads, np.uint32(first), out=numbers[at : at + len(each.reads)])
            at += len(each.reads)
        held = slot.upload_pinned("asked", numbers)
        return DeviceReads(stage, size, held, self._counters_of(stage), self._plans[stage])

    def _counters_of(self, stage: int) -> Memory:
        return self._slot.part(self._counters, COUNTERS_BYTES * stage, COUNTERS_BYTES)

    def collect(self, state: DeviceState) -> Iterator[Found]:
        """What was found of every request. The bands of a read come in the order of its stages."""
        slot, batch, stages = self._slot, self.context, self.context.plan.MAX_STAGES
        number = slot.download("number", state.number, batch.n, np.uint32)
        columns = slot.download("state", state.columns, len(STATE) * batch.n, np.uint16)
        counters = slot.download("counters", self._counters, COUNTERS_BYTES // 4 * stages, np.uint32)
        slot.wait()
        for anchors in state.stages:
            self._count(self._counts_in(counters, anchors.reads.stage))
        start, found_bands = self._collected(state.bands, number)
        read_strand, first, edits, end = found_bands
        slot.wait()
        of_state, counted = columns.reshape(len(STATE), batch.n), self.stats
        for a, b in pairwise(batch.first):
            bands = slice(start[a], start[b])
            found = read_strand[bands], first[bands], edits[bands], end[bands], start[a : b + 1]
            yield Found(a, *found, [column[a:b] for column in of_state], counted)
            counted = Stats()

    def _collected(self, bands: list[DeviceBands], number: U32) -> tuple[I64, tuple[U32, U32, U16, U16]]:
        """Where the bands of every read begin that are kept, `number` uint32[n] of each; and once `wait` has returned
        their columns: read strands and first diagonals, errors and ends."""
        slot = self._slot
        start, following = self._starts("next", number)
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
