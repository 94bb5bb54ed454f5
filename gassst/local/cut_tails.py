"""Reads that run into a known adapter: mapped as if they had been cut where it begins.

Behind a short fragment a read goes on into an adapter. The search of whole reads cannot place such a read, and dense
seeds cost more than trimmed reads do. They also see other rivals. The kits in use have few adapters, so a look at the
read tells where to cut it. It then goes through the same stages as a read that was trimmed, and has the same mapping
quality. `local.read_through` does this for pairs, whose mates show where the fragment ends.
"""

from __future__ import annotations

import numpy as np

from gassst.local.align import Aligner
from gassst.local.places import Targets
from gassst.model.array_types import I64, U16
from gassst.model.layouts import NO_SCORE
from gassst.model.params import SPECIFIC_LENGTH
from gassst.model.rules import optional
from gassst.model.sam_flags import SECONDARY, SUPPLEMENTARY, UNMAPPED
from gassst.reads.adapters import adapter_starts
from gassst.search.arrays import BatchResult, GlobalResult
from gassst.search.backend import SearchBackend
from gassst.search.context import BatchContext

# Errors from which on an adapter is looked for in a read that has a place as a whole, and most bases of the adapter for
# each of them. Of random bases more than half differ.
LEAST_ERRORS, TAIL_BASES_AN_ERROR = 5, 4
# Diagonals of the band in which a gapped alignment may go on into an adapter by chance.
BAND = 64
CLIP = 4  # BAM operation


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
    reads = np.flatnonzero(given_up | (best >= LEAST_ERRORS))
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


@optional(
    "gaps-beyond-cuts",
    "Aligns gapped reads that were cut once more, as they were before.",
    instead=lambda backend, result, kept: result,
)
def with_best_gaps(backend: SearchBackend, result: BatchResult, kept: U16) -> BatchResult:
    """The result with the alignments of cut reads that score best with what was cut off.

    Those without a gap have been continued behind the cut already. The others had a bonus for reaching it, for which a
    gap may have paid. Or another gap may align a few bases more.

    Parameters
    ----------
    backend : SearchBackend
        Of the whole reads.
    result : BatchResult
    kept : uint16[n]
        How many bases of each read were left; 0 of those that were not cut.
    """
    context, hits, cigars = backend.context, result.hits, result.cigars
    other = UNMAPPED | SECONDARY | SUPPLEMENTARY
    rows = np.flatnonzero((hits["flag"] & other == 0) & (kept[hits["read"]] > 0) & (hits["cigar_runs"] > 1))
    some = hits[rows]
    begin, n_runs = some["cigar_start"].astype(np.int64), some["cigar_runs"].astype(np.int64)
    leading, trailing = (
        np.where(run & 15 == CLIP, run >> 4, 0) for run in (cigars[begin], cigars[begin + n_runs - 1])
    )
    cut_off = context.lengths[some["read"]] - kept[some["read"]]
    # An alignment without a gap has a run between those of its clipped ends.
    gapped = n_runs > 1 + (leading > 0) + (trailing > 0)
    unfinished = gapped | (np.where(some["strand"] == 1, leading, trailing) > cut_off)
    rows, some, leading, trailing = (column[unfinished] for column in (rows, some, leading, trailing))
    if not rows.size:
        return result
    diagonal = some["position"] - leading
    read_strand = (2 * some["read"] + some["strand"]).astype(np.uint32)
    width, loss = np.full(rows.size, BAND), np.full(rows.size, np.iinfo(np.int64).max)
    band_start, given = diagonal - BAND // 2, np.ones(rows.size, bool)
    aligner = Aligner(backend)
    lines = aligner.align_touching(Targets(read_strand, diagonal, band_start, width, loss, given))
    n_reached = (leading == 0).astype(np.int64) + (trailing == 0)
    total, row = np.zeros(context.n, np.int64), np.zeros(context.n, np.int64)
    total[some["read"]] = some["score"] + context.params.scoring.clip * n_reached
    row[some["read"]] = rows
    # A fragment that scores less than -T is reported as it fits, and in no other way (`read_through.put_back`).
    enough = lines.hits["score"] >= aligner.least_scores(lines.read_strand)
    better = lines.take(enough & (lines.total >= total[lines.read]))
    at = row[better.read]
    hits, summary = hits.copy(), result.summary.copy()
    for name in ("position", "cigar_runs", "edits", "score"):
        hits[name][at] = better.hits[name]
    hits["cigar_start"][at] = better.hits["cigar_start"] + np.uint32(len(cigars))
    summary["best"][better.read] = better.hits["edits"]
    # XS is no more than AS: a rival may have reached the end that was cut.
    least = np.minimum(summary["suboptimal"][better.read], better.hits["score"])
    summary["suboptimal"][better.read] = least
    return BatchResult(hits, summary, np.concatenate([cigars, aligner.cigars]))
