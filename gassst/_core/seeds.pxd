# Of index/seeds.pyx, for index/anchors.pyx, which goes through the seeds of a batch.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.lookup cimport step_range_t


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


cdef class Seeds:
    cdef Seed *seeds
    cdef step_range_t *ranges        # [n * step] where the index has no position of every base, else NULL
    cdef int step
    cdef int shortest                # bases of the shortest seed that is planned
    cdef Py_ssize_t n
    cdef int64_t[::1] start          # first seed of each active read
    cdef const uint32_t[::1] active, lengths
    cdef const uint16_t[::1] every
    cdef uint32_t[::1] copied        # positions of all seeds, when they were copied out of the index
    cdef readonly int64_t occurrences

    cdef void take_over(self, Seeds before)
    cdef void make_room(self)
    cdef int check_lengths(self, index) except -1
