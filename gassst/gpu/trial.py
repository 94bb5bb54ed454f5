"""Pieces of the reference, searched on the host: what a device must find in them before it is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, log
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core.stretches import best_stretches
from gassst.bands.base import ReadsHandle
from gassst.bands.cpu import CpuExtender
from gassst.errors import DeviceError
from gassst.gpu.found import Looked
from gassst.gpu.search import DeviceSearch
from gassst.index.lookup import WholeIndex
from gassst.index.seed_index import SeedIndex
from gassst.model.array_types import U8, U64
from gassst.model.params import MapParams
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_pairs, batch_of_records
from gassst.search.arrays import GlobalResult
from gassst.search.context import BatchContext
from gassst.search.dense import DenseSeeds
from gassst.search.filters import Cascade
from gassst.search.host import HostBackend
from gassst.search.plan import SearchPlan

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
ANCHORS = tuple(
    f"anchors.{name}" for name in ("read_strand", "diagonal", "offset", "length", "start", "reads")
)
LOOKED = attrgetter(*ANCHORS, "complete", "capped")
LOOKED_DENSELY = attrgetter(*ANCHORS, "clipped", "first", "last", "stretches")
BANDS = tuple(f"bands.{name}" for name in ("read_strand", "band_start", "end", "edits"))
OF_READS = attrgetter("start", "summary", "rated")
PLACES = attrgetter("rows", "start", "summary", "rated", *BANDS)
Columns = tuple[NDArray[np.generic], ...]


class Trial(NamedTuple):
    """Questions to a device, each with the arrays that the host finds. An answer None is that of a device without
    room."""

    questions: list[tuple[Callable[[DeviceSearch], Columns | None], Columns]]

    @classmethod
    def of(
        cls, index: SeedIndex, plan: SearchPlan, cascade: Cascade, params: MapParams, with_mates: bool
    ) -> Trial:
        """The questions of a run: over single reads, whose search must suit `search.is_searched`, or over pairs, whose
        seeds must suit `search.is_looked_up`."""
        fragments = codes_of(index.reference.planes, FRAGMENT_ROWS if with_mates else ROWS)
        if with_mates:
            first, last = fragments[:, :MATE], COMPLEMENT[fragments[:, : -MATE - 1 : -1]]
            batch = batch_of_pairs(records_of(first), records_of(last))
        else:
            batch = batch_of_records(records_of(fragments))
        whole_reads = params.reports_whole_reads and not with_mates
        searched = index, WholeIndex(index), plan, cascade, params
        context = BatchContext.of(*searched, batch.pack(), whole_reads=whole_reads)
        if not with_mates:
            return cls([_whole(context)])
        return cls([_seeds(context)] + [_dense_seeds(context)] * (params.mode == "local"))

    def put_to(self, search: DeviceSearch) -> None:
        """Ask a device, in every slot: the first search loads kernels and takes memory.

        Raises DeviceError where it finds something else.
        """
        device = search.on_device()
        for _ in device.slots if device else ():
            for ask, expected in self.questions:
                found = ask(search)
                if found is not None and not all(map(np.array_equal, found, expected)):
                    raise DeviceError(f"OpenCL device {search.engine.info.name}: wrong results")


def _whole(context: BatchContext) -> tuple[Callable[[DeviceSearch], Columns | None], Columns]:
    """The whole search of single reads, and the rows of all places where these are wanted."""

    def columns(result: GlobalResult, bands: ReadsHandle | None) -> Columns:
        if not context.params.exhaustive:
            return PLACES(result)
        # Bands lie there by position, and here as they were found.
        return *OF_READS(result), *HostBackend(context, bands, Stats()).trace_back(result).rows

    def ask(search: DeviceSearch) -> Columns | None:
        found = search.search(context, Stats())
        return None if found is None else columns(found, None)

    with CpuExtender(context.reference.planes).open_reads(context.packed) as bands:
        return ask, columns(HostBackend(context, bands, Stats()).search(), bands)


def _seeds(context: BatchContext) -> tuple[Callable[[DeviceSearch], Columns | None], Columns]:
    """The first seeds of pairs."""
    host, plan, rows = HostBackend(context, None, Stats()), context.plan, context.plan.rows(0)
    reads = np.flatnonzero(rows.number[context.lengths]).astype(np.uint32)
    seeds, clipped, capped = host.resolve(reads, rows, plan.caps)
    anchors, lengths = host.gather(seeds, reads), context.lengths[reads]
    disjoint = -(-plan.disjoint[0, lengths].astype(int) // rows.every[lengths])
    complete = (disjoint - np.minimum(clipped, disjoint)).astype(np.uint16)

    def ask(search: DeviceSearch) -> Columns | None:
        found = search.look_up(context, Stats(), reads, 0)
        return None if found is None else LOOKED(found)

    return ask, LOOKED(Looked(anchors, complete, capped.astype(np.uint16)))


def _dense_seeds(context: BatchContext) -> tuple[Callable[[DeviceSearch], Columns | None], Columns]:
    """Dense seeds, which are looked up where ends may be clipped. One in a few occurs more than once by chance."""
    reads = np.arange(0, context.n, DENSELY, dtype=np.uint32)
    by_chance = ceil(log(max(context.reference.unmasked, 4), 4))
    seeds = DenseSeeds(min(by_chance, context.index.longest_seed), 5, OCCURRENCES)
    expected = HostBackend(context, None, Stats()).look_densely(reads, seeds)
    stretches = best_stretches(expected.anchors.read_strand, expected.anchors.diagonal, context)

    def ask(search: DeviceSearch) -> Columns | None:
        found = search.look_densely(context, Stats(), reads, seeds)
        return None if found is None else LOOKED_DENSELY(found)

    return ask, LOOKED_DENSELY(replace(expected, stretches=stretches.astype(np.uint32)))


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
