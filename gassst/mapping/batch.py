"""One batch of packed reads from search to rows: the whole-read search, then local ends or a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns

import numpy as np

from gassst._core import proper_pairs as _proper_pairs
from gassst.gpu.choose import Extender
from gassst.local.realign import place_pairs, realign, with_whole_reads
from gassst.mapping.five_prime import five_prime_first
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.search import paired
from gassst.search.arrays import BatchResult, GlobalResult
from gassst.search.context import BatchContext, PairContext
from gassst.search.host import HostBackend


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
    if mate is None or insert is None or not context.params.pairing:
        result = _map_single(context, extender, stats)
    else:
        result = _map_pairs(context, extender, stats, mate, insert)
    if context.params.five_prime:
        result = five_prime_first(result)
    if mate is not None and insert is not None:
        # Proper as the mates lie in the end, by the reference bases that they cover.
        starts = context.reference.starts
        for library in insert.libraries:
            stats.proper += _proper_pairs.flag_proper(result.hits, result.cigars, mate, starts, library)
            if context.params.max_hits > 1 or context.params.all_hits:
                _proper_pairs.name_mates(result.hits, result.cigars, mate, starts, library)
        stats.pairs += mate.tobytes().count(1)
    return result


def _map_single(context: BatchContext, extender: Extender, stats: Stats) -> BatchResult:
    with _opened(context, extender, stats) as backend:
        found = _searched(backend)
        if context.params.mode != "local":
            return backend.trace_back(found)
        result = realign(backend, found)
        return with_whole_reads(backend, found, result) if context.whole_reads else result


def _searched(backend: HostBackend) -> GlobalResult:
    """The places of single reads, found on a device where it takes the batch."""
    context, device = backend.context, backend.context.on_device
    found = None if device is None else device.search(context, backend.stats)
    if found is not None:
        return found
    began = perf_counter_ns()
    found = backend.search()
    if device is not None:
        device.note_host(context.n, perf_counter_ns() - began)
    return found


def _map_pairs(
    context: BatchContext, extender: Extender, stats: Stats, mate: np.ndarray, insert: InsertModel
) -> BatchResult:
    with _opened(context, extender, stats) as backend:
        pairs = PairContext.of(context, mate, insert)
        if context.params.mode == "local":
            return place_pairs(backend, pairs)
        return backend.trace_back(paired.search(backend, pairs))


@contextmanager
def _opened(context: BatchContext, extender: Extender, stats: Stats) -> Iterator[HostBackend]:
    """The passes over the batch, as long as its reads are open."""
    with stats.timed("upload"):
        bands = extender.open_reads(context.packed)
    with bands:
        yield HostBackend(context, bands, stats)
    stats.extension += bands.times
