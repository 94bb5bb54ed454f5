"""One batch of packed reads from search to rows: the whole-read search, then local ends or a traceback."""

from __future__ import annotations

import numpy as np

from gassst._core import proper_pairs as _proper_pairs
from gassst.extension.choose import Extender
from gassst.io.reference import Reference
from gassst.local.realign import realign
from gassst.pairing.insert_size import InsertModel, is_primary, reference_spans, template_lengths
from gassst.sam_flags import SECONDARY, UNMAPPED
from gassst.search import paired, single
from gassst.search.arrays import BatchResult
from gassst.search.context import BatchContext, PairContext
from gassst.search.host import HostBackend
from gassst.search.host_pairs import HostPairPasses
from gassst.stats import Stats


def map_batch(
    context: BatchContext,
    extender: Extender,
    stats: Stats,
    mate: np.ndarray | None = None,
    insert: InsertModel | None = None,
) -> BatchResult:
    """Map one batch in the calling thread.

    Parameters
    ----------
    context : BatchContext
    extender : Extender
        Scores and aligns bands.
    stats : Stats
        Counts and times are added to it.
    mate : uint8[n], optional
        Of the ReadBatch: 0 single, 1 first, 2 last mate. None: all single.
    insert : InsertModel, optional
        Insert sizes, where there are mates.
    """
    with stats.timed("upload"):
        bands = extender.open_reads(context.packed)
    with bands:
        backend = HostBackend(context, bands, stats)
        if mate is None or insert is None:
            result = _report(backend, single.search(backend), None)
            _count_places(stats, result, context.reference)
            return result
        pairs = PairContext.of(context, mate, insert)
        found = paired.search(backend, HostPairPasses(context, pairs, stats))
        result = _report(backend, found, pairs)
    # Proper as the mates lie in the end, by the reference bases that they cover.
    starts = context.reference.starts
    stats.proper += _proper_pairs.flag_proper(result.hits, result.cigars, mate, starts, insert)
    stats.pairs += len(pairs.first)
    spans = _count_places(stats, result, context.reference)
    spans = spans[is_primary(result.hits)]
    stats.count_templates(template_lengths(insert.orientation, pairs.first, result.hits, spans, starts))
    return result


def _count_places(stats: Stats, result: BatchResult, reference: Reference) -> np.ndarray:
    """Count the coverage of the reference; int64[h]: the bases that each row of `result.hits` covers."""
    hits = result.hits
    spans = reference_spans(hits, result.cigars)
    counted = hits["flag"] & (UNMAPPED | SECONDARY) == 0
    stats.count_coverage(hits["position"][counted].astype(np.int64), spans[counted], reference)
    return spans


def _report(backend: HostBackend, found, pairs: PairContext | None) -> BatchResult:
    if backend.context.params.mode == "local":
        return realign(backend, found, pairs)
    return backend.trace_back(found)
