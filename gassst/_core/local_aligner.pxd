# Of ext/align/local_aligner.pyx, for those that align reads one by one.
from libc.math cimport ceil
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.banded cimport band_batch, cpu_kernels, local_scoring
from gassst._core.coordinates cimport coordinate_t
from gassst._core.layouts cimport hit_t, local_line_t, local_place_t, rating_t, read_summary_t
from gassst._core.local_hits cimport ground_t
from gassst._core.local_places cimport rival_t
from gassst._core.mapq cimport Odds, Rater, coverage_t, over_t
from gassst._core.planes cimport first_base
from gassst._core.rooms cimport room_t
from gassst._core.selection cimport place_t as whole_t


cdef enum:  # what memory is for
    # Of LocalBands:
    PLACES, TARGETS, ORIGINS, TURNS, PATHS, PAIRS, STRANDS, FIRSTS, ENDS, SLOTS, POSITIONS, SHORTS, RUNS, WALKED, CIGARS
    HITS, LINES, SCRATCH
    # Of LocalParts:
    WHOLES, KNOWN, PRIMARY, FAR, ROWS, FREE, PARTS, KEYS, REPORTED, RIVALS, ORDER
    # Of LocalAligner:
    RATED, MATES, OVER, TAKEN, FURTHER
    N_ROOMS


cdef struct row_t:
    # An alignment, and the next best place for its part of the read.
    hit_t hit
    local_line_t line
    rival_t rival


cdef struct part_t:
    # The primary line of a split read, or a further part of one.
    row_t row
    Py_ssize_t split            # of the read, among those that are split
    Py_ssize_t before           # the part that was found before, -1 for none
    # Of a primary line: the part that was found last, and its places in KNOWN.
    Py_ssize_t newest, places, places_end


cdef struct told_t:
    # What the search of whole reads says of each, and of mates that were placed together.
    const read_summary_t *summary
    const rating_t *rated
    const uint8_t *proper
    const uint8_t *decided
    const uint8_t *mate
    const uint32_t *joined
    const double *wrong
    Py_ssize_t n_joined
    double window


cdef class LocalBands:
    cdef double usual_loss      # of a base, by the mismatches of its library
    cdef object context, handle, doubled
    cdef const cpu_kernels *kernels
    cdef band_batch batch
    cdef local_scoring costs
    cdef ground_t ground
    cdef const int64_t[::1] widths, leaving
    cdef int64_t least_gap
    cdef const uint8_t *flip
    cdef const uint64_t *digest
    cdef room_t rooms[N_ROOMS]
    cdef Py_ssize_t n, n_places, n_lines, n_runs
    cdef int32_t least_score
    cdef readonly int64_t breaking, scored, traced, calls, pairs, kernel

    cdef tuple lines_out(self)
    cdef int score_wholes(self, const whole_t *whole, const uint8_t *given, Py_ssize_t k) except -1 nogil
    cdef int score_bands(self, const uint32_t *read_strand, const coordinate_t *diagonal, const coordinate_t *band_start,
                         const int64_t *width, const int64_t *begin, Py_ssize_t k, bint beside) except -1 nogil
    cdef int align_rows(self, const local_place_t *places, const int64_t *rows, Py_ssize_t k) except -1 nogil
    cdef int add_stretch(self, const local_place_t *place, const local_line_t *line, int side) except -1 nogil
    cdef void drop_empty(self) noexcept nogil

    cdef inline int64_t length_of(self, uint32_t read_strand) noexcept nogil:
        return self.ground.lengths[read_strand >> 1]

    cdef inline int64_t first_of(self, uint32_t read_strand) noexcept nogil:
        """The first base of a strand in the planes of the reads."""
        return first_base(self.ground.plane_start[read_strand >> 1], read_strand, self.length_of(read_strand))


cdef class LocalParts(LocalBands):
    cdef Py_ssize_t n_known, n_reported
    # Split reads and all parts, places that are left for parts, and how many parts there were a round ago.
    cdef Py_ssize_t n_split, n_parts, n_free, found_before
    cdef bint is_asked
    cdef double share
    cdef int64_t much_clipped
    cdef readonly int worse

    cdef Py_ssize_t know_wholes(self, const whole_t *whole, const uint8_t *given, Py_ssize_t k, bint stay,
                                int64_t gaps) except -1 nogil
    cdef int add_parts(self) except -1 nogil
    cdef row_t **number_parts(self) except NULL nogil
    cdef Py_ssize_t compare(self, uint32_t *listed) except -1 nogil

    cdef inline int64_t least_reported(self, uint32_t r, int32_t bonus=0) noexcept nogil:
        """The least score of a read that is reported (-T): unless it is asked for, that of all its bases is enough."""
        cdef int64_t least = self.least_score - bonus
        return least if self.is_asked else min(self.length_of(2 * r) * self.ground.costs.match, least)

    cdef inline int64_t least_of_copies(self, const hit_t *hit) noexcept nogil:
        """The least score of what is listed beside an alignment."""
        return max(self.least_reported(hit.read), <int64_t>ceil(self.share * hit.score))

    cdef inline size_t summary_of(self, const hit_t *hit) noexcept nogil:
        """The row of the summary of a read, or of its part."""
        return self.n + hit.part - 1 if hit.part else hit.read


cdef class LocalAligner(LocalParts):
    cdef Py_ssize_t n_further
    cdef int32_t mate_bonus, most
    cdef object scoring, joint

    cdef int prepare_pairs(self, pairs, Odds odds, const uint8_t[::1] band_words, int shift, int worth, double edit_phred,
                           Py_ssize_t most, int run) except -1
    cdef void open_pairs(self, const uint8_t *mate, const uint8_t *conversions) noexcept nogil
    cdef Py_ssize_t join(self, const uint8_t *decided, uint32_t *joined, double *wrong) except -1 nogil
    cdef int decide(self, const read_summary_t *summary, const uint8_t *proper, const uint8_t *mate, int strata,
                    uint8_t *decided) except -1 nogil
    cdef int rate(self, Rater rater, const told_t *told, const coverage_t *seen, bint split) except -1 nogil


cdef over_t *seen_densely(LocalAligner self, const uint32_t[::1] reads, const double[::1] bases,
                          const int64_t[::1] first, const int64_t[::1] end) except NULL
