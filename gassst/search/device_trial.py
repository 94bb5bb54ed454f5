"""Pieces of the reference, searched on the host: what a device must find in them before it is used."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from gassst.extension.cpu import CpuExtender
from gassst.io.read_batch import ReadBatch
from gassst.io.read_records import batch_of_pairs, batch_of_records
from gassst.pairing.insert_size import InsertModel
from gassst.search import paired, single
from gassst.search.arrays import U8, U32, U64, Anchors, Bands, GlobalResult
from gassst.search.context import BatchContext, PairContext
from gassst.search.device_pairs import note_quick_look
from gassst.search.device_requests import Looked, Request, Searched
from gassst.search.host import HostBackend
from gassst.search.host_pairs import HostPairPasses
from gassst.search.state import PairState, SearchState
from gassst.seeding.lookup import WholeIndex
from gassst.stats import Stats

READS, ROWS = 512, 2
"""Pieces, and rows of 64 bases of each."""
FRAGMENT_ROWS = 6
"""Of pieces whose ends are mates."""
COMPLEMENT = np.array([3, 2, 1, 0, 4, 5], np.uint8)
SEARCHED = "best", "rival", "complete", "capped", "looked", "planned"
SETTLED = "open", "before_rescue", "looked_row"
BANDS = "read_strand", "band_start", "end", "edits"
ANCHORS = ("read_strand", "diagonal", "offset", "length", "start")
RESULT = (
    "rows",
    "start",
    "summary",
    "quality",
    "bands.read_strand",
    "bands.band_start",
    "bands.end",
    "bands.edits",
)


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """A request of single reads, and what the host finds."""

    context: BatchContext
    searched: Searched
    request: Request
    expected: GlobalResult

    @classmethod
    def of(cls, index: Any, searched: Searched) -> Trial:
        """In an index. All is searched, which must suit `device.is_searched`."""
        batch = batch_of_records(records_of(codes_of(index.reference.planes, ROWS)))
        context = _context_of(index, searched, batch, searched.params.reports_whole_reads)
        with CpuExtender(index.reference.planes).open_reads(context.packed) as bands:
            return cls(
                context, searched, Request.of(context), single.search(HostBackend(context, bands, Stats()))
            )

    def is_met_by(self, found: Any) -> bool:
        """Whether a device has found the same."""
        return _are_same(found.result(self.context, Stats()), self.expected, RESULT)


@dataclass(frozen=True, eq=False, repr=False)
class PairTrial:
    """A request of the quick look at pairs, and what the host finds: states, and anchors of the reads left open."""

    context: BatchContext
    searched: Searched
    request: Request
    pairs: PairContext
    expected: tuple[SearchState, PairState, Anchors]

    @classmethod
    def of(cls, index: Any, searched: Searched) -> PairTrial:
        """In an index, which must suit `device.is_looked_up`."""
        fragments = codes_of(index.reference.planes, FRAGMENT_ROWS)
        first, last = fragments[:, : 64 * ROWS], COMPLEMENT[fragments[:, : -64 * ROWS - 1 : -1]]
        batch = batch_of_pairs(records_of(first), records_of(last))
        assert batch.mate is not None
        insert = InsertModel.given("fr", 64 * FRAGMENT_ROWS, 20)
        return cls.of_batch(_context_of(index, searched, batch), batch.mate, insert)

    @classmethod
    def of_batch(cls, context: BatchContext, mate: U8, insert: InsertModel) -> PairTrial:
        """Of a batch with pairs; `mate` uint8[n] as the ReadBatch has it."""
        pairs = PairContext.of(context, mate, insert)
        with CpuExtender(context.reference.planes).open_reads(context.packed) as bands:
            host = HostBackend(context, bands, Stats())
            passes = HostPairPasses(context, pairs, host.stats)
            search, state = host.initial_state(), PairState.initial(context, pairs)
            reads = passes.participants(host.unsettled(search, 0, pairs.partner), state, 0)
            mates = passes.quick_participants(reads)
            passes.begin_stage(search, state)
            paired.PairedSearch(host, passes, search, state).quick_look(reads)
            left = reads[state.open[reads]]
            anchors = host.gather(host.look_up(host.initial_state(), 0, left), left, None)
        searched = Searched(context.plan, context.cascade, context.params)
        request = Request.for_quick_look(context, reads, mates, insert)
        return cls(context, searched, request, pairs, (search, state, anchors))

    @property
    def asked(self) -> tuple[U32, U32, InsertModel]:
        """Reads, mates and insert sizes, as a device is asked."""
        return self.request.reads, self.request.mates, self.pairs.insert

    def is_met_by(self, found: Any) -> bool:
        """Whether a device has found the same."""
        context, (true_search, true_state, true_anchors) = self.context, self.expected
        search, state = SearchState.initial(context), PairState.initial(context, self.pairs)
        passes = HostPairPasses(context, self.pairs, Stats())
        passes.begin_stage(search, state)
        note_quick_look(found, self.request.mates, search, state, passes)
        anchors = Looked(*found.looked).anchors(true_anchors.reads)
        left_out = found.left_out[true_anchors.reads]
        number = np.diff(anchors.start) + left_out
        whole, true_whole = (
            each.keep(np.repeat(left_out == 0, np.diff(each.start))) for each in (anchors, true_anchors)
        )
        bands, true_bands = (Bands.concatenate(each.bands) for each in (search, true_search))
        return (
            _are_same(search, true_search, SEARCHED)
            and _are_same(state, true_state, SETTLED)
            and _are_same(bands, true_bands, BANDS)
            and _are_same(whole, true_whole, ANCHORS)
            and np.array_equal(number, np.diff(true_anchors.start))
        )


def _context_of(index: Any, searched: Searched, batch: ReadBatch, whole_reads: bool = False) -> BatchContext:
    return BatchContext.of(index, WholeIndex(index), *searched, batch.pack(), whole_reads=whole_reads)


def codes_of(planes: U64, n_rows: int) -> U8:
    """uint8[READS, 64 * n_rows]: pieces of the reference, a third of them with an error; 4 and 5 are masked bases."""
    rows = np.linspace(0, max(len(planes) - n_rows, 0), READS).astype(np.int64)
    some = planes[np.minimum(rows[:, None] + np.arange(n_rows), len(planes) - 1)].view(np.uint8)
    low, high, other = np.moveaxis(
        np.unpackbits(some.reshape(READS, n_rows, 3, 8), axis=3, bitorder="little"), 2, 0
    )
    codes = np.where(other, 4, low + 2 * high).reshape(READS, 64 * n_rows)
    codes[::3, 40] ^= 1
    return codes


def records_of(codes: U8) -> list[tuple[str, bytes, None]]:
    """Reads of these bases."""
    return [
        (str(i), read.tobytes(), None) for i, read in enumerate(np.frombuffer(b"ACGTNN", np.uint8)[codes])
    ]


def _are_same(a: Any, b: Any, names: tuple[str, ...]) -> bool:
    return all(np.array_equal(attrgetter(name)(a), attrgetter(name)(b)) for name in names)
