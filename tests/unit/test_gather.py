"""What `gather` leaves out: scored buckets, and rejected diagonals."""

import numpy as np
import pytest
from engines import engine

from gassst.model.array_types import COORDINATE_BITS
from gassst.model.stats import Stats
from gassst.reads.in_memory import batch_of_records
from gassst.search.arrays import KeysByRead
from gassst.search.context import BatchContext
from gassst.search.host import HostBackend
from gassst.search.state import SearchState


def keys_of(read_strand, place, n):
    keys = np.unique(read_strand.astype(np.uint64) << np.uint64(COORDINATE_BITS) | place.astype(np.uint64))
    return KeysByRead(keys, np.searchsorted(keys >> np.uint64(COORDINATE_BITS + 1), np.arange(n + 1)))


@pytest.mark.parametrize("kind", ["scored", "rejected"])
def test_known_places_are_left_out_and_nothing_else(small_index, small_reads, kind):
    mapper = engine(small_index, device="none")
    packed = batch_of_records(small_reads[:60], 4000).pack()
    context = BatchContext.of(mapper.index, mapper.parts, mapper.plan, mapper.cascade, mapper.params, packed)
    with mapper.extender.open_reads(packed) as bands:
        backend, state = HostBackend(context, bands, Stats()), SearchState.initial(context)
        stage = int(np.flatnonzero(context.plan.seed_count[:, context.lengths[0]])[-1])
        reads = np.arange(context.n, dtype=np.uint32)
        seeds = backend.look_up(state, stage, reads)
        everything = backend.gather(seeds, reads, None)
        place = everything.diagonal >> (context.shift if kind == "scored" else 0)
        known = keys_of(everything.read_strand[::3], place[::3], context.n)
        setattr(state, kind, known)
        left = backend.gather(seeds, reads, state)
    keys = everything.read_strand.astype(np.uint64) << np.uint64(COORDINATE_BITS) | place.astype(np.uint64)
    wanted = ~np.isin(keys, known.keys)
    assert 100 < wanted.sum() < len(wanted) - 100
    for column in ("read_strand", "diagonal", "offset", "length"):
        assert getattr(left, column).tolist() == getattr(everything, column)[wanted].tolist()
