# Of index/seeds.pyx: the seeds of a block of reads, and the anchors that are made of them.
from gassst._core.common cimport *

cdef extern from "lookup.h" nogil:
    ctypedef struct seed_index_t:
        const uint32_t *table
        const uint32_t *positions
        const void *following
        const uint64_t *planes
        unsigned k
        uint32_t p
        uint64_t rows
        unsigned step
        int conversion
    ctypedef struct seed_bases_t:
        uint64_t code
        uint32_t room
    unsigned seed_offset(unsigned j, unsigned count, unsigned last)
    seed_bases_t seed_bases(const uint64_t *planes, uint64_t at, unsigned longest, int conversion)
    ctypedef struct seed_range_t:
        uint32_t lo
        uint32_t hi
    void lookup_prefetch_table(const seed_index_t *index, uint64_t seed, unsigned w)
    unsigned lookup_inline(unsigned step)
    unsigned lookup_unit(unsigned step)
    bint is_kept(uint64_t window, unsigned k)
    unsigned bases_before_kept(uint64_t seed, unsigned w, unsigned k)
    uint64_t lookup_kmer(const seed_index_t *index, uint64_t seed, unsigned w)
    ctypedef struct lookup_seed_t:
        uint64_t code
        uint32_t before
        uint8_t width
        uint8_t front
    void lookup_group(const seed_index_t *index, const lookup_seed_t *seeds, seed_range_t *found, unsigned n)
    uint32_t lookup_with_before(const seed_index_t *index, uint32_t at, uint32_t end, uint32_t before, unsigned n,
                                uint32_t *next)
    uint64_t interleave(uint32_t low, uint32_t high)

cdef extern from "filter_job.h" nogil:
    ctypedef struct columns_t:
        uint32_t *read_strand
        coordinate_t *diagonal
        uint16_t *offset
        uint16_t *length


cdef struct Seed:
    uint64_t code     # of `room` bases, the first most significant
    uint32_t lo
    uint32_t count
    uint16_t offset   # on the strand
    uint8_t length    # bases looked up
    uint8_t room      # bases up to the longest seed the index serves, the read's end or a masked base
    uint8_t reverse
    uint8_t clipped   # not every occurrence of the planned seed is looked at
    uint8_t known     # need not be looked up again
    uint8_t conversion  # of the strand
    uint8_t front     # bases before those that are looked up


cdef struct seed_plan_t:
    # The seeds of a stage of one read.
    Py_ssize_t m      # bases of the read
    Py_ssize_t w      # bases of a seed
    Py_ssize_t count  # seeds that are spread over the read
    Py_ssize_t every  # from one that is taken to the next
    int step, k       # of the index
    bint flip
    int longest       # bases of the longest seed that the index serves
    int conversion    # of the read


cdef struct reads_t:
    # The packed reads of a batch.
    planes_t planes
    const uint32_t *plane_start
    const uint32_t *lengths
    const uint8_t *flip
    const uint8_t *conversions  # NULL where none is converted
    Py_ssize_t n


cdef enum:
    READS_AHEAD = 4         # from the prefetch of their positions to their use


cdef struct keys_t:
    # Sorted keys of one read, and the first that is not before the anchor at hand.
    const uint64_t *keys
    Py_ssize_t n, at


cdef struct read_t:
    # What the anchors of one read are made of.
    uint32_t number
    bint flip
    int shift               # log2 of the bucket span
    keys_t seen             # buckets of the read


cdef class AnchorBuffer:
    cdef columns_t columns
    cdef Py_ssize_t n, room
    cdef room_t[4] rooms

    cdef int reserve(self, Py_ssize_t n) except -1 nogil
    cdef columns_t end(self) noexcept nogil


cdef class Seeds:
    cdef Seed *seeds
    cdef int step, k, longest        # of the index: bases of the longest seed
    cdef int turns                   # in which a seed is looked up
    cdef int shortest                # bases of the shortest seed that is planned
    cdef Py_ssize_t n, n_reads
    cdef int64_t *start              # first seed of each active read, and the end of the last one's
    cdef int64_t *first_key          # the same of their occurrences
    cdef bint are_copied             # keys of all occurrences are there, so that the index is no longer needed
    cdef room_t[N_ROOMS] rooms

    cdef int fill(self, const reads_t *reads, const uint32_t *active, Py_ssize_t a, const uint16_t *seed_length,
                  const uint16_t *seed_count, const uint16_t *seed_every) except -1 nogil
    cdef void look_up(self, const seed_index_t *view, const uint32_t *caps) noexcept nogil
    cdef bint limit_read(self, Py_ssize_t i, const uint32_t *caps, uint16_t *clipped) noexcept nogil
    cdef Py_ssize_t put_keys(self, const seed_index_t *view, Py_ssize_t i, uint64_t kmer_from, uint64_t kmer_to,
                             uint64_t *keys) noexcept nogil
    cdef int gather_read(self, const seed_index_t *view, Py_ssize_t i, read_t *read, AnchorBuffer out) except -1 nogil
    cdef void clipped_span(self, Py_ssize_t i, int64_t *first, int64_t *last) noexcept nogil


cdef bint orient_read(const uint64_t *forward, uint32_t length, uint64_t *digest) noexcept nogil
cdef reads_t reads_of(packed, const uint8_t[::1] flip) except *
cdef seed_index_t view_of(index)


cdef struct buckets_t:
    uint32_t *read_strand
    uint32_t *bucket
    Py_ssize_t n


cdef bint best_bucket(const columns_t *anchors, Py_ssize_t first, Py_ssize_t stop, int shift,
                      uint32_t *read_strand, uint32_t *bucket) noexcept nogil
cdef void distinct_buckets(const columns_t *candidates, Py_ssize_t c, int shift, buckets_t *found) noexcept nogil
