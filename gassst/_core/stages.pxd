# Of ext/search/stages.pyx, for one_read.pyx, which searches a block of one read, and for pair_stages.pyx.
from libc.stdint cimport int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.anchors cimport AnchorBuffer, KeyBuffer, buckets_t
from gassst._core.banded cimport band_batch, cpu_kernels
from gassst._core.coordinates cimport coordinate_t
from gassst._core.filters cimport columns_t, filter_t, job_t
from gassst._core.lookup cimport seed_index_t
from gassst._core.planes cimport planes_t
from gassst._core.rooms cimport room_t
from gassst._core.seeds cimport Seeds, reads_t
from gassst._core.selection cimport place_t


cdef struct states_t:
    # What is known of the reads of a batch: each an array by read.
    uint16_t *best      # fewest errors of a scored band; NO_SCORE for none
    uint16_t *limit     # most errors that still matter
    uint16_t *complete  # every alignment with fewer errors has been seen
    uint16_t *planned   # most disjoint seeds that were looked up together
    uint8_t *looked     # bit s: the seeds of stage s have been looked up
    uint8_t *capped     # 1 where a seed was passed over because it occurs too often


cdef struct known_t:
    # Places of reads that need no second look: keys, sorted by read and place, and those since the last stage, by read.
    uint64_t *keys
    uint64_t *fresh
    Py_ssize_t n_fresh


cdef struct effort_t:
    # How much was done, and the nanoseconds it took.
    int64_t occurrences, candidates, scored, calls, seeds_ns, candidates_ns, score_ns


cdef enum:  # what memory is for
    ACTIVE
    GOES_ON
    STARTS
    BUCKETS
    BANDS
    PLACES
    SCORED
    SCORED_FRESH
    SCORED_STARTS
    REJECTED
    REJECTED_FRESH
    REJECTED_STARTS
    MERGED
    TOLD
    PROFILE
    MINIMA
    GROUPED
    N_ROOMS


cdef enum:
    MOST_FILTERS = 16
    PROFILE_CELLS = 1 << 25     # of bands in memory at once, 2 bytes each


cdef Py_ssize_t merge(const uint64_t *a, Py_ssize_t n_a, const uint64_t *b, Py_ssize_t n_b, uint64_t *out) noexcept nogil


cdef class Stages:
    cdef object index, lookup
    cdef readonly int64_t[:, ::1] funnel
    cdef seed_index_t view
    cdef planes_t reference
    cdef const cpu_kernels *kernels
    cdef job_t job
    cdef filter_t filters[MOST_FILTERS]
    cdef int n_filters, margin, strata, shift, stages, longest_seed, further
    cdef double given_up
    cdef bint exhaustive
    cdef const uint16_t[::1] errors
    cdef const uint8_t[::1] words
    cdef const uint16_t[:, ::1] seed_length, seed_count, seed_every, disjoint
    cdef const int16_t[:, ::1] settled
    cdef const double[:, :, ::1] lost
    cdef const uint32_t[::1] caps
    cdef const int64_t[::1] starts
    cdef const uint8_t[::1] left_out
    cdef reads_t reads
    cdef states_t states
    cdef effort_t effort
    cdef Seeds seeds
    cdef KeyBuffer keys
    cdef AnchorBuffer anchors, kept
    cdef room_t rooms[N_ROOMS]
    cdef known_t scored, rejected
    cdef Py_ssize_t n_places, before    # places found, and those before the block
    cdef uint32_t first     # read of the block

    cdef const place_t *group_places(self, int64_t *start) except? NULL nogil
    cdef int take(self, found) except -1
    cdef tuple open(self, context, double given_up, int further)
    cdef int run(self, uint32_t block) except -1 nogil
    cdef void open_reads(self, const reads_t *reads, const states_t *states) noexcept nogil
    cdef int run_block(self, uint32_t first, uint32_t stop) except -1 nogil
    cdef Py_ssize_t unsettled(self, int stage, uint32_t first, uint32_t stop) except -1 nogil
    cdef double missed(self, int stage, uint32_t r) noexcept nogil
    cdef int forget(self, known_t *known, int start_room, uint32_t n) except -1 nogil
    cdef int merge_known(self, known_t *known, int room, int start_room, uint32_t first, uint32_t stop) except -1 nogil
    cdef int run_stage(self, int stage, Py_ssize_t a) except -1 nogil
    cdef int look_up(self, int stage, Py_ssize_t a) except -1 nogil
    cdef int gather(self, Py_ssize_t a) except -1 nogil
    cdef int leave_out(self, Py_ssize_t a) except -1 nogil
    cdef Py_ssize_t filter(self, columns_t *here, columns_t *there, Py_ssize_t n) except -1 nogil
    cdef int score(self, const buckets_t *buckets, const uint16_t *bounds) except -1 nogil
    cdef int list_minima(self, const buckets_t *buckets) except -1 nogil
    cdef Py_ssize_t bands_of(self, const buckets_t *buckets, int words, uint32_t *read_strand, coordinate_t *first) noexcept nogil
    cdef int note_places(self, Py_ssize_t before) except -1 nogil
    cdef int words_of(self, uint32_t read_strand) noexcept nogil
    cdef int width_rank(self, int words) noexcept nogil
    cdef int note_scored(self, const buckets_t *top, const buckets_t *others) except -1 nogil
