# Of ext/search/mapq.pyx, for those that rate places one by one.
from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.layouts cimport hit_t, local_line_t, rating_t, read_summary_t
from gassst._core.local_places cimport rival_t
from gassst._core.planes cimport planes_t
from gassst._core.rooms cimport room_t
from gassst._core.seeds cimport reads_t
from gassst._core.stages cimport states_t


cpdef enum:
    DIFFERENCES = 20    # copies with fewer differences are weighed


cdef struct case_t:
    # Places that were found alike, and what their copies weigh, by how many differences these have.
    uint64_t what, how          # as in `place_t`
    int64_t length
    double odds                 # how much less likely one more error makes a place
    double lost                 # share of reads with so many errors of which no seed leads to the place
    double missed[DIFFERENCES]  # where no seed leads to the copy
    double both[DIFFERENCES]    # where none leads to it nor to the place
    double alone[2]             # `unseen` without a mate, without and with a near copy that is known


cdef struct pair_t:
    # What copies of two cases weigh.
    uint64_t key
    double unseen


cdef struct place_t:
    # What is known of one place.
    uint64_t what       # aligned bases, errors, complete and planned seeds or 128ths passed over: 16 bits each
    uint64_t how        # bases of the read and stages looked up; or bases of dense seeds, and their distance
    double odds
    double known        # weight of the other known places
    double passed_over  # share of the seeds that occur too often
    double chance       # how many places fit by chance, for each base of reference
    bint near           # a near copy is known


cdef struct over_t:
    # Of a read with dense seeds: at how many bases among first .. end - 1 those begin that occur too often.
    double bases
    int64_t first, end
    bint reseeded


cdef struct coverage_t:
    # What the search has looked at, and dense seeds of each read; costs of alignments.
    states_t states
    const over_t *over
    int match, error_cost, much_clipped
    uint64_t seed_length, stride


cdef class Odds:
    cdef double rate, bases, unknown_rate, unknown_bases, unlike
    cdef const double[:, ::1] log_chance

    cdef double of_one(self, int64_t errors, int64_t length) noexcept nogil


cdef struct looked_t:
    # What the seeds that were looked up of a read miss, as `index.miss_model.SeedsLooked` says.
    int64_t length          # bases of a seed
    Py_ssize_t n
    const double *missed    # [n]: share of alignments with as many errors that none leads to, 1 of those with more


cdef class Cases:
    cdef object __weakref__, looked_up, looked_densely
    cdef Odds odds
    cdef const double[:, :, :, ::1] shares
    cdef const double[::1] log_lengths
    cdef case_t no_mate
    cdef case_t *cases
    cdef PyThread_type_lock lock

    cdef case_t *slot(self, uint64_t what, uint64_t how, uint64_t *found) noexcept nogil
    cdef const case_t *find(self, uint64_t what, uint64_t how, case_t *own) except NULL nogil
    cdef int make(self, case_t *case, uint64_t what, uint64_t how) except -1 with gil
    cdef double unseen(self, const case_t *one, const case_t *two, int known) noexcept nogil


cdef class Rater:
    cdef readonly Cases cases
    cdef Odds odds
    cdef double letters, n_bases
    cdef int further
    cdef bint beside
    cdef case_t one, two     # that could not be kept
    cdef pair_t *pairs
    cdef room_t places

    cdef double unseen_alone(self, const place_t *place) except -1 nogil
    cdef double unseen_pair(self, const place_t *one, const place_t *two, double wrong) except -1 nogil
    cdef int whole(self, const read_summary_t *summary, const reads_t *reads, const states_t *states, uint32_t r,
                   place_t *place) except -1 nogil
    cdef int rate_wholes(self, const read_summary_t *summary, const reads_t *reads, const states_t *states,
                         const double *wrong, const uint8_t *mate, const uint8_t *decided, double window,
                         rating_t *rated) except -1 nogil
    cdef int line(self, const hit_t *hit, const local_line_t *line, const rival_t *rival, const local_line_t *beside,
                  const reads_t *reads, const coverage_t *seen, place_t *place) except -1 nogil
    cdef int mate(self, const place_t *place, const place_t *other, double wrong, double window, uint8_t most,
                  rating_t *rating) except -1 nogil
    cdef int alone(self, const place_t *place, rating_t *rating) except -1 nogil
    cdef void cap_beside(self, rating_t *rating, planes_t reference, const reads_t *reads, uint32_t read_strand,
                         int64_t diagonal, int64_t begin, int64_t end, double loss) noexcept nogil


cdef reads_t reads_of(packed)
cdef states_t states_of(seen)
