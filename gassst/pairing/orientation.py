"""Where the mate of a read lies in a concordant pair; `gassst/_core/orientation.pxd` is the same for compiled passes.

One mate leads: the template begins with its first base on the reference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gassst.pairing.insert_size import InsertModel

Integers = NDArray[np.int64]


def leads(orientation: str, strand: Integers, mate: Integers) -> NDArray[np.bool_]:
    """bool[k]: whether a mate (1 first, 2 last) on this strand (0 forward, 1 reverse) leads."""
    if orientation == "ff":
        return (mate == 1) == (strand == 0)
    return strand == (orientation == "rf")


def mate_window(
    insert: InsertModel,
    diagonal: Integers,
    strand: Integers,
    mate: Integers,
    length: Integers,
    other_length: Integers,
) -> tuple[Integers, Integers, Integers]:
    """First and last diagonal of the partners of mates on `diagonal`, and their strands, int64[k] each."""
    leading = leads(insert.orientation, strand, mate)
    low = np.where(leading, diagonal + insert.low - other_length, diagonal + length - insert.high)
    high = np.where(leading, diagonal + insert.high - other_length, diagonal + length - insert.low)
    return low, high, strand if insert.orientation == "ff" else 1 - strand
