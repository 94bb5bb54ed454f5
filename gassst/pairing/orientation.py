"""Where the mates of concordant pairs lie; `gassst/_core/orientation.pxd` is the same for compiled passes.

Orientations are "fr" (the reads face each other), "rf" (they face apart) and "ff" (same strand, first mate first).
One mate leads: the template begins with its first base on the reference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def leads(orientation: str, strand: Integers, mate: Integers) -> NDArray[np.bool_]:
    """bool[k]: whether a mate (1 first, 2 last) on this strand (0 forward, 1 reverse) leads."""
    if orientation == "ff":
        return (mate == 1) == (strand == 0)
    return strand == (orientation == "rf")


def partner_strand(orientation: str, strand: Integers) -> Integers:
    """int64[k]: the strand of the mate in a concordant pair."""
    return strand if orientation == "ff" else 1 - strand
