# Sorting of 64-bit keys, from ext/common/key_sort.h; declarations only, so that there is nothing to import at run time.
from libc.stdint cimport uint64_t

cdef extern from "key_sort.h" nogil:
    void sort_keys(uint64_t *a, uint64_t *scratch, size_t n)
    void sort_nearly(uint64_t *a, uint64_t *scratch, size_t n)
