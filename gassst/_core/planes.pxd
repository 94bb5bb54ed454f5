# What the extensions call of ext/common/planes.h; declarations only, so that there is nothing to import at run time.
from libc.stdint cimport int64_t, uint64_t

cdef extern from "planes.h" nogil:
    ctypedef struct planes_t:
        const uint64_t *words
        int64_t rows
    ctypedef struct bases64_t:
        uint64_t low, high, masked
    bases64_t bases_at(planes_t planes, int64_t coordinate)
    uint64_t differences(bases64_t a, bases64_t b)
    void prefetch_bases(planes_t planes, int64_t first, int64_t end)
