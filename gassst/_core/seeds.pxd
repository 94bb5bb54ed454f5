# Of index/seeds.pyx, for index/anchors.pyx and ext/search/stages.pyx, which go through the seeds of reads, and for
# ext/search/one_read.pyx, which orients one.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.coordinates cimport coordinate_t
from gassst._core.lookup cimport seed_index_t, step_range_t
from gassst._core.planes cimport planes_t
from gassst._core.rooms cimport room_t


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


cdef struct seed_plan_t:
    # The seeds of a stage of one read.
    Py_ssize_t m      # bases of the read
    Py_ssize_t w      # bases of a seed
    Py_ssize_t count  # seeds that are spread over the read
    Py_ssize_t every  # from one that is taken to the next
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


cdef enum:  # what the memory of seeds is for
    STARTS
    SEEDS
    RANGES
    COPIED
    SEED_ROOMS


cdef class Seeds:
    cdef Seed *seeds
    cdef step_range_t *ranges        # [n * step] where the index has no position of every base
    cdef int step
    cdef int shortest                # bases of the shortest seed that is planned
    cdef Py_ssize_t n, n_reads
    cdef int64_t *start              # first seed of each active read, and the end of the last one's
    cdef coordinate_t *copied        # positions of all seeds, when they were copied out of the index
    cdef readonly int64_t occurrences
    cdef room_t rooms[SEED_ROOMS]

    cdef int fill(self, const reads_t *reads, const uint32_t *active, Py_ssize_t a, const uint16_t *seed_length,
                  const uint16_t *seed_count, const uint16_t *seed_every, int longest) except -1 nogil
    cdef void look_up(self, const seed_index_t *view, const uint32_t *caps) noexcept nogil
    cdef bint limit_read(self, Py_ssize_t i, const uint32_t *caps, uint16_t *clipped) noexcept nogil
    cdef int copy_all(self, const seed_index_t *view, uint64_t kmer_from, uint64_t kmer_to) except -1 nogil
    cdef void number_copied(self) noexcept nogil
    cdef int check_lengths(self, index) except -1


cdef bint orient_read(const uint64_t *forward, uint32_t length, uint64_t *digest) noexcept nogil
cdef seed_index_t view_of(index)
