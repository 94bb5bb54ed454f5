"""Scores of pairs of sequences, a pair a lane (`ext/pairwise/lanes_columns.h`), their alignments, all lanes on one pair
(`trace_wave.h`), and edit distances (`edits.h`).

The arrays are those of `gassst.align`, which checks them; the methods of `Comparison` release the GIL for the whole call.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np

include "../lanes/tables.pxi"

cdef extern from "pairwise.h" nogil:
    ctypedef struct lanes_job:
        const uint8_t *queries
        const uint8_t *targets
        const int64_t *query_start
        const int64_t *target_start
        const uint8_t *table_low
        const uint8_t *table_high
        int32_t profiles, wide, first, extend, flags
        int32_t *stop

    ctypedef struct lanes_groups:
        int64_t n
        const int64_t *start
        const int64_t *target
        const int64_t *slot
        const int64_t *query
        const int64_t *first
        const int64_t *last
        const int32_t *base
        int64_t origin, stride

    ctypedef struct lanes_kernels:
        const char *name
        int (*usable)() noexcept nogil
        int32_t lanes[3]

    const lanes_kernels *const *lanes_tables
    int LANES_OVERFLOW, LANES_PAD, LANES_MOST
    int lanes_run(const lanes_kernels *, int width, const lanes_job *, const lanes_groups *, int32_t *out)

cdef extern from "pair_trace.h" nogil:
    ctypedef struct trace_job:
        const uint8_t *queries
        const uint8_t *targets
        const int64_t *query_start
        const int64_t *target_start
        const int16_t *table
        int32_t profiles, first, extend, flags, highest
        int32_t *stop

    ctypedef struct trace_runs:
        uint32_t *runs
        int64_t n, room

    ctypedef struct trace_space:
        size_t whole
        int64_t rows

    ctypedef struct trace_result:
        int64_t query_begin, query_end, target_begin, target_end
        int32_t score

    void trace_prepare(trace_job *)
    int trace_pair(const trace_job *, const lanes_kernels *, int64_t q, int64_t t, trace_space *, trace_result *,
                   trace_runs *)
    int trace_score(const trace_job *, const lanes_kernels *, int64_t q, int64_t t, trace_space *, int32_t *score)
    void trace_close(trace_space *)

cdef extern from "edits.h" nogil:
    int edit_distances(const lanes_job *, int64_t q, const int64_t *target, int64_t n_targets, int64_t limit, int infix,
                       int32_t *out)

cdef extern from "Python.h":
    bint PyUnicode_CheckExact(object)
    bint PyUnicode_IS_ASCII(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    void *PyUnicode_DATA(object)
    bint PyBytes_CheckExact(object)
    Py_ssize_t PyBytes_GET_SIZE(object)
    char *PyBytes_AS_STRING(object)

OVERFLOW = LANES_OVERFLOW
cdef int64_t SCORED_ROWS = 1024  # of a block: its state stays in the cache


def instruction_sets():
    """Names of the variants this processor can run, the fastest first; the last is always "generic"."""
    return lanes_names(<const lanes_head *const *>lanes_tables)


cdef Py_ssize_t letters_at(object text, const uint8_t **letters) except -2:
    """How many letters a str of ASCII or bytes has, and where; -1 for what is neither."""
    if PyUnicode_CheckExact(text) and PyUnicode_IS_ASCII(text):
        letters[0] = <const uint8_t *>PyUnicode_DATA(text)
        return PyUnicode_GET_LENGTH(text)
    if PyBytes_CheckExact(text):
        letters[0] = <const uint8_t *>PyBytes_AS_STRING(text)
        return PyBytes_GET_SIZE(text)
    return -1


def encode(list texts, const uint16_t[::1] codes, int64_t most):
    """Texts that are str or bytes as codes: `(uint8[letters of all], offsets int64[n + 1])`.

    None where one is something else, empty, longer than `most`, or has a letter without code. `codes` uint16[65536] has
    those of two letters at once, as they lie in memory; bit 7 says that a letter has none.
    """
    cdef Py_ssize_t i, k, length, n = len(texts)
    cdef const uint8_t *letters = NULL
    cdef uint16_t two, seen = 0
    cdef uint8_t *to
    cdef uint8_t last[2]
    if codes.shape[0] != 1 << 16:
        raise ValueError("codes of two letters")
    offsets = np.zeros(n + 1, np.int64)
    cdef int64_t[::1] start = offsets
    for i in range(n):
        length = letters_at(texts[i], &letters)
        if length <= 0 or length > most:
            return None
        start[i + 1] = start[i] + length
    found = np.empty(start[n], np.uint8)
    cdef uint8_t[::1] out = found
    for i in range(n):
        length = letters_at(texts[i], &letters)
        to = &out[start[i]]
        for k in range(0, length - 1, 2):
            memcpy(&two, letters + k, 2)
            two = codes[two]
            seen |= two
            memcpy(to + k, &two, 2)
        if length & 1:
            last[0] = last[1] = letters[length - 1]
            memcpy(&two, last, 2)
            two = codes[two]
            seen |= two
            memcpy(last, &two, 2)
            to[length - 1] = last[0]
    return None if seen & 0x8080 else (found, offsets)


cdef class Comparison:
    """The sequences and costs that all groups share; keeps the arrays alive.

    `queries` and `targets` have codes and offsets; `table` uint8[2, rows, 32] is the low and the high byte of each score;
    `instruction_set` is one of `instruction_sets()`, else ValueError.
    """

    cdef lanes_job job
    cdef const lanes_kernels *kernels
    cdef int32_t stopped
    cdef object arrays

    def __init__(self, queries, targets, const uint8_t[:, :, ::1] table, costs, str instruction_set):
        cdef const uint8_t[::1] query_codes = queries.codes, target_codes = targets.codes
        cdef const int64_t[::1] query_start = queries.offsets, target_start = targets.offsets
        self.kernels = <const lanes_kernels *>lanes_find(<const lanes_head *const *>lanes_tables, instruction_set)
        self.arrays = (query_codes, target_codes, query_start, target_start, table)
        self.job.queries = &query_codes[0] if query_codes.shape[0] else NULL
        self.job.targets = &target_codes[0]
        self.job.query_start = &query_start[0]
        self.job.target_start = &target_start[0]
        self.job.table_low = &table[0, 0, 0]
        self.job.table_high = &table[1, 0, 0]
        self.job.profiles = costs.profiles
        self.job.wide = costs.wide
        self.job.first = costs.first
        self.job.extend = costs.extend
        self.job.flags = costs.flags
        self.job.stop = &self.stopped

    @property
    def lanes(self):
        """Pairs of a group, by the logarithm of the bytes of a score: 8, 16, 32 bits."""
        return [self.kernels.lanes[i] for i in range(3)]

    def stop(self):
        """Ends all calls of `run` soon, from any thread; what they return is incomplete."""
        self.stopped = 1

    def run(self, int width, groups, int32_t[::1] out):
        """Scores of the groups, an object as `gassst.align.groups.Groups`, into `out`; OVERFLOW where lanes of
        8 << width bits are too narrow."""
        cdef const int64_t[::1] start = groups.start, target = groups.target, slot = groups.slot
        cdef const int64_t[::1] query = groups.query, first = groups.first, last = groups.last
        cdef const int32_t[::1] base = groups.base
        cdef lanes_groups these
        cdef int failed
        these.n = base.shape[0]
        if these.n == 0:
            return
        these.start = &start[0]
        these.target = &target[0]
        these.slot = &slot[0]
        these.query = &query[0] if query.shape[0] else NULL
        these.first = &first[0] if first.shape[0] else NULL
        these.last = &last[0] if last.shape[0] else NULL
        these.base = &base[0]
        these.origin = groups.origin
        these.stride = groups.stride
        with nogil:
            failed = lanes_run(self.kernels, width, &self.job, &these, &out[0])
        if failed:
            raise MemoryError("no memory for the columns of an alignment")

    cdef trace_job trace_job_of(self, const int16_t[:, ::1] table) except *:
        cdef trace_job job
        job.queries, job.targets = self.job.queries, self.job.targets
        job.query_start, job.target_start = self.job.query_start, self.job.target_start
        job.table = &table[0, 0]
        job.profiles, job.first, job.extend = self.job.profiles, self.job.first, self.job.extend
        job.flags, job.stop = self.job.flags, &self.stopped
        job.highest = max(0, int(np.max(table[:, :LANES_PAD])))
        trace_prepare(&job)
        return job

    def score_each(self, const int16_t[:, ::1] table, const int64_t[::1] query, const int64_t[::1] target,
                   const int64_t[::1] slot, int32_t[::1] out):
        """Scores of pairs, one after the other, to `out[slot]`: all lanes work on one pair.

        `table` has the scores of the job, int16.
        """
        cdef trace_job job = self.trace_job_of(table)
        cdef trace_space space
        cdef int64_t i
        cdef int failed = 0
        memset(&space, 0, sizeof(space))
        space.whole, space.rows = <size_t>-1, SCORED_ROWS
        with nogil:
            for i in range(query.shape[0]):
                if self.stopped or failed:
                    break
                failed = trace_score(&job, self.kernels, query[i], target[i], &space, &out[slot[i]])
            trace_close(&space)
        if failed:
            raise MemoryError("no memory for the lines of an alignment")

    def trace(self, const int16_t[:, ::1] table, const int64_t[:, ::1] pairs, size_t whole_bytes, int64_t block_rows):
        """Alignments of pairs int64[n, 2]: `(ends int64[n, 5], runs uint32[r], run_start int64[n + 1])`.

        `ends`: score, begin and end of the query, begin and end of the target. `table` has the scores of the job, int16.
        Directions of a pair are kept as a whole up to `whole_bytes`, else in blocks of `block_rows` or more rows, a
        multiple of 64.
        """
        cdef int64_t n = pairs.shape[0], i
        cdef int64_t[:, ::1] ends = np.zeros((n, 5), np.int64)
        cdef int64_t[::1] run_start = np.zeros(n + 1, np.int64)
        cdef trace_job job = self.trace_job_of(table)
        cdef trace_runs runs
        cdef trace_space space
        cdef trace_result best
        cdef int failed = 0
        cdef uint32_t[::1] found
        memset(&runs, 0, sizeof(runs))
        memset(&space, 0, sizeof(space))
        if block_rows <= 0 or block_rows % LANES_MOST:
            raise ValueError("rows of a block fill all lanes")
        space.whole, space.rows = whole_bytes, block_rows
        with nogil:
            for i in range(n):
                if self.stopped or failed:
                    break
                failed = trace_pair(&job, self.kernels, pairs[i, 0], pairs[i, 1], &space, &best, &runs)
                ends[i, 0] = best.score
                ends[i, 1], ends[i, 2] = best.query_begin, best.query_end
                ends[i, 3], ends[i, 4] = best.target_begin, best.target_end
                run_start[i + 1] = runs.n
            trace_close(&space)
        try:
            if failed:
                raise MemoryError("no memory for the traceback")
            all_runs = np.empty(runs.n, np.uint32)
            if runs.n:
                found = all_runs
                memcpy(&found[0], runs.runs, runs.n * sizeof(uint32_t))
        finally:
            free(runs.runs)
        return ends.base, all_runs, run_start.base

    def distances(self, const int64_t[::1] query, const int64_t[::1] start, const int64_t[::1] target, int64_t limit,
                  bint infix, int32_t[::1] out):
        """Edit distances of query[g] to targets target[start[g]] .. target[start[g + 1] - 1], into `out` beside these."""
        cdef int64_t g
        cdef int failed = 0
        with nogil:
            for g in range(query.shape[0]):
                if self.stopped or failed or start[g] == start[g + 1]:
                    continue
                failed = edit_distances(&self.job, query[g], &target[start[g]], start[g + 1] - start[g], limit, infix,
                                        &out[start[g]])
        if failed:
            raise MemoryError("no memory for the columns of a distance")
