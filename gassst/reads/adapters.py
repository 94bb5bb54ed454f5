"""The adapters of usual kits: where they begin in reads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gassst._core import read_through as _read_through
from gassst.model.read_batch import PackedReads

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
# Adapters begin with these; the two of Nextera alike.
_CODES = np.array(sorted({tuple(map("ACGT".index, text[:16])) for text in ADAPTERS}), np.uint8)
# Of their first bases one may differ. One random read of 150 bases in 4,000 has such a place.
FIRST_PART = 12
# Bases that show an adapter at the end of a read, where all are equal.
SHORTEST_ADAPTER = 8


def adapter_starts(
    packed: PackedReads, reads: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.uint16]:
    """uint16[k]: bases that some `reads` (int64[k]) have before a known adapter, from `first` (int64[k]) on; else 0."""
    return _read_through.adapter_starts(packed, reads, first, _CODES, FIRST_PART, SHORTEST_ADAPTER)
