"""Pairs of which both mates run through their fragment: when they are looked for, and how."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core import read_through as _read_through
from gassst.model.params import SPECIFIC_LENGTH
from gassst.model.read_batch import PackedReads
from gassst.model.rules import optional
from gassst.reads.adapters import adapter_starts

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


@optional(
    "read-through",
    "Cuts mates where they show that their fragment ends.",
    instead=lambda mode, orientation: False,
)
def reads_may_be_cut(mode: str | None, orientation: str | None) -> bool:
    """Whether mates may be cut at the end of their fragment: ends may be clipped, and they may face each other."""
    return mode == "local" and orientation in (None, "fr")


def fragment_lengths(packed: PackedReads, first: NDArray[np.int64]) -> NDArray[np.uint16]:
    """uint16[p]: bases of the fragments that both mates of pairs run through, 0 for all other pairs.

    `first` int64[p]: rows of the first mates; the last ones follow them.
    """
    return _read_through.fragment_lengths(packed, first, SPECIFIC_LENGTH, BASES_AN_ERROR)


def fragment_ends(packed: PackedReads, first: NDArray[np.int64], earliest: NDArray[np.int64]) -> FragmentEnds:
    """Where the fragments end that both mates of pairs run through.

    Either both mates have a known adapter there. Mates with insertions or deletions then differ in their ends. Or their
    bases fit each other up to there; then a known adapter in one of them says more than these.

    Parameters
    ----------
    packed : PackedReads
    first : int64[p]
        Rows of the first mates; the last ones follow them.
    earliest : int64[p, 2]
        Bases of each mate before which no adapter is looked for.
    """
    starts, shared = np.zeros((len(first), 2), np.uint16), np.zeros(len(first), np.uint16)
    earliest = np.maximum(earliest, SPECIFIC_LENGTH)
    starts[:, 0] = adapter_starts(packed, first, np.ascontiguousarray(earliest[:, 0]))
    # The last mates of most pairs need no look.
    rest = np.flatnonzero(starts[:, 0] == 0)
    shared[rest] = fragment_lengths(packed, first[rest])
    likely = np.flatnonzero((starts[:, 0] > 0) | (shared > 0))
    starts[likely, 1] = adapter_starts(packed, first[likely] + 1, earliest[likely, 1])
    apart = np.abs(starts[:, 0].astype(np.int64) - starts[:, 1])
    is_sure = (starts > 0).all(axis=1) & (apart <= SHIFT)
    rest = np.flatnonzero((starts[:, 0] > 0) & ~is_sure)
    shared[rest] = fragment_lengths(packed, first[rest])
    near = (starts > 0) & (shared > 0)[:, None]
    near &= np.abs(starts.astype(np.int64) - shared[:, None]) <= SHIFT
    kept = np.where(is_sure[:, None] | near, starts, shared[:, None])
    return FragmentEnds(kept, is_sure | near.any(axis=1))
