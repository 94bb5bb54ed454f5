"""What the copies of a tandem repeat beside an alignment leave of its mapping quality."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gassst._core import tandem as _tandem
from gassst.model.array_types import F64, I64, U8, U16, U32
from gassst.model.rules import optional
from gassst.search.context import BatchContext
from gassst.search.mapq import LEAST_BESIDE_COPIES, MOST_BESIDE, quality_of_copies


class Parts(NamedTuple):
    """What primary alignments align, at most one of each read.

    Attributes
    ----------
    read_strand : uint32[k], diagonal : int64[k]
        Where they begin.
    begin, end : int64[k]
        Bases begin .. end - 1 of each strand are aligned.
    loss : float64[k]
        What each alignment loses against one without errors, in mismatches.
    """

    read_strand: U32
    diagonal: I64
    begin: I64
    end: I64
    loss: F64

    def take(self, rows: I64) -> Parts:
        """Those in some rows."""
        columns: list[np.ndarray] = [column[rows] for column in self]
        return Parts(*columns)

    @property
    def most(self) -> U16:
        """uint16[k]: mismatches of a copy that counts."""
        return (np.ceil(self.loss) + MOST_BESIDE).astype(np.uint16)


@optional(
    "tandem-copies",
    "Bounds the mapping quality of reads in tandem repeats by the copies beside them.",
    instead=lambda rated, *_: rated,
)
def beside_copies(rated: U8, parts: Parts, context: BatchContext) -> U8:
    """uint8[k]: the qualities of primary alignments (uint8[k]), no higher than the copies beside them allow."""
    most = np.where(rated >= LEAST_BESIDE_COPIES, parts.most, 0).astype(np.uint16)
    errors, count = _tandem.tandem_rivals(*parts[:4], most, context)
    some = np.flatnonzero(count)
    if not some.size:
        return rated
    beside = parts.take(some)
    aligned = beside.end - beside.begin
    bound = quality_of_copies(count[some], errors[some], beside.loss, aligned, context.library)
    rated = rated.copy()
    rated[some] = np.minimum(rated[some], bound)
    return rated
