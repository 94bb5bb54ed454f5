"""Which places of two mates make the best pair."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core import pair_scoring as _pair_scoring
from gassst._core import selection as _selection
from gassst.pairing.insert_size import InsertModel


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


def choose_pairs(
    read_strand: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    edits: NDArray[np.uint16],
    start: NDArray[np.int64],
    odds: NDArray[np.float64],
    *,
    mate: NDArray[np.uint8],
    lengths: NDArray[np.uint32],
    flip: NDArray[np.uint8],
    digest: NDArray[np.uint64],
    borders: NDArray[np.int64],
    insert: InsertModel,
    n_bases: int,
) -> PairChoice:
    """Choose among all pairs of places by errors and template length (docs/pipeline.md, "Pairs").

    Parameters
    ----------
    read_strand, ends : uint32[k], edits : uint16[k]
        Places, read by read; `ends` are the coordinates behind the last aligned bases.
    start : int64[n + 1]
        Places of read r are start[r] .. start[r + 1].
    odds : float64[n]
        How much less likely a place is for one error more.
    mate, lengths, flip, digest
        As `PairContext` and `BatchContext` have them.
    borders : int64[c + 1]
        Contig i owns the places whose middle lies in borders[i] .. borders[i + 1].
    insert : InsertModel
    n_bases : int
        Bases of the reference.
    """
    contig = _selection.contigs(read_strand, ends, lengths, borders)
    primary, proper, wrong, decided = _pair_scoring.choose(
        read_strand, ends, edits, contig, start, mate, flip, lengths, digest, odds, insert,
        insert.unpaired_phred(n_bases),
    )  # fmt: skip
    return PairChoice(primary, proper.view(bool), wrong, decided.view(bool))
