# Sorting of 64-bit keys, and looking for one, from ext/common/key_sort.h; declarations only, so that there is nothing to import at run time.
from libc.stdint cimport uint64_t

cdef extern from "key_sort.h" nogil:
    void sort_keys(uint64_t *a, uint64_t *scratch, size_t n)
    void sort_nearly(uint64_t *a, uint64_t *scratch, size_t n)

cdef extern from "sorted_keys.h" nogil:
    size_t first_from(const uint64_t *keys, size_t n, uint64_t key)
