"""A batch of reads, ready for alignments in bands on a device (docs/pipeline.md), or by compiled code in its place.

Arguments are checked here, and the room for CIGARs is shared out. A run on the host needs none of this: its compiled
schedule calls the kernels itself.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gassst._core.bands import Bands, fit, pack_cigars
from gassst._core.stages import instruction_sets
from gassst.model.array_types import COORDINATE, I16, I64, U16, U32, U64
from gassst.model.read_batch import PackedReads
from gassst.model.times import Times
from gassst.search.plan import WORDS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

BAD_EDITS = 0xFFFF  # band.h

Pairs = tuple[U32, I64]
"""`read_strand` and `band_start`."""
Scores = tuple[U16, U16]
Paths = tuple[U16, U32, U32, U16]


def u32(array: ArrayLike) -> U32:
    return np.ascontiguousarray(array, np.uint32)


def u16(array: ArrayLike) -> U16:
    return np.ascontiguousarray(array, np.uint16)


class ReadsHandle(ABC):
    """One batch of reads, ready for any number of calls; a context manager, or closed when it is collected.

    `read_strand` uint32[n] is 2 * read + strand, `band_start` int64[n] the concatenated coordinate of
    diagonal 0 of each pair's band of 64 * `words` or, of local alignments, `width` diagonals. ValueError for
    arrays that do not fit each other or the batch.

    `times`: what was done for this batch, complete once the handle is closed; `compile` is the device's own.
    """

    times: Times

    def __init__(self, packed: PackedReads):
        self.planes = np.ascontiguousarray(packed.planes, np.uint64)
        self.plane_start = u32(packed.plane_start)
        self.lengths = u32(packed.lengths)
        if not fit(self.planes, self.plane_start, self.lengths):
            raise ValueError("plane_start, lengths and planes of the packed reads do not fit")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027 - not all backends hold something
        """Gives back what the handle holds; it must not be used after."""

    def score(self, read_strand: U32, band_start: I64, words: int, limit: U16 | None = None) -> Scores:
        """Least errors of each band, leftmost diagonal they end on: (best uint16[n], end uint16[n]).

        `limit` uint16[reads]: errors that matter to each read. A band with more has 65535 errors, and ends on 0. Of
        unrelated bases that takes a third of the time. None: all errors matter. ValueError for one of another length.
        """
        pairs = self._pairs(read_strand, band_start, words)
        if limit is not None and (len(limit) != len(self.lengths) or limit.dtype != np.uint16):
            raise ValueError("limit has not one uint16 for each read")
        if not len(pairs[0]):
            return np.empty(0, np.uint16), np.empty(0, np.uint16)
        best, end = self._call("score", *pairs, words, limit)
        return best, end

    def profile(self, read_strand: U32, band_start: I64, words: int) -> U16:
        """Errors of the best alignment that ends on each diagonal: uint16[n, 64 * words]."""
        pairs = self._pairs(read_strand, band_start, words)
        if not len(pairs[0]):
            return np.empty((0, 64 * words), np.uint16)
        errors: U16 = self._call("profile", *pairs, words)
        return errors

    def align(self, read_strand: U32, band_start: I64, words: int, end: U16, edits: U16) -> Paths:
        """Alignments that end on diagonal `end` (uint16[n]) with `edits` (uint16[n]) errors.

        Both as `score` or `profile` gave them, else ValueError. Returns (start uint16[n]: diagonal of the
        first base, cigars uint32[]: BAM runs length << 4 | op with op 0 M, 1 I, 2 D, cigar_start
        uint32[n], cigar_runs uint16[n]). Ties: a diagonal step, else an insertion, else a deletion, from
        the last base to the first, so gaps lie leftmost.
        """
        pairs = self._pairs(read_strand, band_start, words)
        end, edits = u16(end), u16(edits)
        n = len(pairs[0])
        if len(end) != n or len(edits) != n or (n and end.max() >= 64 * words):
            raise ValueError("end or edits do not fit the pairs")
        if not n:
            return (
                np.empty(0, np.uint16),
                np.empty(0, np.uint32),
                np.empty(0, np.uint32),
                np.empty(0, np.uint16),
            )
        return self._paths(pairs, words, end, edits)

    def _paths(self, pairs: Pairs, words: int, end: U16, edits: U16) -> Paths:
        slots = np.cumsum(2 * edits.astype(np.int64) + 1)
        if slots[-1] >> 32:
            raise ValueError("too many alignments for one call")
        slot_end = u32(slots)
        rows = int(self.lengths[pairs[0] >> 1].max())
        start, n_runs, runs = self._call("align", *pairs, words, end, edits, slot_end, rows)
        wrong = np.flatnonzero(n_runs == BAD_EDITS)
        if len(wrong):
            raise ValueError(f"pair {wrong[0]} has not {edits[wrong[0]]} edits on diagonal {end[wrong[0]]}")
        cigars, cigar_start = pack_cigars(runs, slot_end, n_runs)
        return start, cigars, cigar_start, n_runs

    def _pairs(self, read_strand: U32, band_start: I64, words: int) -> Pairs:
        if words not in WORDS:
            raise ValueError(f"words is one of {WORDS}, not {words}")
        read_strand, band_start = u32(read_strand), np.ascontiguousarray(band_start, COORDINATE)
        if read_strand.shape != band_start.shape or read_strand.ndim != 1:
            raise ValueError("read_strand and band_start differ in shape")
        if len(read_strand) and read_strand.max() >> 1 >= len(self.lengths):
            raise ValueError("read_strand names a read that is not in the batch")
        return read_strand, band_start

    @abstractmethod
    def _call(self, kernel: str, read_strand: U32, *arguments: Any) -> Any:
        """What a method of `_core.bands.Bands` returns: `score`, `profile`, `align`, `local` or `align_local`."""

    def _local(self, read_strand: U32, band_start: I64, width: int, costs: I16) -> U16:
        """Key, rows and end of kernels/local.h, uint16[3, n]: of local alignments in bands of `width` diagonals."""
        ends: U16 = self._call("local", read_strand, band_start, width, costs)
        return ends

    def _align_local(self, *arguments: Any) -> tuple[U16, I64, U16, U16, U32]:
        """As `_core.bands.Bands.align_local`."""
        found: tuple[U16, I64, U16, U16, U32] = self._call("align_local", *arguments)
        return found


class CpuReads(ReadsHandle):
    """Reads of the CPU backend; works in the calling thread, without the GIL."""

    def __init__(self, extender: CpuExtender, packed: PackedReads):
        super().__init__(packed)
        self.times = Times()
        reads = (self.planes, self.plane_start, self.lengths)
        self.band = Bands(extender.reference, *reads, extender.instruction_set)

    def _call(self, kernel: str, read_strand: U32, *arguments: Any) -> Any:
        began = time.perf_counter_ns()
        found = getattr(self.band, kernel)(read_strand, *arguments)
        self.times += Times(calls=1, pairs=len(read_strand), kernel=time.perf_counter_ns() - began)
        return found


class CpuExtender:
    """Compiled kernels in the place of a device: what one is compared with, and what scores for one that is a CPU.

    `reference_planes` uint64[rows, 3]; `instruction_set`: of `instruction_sets()`.
    """

    def __init__(self, reference_planes: U64, instruction_set: str | None = None):
        self.reference = np.ascontiguousarray(reference_planes, np.uint64)
        self.instruction_set = instruction_set or instruction_sets()[0]

    def describe(self) -> str:
        """One line for people."""
        return f"CPU backend ({self.instruction_set})"

    def open_reads(self, packed: PackedReads) -> CpuReads:
        """`packed` has planes uint64[w, 3], plane_start uint32[n], lengths uint32[n]."""
        return CpuReads(self, packed)
