"""Reads that run into a known adapter: mapped as if they had been cut where it begins.

Behind a short fragment a read goes on into an adapter. The search of whole reads cannot place such a read, and dense
seeds cost more than trimmed reads do. They also see other rivals. The kits in use have few adapters, so a look at the
read tells where to cut it. It then goes through the same stages as a read that was trimmed, and has the same mapping
quality. `local.read_through` does this for pairs, whose mates show where the fragment ends.
"""

from __future__ import annotations

import numpy as np

from gassst.model.array_types import I64, U16
from gassst.model.layouts import NO_SCORE
from gassst.model.params import SPECIFIC_LENGTH
from gassst.model.rules import optional
from gassst.reads.adapters import adapter_starts
from gassst.search.arrays import BatchResult, GlobalResult
from gassst.search.context import BatchContext
from gassst.search.host import SURE_ERRORS
from gassst.search.host_pairs import TAIL_BASES_AN_ERROR


@optional(
    "known-adapters",
    "Cuts single reads at the adapter of a usual kit.",
    instead=lambda context, found: np.zeros(context.n, np.uint16),
)
def bases_before_adapters(context: BatchContext, found: GlobalResult) -> U16:
    """Where single reads that do not fit as a whole are to be cut.

    Parameters
    ----------
    context : BatchContext
    found : GlobalResult
        Of the search of whole reads.

    Returns
    -------
    uint16[n]
        How many bases each read has before a known adapter; 0 of all others.
    """
    best = found.summary["best"].astype(np.int64)
    given_up = found.left_to_local | (best == NO_SCORE)
    reads = np.flatnonzero(given_up | (best > SURE_ERRORS))
    longest_tail = np.where(given_up[reads], context.lengths[reads], TAIL_BASES_AN_ERROR * best[reads])
    first = np.maximum(context.lengths[reads] - longest_tail, SPECIFIC_LENGTH)
    kept = np.zeros(context.n, np.uint16)
    kept[reads] = adapter_starts(context.packed, reads, first)
    return kept


def mapped(cut: BatchResult, rows: I64) -> tuple[BatchResult, I64]:
    """The result of cut reads, and `rows` (int64[k]) of theirs, without those that have no place."""
    wanted = cut.summary["best"] != NO_SCORE
    if wanted.all():
        return cut, rows
    hits = cut.hits[wanted[cut.hits["read"]]]
    hits["read"] = (np.cumsum(wanted) - 1)[hits["read"]]
    return BatchResult(hits, cut.summary[wanted], cut.cigars), rows[wanted]
