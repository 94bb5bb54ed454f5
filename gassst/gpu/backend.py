"""The passes of the search on an OpenCL device (`gassst/gpu/kernels/search.h`).

Single reads go through all stages there. Mates go through the first one, each as a single read, and the host goes on.
From packed reads to the bands within the limits everything stays on the device. All commands of a batch are noted
first, and handed over together without Python's lock (`_core.commands`). Nothing comes back before the end, as kernels
read on the device how many reads and anchors a stage has. Buffers have room for as many as earlier batches had, and a
batch that has more is searched again. So the next batch is searched by the same commands. Places are selected and rated
on the host.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gassst._core.stage_keys import keys_of, order_by_read
from gassst.gpu.arrays import (
    COUNTERS,
    ENDS_WIDTHS,
    STATE,
    DeviceAnchors,
    DeviceBands,
    DeviceReads,
    DeviceSeeds,
    DeviceState,
)
from gassst.gpu.device import OutOfDeviceMemory
from gassst.gpu.found import WHOLE_END, Found
from gassst.gpu.index import COUNTERS_BYTES, SOURCES, Slot
from gassst.model.array_types import I64, U8, U16, U32, U64, NDArray
from gassst.model.params import MapParams
from gassst.model.presets import EXTRA_STRATA
from gassst.model.stats import Stats
from gassst.pairing.error_rate import ErrorRate
from gassst.search.context import BatchContext
from gassst.search.filters import Cascade
from gassst.search.plan import SearchPlan

if TYPE_CHECKING:
    from gassst.gpu.device import Memory

PLANE_ROW = 24
"""Bytes of 64 bases."""
SORTING = 256
"""Work-items that sort the anchors of one read, where there are many."""
ITEMS = 1 << 18
"""Work-items at most where the device alone knows how many there would be."""


class ReferenceTexts(NamedTuple):
    """The reference at the places of some reads, whose seeds lead to copies of these places.

    Attributes
    ----------
    planes, plane_start
        As `PackedReads` has them, of these reads.
    state : uint16[len(STATE), n]
        What is known of all `n` reads of the batch. The others are complete.
    """

    planes: U64
    plane_start: U32
    state: U16


class DeviceBatch(NamedTuple):
    """Reads that a device searches, and what they are searched by.

    Attributes
    ----------
    plan, cascade, params, library
        As `BatchContext` has them.
    planes, plane_start, lengths
        As `PackedReads` has them.
    flip : uint8[n]
    present : int64[]
        The distinct lengths.
    with_mates : bool
        Whether reads are pairs, and not all of their places are wanted: the host goes on behind the first stage.
    texts : ReferenceTexts or None
        In the stage for copies.
    """

    plan: SearchPlan
    cascade: Cascade
    params: MapParams
    library: ErrorRate
    planes: U64
    plane_start: U32
    lengths: U32
    flip: U8
    present: I64
    with_mates: bool = False
    texts: ReferenceTexts | None = None

    @classmethod
    def of(cls, context: BatchContext, with_mates: bool = False) -> DeviceBatch:
        """All reads of a batch."""
        packed = context.packed
        return cls(
            context.plan,
            context.cascade,
            context.params,
            context.library,
            packed.planes,
            packed.plane_start,
            packed.lengths,
            context.flip,
            np.flatnonzero(np.bincount(packed.lengths, minlength=1)),
            with_mates and not context.params.exhaustive,
        )

    @property
    def n(self) -> int:
        """Reads."""
        return len(self.lengths)

    @property
    def stages(self) -> range:
        """That the device makes."""
        most, texts = self.plan.MAX_STAGES, self.texts
        return range(most, most + 1) if texts is not None else range(1 if self.with_mates else most)


class DeviceBackend:
    """The search of reads on a device: the schedule of `_core.stages.Stages`.

    Parameters
    ----------
    batch : DeviceBatch
    slot : Slot
        Of the index on the device; the caller gives it back.
    """

    sources = SOURCES
    """Names the sources of the kernels."""

    def __init__(self, batch: DeviceBatch, slot: Slot):
        self.context, self.stats, self.present, texts = batch, Stats(), batch.present, batch.texts
        self._slot, self._index = slot, slot.index
        # What has no read is one of no bases, which takes part in no stage.
        self._most = max(slot.index.rooms.get("reads", 0), batch.n)
        self._rooms = slot.index.rooms | {"reads": self._most}
        searched = batch.plan, batch.library, batch.cascade, batch.params
        *self._plans, self._caps, self._scoring, self._costs = slot.begin(*searched, self.sources)
        self._arrays: dict[str, np.ndarray] = {
            "read_planes": batch.planes,
            "read_row": batch.plane_start,
            "read_length": self._filled_up(batch.lengths),
            "read_flip": batch.flip,
        }
        if texts is not None:
            self._arrays |= {"text_planes": texts.planes, "text_row": texts.plane_start}
            self._arrays["state"] = self._filled_up(texts.state)
        for name, array in self._arrays.items():
            if self._room(name) < array.nbytes:
                self._rooms[name] = array.nbytes + array.nbytes // 4
        self._n, self._shift = np.uint32(self._most), np.uint32(batch.plan.shift)
        self._widths: list[int] = np.unique(batch.plan.words[self.present]).tolist()
        self._planes = self._index.engine.planes, np.uint64(len(self._index.engine.reference))

    def _filled_up(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Columns of reads, with zeros where there is room for more."""
        more = self._most - columns.shape[-1]
        return np.pad(columns, [(0, 0)] * (columns.ndim - 1) + [(0, more)]) if more else columns

    def search(self) -> dict[str, np.ndarray]:
        """Make the whole search. Returns what `found` takes."""
        batch, slot = self.context, self._slot
        while True:
            like = batch.present.tobytes(), batch.with_mates, batch.texts is None, *self._rooms.values()
            arrays = slot.again(like, self._arrays)
            if arrays is None:
                self._upload()
                state = self._begun()
                for stage in batch.stages:
                    if batch.plan.seed_count[stage, self.present].any():
                        self.run_stage(state, self.choose(state, stage))
                arrays = self.collected(state, like)
            if not self._lacks(arrays["counters"]):
                known = self._index.rooms
                known.update({name: max(known.get(name, 0), room) for name, room in self._rooms.items()})
                return arrays

    def _upload(self) -> None:
        """Note how the reads get to the device."""
        for name in self._arrays:
            self._slot.buffer(name, self._room(name))
        held = {name: self._slot.upload(name, array) for name, array in self._arrays.items()}

        def planes(of: str) -> tuple[Memory, np.uint64, Memory]:
            rows = held[f"{of}_planes"]
            return rows, np.uint64(rows.size // PLANE_ROW), held[f"{of}_row"]

        self._lengths, self._flips = held["read_length"], held["read_flip"]
        self._reads = *planes("read"), self._lengths, self._flips
        # What seeds are of.
        self._seeded = *planes("read" if self.context.texts is None else "text"), *self._reads[3:]

    def _room(self, name: str) -> int:
        """How many there may be of something."""
        return max(self._rooms.get(name, 0), self._most)

    def run_stage(self, state: DeviceState, reads: DeviceReads) -> None:
        """Look up one stage of seeds of these reads and score what they lead to."""
        anchors = self.gather(self.look_up(state, reads, self._room(f"anchors{reads.stage}")), state)
        # The best supported place tightens the limit, by which the filters reject more of the others.
        self.score(self.best_supported(anchors), state)
        self.filter(anchors, state)
        self.score(self.buckets(anchors), state)

    # --- seeds ---------------------------------------------------------------------------------------------------

    def _begun(self) -> DeviceState:
        """Before anything was looked up."""
        slot, n = self._slot, self._most
        slot.fill(slot.counters, COUNTERS_BYTES * len(slot.counters_of))
        if self.context.texts is not None:
            columns = slot.buffers["state"]
        else:
            columns = slot.buffer("state", 2 * len(STATE) * n)
            slot.launch("begin_reads", n, self._n, self._lengths, self._plans[0], columns)
        return DeviceState(columns, slot.filled("number", 4 * n))

    def choose(self, state: DeviceState, stage: int) -> DeviceReads:
        """The reads that still need a stage."""
        slot, columns = self._slot, self._plans[stage]
        counters, active = slot.counters_of[stage], slot.buffer(f"active{stage}", 4 * self._most)
        strata = np.uint32(1 if self.context.texts else self.context.plan.preset.strata)
        of_reads = self._lengths, columns, state.columns, counters, active
        slot.launch("choose_reads", self._most, self._n, strata, slot.counters_of[0], *of_reads)
        return DeviceReads(stage, active, counters, columns)

    def look_up(self, state: DeviceState, reads: DeviceReads, room: int) -> DeviceSeeds:
        """The occurrences of the seeds of a stage, and the segments of their anchors, of which there may be `room`."""
        plan = self.context.plan
        number, every = (row[reads.stage, self.present] for row in (plan.seed_count, plan.seed_every))
        width = 2 * int((-(-number.astype(np.int64) // every)).max())
        slot, index, caps, n = self._slot, self._index, self._caps, self._most
        lo, count, at = (slot.buffer(name, 4 * n * width) for name in ("lo", "count", "at"))
        looked = slot.buffer("looked", n * width)
        whole = index.index
        arrays = *index.table, *index.positions, *index.following, *self._planes
        sizes = np.uint32(whole.k), np.uint32(len(whole.positions))
        of_reads = *self._seeded, reads.counters, reads.numbers, reads.plan
        slot.launch("look_up", (n, width), *of_reads, *arrays, *sizes, caps, lo, count, looked)
        segment = slot.filled(f"segment{reads.stage}", 8 * n)
        many = slot.buffer("many", 4 * n)
        seeds = reads.plan, caps, count, looked, at, np.uint32(reads.stage)
        out = state.columns, slot.counters_of[0], reads.counters, segment, many
        slot.launch("limit_seeds", n, self._n, self._lengths, np.uint32(room), reads.numbers, *seeds, *out)
        return DeviceSeeds(reads, width, lo, count, looked, at, segment, many)

    def gather(self, seeds: DeviceSeeds, state: DeviceState) -> DeviceAnchors:
        slot, reads, stage = self._slot, seeds.reads, seeds.reads.stage
        room = self._room(f"anchors{stage}")
        anchors, owner = slot.buffer(f"anchors{stage}", 8 * room), slot.buffer("owner", 4 * room)
        active = reads.counters, reads.numbers
        arrays = *self._index.positions, *self._index.following
        where = self._lengths, self._flips, *active, reads.plan, *arrays
        columns = seeds.lo, seeds.count, seeds.looked, seeds.at, seeds.segment
        slot.launch("gather_anchors", (self._most, seeds.width), *where, *columns, anchors, owner)
        self._sort(reads, "MANY", seeds.many, seeds.segment, anchors)
        slot.launch("merge_anchors", self._most, *active, seeds.segment, anchors)
        for known in state.stages:
            since = np.uint32((1 << stage + 1) - (1 << known.reads.stage + 1))
            place = np.uint32(room), self._shift, self._n, state.columns, since, owner, anchors
            slot.launch("drop_known", room, reads.counters, *place, known.segment, known.anchors)
        found = DeviceAnchors(reads, room, anchors, owner, seeds.segment)
        state.stages.append(found)
        return found

    def _sort(self, reads: DeviceReads, count: str, many: Memory, segment: Memory, anchors: Memory) -> None:
        """Sort the segments of reads with many anchors, of which there are as many as `count` says."""
        which = reads.counters, np.uint32(COUNTERS.index(count)), many, segment, anchors
        self._slot.launch("sort_many", min(SORTING * self._most, ITEMS), *which, group=SORTING)

    # --- candidates ----------------------------------------------------------------------------------------------

    def best_supported(self, anchors: DeviceAnchors) -> DeviceBands:
        slot, reads, n = self._slot, anchors.reads, self._most
        pairs = slot.buffer(f"top_pairs{reads.stage}", 8 * n)
        active = self._n, reads.numbers, reads.plan, self._shift
        columns = anchors.segment, anchors.anchors, self._top_bucket(reads), pairs, reads.counters
        slot.launch("choose_top_buckets", n, self._lengths, self._flips, *active, *columns)
        return self._bands(reads, True, n, pairs, anchors.segment)

    def _top_bucket(self, reads: DeviceReads) -> Memory:
        """uint2[n]: the bucket that a stage scored first in each of its reads, read strand and number."""
        return self._slot.buffer(f"top_bucket{reads.stage}", 8 * self._most)

    def filter(self, candidates: DeviceAnchors, state: DeviceState) -> None:
        """Drop the candidates that the narrow band rejects, where the cascade has it."""
        slot, cascade, counters = self._slot, self.context.cascade, candidates.reads.counters
        if not cascade.names:
            return
        listed = self._listed(candidates, "ANCHORS")
        seen = self._n, state.columns, *self._planes, np.uint32(cascade.gaps)
        bands = candidates.owner, listed, candidates.anchors, counters
        slot.launch("bound_bands", min(candidates.room, ITEMS), *self._reads, *seen, *bands)

    def _listed(self, candidates: DeviceAnchors, count: str) -> Memory:
        """Returns those that were not dropped of as many as `count` says, in a buffer of uint32[]."""
        listed, room = self._slot.buffer("listed", 4 * candidates.room), candidates.room
        which = np.uint32(COUNTERS.index(count)), np.uint32(room), candidates.anchors
        self._slot.launch("list_anchors", room, *which, listed, candidates.reads.counters)
        return listed

    def buckets(self, candidates: DeviceAnchors) -> DeviceBands:
        """The distinct buckets of candidates."""
        slot, reads, room, n = self._slot, candidates.reads, candidates.room, self._most
        pairs = slot.buffer(f"pairs{reads.stage}", 8 * room)
        bands = slot.buffer(f"bands{reads.stage}", 8 * n)
        active = reads.numbers, reads.plan, self._shift
        columns = candidates.segment, candidates.anchors, np.uint32(room)
        out = pairs, bands, reads.counters
        slot.launch("list_bands", n, self._lengths, self._flips, *active, *columns, *out)
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
        for words in self._widths:
            items, seen = min(buckets.room, ITEMS), (reads.plan, *self._planes)
            slot.launch("score_bands", items, *self._reads, *seen, *pairs, words=words)
        which = self._n, reads.counters, reads.numbers, np.int32(buckets.is_top), buckets.bands
        columns = buckets.pairs, np.uint32(buckets.room), buckets.found, np.int32(EXTRA_STRATA)
        out = state.columns, buckets.kept, state.number
        slot.launch("keep_bands", self._most, *which, *columns, *out)
        state.bands.append(buckets)

    # --- back to the host ----------------------------------------------------------------------------------------

    def _download_counts(self) -> None:
        """Have `finish` return the counters, uint32[stages, COUNTERS_BYTES / 4]."""
        slot = self._slot
        shape = len(slot.counters_of), COUNTERS_BYTES // 4
        slot.download("counters", slot.counters, shape, np.uint32)

    def _counts_in(self, counters: U32, stage: int) -> dict[str, int]:
        """The counts of a stage, by name. Raises OutOfDeviceMemory where a batch had too many anchors."""
        found = dict(zip(COUNTERS, counters[stage, : len(COUNTERS)].tolist(), strict=True))
        if found["OVERFLOW"]:
            raise OutOfDeviceMemory(f"{self._index.engine.info.name}: a batch has too many anchors")
        return found

    def collected(self, state: DeviceState, like: Hashable) -> dict[str, np.ndarray]:
        """What was found, the bands of a read in the order of its stages. What was noted is kept for batches `like`
        this one."""
        slot, n, most = self._slot, self._most, self._room("kept")
        every, following = slot.counters_of[0], slot.buffer("next", 4 * n)
        slot.launch("reserve_bands", n, self._n, state.number, every, following)
        held, scores = slot.buffer("columns", 8 * most), slot.buffer("scores", 4 * most)
        for part in state.bands:
            which = part.reads.counters, every, part.reads.numbers, np.int32(part.is_top), part.bands
            rows = part.pairs, np.uint32(part.room), part.found, part.kept
            slot.launch("collect_bands", n, *which, *rows, following, np.uint32(most), held, scores)
        if self.context.params.mode == "local" and self.context.texts is None:
            self._score_ends(state, most, held, scores, following)
        slot.download("state", state.columns, (len(STATE), n), np.uint16)
        slot.download("columns", held, (2, most), np.uint32)
        slot.download("scores", scores, (2, most), np.uint16)
        if state.stages and self.context.with_mates:  # which the host goes on with
            (stage,) = state.stages
            slot.download("anchors", stage.anchors, (stage.room,), np.uint64)
            slot.download("segments", stage.segment, (n, 2), np.uint32)
        self._download_counts()
        slot.kept[like] = slot.noted
        return slot.finish()

    def _lacks(self, counters: U32) -> bool:
        """Whether there was not room for all, which there will be the next time."""
        needed = {
            f"anchors{stage}": self._counts_in(counters, stage)["ANCHORS"] for stage in self.context.stages
        }
        needed["kept"] = self._counts_in(counters, 0)["KEPT"]
        lacking = {name: count + count // 2 for name, count in needed.items() if count > self._room(name)}
        self._rooms |= lacking
        return bool(lacking)

    def found(self, arrays: dict[str, np.ndarray]) -> Found:
        """What `search` has found, of which the slot is not needed any more."""
        n, kept = self.context.n, self._counts_in(arrays["counters"], 0)["KEPT"]
        for stage in self.context.stages:
            self._count(self._counts_in(arrays["counters"], stage))
        state = np.ascontiguousarray(arrays["state"][:, :n])
        read_strand, first = arrays["columns"][:, :kept]
        edits, end = arrays["scores"][:, :kept]
        found = Found(read_strand, first, edits, end, state)
        if "ends" in arrays:
            found = found._replace(ends=arrays["ends"][:kept])
        if "anchors" not in arrays:
            return found
        order = order_by_read(read_strand, n)
        of_anchors = arrays["anchors"], arrays["segments"][:n]
        return Found(
            read_strand[order],
            first[order],
            edits[order],
            end[order],
            state,
            found.ends[order] if len(found.ends) else found.ends,
            seen=keys_of(*of_anchors, self.context.flip, self.context.plan.shift),
        )

    def _score_ends(
        self, state: DeviceState, most: int, places: Memory, scores: Memory, following: Memory
    ) -> None:
        """What is found of bands with clipped ends: WHOLE_END[most]."""
        slot = self._slot
        room, every = np.uint32(most), slot.counters_of[0]
        ends, first = slot.buffer("ends", WHOLE_END.itemsize * most), slot.buffer("first_of_ends", 4 * most)
        listed = slot.buffer("listed_ends", 4 * ENDS_WIDTHS * most)
        rows = slot.buffer("rows_of_ends", 6 * most)
        reads, reference, plan = self._reads, self._planes, self._plans[0]
        of_reads = *reads, plan, *reference, every, room, places, self._scoring, self._costs
        known = self._n, state.columns, scores, state.number, following
        slot.launch("start_ends", most, *of_reads, *known, ends, listed)
        for width in range(ENDS_WIDTHS):
            which = np.uint32(width), listed, first, rows, ends
            slot.launch("score_ends", min(most, ITEMS), *of_reads, *which)
        slot.download("ends", ends, (most,), WHOLE_END)

    def _count(self, counts: dict[str, int]) -> None:
        stats, names = self.stats, self.context.cascade.names
        stats.occurrences += counts["ANCHORS"]
        stats.candidates += counts["CANDIDATES"]
        self._count_bands(counts["TOP_BUCKETS"] + counts["BANDS"])
        if "band32" in names:
            stats.funnel.count("band32", counts["LISTED"], counts["LISTED"] - counts["REJECTED"], 0)

    def _count_bands(self, scored: int, traced: int = 0) -> None:
        self.stats.scored += scored
        self.stats.traced += traced
        self.stats.count_bands(device_scored=scored, device_traced=traced)
