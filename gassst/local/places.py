"""Places and alignments of reads whose ends may be clipped, as parallel columns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from gassst._core import local_places as _local_places
from gassst.model.array_types import I64, U8, U16, U32, Bool
from gassst.model.params import SPECIFIC_LENGTH, Scoring
from gassst.search.context import BatchContext

# Clipped bases from which a read is looked up once more and may have supplementary alignments: a stretch of 20
# bases is the shortest that occurs once in a human genome by chance. 10 to 40 place as many right
# (lab/constants.md), but a split read has no part that is shorter.
MUCH_CLIPPED = SPECIFIC_LENGTH


class Columns:
    """Parallel arrays of one length."""

    @classmethod
    @cache
    def _names(cls) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    def take(self, index: np.ndarray) -> Any:
        """The rows at `index`, numbers or a mask."""
        index = index.nonzero()[0] if index.dtype == bool else index
        return type(self)(*[getattr(self, name).take(index) for name in self._names()])

    @classmethod
    def concatenate(cls, parts: list[Any]) -> Any:
        """All rows, in order."""
        return cls(*[joined([getattr(part, name) for part in parts]) for name in cls._names()])


@dataclass(frozen=True, eq=False, repr=False)
class Targets(Columns):
    """Where an alignment is looked for.

    Attributes
    ----------
    read_strand : uint32[k], diagonal : int64[k]
        The alignment touches this diagonal.
    band_start, width : int64[k]
        The widest band: its first diagonal and how many there are.
    loss : int64[k]
        What the alignment is expected to lose against one without an error.
    given : bool[k]
        The place that the whole-read search chose.
    """

    read_strand: U32
    diagonal: I64
    band_start: I64
    width: I64
    loss: I64
    given: Bool


@dataclass(frozen=True, eq=False, repr=False)
class Places(Columns):
    """Scored bands.

    Attributes
    ----------
    read_strand : uint32[k], band_start, width : int64[k]
        The band, of `width` diagonals.
    score : int32[k]
        Of the best alignment, by its CIGAR.
    total : int32[k]
        The score and the bonus of each end of the read that is reached.
    reached : uint8[k]
        Bit 0: the first, bit 1: the last base of the strand is aligned.
    strand_end : uint16[k]
        Bases of the strand before the end of the alignment.
    diagonal : int64[k]
        Concatenated coordinate that base 0 faces by the last aligned base.
    given : bool[k]
        The place that the whole-read search chose.
    first_diagonal : int64[k]
        The one on which the alignment begins, where it is known; else `diagonal`.
    """

    read_strand: U32
    band_start: I64
    width: I64
    score: np.ndarray
    total: np.ndarray
    reached: U8
    strand_end: U16
    diagonal: I64
    given: Bool
    first_diagonal: I64

    @classmethod
    def none(cls) -> Places:
        """No places at all."""
        kinds = "uint32 int64 int64 int32 int32 uint8 uint16 int64 bool int64"
        return cls(*[np.empty(0, kind) for kind in kinds.split()])

    @cached_property
    def read(self) -> U32:
        """uint32[k]"""
        return self.read_strand >> np.uint32(1)

    def parts(self, lengths: U32, match: int) -> tuple[I64, I64]:
        """First and last base of the read as sequenced that a place aligns for certain, from its score."""
        last = self.strand_end.astype(np.int64)
        first = np.where(self.reached & 1, 0, np.maximum(0, last + -self.score // match))
        m = lengths[self.read].astype(np.int64)
        reverse = (self.read_strand & 1).astype(bool)
        return np.where(reverse, m - last, first), np.where(reverse, m - first, last)


class Aligned(NamedTuple):
    """Alignments in bands, before they are cut at the ends of contigs.

    Attributes
    ----------
    read_strand : uint32[k]
    position : int64[k]
        Concatenated coordinate of the first aligned base.
    cigars : uint32[]
        Runs, length << 4 | operation.
    start : uint32[k], n_runs : uint16[k]
        Runs of alignment i are start[i] .. start[i] + n_runs[i].
    score : int32[k] or None, edits : uint16[k] or None
        Of what no contig's end cuts; they are counted where `edits` is NO_SCORE, or None.
    """

    read_strand: U32
    position: I64
    cigars: U32
    start: U32
    n_runs: U16
    score: np.ndarray | None = None
    edits: U16 | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Lines(Columns):
    """Alignments.

    Attributes
    ----------
    hits : HIT[k]
    read_strand : uint32[k]
    begin, end : int64[k]
        The aligned bases of the read as sequenced.
    total : int32[k]
        As in `Places`.
    first_diagonal, last_diagonal : int64[k]
        Those on which the alignment begins and ends.
    given : bool[k]
        As in `Places`.
    """

    hits: np.ndarray
    read_strand: U32
    begin: I64
    end: I64
    total: np.ndarray
    first_diagonal: I64
    last_diagonal: I64
    given: Bool

    @cached_property
    def read(self) -> U32:
        """uint32[k]"""
        return self.read_strand >> np.uint32(1)

    def clipped(self, lengths: U32) -> I64:
        """int64[k]: bases that are not aligned."""
        return lengths[self.read] - (self.end - self.begin)

    def mismatches(self, scoring: Scoring) -> I64:
        """int64[k]: as many as cost what each loses against an alignment of the same bases without errors."""
        lost = (self.end - self.begin) * scoring.match - self.hits["score"]
        return -(-lost // (scoring.match + scoring.mismatch))


def best_of(places: Places, eligible: Bool, context: BatchContext) -> I64:
    """int64[]: row of the best place of every read that has an eligible one (bool[k])."""
    return _local_places.best_of(places, eligible.view(np.uint8), context)


def joined(arrays: list[np.ndarray]) -> np.ndarray:
    """np.concatenate, without its copying structs field by field."""
    dtype = arrays[0].dtype
    if dtype.names is None:
        return np.concatenate(arrays)
    return np.concatenate([a.view(np.dtype((np.void, dtype.itemsize))) for a in arrays]).view(dtype)


def rank(sorted_ids: np.ndarray) -> np.ndarray:
    """int64[k]: index of each row within its run of equal ids."""
    index = np.arange(len(sorted_ids))
    new = np.r_[True, sorted_ids[1:] != sorted_ids[:-1]] if len(sorted_ids) else np.empty(0, bool)
    return index - np.maximum.accumulate(np.where(new, index, 0)) if len(index) else index


def at(column: np.ndarray, index: np.ndarray) -> I64:
    """int64[k]: `column[index]`, 0 where the index is -1."""
    padded = np.append(column.astype(np.int64), 0)
    return padded[index]


def line_of_read(lines: Lines, n: int) -> I64:
    """int64[n]: row of the line of every read, -1 for none."""
    rows = np.full(n, -1, np.int64)
    rows[lines.read] = np.arange(len(lines.read))
    return rows


def of_reads(lines: Lines, n: int) -> Bool:
    """bool[n]: reads that have a line."""
    mask = np.zeros(n, bool)
    mask[lines.read] = True
    return mask


def overlap(begin: np.ndarray, end: np.ndarray, other_begin: np.ndarray, other_end: np.ndarray) -> Bool:
    """bool[k]: whether two stretches have at least half of the shorter one in common."""
    common = np.minimum(end, other_end) - np.maximum(begin, other_begin)
    return 2 * common >= np.minimum(end - begin, other_end - other_begin)
