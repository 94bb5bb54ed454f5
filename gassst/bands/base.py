"""A batch of reads, ready for alignments in bands (docs/pipeline.md): what both backends do around the bands.

Arguments are checked here, the room for CIGARs is shared out, and scores are freed of what the kernels add to them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from gassst._core.banded import local_slots, pack_cigars, without_bonus
from gassst.model.array_types import COORDINATE, I16, I32, I64, U8, U16, U32
from gassst.model.params import Scoring
from gassst.model.read_batch import PackedReads
from gassst.model.times import Times

WORDS = (1, 2, 4, 8)
WIDTHS = (16, 32, 64, 128, 256, 512)  # of the bands of local alignments
BAD_EDITS = 0xFFFF  # band.h

Pairs = tuple[U32, I64]
"""`read_strand` and `band_start`."""
Scores = tuple[U16, U16]
Paths = tuple[U16, U32, U32, U16]
LocalScores = tuple[I32, U8, U16, U16]
LocalPaths = tuple[I32, U8, I64, U32, U32, U16, U16]


def u32(array: ArrayLike) -> U32:
    return np.ascontiguousarray(array, np.uint32)


def u16(array: ArrayLike) -> U16:
    return np.ascontiguousarray(array, np.uint16)


def doubled(scoring: Scoring) -> I16:
    """`scoring` (params.Scoring) as kernels/local.h takes it: int16[7], the fields of local_scoring."""
    (deletion, insertion), (longer_deletion, longer_insertion) = scoring.gap_open, scoring.gap_extend
    gaps = (deletion + longer_deletion, longer_deletion, insertion + longer_insertion, longer_insertion)
    return 2 * np.array([scoring.match, scoring.mismatch, *gaps, scoring.clip], np.int16)


def least_gap(scoring: Scoring) -> int:
    """What the cheapest gap costs."""
    return min(o + e for o, e in zip(scoring.gap_open, scoring.gap_extend, strict=True))


class ReadsHandle(ABC):
    """One batch of reads, ready for any number of calls; a context manager, or closed when it is collected.

    `read_strand` uint32[n] is 2 * read + strand, `band_start` int64[n] the concatenated coordinate of
    diagonal 0 of each pair's band of 64 * `words` or, of local alignments, `width` diagonals. ValueError for
    arrays that do not fit each other or the batch.

    `times`: what was done for this batch, complete once the handle is closed; `compile` is the device's own.
    """

    times: Times

    def __init__(self, packed: PackedReads):
        self.planes = np.ascontiguousarray(packed.planes, np.uint64).reshape(-1, 3)
        self.plane_start = u32(packed.plane_start)
        self.lengths = u32(packed.lengths)
        ends = self.plane_start.astype(np.int64) + 2 * ((self.lengths.astype(np.int64) + 63) // 64)
        if len(self.plane_start) != len(self.lengths) or (len(ends) and ends.max() > len(self.planes)):
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
        return self._score(*pairs, words, limit)

    def profile(self, read_strand: U32, band_start: I64, words: int) -> U16:
        """Errors of the best alignment that ends on each diagonal: uint16[n, 64 * words]."""
        pairs = self._pairs(read_strand, band_start, words)
        if not len(pairs[0]):
            return np.empty((0, 64 * words), np.uint16)
        return self._profile(*pairs, words)

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
        start, n_runs, runs = self._align(*pairs, words, end, edits, slot_end, rows)
        wrong = np.flatnonzero(n_runs == BAD_EDITS)
        if len(wrong):
            raise ValueError(f"pair {wrong[0]} has not {edits[wrong[0]]} edits on diagonal {end[wrong[0]]}")
        cigars, cigar_start = pack_cigars(runs, slot_end, n_runs)
        return start, cigars, cigar_start, n_runs

    def local(self, read_strand: U32, band_start: I64, width: int, scoring: Scoring) -> LocalScores:
        """Best local alignment of each pair within its band, by `scoring` (params.Scoring), ties as in local.h.

        Parameters
        ----------
        read_strand : uint32[n], band_start : int64[n]
        width : int
            One of `WIDTHS`.
        scoring : params.Scoring

        Returns
        -------
        score : int32[n]
            Without the bonus for ends that are reached; 0 where nothing is worth aligning.
        reached : uint8[n]
            Bit 0: the first, bit 1: the last base of the strand is aligned.
        rows : uint16[n]
            Bases of the strand before the end of the alignment.
        end : uint16[n]
            Diagonal of its last base.
        """
        pairs = self._pairs(read_strand, band_start, width, WIDTHS, "width")
        if not len(pairs[0]):
            return (
                np.empty(0, np.int32),
                np.empty(0, np.uint8),
                np.empty(0, np.uint16),
                np.empty(0, np.uint16),
            )
        ends = self._local(*pairs, width, doubled(scoring))
        return *self._without_bonus(pairs[0], ends, scoring), ends[1], ends[2]

    def align_local(self, read_strand: U32, band_start: I64, width: int, scoring: Scoring) -> LocalPaths:
        """The alignments that `local` scores.

        Returns
        -------
        score : int32[n], reached : uint8[n]
            As from `local`. Where the score is 0 all of the read is clipped.
        position : int64[n]
            Concatenated coordinate of the first aligned base.
        cigars : uint32[]
            BAM runs, clipped bases as op 4.
        cigar_start : uint32[n], cigar_runs : uint16[n]
        edits : uint16[n]
            Mismatches, inserted and deleted bases.
        """
        pairs = self._pairs(read_strand, band_start, width, WIDTHS, "width")
        if not len(pairs[0]):
            score, reached, position = np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, COORDINATE)
            runs, short = np.empty(0, np.uint32), np.empty(0, np.uint16)
            return score, reached, position, runs, runs.copy(), short, short.copy()
        slot_end, rows = local_slots(pairs[0], self.lengths, scoring, least_gap(scoring))
        found = self._align_local(*pairs, width, doubled(scoring), slot_end, rows)
        ends, position, edits, n_runs, runs = found
        cigars, cigar_start = pack_cigars(runs, slot_end, n_runs)
        return *self._without_bonus(pairs[0], ends, scoring), position, cigars, cigar_start, n_runs, edits

    def _without_bonus(self, read_strand: U32, ends: U16, scoring: Scoring) -> tuple[I32, U8]:
        """Scores in `ends` uint16[3, n] of local.h: halved, less the bonus of each end that is reached; and which
        ends are."""
        return without_bonus(u16(ends), read_strand, self.lengths, scoring.clip)

    def _pairs(
        self,
        read_strand: U32,
        band_start: I64,
        size: int,
        sizes: tuple[int, ...] = WORDS,
        what: str = "words",
    ) -> Pairs:
        if size not in sizes:
            raise ValueError(f"{what} is one of {sizes}, not {size}")
        read_strand, band_start = u32(read_strand), np.ascontiguousarray(band_start, COORDINATE)
        if read_strand.shape != band_start.shape or read_strand.ndim != 1:
            raise ValueError("read_strand and band_start differ in shape")
        if len(read_strand) and read_strand.max() >> 1 >= len(self.lengths):
            raise ValueError("read_strand names a read that is not in the batch")
        return read_strand, band_start

    @abstractmethod
    def _score(self, read_strand: U32, band_start: I64, words: int, limit: U16 | None) -> Scores: ...

    @abstractmethod
    def _profile(self, read_strand: U32, band_start: I64, words: int) -> U16: ...

    @abstractmethod
    def _align(
        self,
        read_strand: U32,
        band_start: I64,
        words: int,
        end: U16,
        edits: U16,
        slot_end: U32,
        rows: int,
    ) -> tuple[U16, U16, U32]: ...

    @abstractmethod
    def _local(self, read_strand: U32, band_start: I64, width: int, costs: I16) -> U16: ...

    @abstractmethod
    def _align_local(
        self, read_strand: U32, band_start: I64, width: int, costs: I16, slot_end: U32, rows: int
    ) -> tuple[U16, I64, U16, U16, U32]: ...
