# What is known of one read, from gassst/gpu/kernels/knowledge.h.
from libc.stdint cimport uint16_t, uint64_t

cdef extern from "knowledge.h" nogil:
    ctypedef struct knowledge_t:
        uint16_t best, limit, complete
    bint needs_stage(const knowledge_t *known, int errors, int strata, int settled)
    bint take_band(knowledge_t *known, uint16_t edits, int margin)


# Of ext/search/bookkeeping.pyx: two sorted arrays as one.
cdef Py_ssize_t merge(const uint64_t *a, Py_ssize_t n_a, const uint64_t *b, Py_ssize_t n_b, uint64_t *out) noexcept nogil
