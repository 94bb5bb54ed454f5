"""Pieces of the reference, searched on the host: what a device must find in them before it is used."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from gassst._core.stretches import best_stretches
from gassst.bands.cpu import CpuExtender
from gassst.gpu.requests import Answer, Densely, Found, Looked, Request, Searched
from gassst.index.lookup import WholeIndex
from gassst.index.seed_index import SeedIndex
from gassst.model.array_types import I64, U8, U32, U64
from gassst.model.read_batch import ReadBatch
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_pairs, batch_of_records
from gassst.search import single
from gassst.search.arrays import Anchors, GlobalResult
from gassst.search.context import BatchContext
from gassst.search.dense import DenselyLooked, DenseSeeds
from gassst.search.host import HostBackend
from gassst.search.state import SearchState

READS, ROWS = 512, 2
"""Pieces, and rows of 64 bases of each."""
FRAGMENT_ROWS = 6
"""Of pieces whose ends are mates."""
MATE = 127
"""Bases of a mate."""
DENSELY = 4
"""Of as many reads dense seeds of one are looked up."""
OCCURRENCES = 2
"""Of a dense seed, so that some are passed over."""
COMPLEMENT = np.array([3, 2, 1, 0, 4, 5], np.uint8)
LOOKED = "complete", "capped"
PASSED_OVER = "clipped", "first", "last"
ANCHORS = ("read_strand", "diagonal", "offset", "length", "start")
RESULT = (
    "rows",
    "start",
    "summary",
    "rated",
    "bands.read_strand",
    "bands.band_start",
    "bands.end",
    "bands.edits",
)


@dataclass(frozen=True, eq=False, repr=False)
class DenseTrial:
    """A request of dense seeds of some reads (uint32[a]), and what the host finds.

    The stretches are expected on the diagonals of the host's anchors.
    """

    reads: U32
    searched: Searched
    request: Request
    expected: DenselyLooked
    stretches: I64

    @classmethod
    def of(cls, context: BatchContext) -> DenseTrial:
        """Of every so manieth read of a batch, with seeds of which one in a few occurs more than once by chance."""
        reads = np.arange(0, context.n, DENSELY, dtype=np.uint32)
        by_chance = ceil(log(max(context.reference.unmasked, 4), 4))
        seeds = DenseSeeds(min(by_chance, context.index.longest_seed), 5, OCCURRENCES)
        expected = HostBackend(context, None, Stats()).look_densely(reads, seeds)
        read_strand, diagonal = expected.anchors.read_strand, expected.anchors.diagonal
        stretches = best_stretches(read_strand, diagonal, context)
        request = Request.for_dense(context, reads, seeds)
        searched = Searched(context.plan, context.cascade, context.params)
        return cls(reads, searched, request, expected, stretches)

    def is_met_by(self, found: Answer | None) -> bool:
        """Whether a device has found the same."""
        if not isinstance(found, Densely):
            return False
        looked = found.looked(self.reads)
        return (
            _are_same(looked.anchors, self.expected.anchors, ANCHORS)
            and _are_same(looked, self.expected, PASSED_OVER)
            and looked.stretches is not None
            and np.array_equal(looked.stretches, self.stretches)
        )


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """A request of single reads, and what the host finds. No search of single reads asks a device for dense seeds."""

    context: BatchContext
    searched: Searched
    request: Request
    expected: GlobalResult
    rows: tuple[NDArray[np.generic], ...]
    """The alignments are expected so, where the device makes those, too (`BatchResult.rows`)."""

    @classmethod
    def of(cls, index: SeedIndex, searched: Searched) -> Trial:
        """In an index. All is searched, which must suit `device.is_searched`."""
        batch = batch_of_records(records_of(codes_of(index.reference.planes, ROWS)))
        context = _context_of(index, searched, batch, searched.params.reports_whole_reads)
        with CpuExtender(index.reference.planes).open_reads(context.packed) as bands:
            backend = HostBackend(context, bands, Stats())
            expected = single.search(backend)
            rows = backend.trace_back(expected).rows if searched.params.exhaustive else ()
        return cls(context, searched, Request.of(context), expected, rows)

    @property
    def parts(self) -> list[Trial]:
        """What is asked: this alone."""
        return [self]

    def is_met_by(self, found: Answer | None) -> bool:
        """Whether a device has found the same."""
        if not isinstance(found, Found):
            return False
        result = found.result(self.context, Stats())
        if not _are_same(result, self.expected, RESULT):
            return False
        rows = HostBackend(self.context, None, Stats()).trace_back(result).rows if self.rows else ()
        return all(map(np.array_equal, rows, self.rows))


@dataclass(frozen=True, eq=False, repr=False)
class PairTrial:
    """A request of the seeds of pairs, and what the host finds.

    Attributes
    ----------
    expected
        State of the search, and anchors.
    dense
        A trial of dense seeds, where the search asks for these.
    """

    context: BatchContext
    searched: Searched
    request: Request
    expected: tuple[SearchState, Anchors]
    dense: DenseTrial | None

    @classmethod
    def of(cls, index: SeedIndex, searched: Searched) -> PairTrial:
        """In an index, which must suit `device.is_looked_up`."""
        fragments = codes_of(index.reference.planes, FRAGMENT_ROWS)
        first, last = fragments[:, :MATE], COMPLEMENT[fragments[:, : -MATE - 1 : -1]]
        context = _context_of(index, searched, batch_of_pairs(records_of(first), records_of(last)))
        host = HostBackend(context, None, Stats())
        state = host.initial_state()
        reads = host.unsettled(state, 0)
        anchors = host.gather(host.look_up(state, 0, reads), reads, None)
        request = Request.for_anchors(context, 0, reads)
        return cls(context, searched, request, (state, anchors), _dense_of(context))

    @property
    def parts(self) -> list[PairTrial | DenseTrial]:
        """What is asked, one after the other."""
        return [self] if self.dense is None else [self, self.dense]

    def is_met_by(self, found: Answer | None) -> bool:
        """Whether a device has found the same."""
        if not isinstance(found, Looked):
            return False
        state, anchors = self.expected
        same = _are_same(found, state, LOOKED)
        return same and _are_same(found.anchors(anchors.reads), anchors, ANCHORS)


def _context_of(
    index: SeedIndex, searched: Searched, batch: ReadBatch, whole_reads: bool = False
) -> BatchContext:
    return BatchContext.of(index, WholeIndex(index), *searched, batch.pack(), whole_reads=whole_reads)


def _dense_of(context: BatchContext) -> DenseTrial | None:
    """Dense seeds are looked up where ends may be clipped."""
    return DenseTrial.of(context) if context.params.mode == "local" else None


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


def _are_same(a: object, b: object, names: tuple[str, ...]) -> bool:
    return all(np.array_equal(attrgetter(name)(a), attrgetter(name)(b)) for name in names)
