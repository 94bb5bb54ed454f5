"""The arrays that one pass of the search hands to the next, as parallel columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gassst.frozen import field, frozen
from gassst.model.array_types import I64, U8, U16, U32, Bool, Structs
from gassst.model.layouts import READ_SUMMARY


def _taken(columns: Sequence[Structs], index: Any) -> Sequence[Structs]:
    """The rows of columns at `index`: int64[m], or anything that NumPy takes."""
    if isinstance(index, np.ndarray) and index.dtype == np.int64:
        return [column.take(index) for column in columns]
    return [column[index] for column in columns]


@frozen(eq=False)
class Candidates:
    """Error-free seeds on diagonals, sorted by (read_strand, diagonal, offset).

    Attributes
    ----------
    read_strand : uint32[c]
        2 * read + strand.
    diagonal : int64[c]
        Concatenated coordinate that base 0 of the strand faces.
    offset, length : uint16[c]
        Bases offset .. offset + length - 1 of the strand are the seed.
    """

    read_strand: U32
    diagonal: I64
    offset: U16
    length: U16

    def __len__(self) -> int:
        return len(self.read_strand)

    def take(self, index: Any) -> Candidates:
        """The candidates at `index`: integers, a slice or a mask."""
        return Candidates(*_taken((self.read_strand, self.diagonal, self.offset, self.length), index))


@frozen(eq=False)
class Anchors(Candidates):
    """The candidates of some reads, read by read.

    Attributes
    ----------
    start : int64[a + 1]
        Candidates of reads[i] are start[i] .. start[i + 1].
    reads : uint32[a]
        Ascending.
    """

    start: I64
    reads: U32

    def keep(self, kept: Bool) -> Anchors:
        """The anchors marked in `kept` (bool[c]), of the same reads."""
        some = self.take(kept)
        start = np.concatenate([[0], np.cumsum(kept)])[self.start]
        return Anchors(some.read_strand, some.diagonal, some.offset, some.length, start, self.reads)


class Diagonals(NamedTuple):
    """Diagonals of reads: `read_strand` uint32[k], `diagonal` int64[k]."""

    read_strand: U32
    diagonal: I64


@frozen(eq=False)
class Bands:
    """Scored bands.

    Attributes
    ----------
    read_strand : uint32[h]
    band_start : int64[h]
        The band's first diagonal, as docs/pipeline.md defines it.
    end : uint16[h]
        Offset of the diagonal on which the best alignment ends.
    edits : uint16[h]
        Errors of that alignment.
    words : uint8[h]
        The band spans 64 * words diagonals.
    reach : uint16[h]
        How many diagonals behind `end` an ungapped alignment with as many errors may end instead: with e of them
        gaps move an end by no more than e.
    """

    read_strand: U32
    band_start: I64
    end: U16
    edits: U16
    words: U8
    reach: U16

    def take(self, index: Any) -> Bands:
        """The rows at `index`: integers, a slice or a mask."""
        columns = self.read_strand, self.band_start, self.end, self.edits, self.words, self.reach
        return Bands(*_taken(columns, index))


class Traced(NamedTuple):
    """Tracebacks of `t` bands.

    Attributes
    ----------
    diagonal : int64[t]
        On which each alignment begins.
    cigars : uint32[]
        Runs, length << 4 | operation.
    start : uint32[t], n_runs : uint16[t]
        Runs of alignment i are start[i] .. start[i] + n_runs[i].
    """

    diagonal: I64
    cigars: U32
    start: U32
    n_runs: U16


class Resolved(NamedTuple):
    """Seeds with their ranges of positions; of each read how many were clipped (uint16[a]), and whether one was passed
    over because it occurs too often (uint8[a])."""

    seeds: Any
    clipped: U16
    capped: U8


class Grouped(NamedTuple):
    """Bands grouped by read: those of read r are `start`[r] .. `start`[r + 1], int64[n + 1]."""

    bands: Bands
    start: I64


class Selected(NamedTuple):
    """`rows` int64[k] of grouped bands, read by read from `start` int64[n + 1] on; `summary` READ_SUMMARY[n]."""

    rows: I64
    start: I64
    summary: Any


class Seen(NamedTuple):
    """What the search looked at: as in `ReadStates`."""

    complete: U16
    looked: U8
    planned: U16


@frozen(eq=False)
class ReadStates:
    """What is known of the `n` reads of a batch once it was searched.

    Attributes
    ----------
    best : uint16[n]
        Fewest errors of a scored band; NO_SCORE for none.
    limit : uint16[n]
        Most errors that still matter.
    complete : uint16[n]
        Every alignment with fewer errors has been seen.
    planned : uint16[n]
        Most disjoint seeds that were looked up together.
    looked : uint8[n]
        Bit s: the seeds of stage s have been looked up.
    capped : uint8[n]
        1 where a seed was passed over because it occurs too often.
    """

    best: U16
    limit: U16
    complete: U16
    planned: U16
    looked: U8
    capped: U8

    @property
    def reads_capped(self) -> int:
        """How many reads are `capped`."""
        return len(self.capped) - self.capped.tobytes().count(0)

    def seen(self) -> Seen:
        """What has been looked at, for the mapping qualities."""
        return Seen(self.complete, self.looked, self.planned)


@frozen(eq=False)
class GlobalResult:
    """What the whole-read search of a batch of `n` reads found.

    Attributes
    ----------
    bands : Bands
        Every band within the limits, grouped by read.
    rows : int64[k]
        Rows of `bands` to report, read by read, the primary of each read first.
    start : int64[n + 1]
        `rows` of read r are start[r] .. start[r + 1].
    summary : READ_SUMMARY[n]
    rated : RATING[n]
        Mapping quality of each primary, and its terms.
    proper : bool[n]
        Reads whose place a concordant pair decided.
    seen : Seen
        What was looked at.
    traced : tuple or None
        Where a device has aligned the `rows`: diagonals of ungapped ones, uint32[k], 0 for others, which are Traced.
    """

    bands: Bands
    rows: I64
    start: I64
    summary: Structs
    rated: Structs
    proper: Bool
    seen: Seen
    traced: tuple[I64, Traced] | None = None


@frozen(eq=False)
class BatchResult:
    """Rows to write: `hits` HIT[h] grouped by read, primary first; `summary` READ_SUMMARY[n]; `cigars` uint32[].

    `parts` READ_SUMMARY[p]: of supplementary alignments, which the `part` of rows counts from 1.
    """

    hits: Structs
    summary: Structs
    cigars: U32
    parts: Structs = field(default_factory=lambda: np.empty(0, READ_SUMMARY))

    @property
    def rows(self) -> tuple[Structs, Structs, U32]:
        """Hits, summaries of reads and of parts, and CIGARs, as encoders take them."""
        summary = np.concatenate([self.summary, self.parts]) if len(self.parts) else self.summary
        return self.hits, summary, self.cigars

    def hits_behind(self, runs: int, parts: int) -> Structs:
        """HIT[h]: a copy of the hits, for a result that has so many CIGAR runs and parts before these."""
        hits = self.hits.copy()
        hits["cigar_start"] += np.uint32(runs)
        hits["part"][hits["part"] > 0] += np.uint32(parts)
        return hits

    @property
    def quality(self) -> U8:
        """uint8[n]: mapping quality of every primary; 0 of unmapped reads."""
        rows = np.maximum(self.summary["n_reported"], 1).astype(np.int64)
        return self.hits["mapq"][np.cumsum(rows) - rows]
