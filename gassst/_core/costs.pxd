# What scores or costs so much, from ext/align/stretches.h; nothing here is to be imported at run time.
from libc.stdint cimport int32_t

from gassst._core.cigar cimport CIGAR_DELETION, CIGAR_INSERTION

cdef extern from "stretches.h" nogil:
    ctypedef struct costs_t:
        int32_t match, mismatch, bonus
        int32_t open_gap[3]     # by CIGAR operation
        int32_t extend_gap[3]


cdef inline costs_t costs_of(scoring) except *:
    """The costs that a params.Scoring has."""
    cdef costs_t costs
    costs.match, costs.mismatch, costs.bonus = scoring.match, scoring.mismatch, scoring.clip
    costs.open_gap[CIGAR_DELETION], costs.open_gap[CIGAR_INSERTION] = scoring.gap_open
    costs.extend_gap[CIGAR_DELETION], costs.extend_gap[CIGAR_INSERTION] = scoring.gap_extend
    return costs
