"""What the copies of a tandem repeat beside an alignment leave of its mapping quality, of single reads and of pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gassst._core import tandem as _tandem
from gassst.index.reference import contig_before
from gassst.model.array_types import F64, I64, U8, U16, U32, Bool
from gassst.model.rules import optional
from gassst.pairing.error_rate import ErrorRate
from gassst.pairing.orientation import leads, partner_strand, template_length
from gassst.search.context import BatchContext, PairContext
from gassst.search.mapq import (
    LEAST_BESIDE_COPIES,
    MOST_BESIDE,
    quality,
    quality_of_copies,
)


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

    @classmethod
    def concatenate(cls, parts: list[Parts]) -> Parts:
        """All of them, in order."""
        columns: list[np.ndarray] = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return cls(*columns)

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
def beside_copies(
    rated: U8,
    parts: Parts,
    context: BatchContext,
    pairs: PairContext | None = None,
) -> U8:
    """uint8[k]: the qualities of primary alignments (uint8[k]), no higher than the copies beside them allow.

    Mates of concordant pairs are weighed with the template lengths that they would have in the copies.
    """
    most = np.where(rated >= LEAST_BESIDE_COPIES, parts.most, 0).astype(np.uint16)
    errors, count = _tandem.tandem_rivals(*parts[:4], most, context)
    some = np.flatnonzero(count)
    if not some.size:
        return rated
    beside = parts.take(some)
    aligned = beside.end - beside.begin
    bound = quality_of_copies(count[some], errors[some], beside.loss, aligned, context.library)
    if pairs is not None:
        concordant, weight = _weight_in_pairs(some, parts, context, pairs)
        bound[concordant] = quality(weight)
    rated = rated.copy()
    rated[some] = np.minimum(rated[some], bound)
    return rated


def _weight_in_pairs(rows: I64, parts: Parts, context: BatchContext, pairs: PairContext) -> tuple[Bool, F64]:
    """Which of the alignments in `rows` (int64[r]) are of concordant pairs, and what all copies beside those weigh.

    Returns
    -------
    concordant : bool[r]
    weight : float64[c]
        Of these, relative to the place that is reported.
    """
    of_read = np.full(context.n, -1, np.int64)
    of_read[parts.read_strand >> 1] = np.arange(len(parts.read_strand))
    other = of_read[pairs.partner[parts.read_strand[rows] >> 1]]
    concordant = pairs.paired[parts.read_strand[rows] >> 1] & (other >= 0)
    own, mate, insert = parts.take(rows), parts.take(other), pairs.insert
    strand, mate_strand = ((part.read_strand & 1).astype(np.int64) for part in (own, mate))
    start, mate_start = (part.diagonal.astype(np.int64) for part in (own, mate))
    length, mate_length = (context.lengths[part.read_strand >> 1].astype(np.int64) for part in (own, mate))
    leading = leads(insert.orientation, strand, pairs.mate[own.read_strand >> 1].astype(np.int64))
    template = template_length(leading, start, length, mate_start, mate_length)
    starts = context.reference.starts
    concordant &= contig_before(starts, start + own.begin) == contig_before(starts, mate_start + mate.begin)
    concordant &= mate_strand == partner_strand(insert.orientation, strand)
    concordant &= (template >= insert.low) & (template <= insert.high)
    kept = np.flatnonzero(concordant)
    deviate = (template[kept].astype(np.float64) - insert.mean) / insert.sd
    # A leading mate that moves to the right makes its template shorter.
    step = np.where(leading[kept], -1.0, 1.0) / insert.sd
    columns = [_columns(part, context.library) for part in (own.take(kept), mate.take(kept))]
    return concordant, _tandem.tandem_pairs(columns[0], columns[1], deviate, step, context)


def _columns(parts: Parts, library: ErrorRate) -> tuple[U32, I64, I64, I64, U16, F64, F64]:
    """What `tandem_pairs` takes of the mates on one side."""
    odds = library.odds(np.ceil(parts.loss), parts.end - parts.begin)
    read_strand, diagonal, begin, end, loss = parts
    return read_strand, diagonal, begin, end, parts.most, loss, odds
