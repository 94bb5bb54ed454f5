# What the extensions call of index/lookup.h; declarations only, so that there is nothing to import at run time.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from gassst._core.coordinates cimport coordinate_t

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
    ctypedef struct step_range_t:
        uint32_t lo
        uint32_t size
        uint32_t count
    void lookup_prefetch_element(const seed_index_t *index, uint32_t entry, unsigned step)
    void lookup_prefetch_table(const seed_index_t *index, uint64_t seed, unsigned w)
    unsigned lookup_inline(unsigned step)
    uint64_t lookup_kmer(const seed_index_t *index, uint64_t seed, unsigned w)
    void lookup_group(const seed_index_t *index, const uint64_t *seeds, const uint8_t *widths, seed_range_t *found,
                      unsigned n)
    step_range_t lookup_count_before(const seed_index_t *index, seed_range_t range, uint32_t before, unsigned n)
    void lookup_copy_before(const seed_index_t *index, step_range_t range, uint32_t before, unsigned n, uint32_t most,
                            coordinate_t *places)
    uint64_t interleave(uint32_t low, uint32_t high)
