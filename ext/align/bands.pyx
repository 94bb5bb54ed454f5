"""Scores and alignments in bands with arrays around them, which are not checked.

All functions release the GIL for the whole call.
"""

import numpy as np

from gassst._core.common cimport *
from gassst._core.stages cimport *


cdef class Bands:
    """The batch that all functions work on: reference, reads, and the pairs of one call.

    Keeps the arrays alive. `reference` and `reads` are planes uint64[rows, 3], `read_row` and
    `read_length` uint32 by read; `instruction_set` is one of `instruction_sets()`, else ValueError.
    """

    cdef band_batch batch
    cdef const cpu_kernels *kernels
    cdef object arrays

    def __init__(self, const uint64_t[:, ::1] reference, const uint64_t[:, ::1] reads,
                 const uint32_t[::1] read_row, const uint32_t[::1] read_length, str instruction_set):
        self.kernels = kernels_of(instruction_set)
        self.arrays = (reference, reads, read_row, read_length)
        self.batch.reference = &reference[0, 0] if reference.shape[0] else NULL
        self.batch.reference_rows = reference.shape[0]
        self.batch.reads = &reads[0, 0] if reads.shape[0] else NULL
        self.batch.read_row = &read_row[0] if read_row.shape[0] else NULL
        self.batch.read_length = &read_length[0] if read_length.shape[0] else NULL

    cdef band_batch pairs(self, const uint32_t[::1] read_strand, const coordinate_t[::1] band_start) noexcept:
        """A batch of its own for each call. At least one pair."""
        cdef band_batch batch = self.batch
        batch.read_strand = &read_strand[0]
        batch.band_start = &band_start[0]
        batch.n = <uint32_t>read_strand.shape[0]
        return batch

    def score(self, const uint32_t[::1] read_strand, const coordinate_t[::1] band_start, int words,
              const uint16_t[::1] limit=None):
        """Least errors and the leftmost diagonal that has them: `(best, end)`, uint16[n] each.

        `limit` uint16[reads]: pairs with more errors than that of their read get 65535 and 0. None: all errors matter.
        """
        cdef band_batch batch = self.pairs(read_strand, band_start)
        cdef int width = words.bit_length() - 1
        cdef uint16_t[::1] best = np.empty(batch.n, np.uint16), end = np.empty(batch.n, np.uint16)
        cdef const uint16_t *limits = &limit[0] if limit is not None else NULL
        with nogil:
            self.kernels.score[width](&batch, limits, &best[0], &end[0])
        return best.base, end.base

    def profile(self, const uint32_t[::1] read_strand, const coordinate_t[::1] band_start, int words):
        """Errors of every end diagonal, uint16[n, 64 * words]."""
        cdef band_batch batch = self.pairs(read_strand, band_start)
        cdef int width = words.bit_length() - 1
        cdef uint16_t[:, ::1] errors = np.empty((batch.n, 64 * words), np.uint16)
        with nogil:
            self.kernels.profile[width](&batch, <uint64_t *>&errors[0, 0])
        return errors.base

    def align(self, const uint32_t[::1] read_strand, const coordinate_t[::1] band_start, int width,
              const uint16_t[::1] end, const uint32_t[::1] slot_end, uint32_t rows):
        """Whole reads, with the last base on a diagonal `end` of a band: `(position int64[n], edits uint16[n], n_runs
        uint16[n], runs uint32[])`.

        The runs fill each pair's slot (kernels/local.h) from its end. `rows` is the length of the longest read of the
        call.
        """
        cdef band_batch batch = self.pairs(read_strand, band_start)
        cdef coordinate_t[::1] position = np.empty(batch.n, np.int64)
        cdef uint16_t[:, ::1] shorts = np.empty((4, batch.n), np.uint16)
        cdef uint32_t[::1] runs = np.empty(slot_end[slot_end.shape[0] - 1], np.uint32)
        cdef local_ends ends = [NULL, &shorts[0, 0], &shorts[1, 0]]
        cdef local_paths paths = [&slot_end[0], &position[0], &shorts[2, 0], &shorts[3, 0], &runs[0], True]
        cdef uint32_t i
        cdef int failed
        for i in range(batch.n):
            shorts[0, i], shorts[1, i] = batch.read_length[read_strand[i] >> 1], end[i]
        with nogil:
            failed = self.kernels.local_align(&batch, &of_whole_reads, width, &ends, &paths, rows)
        if failed:
            raise MemoryError("no memory for the traceback")
        return position.base, shorts.base[2], shorts.base[3], runs.base

    def local(self, const uint32_t[::1] read_strand, const coordinate_t[::1] band_start, int width,
              const int16_t[::1] scoring):
        """Best local scores in bands of `width` diagonals: uint16[3, n], key, rows and end of kernels/local.h.

        `scoring` int16[8]: the fields of local_scoring.
        """
        cdef band_batch batch = self.pairs(read_strand, band_start)
        cdef uint16_t[:, ::1] ends = np.empty((3, batch.n), np.uint16)
        cdef local_ends out = [&ends[0, 0], &ends[1, 0], &ends[2, 0]]
        with nogil:
            self.kernels.local_score(&batch, <const local_scoring *>&scoring[0], width, &out)
        return ends.base

    def align_local(self, const uint32_t[::1] read_strand, const coordinate_t[::1] band_start, int width,
                    const int16_t[::1] scoring, const uint32_t[::1] slot_end, uint32_t rows):
        """As `local`, and the alignments: `(ends, position int64[n], edits uint16[n], n_runs uint16[n], runs uint32[])`.

        The runs fill each pair's slot (kernels/local.h) from its end. `rows` is the length of the longest read of the
        call.
        """
        cdef band_batch batch = self.pairs(read_strand, band_start)
        cdef uint16_t[:, ::1] ends = np.empty((3, batch.n), np.uint16)
        cdef coordinate_t[::1] position = np.empty(batch.n, np.int64)
        cdef uint16_t[::1] edits = np.empty(batch.n, np.uint16), n_runs = np.empty(batch.n, np.uint16)
        cdef uint32_t[::1] runs = np.empty(slot_end[slot_end.shape[0] - 1], np.uint32)
        cdef local_ends out = [&ends[0, 0], &ends[1, 0], &ends[2, 0]]
        cdef local_paths paths = [&slot_end[0], &position[0], &edits[0], &n_runs[0], &runs[0], False]
        cdef const local_scoring *costs = <const local_scoring *>&scoring[0]
        cdef int failed
        with nogil:
            failed = self.kernels.local_align(&batch, costs, width, &out, &paths, rows)
        if failed:
            raise MemoryError("no memory for the traceback")
        return ends.base, position.base, edits.base, n_runs.base, runs.base


def pack_cigars(const uint32_t[::1] runs, const uint32_t[::1] slot_end, const uint16_t[::1] n_runs):
    """Slots to one array: (cigars uint32[sum of n_runs], cigar_start uint32[n]). At least one pair."""
    cdef uint32_t n = <uint32_t>n_runs.shape[0]
    cdef int64_t runs_in_all = np.sum(n_runs, dtype=np.int64)
    cigars = np.empty(max(1, runs_in_all), np.uint32)
    cigar_start = np.empty(n, np.uint32)
    cdef uint32_t[::1] to = cigars, at = cigar_start
    cdef uint32_t row = 0, i
    with nogil:
        for i in range(n):
            at[i] = row
            memcpy(&to[0] + row, &runs[0] + slot_end[i] - n_runs[i], n_runs[i] * sizeof(uint32_t))
            row += n_runs[i]
    return cigars[:runs_in_all], cigar_start
