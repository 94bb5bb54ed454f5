"""Pieces of the reference, searched on the host: what a device must find in them before it is used."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gassst.errors import DeviceError
from gassst.gpu.found import Found
from gassst.gpu.search import DeviceSearch
from gassst.index.lookup import WholeIndex
from gassst.index.seed_index import SeedIndex
from gassst.model.array_types import U8, U32, U64, NDArray, Structs
from gassst.model.params import MapParams
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_records
from gassst.search.context import BatchContext
from gassst.search.filters import Cascade
from gassst.search.host import HostBackend
from gassst.search.plan import SearchPlan

READS, ROWS = 512, 2
"""Pieces, and rows of 64 bases of each."""
Columns = tuple[NDArray[np.generic], ...]


class Trial(NamedTuple):
    """A batch of single reads, and the columns of what the host finds in it."""

    context: BatchContext
    expected: Columns

    @classmethod
    def of(cls, index: SeedIndex, plan: SearchPlan, cascade: Cascade, params: MapParams) -> Trial:
        """Make that of a run, whose search must suit `search.is_searched`."""
        batch = batch_of_records(records_of(codes_of(index.reference.planes)))
        searched = index, WholeIndex(index), plan, cascade, params
        context = BatchContext.of(*searched, batch.pack(), whole_reads=params.reports_whole_reads)
        return cls(context, _columns(context, None))

    def put_to(self, search: DeviceSearch) -> None:
        """Have a device search it, in every slot: the first search loads kernels and takes memory.

        Raises DeviceError where it finds something else. One without room for the batch has not failed.
        """
        device = search.on_device()
        for _ in device.slots if device else ():
            found = search.search(self.context, Stats())
            if found is None:
                continue
            if not all(map(np.array_equal, _columns(self.context, found), self.expected)):
                raise DeviceError(f"OpenCL device {search.engine.info.name}: wrong results")


def _columns(context: BatchContext, found: Found | None) -> Columns:
    """What is known of all places, or the rows of these where they are wanted. `found`: by a device."""
    backend = HostBackend(context, Stats())
    search = backend.placed(None, found)
    if not context.params.exhaustive:
        return *search.found, *search.chosen, search.ends.places
    # Bands lie there by position, and here as they were found.
    places, starts = search.found
    return np.sort(places["edits"]), starts, search.chosen[1], *by_alignment(backend.rows(search).rows)


def by_alignment(
    rows: tuple[Structs, Structs, U32],
) -> tuple[Structs, Structs, U32]:
    """Rows with the runs of one alignment behind those of another: a device makes them in another order."""
    hits, summary, cigars = rows
    runs = [
        cigars[first : first + n] for first, n in zip(hits["cigar_start"], hits["cigar_runs"], strict=True)
    ]
    hits = hits.copy()
    hits["cigar_start"] = 0
    return hits, summary, np.concatenate([cigars[:0], *runs])


def codes_of(planes: U64) -> U8:
    """uint8[READS, 64 * ROWS]: pieces of the reference, a third of them with an error; 4 and 5 are masked bases."""
    rows = np.linspace(0, max(len(planes) - ROWS, 0), READS).astype(np.int64)
    some = planes[np.minimum(rows[:, None] + np.arange(ROWS), len(planes) - 1)].view(np.uint8)
    low, high, other = np.moveaxis(
        np.unpackbits(some.reshape(READS, ROWS, 3, 8), axis=3, bitorder="little"), 2, 0
    )
    codes = np.where(other, 4, low + 2 * high).reshape(READS, 64 * ROWS)
    codes[::3, 40] ^= 1
    return codes


def records_of(codes: U8) -> list[tuple[str, bytes, None]]:
    """Reads of these bases."""
    return [
        (str(i), read.tobytes(), None) for i, read in enumerate(np.frombuffer(b"ACGTNN", np.uint8)[codes])
    ]
