"""The arrays that one pass of the search hands to the next, as parallel columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gassst.frozen import field, frozen
from gassst.model.array_types import I64, U8, U16, U32, Bool, Structs
from gassst.model.layouts import READ_SUMMARY


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
        columns = self.read_strand, self.diagonal, self.offset, self.length
        return Candidates(*(column[index] for column in columns))


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


class Seen(NamedTuple):
    """What the search looked at, as `states_t` of `gassst/_core/stages.pxd` has it."""

    complete: U16
    looked: U8
    planned: U16


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
