# Of ext/search/stages.pyx: the search of whole reads, and the kernels that score and align in bands.
from gassst._core.common cimport *
from gassst._core.seeds cimport *

cdef extern from "cpu_kernels.h" nogil:
    ctypedef struct band_batch:
        const uint64_t *reference
        uint64_t reference_rows
        const uint64_t *reads
        const uint32_t *read_row
        const uint32_t *read_length
        const uint32_t *read_strand
        const coordinate_t *band_start
        uint32_t n

    ctypedef struct local_scoring:
        int16_t match, mismatch, open_deletion, extend_deletion, open_insertion, extend_insertion, bonus, masked

    ctypedef struct local_ends:
        uint16_t *key
        uint16_t *rows
        uint16_t *end

    ctypedef struct local_paths:
        const uint32_t *slot_end
        coordinate_t *position
        uint16_t *edits
        uint16_t *n_runs
        uint32_t *runs
        int are_whole

    const local_scoring of_whole_reads "((local_scoring)WHOLE_SCORING)"

    ctypedef struct cpu_kernels:
        const char *name
        int (*usable)() noexcept nogil
        void (*score[4])(const band_batch *, const uint16_t *limits, uint16_t *best, uint16_t *end) noexcept nogil
        void (*profile[4])(const band_batch *, uint64_t *errors) noexcept nogil
        void (*local_score)(const band_batch *, const local_scoring *, uint32_t width,
                            const local_ends *) noexcept nogil
        int (*local_align)(const band_batch *, const local_scoring *, uint32_t width, const local_ends *,
                           const local_paths *, uint32_t rows) noexcept nogil


cdef extern from "local_start.h" nogil:
    ctypedef struct whole_costs:
        int32_t differs, masked, gap, breaking, worse

    ctypedef struct whole_start:
        int64_t touched, loss
        bint is_plain

    ctypedef struct whole_end:
        uint32_t touched, diagonal
        uint16_t key, rows, scored

    uint32_t whole_width(uint32_t errors)
    coordinate_t ungapped_diagonal(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int64_t m, int edits,
                                   uint32_t reach)
    int64_t lost_by_whole(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int64_t m, whole_costs costs,
                          int64_t limit)
    whole_start start_of_whole(planes_t reference, int64_t end, planes_t reads, int64_t first, int64_t m, int edits,
                               uint32_t reach, whole_costs costs)


cdef inline band_batch bands_at(const planes_t *reference, const reads_t *reads, const uint32_t *read_strand,
                                const coordinate_t *first, uint32_t n) noexcept nogil:
    """`n` bands of open reads, as kernels take them."""
    cdef band_batch batch
    batch.reference, batch.reference_rows = reference.words, reference.rows
    batch.reads, batch.read_row, batch.read_length = reads.planes.words, reads.plane_start, reads.lengths
    batch.read_strand, batch.band_start, batch.n = read_strand, first, n
    return batch


cdef const cpu_kernels *kernels_of(str instruction_set) except NULL


cdef extern from "filter_job.h" nogil:
    ctypedef struct job_t:
        columns_t candidates, kept
        int64_t n
        planes_t reads, reference
        const uint32_t *plane_start
        const uint32_t *read_lengths
        const uint16_t *limits
        int64_t n_reads
        int gaps
        const uint8_t *scores
        const cpu_kernels *kernels


# How many candidates pass, -1 where there is no memory, -2 - i where candidate i lies outside the reads or the reference.
ctypedef int64_t (*keep_t)(const job_t *job) noexcept nogil


cdef struct filter_t:
    # One filter of a run.
    keep_t keep
    const uint8_t *scores   # PST_4 or PST_5, whichever it needs
    int gaps


cdef class Filter:
    cdef filter_t of


cdef int64_t pass_filter(const filter_t *one, job_t *job) noexcept nogil


cdef struct states_t:
    # What is known of the reads of a batch: each an array by read.
    uint16_t *best      # fewest errors of a scored band; NO_SCORE for none
    uint16_t *limit     # most errors that still matter
    uint16_t *complete  # every alignment with fewer errors has been seen
    uint16_t *planned   # most disjoint seeds that were looked up together
    uint8_t *looked     # bit s: the seeds of stage s have been looked up; the one behind the last: those of the place
    uint8_t *capped     # 1 where a seed was passed over because it occurs too often


cdef struct place_t:
    # A scored band within the limits: that of one of its read's alignments. layouts.PLACE
    coordinate_t first      # its first diagonal (docs/pipeline.md)
    uint32_t read_strand
    uint16_t end            # offset of the diagonal on which the best alignment ends
    uint16_t edits          # errors of that alignment
    # How many diagonals behind `end` an ungapped alignment with as many errors may end instead: with e of them gaps move
    # an end by no more than e.
    uint16_t reach
    uint8_t words           # the band spans 64 * words diagonals


cdef struct seen_t:
    # Buckets that need no second look: keys, sorted by read and place, and those since the last stage, by read.
    uint64_t *keys
    uint64_t *fresh
    Py_ssize_t n_fresh


cdef struct effort_t:
    # How much was done, and the nanoseconds it took.
    int64_t occurrences, candidates, scored, calls, seeds_ns, candidates_ns, score_ns


cdef enum:  # rows of seeds behind those of the stages (`search.plan.LOOKS`)
    OF_COPIES, DENSE_SEEDS, SIDE_BY_SIDE, DISJOINT, DENSE_DISJOINT
    MOST_FILTERS = 16
    PROFILE_CELLS = 1 << 25     # of bands in memory at once, 2 bytes each


cdef class Copies:
    cdef bint may_be_unseen(self, const reads_t *reads, const states_t *states, uint32_t r, uint16_t errors, bint near,
                            uint32_t mate, uint16_t its_errors, bint its_near) except -1 nogil


cdef class Stages:
    cdef object index, lookup
    cdef Copies copies
    cdef readonly int64_t[:, ::1] funnel
    cdef seed_index_t view
    cdef planes_t reference
    cdef const cpu_kernels *kernels
    cdef job_t job
    cdef filter_t filters[MOST_FILTERS]
    cdef int n_filters, margin, strata, shift, stages, further, dense_length, stride
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
    cdef AnchorBuffer anchors, kept
    cdef room_t rooms[N_ROOMS]
    cdef seen_t seen
    cdef Py_ssize_t n_places, before    # places found, and those before the block
    cdef uint32_t first, stop           # reads of the block
    cdef object found                   # by a device (gpu.found.Found)
    cdef Py_ssize_t n_taken, n_ends     # of its places, and how many of the first places have ends, or may
    cdef const uint32_t[::1] found_strand
    cdef const coordinate_t[::1] found_first
    cdef const uint16_t[::1] found_end, found_edits, found_reach
    cdef const uint16_t[:, ::1] found_state
    cdef const whole_end[::1] found_ends
    cdef uint64_t[::1] found_seen
    cdef bint makes_copies              # whether the device has a stage for copies
    cdef readonly tuple known   # the arrays of `states`

    cdef const place_t *group_places(self, int64_t *start) except? NULL nogil
    cdef int open_found(self, found) except -1
    cdef bint is_taken(self, Py_ssize_t a) except -1 with gil
    cdef int take_found(self) except -1 nogil
    cdef int open(self, context, double given_up, int further) except -1
    cdef int run(self, uint32_t block, found) except -1
    cdef void open_reads(self, const reads_t *reads, const states_t *states) noexcept nogil
    cdef int run_block(self, uint32_t first, uint32_t stop) except -1 nogil
    cdef int run_stages(self, int stage, uint32_t first, uint32_t stop) except -1 nogil
    cdef Py_ssize_t unsettled(self, int stage, uint32_t first, uint32_t stop) except -1 nogil
    cdef Py_ssize_t doubtful(self, uint32_t first, uint32_t stop) except -1 nogil
    cdef bint is_doubtful(self, uint32_t r, const uint16_t *second) except -1 nogil
    cdef int take_texts(self, Py_ssize_t a, reads_t *texts) except -1 nogil
    cdef double missed(self, int stage, uint32_t r) noexcept nogil
    cdef int forget(self, uint32_t n) except -1 nogil
    cdef int merge_seen(self, uint32_t first, uint32_t stop) except -1 nogil
    cdef int run_stage(self, int stage, Py_ssize_t a) except -1 nogil
    cdef int look_up(self, int row, Py_ssize_t a) except -1 nogil
    cdef void note_looked(self, int stage, Py_ssize_t a) noexcept nogil
    cdef int look_again(self, int row, const uint32_t *reads, Py_ssize_t a) except -1 nogil
    cdef int gather(self, Py_ssize_t a) except -1 nogil
    cdef int leave_out(self, Py_ssize_t a) except -1 nogil
    cdef Py_ssize_t filter(self, columns_t *here, columns_t *there, Py_ssize_t n) except -1 nogil
    cdef int score(self, const buckets_t *buckets, const uint16_t *bounds) except -1 nogil
    cdef int list_minima(self, const buckets_t *buckets) except -1 nogil
    cdef Py_ssize_t bands_of(self, const buckets_t *buckets, int words, uint32_t *read_strand, coordinate_t *first) noexcept nogil
    cdef int words_of(self, uint32_t read_strand) noexcept nogil
    cdef int width_rank(self, int words) noexcept nogil
    cdef int note_seen(self) except -1 nogil
