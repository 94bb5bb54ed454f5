# Of ext/search/alignments.pyx, for those that align places without arrays around them.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

from gassst._core.banded cimport band_batch, band_paths, cpu_kernels
from gassst._core.contigs cimport contigs_t
from gassst._core.coordinates cimport coordinate_t
from gassst._core.costs cimport costs_t
from gassst._core.layouts cimport hit_t, rating_t, read_summary_t
from gassst._core.mapq cimport Rater
from gassst._core.planes cimport planes_t
from gassst._core.rooms cimport room_t
from gassst._core.seeds cimport reads_t
from gassst._core.selection cimport place_t


cdef struct path_t:
    # An alignment: the diagonal on which it begins, and its runs in RUNS; none of an ungapped one.
    int64_t position
    Py_ssize_t first_run, n_runs


cdef enum:  # what memory is for
    PATHS
    ROWS
    PAIRS
    PROFILE
    RUNS
    FEWEST
    CIGARS
    HITS
    N_ROOMS


cdef class Traces:
    cdef object handle
    cdef Rater rater
    cdef const cpu_kernels *kernels
    cdef planes_t reference
    cdef contigs_t contigs
    cdef costs_t costs
    cdef reads_t reads
    cdef const int64_t[::1] starts, lengths
    cdef room_t rooms[N_ROOMS]
    cdef Py_ssize_t n_runs
    cdef readonly int64_t scored, traced, calls, pairs, kernel

    cdef int open_reads(self, handle, reads_t reads, Rater rater) except -1
    cdef int take(self, traced, const int64_t *rows, Py_ssize_t k) except -1
    cdef int align(self, place_t *place, Py_ssize_t k, bint centred) except -1 nogil
    cdef Py_ssize_t walk(self, place_t *place, const Py_ssize_t *row, uint32_t m, int width, bint centred,
                         Py_ssize_t walked) except -1 nogil
    cdef int centre(self, place_t *place, const Py_ssize_t *row, uint32_t m, int width) except -1 nogil
    cdef void note(self, uint32_t m, int64_t began) noexcept nogil
    cdef tuple pairs_of(self, uint32_t m, int width)
    cdef int ask_device(self, uint32_t m, int width, const band_paths *paths) except -1
    cdef hit_t *finish(self, const place_t *place, Py_ssize_t k) except NULL nogil
    cdef uint8_t rate(self, rating_t *rating, const hit_t *hit, double loss) noexcept nogil
    cdef void clip_and_score(self, hit_t *hit, Py_ssize_t n, read_summary_t *summary) noexcept nogil


cdef coordinate_t ungapped_diagonal(planes_t reference, coordinate_t diagonal, planes_t reads, int64_t first, int64_t m,
                                    int edits, uint32_t reach) noexcept nogil
cdef int64_t loss_of(const place_t *place, planes_t reference, const reads_t *reads, const uint16_t[:, :, ::1] costs,
                     int64_t cost) noexcept nogil
cdef int copy_in(void *to, array) except -1
