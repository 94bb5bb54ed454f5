"""What is asked of a device that searches, and what it answers: arrays that processes can share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple, TypeVar, cast

import numpy as np

from gassst._core import read_through as _read_through
from gassst.gpu.arrays import STATE
from gassst.model.array_types import COORDINATE, I32, I64, U8, U16, U32, U64
from gassst.model.params import MapParams
from gassst.model.read_batch import PackedReads
from gassst.model.stats import Stats
from gassst.search.arrays import Anchors, Bands, GlobalResult, Traced
from gassst.search.backend import Grouped
from gassst.search.context import BatchContext
from gassst.search.dense import DenselyLooked, DenseSeeds
from gassst.search.filters import Cascade
from gassst.search.host import HostBackend
from gassst.search.plan import SearchPlan
from gassst.search.state import SearchState

NO_READS = np.empty(0, np.uint32)
NOT_DENSE = DenseSeeds(0, 0, 0)
SEARCH, DENSE = -1, -2
"""In the place of a stage."""


class Request(NamedTuple):
    """What is asked about the `n` reads of a batch.

    Attributes
    ----------
    planes, plane_start, lengths
        As `PackedReads` has them.
    flip : uint8[n]
    present : int64[]
        Their distinct lengths.
    stage : int
        Whose seeds are looked up; SEARCH: the whole search is asked for; DENSE: dense seeds of all reads.
    reads : uint32[a]
        Whose seeds are looked up, ascending. Of no use for the whole search.
    dense : DenseSeeds
        For DENSE.
    """

    planes: U64
    plane_start: U32
    lengths: U32
    flip: U8
    present: I64
    stage: int
    reads: U32
    dense: DenseSeeds = NOT_DENSE

    @classmethod
    def of(cls, context: BatchContext) -> Request:
        """For the whole search of a batch."""
        return cls.for_anchors(context, SEARCH, NO_READS)

    @classmethod
    def for_anchors(cls, context: BatchContext, stage: int, reads: U32) -> Request:
        """For the anchors of a stage."""
        packed = context.packed
        present = np.flatnonzero(np.bincount(packed.lengths, minlength=1))
        return cls(packed.planes, packed.plane_start, packed.lengths, context.flip, present, stage, reads)

    @classmethod
    def for_dense(cls, context: BatchContext, reads: U32, seeds: DenseSeeds) -> Request:
        """For dense seeds of `reads` (uint32[a], ascending), which alone are sent."""
        packed, lengths = context.packed, context.lengths[reads]
        some = PackedReads(lengths, packed.planes, packed.plane_start[reads])
        _, planes, plane_start = _read_through.cut(some, lengths.astype(np.uint16))
        before = np.uint32(len(packed.planes) - 1)
        of_reads = planes[before:], plane_start - before, lengths, context.flip[reads]
        rows = np.arange(len(reads), dtype=np.uint32)
        return cls(*of_reads, np.unique(lengths).astype(np.int64), DENSE, rows, dense=seeds)

    @property
    def kind(self) -> tuple[int, DenseSeeds]:
        """Requests of one kind can be answered together."""
        return self.stage, self.dense

    @property
    def n_asked(self) -> int:
        """Of how many reads something is asked."""
        return len(self.lengths) if self.stage == SEARCH else len(self.reads)


class Searched(NamedTuple):
    """How a device searches: of a run, as `BatchContext` has it."""

    plan: SearchPlan
    cascade: Cascade
    params: MapParams


class Looked(NamedTuple):
    """What a device made of the seeds of a stage of `n` reads: `c` anchors.

    Attributes
    ----------
    before : int
        Reads of other requests before these.
    read_strand, diagonal : uint32[c], offset, length : uint16[c]
        As `Anchors` has them; reads count from `before` on.
    start : int64[n + 1]
        Anchors of read r are start[r] - start[0] .. start[r + 1] - start[0]. Others than those asked for have none.
    complete, capped : uint16[n]
        As `SearchState` has them, by these seeds alone.
    counted : Stats
        What was done.
    """

    before: int
    read_strand: U32
    diagonal: U32
    offset: U16
    length: U16
    start: I64
    complete: U16
    capped: U16
    counted: Stats

    def anchors(self, reads: U32) -> Anchors:
        """Those of the reads that were asked for. Copies what it keeps."""
        read_strand = self.read_strand - np.uint32(2 * self.before)
        columns = self.diagonal.astype(COORDINATE), self.offset.copy(), self.length.copy()
        start = np.append(self.start[reads], self.start[-1]) - self.start[0]
        return Anchors(read_strand, *columns, start, reads)


class Densely(NamedTuple):
    """What dense seeds of the `n` reads of a request lead to on a device: `c` anchors.

    Attributes
    ----------
    before : int
        Reads of other requests before these.
    read_strand, diagonal : uint32[c], offset, length : uint16[c]
        As `Anchors` has them; reads count from `before` on.
    stretches : uint32[2, c]
        As `DenselyLooked` has them.
    start : int64[n + 1]
        Anchors of read r are start[r] - start[0] .. start[r + 1] - start[0].
    clipped, first, last : int32[n]
        As `DenselyLooked` has them.
    """

    before: int
    read_strand: U32
    diagonal: U32
    offset: U16
    length: U16
    stretches: U32
    start: I64
    clipped: I32
    first: I32
    last: I32

    def looked(self, reads: U32) -> DenselyLooked:
        """The same of the reads of the batch that were asked about. Copies what it keeps."""
        own = self.read_strand - np.uint32(2 * self.before)
        read_strand = reads[own >> 1] << np.uint32(1) | own & np.uint32(1)
        columns = self.diagonal.astype(COORDINATE), self.offset.copy(), self.length.copy()
        anchors = Anchors(read_strand, *columns, self.start - self.start[0], reads)
        span = self.first.astype(np.int64), self.last.astype(np.int64)
        return DenselyLooked(anchors, self.clipped.astype(np.uint16), *span, self.stretches.copy())


class TracedRows(NamedTuple):
    """Alignments of all bands of a request, `h` of them.

    Attributes
    ----------
    reach : uint16[h]
        As `Bands` has it.
    diagonal : uint32[h]
        On which each begins.
    start : uint32[h], n_runs : uint16[h]
        Runs of alignment i are start[i] .. start[i] + n_runs[i] of `cigars` uint32[]; 0 for an ungapped one.
    """

    reach: U16
    diagonal: U32
    start: U32
    n_runs: U16
    cigars: U32

    def at(self, rows: I64) -> tuple[I64, Traced]:
        """Returns what `GlobalResult.traced` has of some rows. Copies what it keeps."""
        n_runs = self.n_runs[rows]
        gapped = rows[n_runs > 0]
        diagonal = self.diagonal.astype(COORDINATE)
        of_gapped = diagonal[gapped], self.cigars.copy(), self.start[gapped], self.n_runs[gapped]
        return np.where(n_runs == 0, diagonal[rows], 0), Traced(*of_gapped)


class Found(NamedTuple):
    """What a device found in the `n` reads of a request: `h` bands within the limits.

    Attributes
    ----------
    before : int
        Reads of other requests before those of this one.
    read_strand, first : uint32[h]
        Bands by read, which count from `before` on; first diagonals.
    edits, end : uint16[h]
        Errors, and the diagonal offset of the best end.
    start : int64[n + 1]
        Bands of read r are start[r] - start[0] .. start[r + 1] - start[0].
    state : list of uint16[n]
        The columns `gpu.arrays.STATE`.
    counted : Stats
        What was done.
    traced : TracedRows or None
        Where all places were wanted: of the bands, which lie in the order of `select_all` then.
    """

    before: int
    read_strand: U32
    first: U32
    edits: U16
    end: U16
    start: I64
    state: list[U16]
    counted: Stats
    traced: TracedRows | None = None

    def result(self, context: BatchContext, stats: Stats) -> GlobalResult:
        """The places of every read, as the host selects and rates them; adds to `stats`. Copies what it keeps."""
        stats.add_work_of(self.counted)
        host = HostBackend(context, None, stats)
        read_strand = self.read_strand - np.uint32(2 * self.before)
        edits, traced = self.edits.copy(), self.traced
        reach = edits if traced is None else traced.reach.copy()
        columns = (
            self.first.astype(COORDINATE),
            self.end.copy(),
            edits,
            context.words[read_strand >> 1],
            reach,
        )
        bands = Bands(read_strand, *columns)
        grouped = Grouped(bands, self.start - self.start[0])
        state = SearchState.initial(context)
        for name, column in zip(STATE, self.state, strict=True):
            getattr(state, name.lower())[:] = column
        if traced is None:
            best = host.select_best(grouped, context.params.max_hits)
            return host.rate(state, grouped, best)
        grouped, selected = host.select_all(grouped)
        return replace(host.rate(state, grouped, selected), traced=traced.at(selected.rows))


Answer = Found | Looked | Densely
"""To a request of one kind."""


T = TypeVar("T")


def copied(found: T) -> T:
    """A copy of what was found, which lies in memory that is used again."""
    if isinstance(found, np.ndarray):
        return cast(T, found.copy())
    if isinstance(found, list):
        return cast(T, [copied(value) for value in found])
    if isinstance(found, tuple):
        make = cast("Callable[[Iterator[object]], T]", getattr(type(found), "_make", tuple))
        return make(copied(value) for value in found)
    return found
