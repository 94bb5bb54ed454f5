"""Candidates of the filters, in columns."""

from __future__ import annotations

from typing import Any

from gassst.frozen import frozen
from gassst.model.array_types import I64, U16, U32


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
        return Candidates(*(column[index] for column in vars(self).values()))
