"""Reads that run through their fragment into an adapter: mapped as if they had been trimmed.

No alignment has to find out where a fragment ends that its reads show. They are cut there before the search. Their
alignments are put back into the whole reads, and go on behind the cut only where that scores better. So reads whose
adapters were trimmed and reads with their adapters lie at the same places, with the same mapping qualities.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gassst._core import local_hits as _local_hits
from gassst._core import read_through as _read_through
from gassst.local.places import Aligned
from gassst.model.array_types import U16
from gassst.model.read_batch import PackedReads
from gassst.model.sam_flags import NOT_PRIMARY, UNMAPPED
from gassst.search.arrays import BatchResult
from gassst.search.context import BatchContext


def cut(packed: PackedReads, kept: U16) -> PackedReads:
    """The reads cut behind `kept` (uint16[n]) bases, whole where that is 0: those keep their planes."""
    rows = np.flatnonzero(kept)
    if not rows.size:
        return packed
    lengths, plane_start = packed.lengths.copy(), packed.plane_start.copy()
    lengths[rows], planes, plane_start[rows] = _read_through.first_bases_of(packed, rows, kept[rows])
    plane_start[rows] += np.uint32(len(packed.planes) - 1)
    return PackedReads(lengths, np.concatenate([packed.planes[:-1], planes]), plane_start, packed.conversions)


def put_back(result: BatchResult, context: BatchContext, packed: PackedReads) -> BatchResult:
    """The result of a batch of cut reads as that of the whole ones.

    An alignment that reaches the cut goes on behind it as far as that raises its score. Of all others the rest of the
    read is clipped.

    Parameters
    ----------
    result : BatchResult
    context : BatchContext
        Of the cut reads.
    packed : PackedReads
        The whole reads.
    """
    tails = packed.lengths - context.lengths
    hits = result.hits
    rows = np.flatnonzero((tails[hits["read"]] > 0) & (hits["flag"] & UNMAPPED == 0))
    if not rows.size:
        return result
    hits, old = hits.copy(), hits[rows]
    own = tails[old["read"]]
    position, clipped, start, n_runs = _read_through.with_tails(old, result.cigars, own, True)
    longer, further = _longer(old, result, replace(context, packed=packed), own)
    # What scores less than is asked for is there for its fragment, which fits as a whole: it stays as it is.
    better = longer["score"] >= np.maximum(old["score"] + 1, context.params.scoring.least_score)
    new = np.where(better, longer, old)
    new["cigar_start"] = len(result.cigars) + np.where(better, len(clipped) + longer["cigar_start"], start)
    new["cigar_runs"] = np.where(better, longer["cigar_runs"], n_runs)
    hits[rows] = new
    summary = result.summary.copy()
    primary = new[new["flag"] & NOT_PRIMARY == 0]
    summary["best"][primary["read"]] = primary["edits"]
    cigars = np.concatenate([result.cigars, clipped, further])
    return replace(result, hits=hits, summary=summary, cigars=cigars)


def _longer(
    old: np.ndarray, result: BatchResult, whole: BatchContext, tails: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """HIT[k] and their CIGARs: the best parts of some alignments that go on behind the cut."""
    read_strand = (2 * old["read"] + old["strand"]).astype(np.uint32)
    aligned = Aligned(read_strand, *_read_through.with_tails(old, result.cigars, tails))
    hits, cigars = _local_hits.hits_from_alignments(aligned, whole, best_parts=True)
    for name in ("flag", "mapq", "mate", "part"):
        hits[name] = old[name]
    return hits, cigars
