"""Single reads whose best local alignment scores too little, but that fit as a whole: they are aligned from end to end.

A score of 30 leaves out a read of 36 bases with two mismatches, and most reads of 50 bases with 10 % errors. The limit
of errors in whole reads asks for no score, but is so tight that chance puts one random read in a hundred anywhere
(`search.plan.CHANCE_HITS`).
"""

from __future__ import annotations

import numpy as np

from gassst.model.layouts import NO_SCORE
from gassst.model.rules import optional
from gassst.search.arrays import BatchResult, GlobalResult
from gassst.search.host import HostBackend


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
    lost = (result.summary["best"] == NO_SCORE) & (np.diff(found.start) > 0)
    return backend.trace_back(found, result) if lost.any() else result
