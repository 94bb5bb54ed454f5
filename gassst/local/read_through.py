"""Pairs that run through their fragment: mapped as if they had been cut where it ends.

Mates of a short fragment hold all of it, and then an adapter. Where they show where it ends, no alignment has to find
that out: both are cut there and mapped as any clean pair. Their alignments are put back into the whole reads, and go on
behind the cut only where that scores better. So reads whose adapters were trimmed and reads with their adapters lie at
the same places, with the same mapping qualities.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gassst._core import local_hits as _local_hits
from gassst._core import read_through as _read_through
from gassst.local.places import Aligned
from gassst.model.array_types import I64, U16, U32, Structs
from gassst.model.read_batch import PackedReads
from gassst.model.sam_flags import UNMAPPED
from gassst.search.arrays import BatchResult
from gassst.search.context import BatchContext


def fragments_of(context: BatchContext, rows: I64, fragment: U16) -> BatchContext:
    """The batch of some reads (int64[k]) of a batch, cut behind `fragment` (uint16[k]) bases."""
    first_bases = _read_through.first_bases_of(context.packed, rows, fragment)
    return context.of_reads(PackedReads(*first_bases, context.packed.of(rows)))


def put_back(
    result: BatchResult,
    cut: BatchResult,
    rows: I64,
    context: BatchContext,
    cut_lengths: U32,
    least_score: int = 0,
) -> BatchResult:
    """The result of a batch with the alignments of those of its reads that were cut.

    Of each alignment it is the best part of it and of what it goes on to behind the cut. Where that scores too little,
    the read is there for its fragment, which fits as a whole: the alignment stays as it is.

    Parameters
    ----------
    result : BatchResult
        Of the batch. What it has of the reads that were cut is left out.
    cut : BatchResult
        Of the reads that were cut.
    rows : int64[k]
        The reads of the batch that were cut, ascending.
    context : BatchContext
        The batch.
    cut_lengths : uint32[k]
        Bases that were left of each read that was cut.
    least_score : int
        Of a part that is reported.
    """
    own, runs, others = _read_through.whole_reads(cut, rows, cut_lengths, context, len(result.cigars))
    cigars = [result.cigars, runs]

    def take(some: I64, made: Callable[..., tuple[np.ndarray, U32]]) -> None:
        """In their place what is made of these hits."""
        if some.size:
            hits, runs = made(cut.hits[some], own["read"][some], cut, context, cut_lengths)
            hits["cigar_start"] += np.uint32(sum(map(len, cigars)))
            own[some] = hits
            cigars.append(runs)

    take(others, _of_whole_reads)
    take(np.flatnonzero((own["flag"] & UNMAPPED == 0) & (own["score"] < least_score)), _as_they_are)
    return BatchResult(*_read_through.put_back(result, cut, own, rows), np.concatenate(cigars))


def _as_they_are(
    hits: Structs, reads: I64, cut: BatchResult, context: BatchContext, cut_lengths: U32
) -> tuple[Structs, U32]:
    """HIT[k] and their CIGARs: mapped hits of cut reads in the whole ones, uint32[k], of which the rest is clipped."""
    tails = context.lengths[reads] - cut_lengths[hits["read"]]
    whole = hits.copy()
    _, cigars, whole["cigar_start"], whole["cigar_runs"] = _read_through.with_tails(
        hits, cut.cigars, tails, True
    )
    whole["read"] = reads
    return whole, cigars


def _of_whole_reads(
    hits: Structs, reads: I64, cut: BatchResult, context: BatchContext, cut_lengths: U32
) -> tuple[Structs, U32]:
    """HIT[k] and their CIGARs: mapped hits of cut reads as alignments of the whole ones, uint32[k]."""
    tails = context.lengths[reads] - cut_lengths[hits["read"]]
    read_strand = (2 * reads + hits["strand"]).astype(np.uint32)
    aligned = Aligned(read_strand, *_read_through.with_tails(hits, cut.cigars, tails))
    whole, cigars, *_ = _local_hits.hits_from_alignments(aligned, context, 0, best_parts=True)
    for name in ("flag", "mapq"):
        whole[name] = hits[name]
    return whole, cigars
