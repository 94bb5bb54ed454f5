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
Where = tuple[U32, I64, I64, I64]


@optional(
    "tandem-copies",
    "Bounds the mapping quality of reads in tandem repeats by the copies beside them.",
    instead=lambda *_: None,
)
def beside_copies(rated: Structs, rows: I64, context: BatchContext, where: Where, loss: F64) -> None:
    """Lower qualities to what the copies beside primary alignments allow.

    Parameters
    ----------
    rated : RATING[n], rows : int64[k]
        Those of k alignments change.
    where : uint32[k], int64[k], int64[k], int64[k]
        The read strand and the diagonal on which each begins; bases begin .. end - 1 of the strand are aligned.
    loss : float64[k]
        What each alignment loses against one without errors, in mismatches.
    """
    most = np.where(rated["mapq"][rows] >= LEAST_BESIDE_COPIES, np.ceil(loss) + MOST_BESIDE, 0).astype(
        np.uint16
    )
    errors, count = _tandem.tandem_rivals(*where, most, context)
    context.rater.beside_copies(rated, rows, count, errors, loss, where[3] - where[2])
