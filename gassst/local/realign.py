"""Local alignment of a batch: reads whose ends may be clipped, and reads that lie in several places (--mode local).

It starts from the places that the whole-read search found: they are scored once more, and the best one of each read is
aligned. Where nothing was found, or where much is clipped, the filters' bounds mean nothing: they speak of whole reads.
For these few reads seeds are looked up once more, densely, and the best supported buckets are scored without filters.

Places compare by their score with the bonus for each end that is reached; AS and XS are scores without it.
"""

from __future__ import annotations

from gassst._core.read_search import LocalAligner, ReadSearch
from gassst.model.rules import optional, rule
from gassst.search.arrays import BatchResult
from gassst.search.host import HostBackend

SPLIT = rule("supplementary", "Reports further parts of a read elsewhere.")


def local_rows(backend: HostBackend, search: ReadSearch, aligner: LocalAligner) -> BatchResult:
    """The rows of a batch that is placed."""
    context, stats = backend.context, backend.stats
    search.report(SPLIT)
    stats.nanoseconds["local"] += search.local_ns
    with stats.timed("local"):
        if context.params.most_hits > 1:
            search.add_copies()
        hits, summary = aligner.rows()
    backend.count(aligner)
    return BatchResult(hits, summary[: context.n], aligner.cigars, summary[context.n :])


@optional(
    "whole-reads",
    "Reports reads that score too little with clipped ends as wholes.",
    instead=lambda backend, search, result: result,
)
def with_whole_reads(backend: HostBackend, search: ReadSearch, result: BatchResult) -> BatchResult:
    """What `local_rows` made of single reads, where those without a place get that of the whole read, if any.

    A score of 30 leaves out a read of 36 bases with two mismatches, and most reads of 50 bases with 10 % errors. The
    limit of errors in whole reads asks for no score, but is so tight that chance puts one random read in a hundred
    anywhere (`search.plan.SELDOM`). Added rows are those of --mode global, with affine scores.
    """
    return backend.wholes(search, result)
