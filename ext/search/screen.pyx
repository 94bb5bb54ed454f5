"""Single reads without a place: does any seed of the stages that are left lead to an alignment? The loops are in `screen.h`."""

import numpy as np

cdef extern from *:  # before lookup.h
    """
    #define LOOKUP_CACHE 2
    """

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from gassst._core.filters cimport job_t, use_kernels
from gassst._core.lookup cimport seed_index_t
from gassst._core.planes cimport planes_of
from gassst._core.seeds cimport view_of

cdef extern from "screen.h" nogil:
    enum:
        SCREEN_STAGES
        SCREEN_EMPTY
    ctypedef struct screen_results:
        uint8_t *is_open
        uint32_t *occurrences
        uint32_t *candidates
        uint32_t *top[2]
        uint32_t *longest[2]
        uint16_t *clipped
        uint8_t *capped
    ctypedef struct screen_job:
        const seed_index_t *index
        const job_t *job
        const uint32_t *caps
        const uint16_t *seed_length
        const uint16_t *seed_count
        const uint16_t *seed_every
        const uint8_t *taken
        int64_t lengths
        int first_stage, stages, longest_seed, shift
        const uint8_t *flip
        const uint64_t *scored_keys
        const uint64_t *rejected_keys
        const int64_t *scored_start
        const int64_t *rejected_start
        int64_t n
    int screen_all(const screen_job *job, const uint32_t *reads, const screen_results *results)

NONE = <uint32_t>SCREEN_EMPTY
"""Stands for no anchor."""


def screen(context, state, int first_stage, const uint8_t[:, ::1] taken, const uint32_t[::1] reads):
    """Look for bands within the limit, of reads that have none.

    Parameters
    ----------
    context : search.context.BatchContext
        Of an index in one piece that has every position.
    state : search.state.SearchState
        Read: `limit`, `scored`, `rejected`.
    first_stage : int
        The seeds of this stage and those behind it are looked up; none is longer than k + 4 bases.
    taken : uint8[stages, MAX_READ_LENGTH + 1]
        1 where a read without a place takes a stage.
    reads : uint32[a]

    Returns
    -------
    is_open : uint8[a]
        1 where the screen has decided that no stage finds a band within the limit. What follows is of these alone.
    counts : uint32[2, a]
        Places of the seeds, and anchors made of them.
    top, longest : uint32[2, SCREEN_STAGES, a]
        `read_strand` and bucket of the best supported bucket, `read_strand` and diagonal of the longest anchor. Row 0
        is the first stage. NONE where a read takes no such stage, or it has no anchor.
    clipped : uint16[SCREEN_STAGES, a], capped : uint8[SCREEN_STAGES, a]
        As `Seeds.limit` returns them.

    Raises ValueError where there are more stages than that.
    """
    if taken.shape[0] > SCREEN_STAGES:
        raise ValueError(f"{taken.shape[0]} stages")
    plan = context.plan
    cdef const uint16_t[:, ::1] seed_length = plan.seed_length, seed_count = plan.seed_count
    cdef const uint16_t[:, ::1] seed_every = plan.seed_every
    cdef const uint32_t[::1] caps = plan.caps, lengths = context.lengths, plane_start = context.packed.plane_start
    cdef const uint16_t[::1] limit = state.limit
    cdef const uint8_t[::1] flip = context.flip
    cdef const uint64_t[::1] scored = state.scored.keys, rejected = state.rejected.keys
    cdef const int64_t[::1] scored_start = state.scored.start, rejected_start = state.rejected.start
    cdef seed_index_t view = view_of(context.index)
    cdef job_t job
    cdef screen_job screening
    cdef screen_results results
    cdef Py_ssize_t a = reads.shape[0]
    cdef int failed
    memset(&job, 0, sizeof(job))
    use_kernels(&job, None)
    job.reads, job.reference = planes_of(context.packed.planes), planes_of(context.reference.planes)
    job.gaps, job.n_reads = context.cascade.gaps, lengths.shape[0]
    job.plane_start, job.read_lengths, job.limits = &plane_start[0], &lengths[0], &limit[0]
    screening.index, screening.job, screening.caps = &view, &job, &caps[0]
    screening.seed_length, screening.seed_count = &seed_length[0, 0], &seed_count[0, 0]
    screening.seed_every, screening.taken = &seed_every[0, 0], &taken[0, 0]
    screening.lengths, screening.first_stage, screening.stages = taken.shape[1], first_stage, taken.shape[0]
    screening.longest_seed, screening.shift, screening.flip = context.index.longest_seed, context.shift, &flip[0]
    screening.scored_keys = &scored[0] if scored.shape[0] else NULL
    screening.rejected_keys = &rejected[0] if rejected.shape[0] else NULL
    screening.scored_start, screening.rejected_start, screening.n = &scored_start[0], &rejected_start[0], a
    is_open_array, counts_array = np.zeros(a, np.uint8), np.zeros((2, a), np.uint32)
    places_array = np.full((2, 2, SCREEN_STAGES, a), NONE, np.uint32)
    clipped_array, capped_array = np.zeros((SCREEN_STAGES, a), np.uint16), np.zeros((SCREEN_STAGES, a), np.uint8)
    cdef uint8_t[::1] is_open = is_open_array
    cdef uint32_t[:, ::1] counts = counts_array
    cdef uint32_t[:, :, :, ::1] places = places_array
    cdef uint16_t[:, ::1] clipped = clipped_array
    cdef uint8_t[:, ::1] capped = capped_array
    if a == 0 or view.p == 0:
        return is_open_array, counts_array, *places_array, clipped_array, capped_array
    results.is_open, results.occurrences, results.candidates = &is_open[0], &counts[0, 0], &counts[1, 0]
    results.top[0], results.top[1] = &places[0, 0, 0, 0], &places[0, 1, 0, 0]
    results.longest[0], results.longest[1] = &places[1, 0, 0, 0], &places[1, 1, 0, 0]
    results.clipped, results.capped = &clipped[0, 0], &capped[0, 0]
    with nogil:
        failed = screen_all(&screening, &reads[0], &results)
    if failed:
        raise MemoryError
    return is_open_array, counts_array, *places_array, clipped_array, capped_array
