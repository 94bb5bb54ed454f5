"""Reads that run through their fragment into an adapter: mapped as if they had been trimmed.

No alignment has to find out where a fragment ends that its reads show. They are cut there before the search. Their
alignments are put back into the whole reads, and go on behind the cut only where that scores better. So reads whose
adapters were trimmed and reads with their adapters lie at the same places, with the same mapping qualities.
"""

from __future__ import annotations

from dataclasses import replace

from gassst._core import read_search as _read_search
from gassst.model.array_types import U16
from gassst.model.read_batch import PackedReads
from gassst.search.arrays import BatchResult
from gassst.search.context import BatchContext


def cut(packed: PackedReads, kept: U16) -> PackedReads:
    """The reads cut behind `kept` (uint16[n]) bases, whole where that is 0: those keep their planes."""
    lengths, planes, plane_start = _read_search.cut(packed, kept)
    return (
        packed if planes is packed.planes else PackedReads(lengths, planes, plane_start, packed.conversions)
    )


def put_back(result: BatchResult, context: BatchContext, packed: PackedReads) -> BatchResult:
    """The result of a batch of cut reads (`context`) as that of the whole ones, `packed`."""
    whole = replace(context, packed=packed)
    hits, summary, cigars = _read_search.put_back(result, context.packed.lengths, whole)
    return replace(result, hits=hits, summary=summary, cigars=cigars)
