"""Pairs of which both mates run through their fragment: when they are looked for, and how."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gassst._core import read_through as _read_through
from gassst.io.read_batch import PackedReads
from gassst.params import MIN_READ_LENGTH, MapParams

# Mates show where their fragment ends if they differ in one base of so many at most.
BASES_AN_ERROR = 8


def reads_may_be_cut(params: MapParams) -> bool:
    """Whether mates may be cut where their fragment ends: ends may be clipped, and the mates face each other."""
    return params.mode == "local" and params.orientation == "fr"


def fragment_lengths(packed: PackedReads, first: NDArray[np.int64]) -> NDArray[np.uint16]:
    """uint16[p]: bases of the fragments that both mates of pairs run through, 0 for all other pairs.

    `first` int64[p]: rows of the first mates; the last ones follow them.
    """
    return _read_through.fragment_lengths(packed, first, MIN_READ_LENGTH, BASES_AN_ERROR)
