"""What a batch knows between two stages of seeds: which reads are settled, what was scored, what is worth keeping.

Small passes over all reads or all bands of a stage; in NumPy each of them was several passes and temporaries.
"""

import numpy as np

from libc.stdint cimport int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.bookkeeping cimport knowledge_t, needs_stage, take_band  # its own: named, so that the build sees a change
from gassst._core.coordinates cimport coordinate_t, place_key
from gassst._core.key_sort cimport sort_keys
from gassst._core.layouts cimport NO_SCORE


def unsettled(state, context, Py_ssize_t stage, int margin, double given_up):
    """Reads that a stage has seeds for and that need it.

    A read without a place is given up where the stages before miss less than `given_up` of the alignments that it could
    have. A read that is reported as a whole takes all stages until it has a place.

    Parameters
    ----------
    state : search.state.SearchState
        Read: `best`, `complete`.
    context : search.context.BatchContext
        Of n reads. Read: `lengths`, `errors`, `whole_reads`; of its plan `seed_count`, `settled`, `lost`,
        `preset.strata`; of its library `damage`.
    stage : int
    margin : int
        Errors beyond the best place with which another may be as likely, of a library with damage.
    given_up : float

    Returns
    -------
    uint32[a]
        Ascending.
    """
    plan = context.plan
    cdef const uint32_t[::1] lengths = context.lengths
    cdef const uint16_t[::1] best = state.best, complete = state.complete
    cdef const uint16_t[::1] errors = context.errors, seed_count = plan.seed_count[stage]
    cdef const int16_t[::1] settled = plan.settled[stage]
    cdef Py_ssize_t n = lengths.shape[0], r, a = 0
    cdef int further = margin if context.library.damage else 0, strata = plan.preset.strata + further
    cdef const double[::1] lost = plan.lost[stage]
    cdef bint whole = context.whole_reads
    cdef uint32_t m
    cdef knowledge_t known
    active_array = np.empty(n, np.uint32)
    cdef uint32_t[::1] active = active_array
    with nogil:
        for r in range(n):
            m = lengths[r]
            if best[r] == NO_SCORE and not whole and lost[m] < given_up:
                continue
            known = knowledge_t(best[r], 0, complete[r])
            active[a] = <uint32_t>r
            a += (seed_count[m] > 0) & needs_stage(&known, errors[r], strata, settled[m] - further)
    return active_array[:a].copy()


def note_looked(state, context, Py_ssize_t stage, const uint16_t[::1] every, const uint32_t[::1] reads, found):
    """Note what looking up seeds of a stage says of reads.

    Parameters
    ----------
    state : search.state.SearchState
        Changed: `capped`, `looked`, `planned`, `complete`.
    context : search.context.BatchContext
        Read: `lengths`, `plan.disjoint`.
    stage : int
    every : uint16[MAX_READ_LENGTH + 1]
        Of the seeds of the stage, by length, each `every`-th has been looked up.
    reads : uint32[a]
        All different.
    found : clipped uint16[a], capped uint8[a]
        Clipped seeds of each read, and whether one was passed over.
    """
    cdef const uint32_t[::1] lengths = context.lengths
    cdef const uint16_t[::1] disjoint = context.plan.disjoint[stage], clipped = found[0]
    cdef const uint8_t[::1] passed_over = found[1]
    cdef uint8_t[::1] capped = state.capped, looked = state.looked
    cdef uint16_t[::1] planned = state.planned, complete = state.complete
    cdef Py_ssize_t i
    cdef uint32_t r, m, seeds
    with nogil:
        for i in range(reads.shape[0]):
            r = reads[i]
            m = lengths[r]
            seeds = (disjoint[m] + every[m] - 1) // every[m]
            capped[r] |= passed_over[i]
            looked[r] |= <uint8_t>(1 << stage)
            planned[r] = <uint16_t>max(planned[r], seeds)
            complete[r] = <uint16_t>max(complete[r], seeds - min(<uint32_t>clipped[i], seeds))


def bands_of(const uint32_t[::1] read_strand, const uint32_t[::1] bucket, int shift, const uint32_t[::1] margin,
             const uint8_t[::1] words):
    """First diagonals and words of the bands of buckets.

    Parameters
    ----------
    read_strand, bucket : uint32[k]
    shift : int
        log2 of the bucket span.
    margin : uint32[n], words : uint8[n]
        Diagonals of a band before its bucket, and its words, by read.

    Returns
    -------
    band_start : int64[k], words : uint8[k]
    """
    cdef Py_ssize_t k = read_strand.shape[0], i
    start_array, words_array = np.empty(k, np.int64), np.empty(k, np.uint8)
    cdef coordinate_t[::1] start = start_array
    cdef uint8_t[::1] words_out = words_array
    with nogil:
        for i in range(k):
            start[i] = (<coordinate_t>bucket[i] << shift) - margin[read_strand[i] >> 1]
            words_out[i] = words[read_strand[i] >> 1]
    return start_array, words_array


def within_limit(const uint32_t[::1] read_strand, const uint16_t[::1] edits, uint16_t[::1] best,
                 uint16_t[::1] limit, int margin):
    """Rows of the scored bands that are within the limits of their reads, which tighten on the way.

    Parameters
    ----------
    read_strand : uint32[k], edits : uint16[k]
    best, limit : uint16[n]
        Changed in place: the fewest errors found, and the errors that still matter, at most `margin` more than that.

    Returns
    -------
    int64[m]
        Ascending. What a later row of the same read makes irrelevant may be among them.
    """
    cdef Py_ssize_t k = read_strand.shape[0], i, m = 0
    cdef uint32_t r
    cdef knowledge_t known
    rows_array = np.empty(k, np.int64)
    cdef int64_t[::1] rows = rows_array
    with nogil:
        for i in range(k):
            r = read_strand[i] >> 1
            known = knowledge_t(best[r], limit[r], 0)
            if take_band(&known, edits[i], margin):
                rows[m] = i
                m += 1
                best[r], limit[r] = known.best, known.limit
    return rows_array[:m].copy()


def merge_scored(const uint64_t[::1] scored, const int64_t[::1] scored_start, const uint32_t[::1] active,
                 const uint32_t[::1] read_strand, const coordinate_t[::1] place):
    """The places known so far of the reads that go on, buckets or diagonals: those before and those of the last stage.

    Parameters
    ----------
    scored : uint64[s], scored_start : int64[n + 1]
        What this function returned before; empty and zeros at first.
    active : uint32[a]
        Reads that go on.
    read_strand : uint32[k], place : int64[k]
        Those known since, in any order.

    Returns
    -------
    scored : uint64[t], scored_start : int64[n + 1]
        `place_key` of each, sorted.
    """
    cdef Py_ssize_t n = scored_start.shape[0] - 1, k = read_strand.shape[0], i, j, total = 0
    cdef uint32_t r
    goes_on_array, fresh_start_array = np.zeros(n, np.uint8), np.zeros(n + 1, np.int64)
    start_array = np.zeros(n + 1, np.int64)
    cdef uint8_t[::1] goes_on = goes_on_array
    cdef int64_t[::1] fresh_start = fresh_start_array, start = start_array
    with nogil:
        for i in range(active.shape[0]):
            goes_on[active[i]] = 1
        for i in range(k):
            fresh_start[read_strand[i] >> 1] += goes_on[read_strand[i] >> 1]
        # fresh_start[r] becomes the end of the keys of r; filling them in moves it to their start.
        for i in range(n):
            total += fresh_start[i]
            fresh_start[i] = total
            start[i + 1] = start[i] + goes_on[i] * (scored_start[i + 1] - scored_start[i])
        fresh_start[n] = total
    fresh_array, scratch_array = np.empty(max(total, 1), np.uint64), np.empty(max(total, 1), np.uint64)
    merged_array = np.empty(max(total + start[n], 1), np.uint64)
    cdef uint64_t[::1] fresh = fresh_array, scratch = scratch_array, merged = merged_array
    with nogil:
        for i in range(k - 1, -1, -1):
            r = read_strand[i] >> 1
            if goes_on[r]:
                fresh_start[r] -= 1
                fresh[fresh_start[r]] = place_key(read_strand[i], place[i])
        total = 0
        for i in range(n):
            start[i] = total
            if goes_on[i]:
                j = fresh_start[i + 1] - fresh_start[i]
                sort_keys(&fresh[0] + fresh_start[i], &scratch[0], j)
                total += merge(&scored[0] + scored_start[i] if scored.shape[0] else NULL,
                               scored_start[i + 1] - scored_start[i], &fresh[0] + fresh_start[i], j, &merged[0] + total)
        start[n] = total
    return merged_array[:total], start_array


cdef Py_ssize_t merge(const uint64_t *a, Py_ssize_t n_a, const uint64_t *b, Py_ssize_t n_b,
                      uint64_t *out) noexcept nogil:
    cdef Py_ssize_t i = 0, j = 0
    while i < n_a and j < n_b:
        if a[i] <= b[j]:
            out[i + j] = a[i]
            i += 1
        else:
            out[i + j] = b[j]
            j += 1
    while i < n_a:
        out[i + j] = a[i]
        i += 1
    while j < n_b:
        out[i + j] = b[j]
        j += 1
    return n_a + n_b
