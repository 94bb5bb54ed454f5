# Of one read, what ext/search/bookkeeping.pyx does for all reads of a batch, and ext/search/one_read.pyx for one.
from libc.stdint cimport int16_t, uint16_t

from gassst._core.layouts cimport NO_SCORE


cdef struct knowledge_t:
    # What is known of a read: fewest errors of a band and of any other band, the most that still matter, and the number
    # below which every alignment has been seen.
    uint16_t best, rival, limit, complete


cdef inline bint needs_stage(const knowledge_t *known, int errors, int strata, int margin, int settled,
                             int settled_alone) noexcept nogil:
    """Whether a read that may have so many errors needs a stage, if that has seeds for it (`bookkeeping.unsettled`)."""
    cdef int wanted = min(known.best + strata, errors + 1)
    cdef int enough = settled_alone if known.rival > known.best + margin else settled
    return (known.complete < wanted) & (known.best > enough)


cdef inline bint take_band(knowledge_t *known, uint16_t edits, int margin) noexcept nogil:
    """Whether a scored band is within the limit, which tightens (`bookkeeping.within_limit`)."""
    if edits > known.limit:
        return False
    known.rival = min(known.rival, max(edits, known.best))
    if edits < known.best:
        known.best = edits
        known.limit = <uint16_t>min(known.limit, edits + margin)
    return True
