"""Pieces of the reference, searched on the host: what a device must find in them before it is used."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from gassst.extension.cpu import CpuExtender
from gassst.io.read_records import batch_of_records
from gassst.search import single
from gassst.search.arrays import U64
from gassst.search.context import BatchContext
from gassst.search.device_requests import Found, Looked, Request, Searched
from gassst.search.host import HostBackend
from gassst.seeding.lookup import WholeIndex
from gassst.stats import Stats

READS, ROWS = 512, 2
"""Pieces, and rows of 64 bases of each."""
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
    """A request, and what the host finds: a GlobalResult, or the Anchors of pairs."""

    context: BatchContext
    searched: Searched
    request: Request
    expected: Any

    @classmethod
    def of(cls, index: Any, searched: Searched, is_for_pairs: bool = False) -> Trial:
        """In an index. For pairs seeds are looked up; else all is searched, which must suit `device.is_searched`."""
        packed = batch_of_records(pieces_of(index.reference.planes)).pack()
        whole_reads = searched.params.reports_whole_reads
        context = BatchContext.of(index, WholeIndex(index), *searched, packed, whole_reads=whole_reads)
        reads = np.arange(context.n, dtype=np.uint32)
        with CpuExtender(index.reference.planes).open_reads(packed) as bands:
            host = HostBackend(context, bands, Stats())
            if not is_for_pairs:
                return cls(context, searched, Request.of(context), single.search(host))
            anchors = host.gather(host.look_up(host.initial_state(), 0, reads), reads, None)
        return cls(context, searched, Request.for_anchors(context, 0, None, reads), anchors)

    def is_met_by(self, found: Found | Looked) -> bool:
        """Whether a device has found the same."""
        if isinstance(found, Looked):
            return _are_same(found.anchors(self.request.reads), self.expected, ANCHORS)
        return _are_same(found.result(self.context, Stats()), self.expected, RESULT)


def pieces_of(planes: U64) -> list[tuple[str, bytes, None]]:
    """Pieces of the reference as reads, a third of them with an error."""
    rows = np.linspace(0, len(planes) - ROWS, READS).astype(np.int64)
    some = planes[rows[:, None] + np.arange(ROWS)].view(np.uint8)
    low, high, other = np.moveaxis(
        np.unpackbits(some.reshape(READS, ROWS, 3, 8), axis=3, bitorder="little"), 2, 0
    )
    codes = np.where(other, 4, low + 2 * high).reshape(READS, 64 * ROWS)
    codes[::3, 40] ^= 1
    return [
        (str(i), read.tobytes(), None) for i, read in enumerate(np.frombuffer(b"ACGTNN", np.uint8)[codes])
    ]


def _are_same(a: Any, b: Any, names: tuple[str, ...]) -> bool:
    return all(np.array_equal(attrgetter(name)(a), attrgetter(name)(b)) for name in names)
