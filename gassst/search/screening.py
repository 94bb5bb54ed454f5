"""Single reads without a place that no stage of seeds finds one for: told at once, without the arrays of a schedule.

Most of these are of another genome, and would go through all stages in vain. What must be true: a read has the records
that the schedule would have given it. So a read of which the screen finds anything is left to the schedule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gassst._core import bookkeeping as _bookkeeping
from gassst._core import screen as _screen
from gassst.params import MAX_READ_LENGTH
from gassst.search.arrays import U8, U32, Anchors, Bool, Buckets
from gassst.search.backend import SearchBackend
from gassst.search.context import BatchContext
from gassst.search.state import SearchState

# Reads without a place from which on a batch is screened, and those of them that are screened first. All others are,
# too, where half of these lie nowhere. A read that has a place is looked up twice then: that costs 3 to 7 us, and the
# screen saves 4 us of one that lies nowhere (50 bases, human13).
LEAST_READS = 1024
SAMPLE = 256
INLINE = 4  # bases behind a k-mer that the index has beside it: seeds so long need no look at the reference


@dataclass(frozen=True, eq=False, repr=False)
class Screen:
    """Which reads of a batch are screened, and when.

    Attributes
    ----------
    taken : uint8[stages, MAX_READ_LENGTH + 1]
        1 where a single read without a place takes a stage.
    first : uint8[MAX_READ_LENGTH + 1]
        The first of those that are screened, by read length; from there on no seed is long.
    """

    taken: U8
    first: U8

    @classmethod
    def of(cls, context: BatchContext, given_up: float) -> Screen:
        """Of the lengths in a batch."""
        plan = context.plan
        present = np.flatnonzero(np.bincount(context.lengths, minlength=1))
        if context.whole_reads:
            taken = plan.sought[:, present] > 0
        else:
            taken = (plan.lone[:, present] == 0) & ((given_up == 0) | (plan.lost[:, present] > given_up))
        taken &= plan.seed_count[:, present] > 0
        is_last = np.cumsum(taken[::-1], axis=0)[::-1] == 1
        # A stage that is left out makes the search forget which places it knows.
        goes_on = is_last | np.vstack([taken[1:], is_last[:1]])
        # None follows a stage that shows every alignment within the limit.
        goes_on &= is_last | (plan.disjoint[:, present] <= plan.errors[present])
        is_near = (plan.seed_length[:, present] <= context.index.k + INLINE) & goes_on
        is_near = np.logical_and.accumulate((is_near | ~taken)[::-1], axis=0)[::-1]
        is_sparse = taken & (plan.seed_every[:, present] > 1)
        begins = is_near & taken & (np.cumsum(is_sparse, axis=0) == is_sparse)
        begins[0] = False
        all_taken = np.zeros((plan.MAX_STAGES, MAX_READ_LENGTH + 1), np.uint8)
        first = np.full(MAX_READ_LENGTH + 1, plan.MAX_STAGES, np.uint8)
        all_taken[:, present] = taken
        first[present] = np.where(begins.any(axis=0), begins.argmax(axis=0), plan.MAX_STAGES)
        return cls(all_taken, first)

    def reads(self, context: BatchContext, stage: int, reads: U32) -> U32:
        """Those of the reads without a place that are screened before this stage."""
        return reads[self.first[context.lengths[reads]] == stage]


def can_screen(context: BatchContext) -> bool:
    """Whether the compiled screen knows such an index, and such parameters."""
    is_whole = context.index.step == 1 and not context.lookup.copies
    is_usual = context.cascade.is_narrow_band and not context.params.all_hits
    return is_whole and is_usual and context.left_out is None


def screened(backend: SearchBackend, state: SearchState, screen: Screen, stage: int, reads: U32) -> None:
    """Screen reads without a place before a stage. Changes `exhausted` of the state."""
    if len(reads) < LEAST_READS:
        return
    is_sample = np.zeros(len(reads), bool)
    is_sample[:: max(1, len(reads) // SAMPLE)] = True
    sample, others = reads[is_sample], reads[~is_sample]
    state.exhausted[sample] = _exhausted(backend, state, screen, stage, sample)
    if 2 * np.count_nonzero(state.exhausted[sample]) >= len(sample):
        state.exhausted[others] = _exhausted(backend, state, screen, stage, others)


def _exhausted(backend: SearchBackend, state: SearchState, screen: Screen, stage: int, reads: U32) -> Bool:
    """bool[a]: of which of the reads no stage from this one on finds a place. What these tell is noted."""
    context, stats = backend.context, backend.stats
    with stats.timed("candidates"):
        found = _screen.screen(context, state, stage, screen.taken, reads)
    is_open, counts, top, longest, clipped, capped = found[0].view(bool), *found[1:]
    rows = np.flatnonzero(is_open)
    rows = rows[~_has_place(backend, state, top[:, :, rows], len(rows))]
    for row in range(context.plan.MAX_STAGES - stage):
        rows = rows[~_leaves(backend, state, longest[:, row, rows])]
    for row in range(context.plan.MAX_STAGES - stage):
        taking = rows[screen.taken[stage + row][context.lengths[reads[rows]]] > 0]
        noted = clipped[row, taking], capped[row, taking]
        every = context.plan.rows(stage + row).every
        _bookkeeping.note_looked(state, context, stage + row, every, reads[taking], noted)
    stats.occurrences += int(counts[0, rows].sum(dtype=np.int64))
    stats.candidates += int(counts[1, rows].sum(dtype=np.int64))
    stats.funnel.count("band32", int(counts[1, rows].sum(dtype=np.int64)), 0, 0)
    is_exhausted = np.zeros(len(reads), bool)
    is_exhausted[rows] = True
    return is_exhausted


def _has_place(backend: SearchBackend, state: SearchState, top: U32, n: int) -> Bool:
    """bool[n]: reads that the best supported bucket of a stage, `top` uint32[2, stages, n], gives a place."""
    row, read = np.nonzero(top[0] != _screen.NONE)
    buckets = Buckets(top[0, row, read], top[1, row, read])
    has_place = np.zeros(n, bool)
    for bands in backend.score(buckets):
        within = bands.edits <= state.limit[bands.read_strand >> 1]
        has_place |= (
            np.isin(top[0] >> 1, bands.read_strand[within] >> 1).any(axis=0) if within.any() else False
        )
    return has_place


def _leaves(backend: SearchBackend, state: SearchState, longest: U32) -> Bool:
    """bool[a]: reads that might be left to the search by local score for their `longest` anchor uint32[2, a]."""
    there = np.flatnonzero(longest[0] != _screen.NONE)
    leaves = np.zeros(longest.shape[1], bool)
    if there.size:
        read_strand, diagonal = np.ascontiguousarray(longest[:, there])
        reads, any_length = read_strand >> 1, np.ones(there.size, np.uint16)
        anchors = Anchors(read_strand, diagonal, any_length, any_length, np.arange(there.size + 1), reads)
        if backend.leave_to_local(state, anchors):
            leaves[there] = state.left_to_local[reads]
            state.left_to_local[reads] = False
    return leaves
