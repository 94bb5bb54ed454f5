"""What the copies of a tandem repeat beside an alignment leave of its mapping quality."""

from __future__ import annotations

import numpy as np

from gassst._core import tandem as _tandem
from gassst.model.array_types import F64, I64, U32, Structs
from gassst.model.rules import optional
from gassst.search.context import BatchContext

# Qualities below the first are not compared with copies of a tandem repeat, nor copies with more mismatches than the
# second beyond those of the alignment.
LEAST_BESIDE_COPIES, MOST_BESIDE = 10, 6


@optional(
    "tandem-copies",
    "Bounds the mapping quality of reads in tandem repeats by the copies beside them.",
    instead=lambda rated, *_: rated,
)
def beside_copies(
    rated: Structs, context: BatchContext, read_strand: U32, diagonal: I64, begin: I64, end: I64, loss: F64
) -> Structs:
    """Lower qualities to what the copies beside primary alignments allow, and return them.

    Parameters
    ----------
    rated : RATING[k]
        At most one of each read.
    read_strand : uint32[k], diagonal : int64[k]
        Where the alignments begin.
    begin, end : int64[k]
        Bases begin .. end - 1 of each strand are aligned.
    loss : float64[k]
        What each alignment loses against one without errors, in mismatches.
    """
    most = np.where(rated["mapq"] >= LEAST_BESIDE_COPIES, np.ceil(loss) + MOST_BESIDE, 0).astype(np.uint16)
    errors, count = _tandem.tandem_rivals(read_strand, diagonal, begin, end, most, context)
    context.rater.beside_copies(rated, count, errors, loss, end - begin)
    return rated
