"""Single reads whose best local alignment scores too little, but that fit as a whole: they are aligned from end to end.

A score of 30 leaves out a read of 36 bases with two mismatches, and most reads of 50 bases with 10 % errors. The limit
of errors in whole reads asks for no score, but is so tight that chance puts one random read in a hundred anywhere
(`search.plan.CHANCE_HITS`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gassst._core import local_hits as _local_hits
from gassst._core import local_rows as _local_rows
from gassst.local.places import Aligned
from gassst.model.layouts import NO_SCORE, NO_SUBOPTIMAL, SOFT_CLIP
from gassst.model.params import Scoring
from gassst.model.rules import optional
from gassst.search.arrays import BatchResult, GlobalResult
from gassst.search.context import BatchContext
from gassst.search.host import HostBackend

INSERTION = 1  # BAM operation


@optional(
    "whole-reads",
    "Reports reads that score too little with clipped ends as wholes.",
    instead=lambda backend, found, result: result,
)
def with_whole_reads(backend: HostBackend, found: GlobalResult, result: BatchResult) -> BatchResult:
    """The result of a batch with local ends, where reads without a place get the one that they have as a whole.

    Parameters
    ----------
    backend : HostBackend
    found : GlobalResult
        Of the search of whole reads.
    result : BatchResult
        What `realign` made of it.

    Returns
    -------
    BatchResult
        Added rows are those of --mode global: alignment and mapping quality, which was fitted to whole reads. Their
        scores, and those of the next best places, are affine ones, as in all other rows.
    """
    context = backend.context
    lost = (result.summary["best"] == NO_SCORE) & (np.diff(found.start) > 0)
    if not lost.any():
        return result
    whole = backend.trace_back(found.without(~lost))
    hits = whole.hits.take(np.flatnonzero(lost[whole.hits["read"]]))
    _clip_over_ends(hits, whole.cigars, context.params.scoring)
    hits["score"] = _scores(hits, whole.cigars, context)
    hits["cigar_start"] += np.uint32(len(result.cigars))
    kept = result.hits.take(np.flatnonzero(~lost[result.hits["read"]]))
    rows, _ = _local_rows.in_order([kept, hits], context.n)
    summary = result.summary.copy()
    summary[lost] = _summary(whole.summary[lost], hits, context, lost)
    return replace(result, hits=rows, summary=summary, cigars=np.concatenate([result.cigars, whole.cigars]))


def _clip_over_ends(hits: np.ndarray, cigars: np.ndarray, scoring: Scoring) -> None:
    """Clip bases that hang over the end of a contig where that scores more; `hits` HIT[k], `cigars` uint32[] change.

    The search of whole reads takes them for an insertion, which is nowhere else the first or the last run.
    """
    first = hits["cigar_start"].astype(np.int64)
    for at in (first, first + hits["cigar_runs"] - 1):
        cost = scoring.gap_open[1] + (cigars[at] >> 4) * scoring.gap_extend[1]
        clipped = np.flatnonzero(((cigars[at] & 15) == INSERTION) & (cost > scoring.clip))
        hits["edits"][clipped] -= (cigars[at[clipped]] >> 4).astype(np.uint16)
        cigars[at[clipped]] += np.uint32(SOFT_CLIP - INSERTION)


def _scores(hits: np.ndarray, cigars: np.ndarray, context: BatchContext) -> np.ndarray:
    """int32[k]: affine scores of hits (HIT[k]), whose runs are in `cigars` (uint32[])."""
    read_strand = hits["read"] << np.uint32(1) | hits["strand"]
    runs = hits["cigar_start"].copy(), hits["cigar_runs"].copy()
    aligned = Aligned(read_strand, hits["position"].copy(), cigars, *runs)
    return _local_hits.hits_from_alignments(aligned, context)[0]["score"]


def _summary(found: np.ndarray, hits: np.ndarray, context: BatchContext, reads: np.ndarray) -> np.ndarray:
    """READ_SUMMARY[j] of `reads` (bool[n]) from those of the search, in scores.

    The next best place is not aligned: each of its errors counts as a mismatch. It never scores more than the first.
    """
    scoring: Scoring = context.params.scoring
    primary = np.flatnonzero(np.diff(hits["read"].astype(np.int64), prepend=-1))
    best = hits["score"][primary].astype(np.int64)
    whole = context.lengths[reads].astype(np.int64) * scoring.match
    rival = whole - found["second"].astype(np.int64) * (scoring.match + scoring.mismatch)
    rival = np.where(found["n_best"] > 1, best, np.minimum(rival, best))
    known = (found["n_best"] > 1) | (found["second"] != NO_SCORE)
    summary = found.copy()
    summary["suboptimal"] = np.where(known, rival, NO_SUBOPTIMAL)
    summary["n_reported"] = np.diff(np.append(primary, len(hits)))
    return summary
