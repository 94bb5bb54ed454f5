"""Split reads whose primary alignment is the one nearest to the 5' end, as `bwa mem -5` has it for Hi-C."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gassst.model.array_types import I64
from gassst.model.layouts import SOFT_CLIP
from gassst.model.sam_flags import REVERSE, SECONDARY, SUPPLEMENTARY
from gassst.search.arrays import BatchResult


def five_prime_first(result: BatchResult) -> BatchResult:
    """The same rows, where the 5'-most part of a split read, as sequenced, is the primary; of equal ones the best.

    Mapping qualities stay with their parts.
    """
    read, flag = result.hits["read"], result.hits["flag"]
    is_split = np.zeros(len(result.summary), bool)
    is_split[read[flag & SUPPLEMENTARY != 0]] = True
    parts = np.flatnonzero(is_split[read] & (flag & SECONDARY == 0))
    if not parts.size:
        return result
    hits = result.hits.copy()
    before = _bases_before(hits[parts], result.cigars)
    order = parts[np.lexsort((before, hits["read"][parts]))]  # stable: the primary comes first among equals
    first = order[np.diff(hits["read"][order].astype(np.int64), prepend=-1) != 0]
    primary = parts[np.diff(hits["read"][parts].astype(np.int64), prepend=-1) != 0]
    hits["flag"][primary] |= np.uint16(SUPPLEMENTARY)
    hits["flag"][first] &= np.uint16(0xFFFF ^ SUPPLEMENTARY)
    hits[primary], hits[first] = hits[first], hits[primary]
    return replace(result, hits=hits)


def _bases_before(hits: np.ndarray, cigars: np.ndarray) -> I64:
    """int64[k]: clipped bases of the read as sequenced before its first aligned one."""
    last = np.where(hits["flag"] & REVERSE != 0, hits["cigar_runs"].astype(np.int64) - 1, 0)
    run = cigars[hits["cigar_start"].astype(np.int64) + last]
    return np.where(run & 0xF == SOFT_CLIP, run >> 4, 0).astype(np.int64)
