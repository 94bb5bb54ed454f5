# What the extensions call of index/lookup.h; declarations only, so that there is nothing to import at run time.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from "lookup.h" nogil:
    ctypedef struct seed_index_t:
        const uint32_t *table
        const uint32_t *positions
        const uint8_t *following
        const uint64_t *planes
        unsigned k
        uint32_t p
        uint64_t rows
    ctypedef struct seed_range_t:
        uint32_t lo
        uint32_t hi
    int LOOKUP_SORTED
    void lookup_group(const seed_index_t *index, const uint64_t *seeds, const uint8_t *widths, seed_range_t *found,
                      unsigned n)
    uint64_t interleave(uint32_t low, uint32_t high)
    uint64_t plane_bits(const uint64_t *planes, unsigned plane, uint64_t coordinate)
