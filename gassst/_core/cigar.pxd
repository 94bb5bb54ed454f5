# CIGAR runs, from ext/common/cigar.h: length << 4 | operation, as BAM has them.
from libc.stdint cimport int64_t, uint32_t

cdef extern from "cigar.h" nogil:
    enum:
        CIGAR_MATCH      # M: aligned bases, equal or not
        CIGAR_INSERTION
        CIGAR_DELETION
        CIGAR_SOFT_CLIP
    uint32_t cigar_op(uint32_t run)
    uint32_t cigar_length(uint32_t run)
    Py_ssize_t cigar_push(uint32_t *runs, Py_ssize_t n, uint32_t op, uint32_t length)
    int64_t cigar_span(const uint32_t *runs, Py_ssize_t n)
