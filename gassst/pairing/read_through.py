"""Pairs of which both mates run through their fragment: when they are looked for, and how."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core import read_through as _read_through
from gassst.io.read_batch import PackedReads
from gassst.pairing.adapters import adapter_starts
from gassst.params import MIN_READ_LENGTH, MapParams

# Mates show where their fragment ends if they differ in one base of so many at most.
BASES_AN_ERROR = 8
# Bases by which insertions and deletions may move where adapters begin in two mates, and where they meet.
SHIFT = 8


class FragmentEnds(NamedTuple):
    """Where the fragments of `p` pairs end.

    Attributes
    ----------
    kept : uint16[p, 2]
        Bases that each mate has of it; 0 where nothing shows its end.
    is_sure : bool[p]
        A known adapter shows it. Otherwise the mates alone do: an inverted repeat looks alike.
    """

    kept: NDArray[np.uint16]
    is_sure: NDArray[np.bool_]


def reads_may_be_cut(params: MapParams) -> bool:
    """Whether mates may be cut where their fragment ends: ends may be clipped, and the mates face each other."""
    return params.mode == "local" and params.orientation == "fr"


def fragment_lengths(packed: PackedReads, first: NDArray[np.int64]) -> NDArray[np.uint16]:
    """uint16[p]: bases of the fragments that both mates of pairs run through, 0 for all other pairs.

    `first` int64[p]: rows of the first mates; the last ones follow them.
    """
    return _read_through.fragment_lengths(packed, first, MIN_READ_LENGTH, BASES_AN_ERROR)


def fragment_ends(packed: PackedReads, first: NDArray[np.int64]) -> FragmentEnds:
    """Where the fragments end that both mates of pairs run through.

    Either both mates have a known adapter there. Mates with insertions or deletions then differ in their ends. Or their
    bases fit each other up to there; then a known adapter in one of them says more than these.

    Parameters
    ----------
    packed : PackedReads
    first : int64[p]
        Rows of the first mates; the last ones follow them.
    """
    rows = (first[:, None] + np.arange(2)).ravel()
    starts = adapter_starts(packed, rows, np.full(rows.size, MIN_READ_LENGTH)).reshape(-1, 2)
    kept = starts.copy()
    apart = np.abs(starts[:, 0].astype(np.int64) - starts[:, 1])
    is_sure = (starts > 0).all(axis=1) & (apart <= SHIFT)
    rest = np.flatnonzero(~is_sure)
    shared = fragment_lengths(packed, first[rest])[:, None]
    near = (starts[rest] > 0) & (shared > 0) & (np.abs(starts[rest].astype(np.int64) - shared) <= SHIFT)
    kept[rest] = np.where(near, starts[rest], shared)
    is_sure[rest] = near.any(axis=1)
    return FragmentEnds(kept, is_sure)
