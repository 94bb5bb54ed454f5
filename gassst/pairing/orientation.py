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


def partner_window(
    leading: NDArray[np.bool_],
    diagonal: Integers,
    length: Integers,
    other_length: Integers,
    low: int,
    high: int,
) -> tuple[Integers, Integers]:
    """First and last diagonal of the partners of reads on `diagonal`, for templates of `low` to `high` bases.

    All arrays are int64[k], but `leading` is bool[k]. `other_length`: bases of the partners.
    """
    first = np.where(leading, diagonal + low - other_length, diagonal + length - high)
    last = np.where(leading, diagonal + high - other_length, diagonal + length - low)
    return first, last


def template_length(
    leading: NDArray[np.bool_], start: Integers, span: Integers, other_start: Integers, other_span: Integers
) -> Integers:
    """int64[k]: bases from the first base of the leading mate to the last one of the other.

    `start` and `span` are the first reference base of an alignment and how many it covers. At most 0 for mates that
    face the wrong way.
    """
    return np.where(leading, other_start + other_span - start, start + span - other_start)
