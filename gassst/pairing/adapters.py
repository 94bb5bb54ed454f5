"""The adapters of usual kits: where they begin in reads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gassst._core import read_through as _read_through
from gassst.io.read_batch import PackedReads
from gassst.rules import optional

# What the reads of usual kits run into: TruSeq, Nextera, small RNA and MGI.
ADAPTERS = (
    "AGATCGGAAGAGCACACGTCTGAACTCC",
    "AGATCGGAAGAGCGTCGTGTAGGGAAAG",
    "CTGTCTCTTATACACATCTCCGAGCCCA",
    "CTGTCTCTTATACACATCTGACGCTGCC",
    "TGGAATTCTCGGGTGCCAAGGAACTCCA",
    "GATCGTCGGACTGTAGAACTCTGAACGT",
    "AAGTCGGAGGCCAAGCGGTCTTAGGAAG",
    "AAGTCGGATCGTAGCCATGTCGTTCTGT",
)
_WHOLE = np.array([["ACGT".index(base) for base in text] for text in ADAPTERS], np.uint8)
# Adapters begin with these; the two of Nextera alike.
_CODES = np.unique(_WHOLE[:, :16], axis=0)
# Of their first bases one may differ. One random read of 150 bases in 4,000 has such a place.
FIRST_PART = 12
# Bases that show an adapter at the end of a read, where all are equal.
SHORTEST_ADAPTER = 8
# Where these have errors, as many bases further behind show an adapter. The bases before them differ in one of so many
# at most, and insertions or deletions move them by that. One random read of 150 bases in 1,000 has such a place.
WORN_PARTS = np.array([8, 16])
BASES_AN_ERROR, MOST_MOVED = 3, 2


def adapter_starts(
    packed: PackedReads, reads: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.uint16]:
    """uint16[k]: bases that some `reads` (int64[k]) have before a known adapter, from `first` (int64[k]) on; else 0."""
    return _read_through.adapter_starts(packed, reads, first, _CODES, FIRST_PART, SHORTEST_ADAPTER)


@optional(
    "worn-adapters",
    "Finds known adapters that have errors themselves.",
    instead=lambda packed, reads, first: np.zeros(len(reads), np.uint16),
)
def worn_adapter_starts(
    packed: PackedReads, reads: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.uint16]:
    """As `adapter_starts`, of adapters with errors in their first bases; `first` is at least MOST_MOVED."""
    part = WORN_PARTS, FIRST_PART, BASES_AN_ERROR, MOST_MOVED
    return _read_through.worn_adapter_starts(packed, reads, first, _WHOLE, *part)
