"""Where the fragments of reads end: at the adapter of a usual kit, or where both mates run into one."""

from __future__ import annotations

import numpy as np

from gassst._core import read_search as _read_search
from gassst.model.array_types import U8, U16
from gassst.model.params import SPECIFIC_LENGTH
from gassst.model.read_batch import PackedReads
from gassst.model.rules import optional

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
# All of an adapter, and mates, may differ in one base of so many.
BASES_AN_ERROR = 8
# Bases that show an adapter: at the end of a read, where all are equal, and to mates, of which one may differ. The
# strands of an adapter are paired where it joins the fragment, over 8 bases (MGI) to 19 (Nextera).
SHORTEST_ADAPTER = BASES_AN_ERROR


def codes_of(adapters: tuple[str, ...], length: int) -> U8:
    """uint8[a, length]: the first bases of adapters."""
    return np.array([["ACGT".index(base) for base in text[:length]] for text in adapters], np.uint8)


# A random read of 150 bases in 700,000 seems to have one of so many bases; with 16 one in 4,000 does.
KNOWN = codes_of(ADAPTERS, SPECIFIC_LENGTH)
RULES = SHORTEST_ADAPTER, BASES_AN_ERROR  # as the compiled search takes them


@optional(
    "adapters",
    "Cuts reads where they run into an adapter.",
    instead=lambda packed, mate: np.zeros(len(packed), np.uint16),
)
def fragment_ends(packed: PackedReads, mate: U8 | None) -> U16:
    """uint16[n]: as the compiled function of this name, by the adapters of usual kits."""
    return _read_search.fragment_ends(packed, KNOWN, *RULES, SPECIFIC_LENGTH, mate)
