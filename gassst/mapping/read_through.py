"""Reads that run through their fragment into an adapter: mapped as if they had been trimmed.

No alignment has to find out where a fragment ends that its reads show. They are cut there before the search, and what
is behind the cut is clipped. So reads whose adapters were trimmed and reads with their adapters have the same
alignments, with the same mapping qualities.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gassst._core import read_search as _read_search
from gassst.model.array_types import I64, U16
from gassst.model.layouts import SOFT_CLIP
from gassst.model.read_batch import PackedReads
from gassst.model.slices import slices
from gassst.search.arrays import BatchResult


def cut(packed: PackedReads, kept: U16) -> PackedReads:
    """The reads cut behind `kept` (uint16[n]) bases, whole where that is 0: those keep their planes."""
    lengths, planes, plane_start = _read_search.cut(packed, kept)
    return (
        packed if planes is packed.planes else PackedReads(lengths, planes, plane_start, packed.conversions)
    )


def put_back(result: BatchResult, tails: I64) -> BatchResult:
    """The result of a batch of cut reads as that of the whole ones: `tails` (int64[n]), bases of each, are clipped."""
    tail = np.where(result.hits["cigar_runs"] > 0, tails[result.hits["read"]], 0)
    rows = np.flatnonzero(tail)
    if not rows.size:
        return result
    hits, nth = result.hits.copy(), np.arange(rows.size)
    reverse = hits["strand"][rows] > 0
    at, offsets = slices(hits["cigar_start"][rows], hits["cigar_runs"][rows])
    ends = np.where(reverse, offsets[:-1], offsets[1:])
    runs = np.insert(result.cigars[at], ends, tail[rows].astype(np.uint32) << 4 | SOFT_CLIP)
    own = ends + nth
    beside = own + np.where(reverse, 1, -1)
    merged = runs[beside] & 15 == SOFT_CLIP
    runs[beside[merged]] += runs[own[merged]] ^ SOFT_CLIP
    hits["cigar_start"][rows] = len(result.cigars) + offsets[:-1] + nth - np.cumsum(merged) + merged
    hits["cigar_runs"][rows] += ~merged
    return replace(result, hits=hits, cigars=np.concatenate([result.cigars, np.delete(runs, own[merged])]))
