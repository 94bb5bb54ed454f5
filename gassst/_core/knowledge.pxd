# What is known of one read, from gassst/gpu/kernels/knowledge.h; declarations only.
from libc.stdint cimport uint16_t

cdef extern from "knowledge.h" nogil:
    ctypedef struct knowledge_t:
        uint16_t best, limit, complete
    bint needs_stage(const knowledge_t *known, int errors, int strata, int settled)
    bint take_band(knowledge_t *known, uint16_t edits, int margin)
