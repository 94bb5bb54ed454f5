# One hash of 64 bits, from ext/common/hashing.h.
from libc.stdint cimport uint64_t

cdef extern from "hashing.h" nogil:
    uint64_t mix(uint64_t h)
