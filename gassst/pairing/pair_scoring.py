"""Which places of two mates make the best pair: what `_core.pair_scoring` takes and what it returns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst.model.array_types import I64
from gassst.pairing.insert_size import InsertModel

# Phred of an error, where the places of a pair are compared: near what reads with 2 % errors tell.
EDIT_PHRED = 18.0


class PairedReads(NamedTuple):
    """What the choice looks at of `n` reads, of which mates are neighbours.

    Attributes
    ----------
    lengths : uint32[n]
    flip : uint8[n]
        1 where the reverse strand is the canonical one.
    digest : uint64[n]
        Hash of the bases, which draws among equally good pairs.
    mate : uint8[n]
        0 single, 1 first, 2 last mate.
    insert : InsertModel
    """

    lengths: NDArray[np.uint32]
    flip: NDArray[np.uint8]
    digest: NDArray[np.uint64]
    mate: NDArray[np.uint8]
    insert: InsertModel


class PairChoice(NamedTuple):
    """What was chosen for the `n` reads of a batch.

    Attributes
    ----------
    primary : int64[n]
        Index into the rows that were given, -1 for none.
    proper : bool[n]
        Reads whose pair is concordant.
    wrong : float64[n]
        Weight of all pairs of places without the one reported, relative to those with it.
    decided : bool[n]
        Reads whose place their pair decided; the others stand alone.
    """

    primary: NDArray[np.int64]
    proper: NDArray[np.bool_]
    wrong: NDArray[np.float64]
    decided: NDArray[np.bool_]


class PlacesByRead(NamedTuple):
    """Places of the `n` reads of a batch, read by read, the primary of the read alone first.

    Attributes
    ----------
    read_strand : uint32[k], ends : int64[k]
        `ends` are the coordinates behind the last aligned bases.
    edits : uint16[k]
        Errors, or points of score that each place loses.
    contig : int32[k]
        A number for the contig that each lies on.
    start : int64[n + 1]
        Places of read r are start[r] .. start[r + 1].
    """

    read_strand: NDArray[np.uint32]
    ends: I64
    edits: NDArray[np.uint16]
    contig: NDArray[np.int32]
    start: NDArray[np.int64]
