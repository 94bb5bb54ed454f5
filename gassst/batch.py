"""One batch of packed reads from search to rows: the whole-read search, then local ends or a traceback."""

from __future__ import annotations

import numpy as np

from gassst._core import proper_pairs as _proper_pairs
from gassst.extension.choose import Extender
from gassst.five_prime import five_prime_first
from gassst.local.realign import realign
from gassst.pairing.insert_size import InsertModel
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
        result = _mapped(HostBackend(context, bands, stats), mate, insert)
    if context.params.five_prime:
        result = five_prime_first(result)
    if mate is not None and insert is not None:
        # Proper as the mates lie in the end, by the reference bases that they cover.
        starts = context.reference.starts
        stats.proper += _proper_pairs.flag_proper(result.hits, result.cigars, mate, starts, insert)
        stats.pairs += int(np.count_nonzero(mate == 1))
    return result


def _mapped(backend: HostBackend, mate: np.ndarray | None, insert: InsertModel | None) -> BatchResult:
    """Mates together, or every read on its own."""
    if mate is None or insert is None or not backend.context.params.pairing:
        return _report(backend, single.search(backend), None)
    pairs = PairContext.of(backend.context, mate, insert)
    passes = HostPairPasses(backend.context, pairs, backend.stats)
    return _report(backend, paired.search(backend, passes), pairs)


def _report(backend: HostBackend, found, pairs: PairContext | None) -> BatchResult:
    if backend.context.params.mode == "local":
        return realign(backend, found, pairs)
    return backend.trace_back(found)
