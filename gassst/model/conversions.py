"""Which bases of each read bisulfite, or an enzyme, has changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from gassst.model.array_types import F64, U8
from gassst.model.params import CONVERSIONS
from gassst.model.read_batch import NONE_CONVERTED

C_TO_T, G_TO_A = CONVERSIONS.values()


def conversions_of(batch: Any, library: str | None) -> U8:
    """The conversion of each read of a ReadBatch, as `PackedReads` has it; none where `library` is None.

    In a directional library, C became T in single and first reads. Their mates are reverse complements of such strands,
    where G became A. In PBAT it is the other way round. In a non-directional library each template is judged by itself:
    the letter that was converted is the rarer one.
    """
    if library is None:
        return NONE_CONVERTED
    n = len(batch.offsets) - 1
    second = np.zeros(n, bool) if batch.mate is None else batch.mate == 2
    other = second.copy()
    if library == "pbat":
        other = ~other
    elif library == "non-directional":
        surplus = _surplus_of_c(batch)
        surplus[second] *= -1
        first = np.arange(n) - second
        template = np.bincount(first, surplus, n)[first]
        other = (template > 0) ^ second
    return np.where(other, G_TO_A, C_TO_T).astype(np.uint8)


def _surplus_of_c(batch: Any) -> F64:
    """float64[n]: how many more C than G each read has."""
    upper = batch.bases & 0xDF
    sums = np.zeros(len(upper) + 1)
    np.cumsum((upper == ord("C")).astype(np.int8) - (upper == ord("G")).astype(np.int8), out=sums[1:])
    return sums[batch.offsets[1:]] - sums[batch.offsets[:-1]]
