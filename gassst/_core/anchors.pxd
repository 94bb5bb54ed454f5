# Of index/anchors.pyx, for ext/search/stages.pyx, which makes candidates of the seeds of a block of reads.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.coordinates cimport coordinate_t
from gassst._core.filters cimport columns_t
from gassst._core.seeds cimport Seed


cdef struct keys_t:
    # Sorted keys of one read, and the first that is not before the anchor at hand.
    const uint64_t *keys
    Py_ssize_t n, at


cdef struct read_t:
    # What the anchors of one read are made of.
    uint32_t number
    bint flip
    int shift               # log2 of the bucket span
    const Seed *seeds
    Py_ssize_t n_seeds
    const uint32_t *positions   # of the index
    const coordinate_t *copied  # positions copied out of it; NULL where there are none
    keys_t scored, rejected  # buckets and diagonals of the read


cdef struct buckets_t:
    uint32_t *read_strand
    uint32_t *bucket
    Py_ssize_t n


cdef class KeyBuffer:
    cdef uint64_t *keys
    cdef uint64_t *scratch
    cdef size_t room

    cdef int reserve(self, size_t n) except -1 nogil


cdef class AnchorBuffer:
    cdef columns_t columns
    cdef Py_ssize_t n, room

    cdef int reserve(self, Py_ssize_t n) except -1 nogil
    cdef columns_t end(self) noexcept nogil
    cdef tuple take(self)


cdef int gather_read(read_t *read, KeyBuffer buffer, AnchorBuffer out) except -1 nogil
cdef bint best_bucket(const columns_t *anchors, const uint8_t *chosen, Py_ssize_t first, Py_ssize_t stop, int shift,
                      uint32_t *read_strand, uint32_t *bucket) noexcept nogil
cdef void distinct_buckets(const columns_t *candidates, Py_ssize_t c, int shift, const buckets_t *known,
                           buckets_t *found) noexcept nogil
