"""One batch of packed reads from search to rows."""

from __future__ import annotations

import numpy as np

from gassst._core import read_search as _read_search
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.search.arrays import BatchResult
from gassst.search.context import BatchContext, PairContext
from gassst.search.host import HostBackend


def map_batch(
    context: BatchContext,
    stats: Stats,
    mate: np.ndarray | None = None,
    insert: InsertModel | None = None,
) -> BatchResult:
    """Map one batch in the calling thread.

    Parameters
    ----------
    context : BatchContext
    stats : Stats
        Counts and times are added to it.
    mate : uint8[n], optional
        Of the ReadBatch: 0 single, 1 first, 2 last mate. None: all single.
    insert : InsertModel, optional
        Insert sizes, where there are mates.
    """
    pairs = None
    if mate is not None and insert is not None and context.params.pairing:
        pairs = PairContext.of(context, mate, insert)
    result = _mapped(HostBackend(context, stats), pairs)
    if mate is not None and insert is not None:
        # Proper as the mates lie in the end, by the reference bases that they cover.
        starts = context.reference.starts
        for library in insert.libraries:
            stats.proper += _read_search.flag_proper(result.hits, result.cigars, mate, starts, library)
            if context.params.max_hits > 1 or context.params.all_hits:
                _read_search.name_mates(result.hits, result.cigars, mate, starts, library)
        stats.pairs += mate.tobytes().count(1)
    return result


def _mapped(backend: HostBackend, pairs: PairContext | None) -> BatchResult:
    """Search and align a batch; a device begins the search, or makes all of it, where it takes the reads."""
    context, device = backend.context, backend.context.on_device
    found = None if device is None else device.search(context, backend.stats, pairs is not None)
    search = backend.placed(pairs, found)
    result = backend.rows(search)
    search.close()
    return result
