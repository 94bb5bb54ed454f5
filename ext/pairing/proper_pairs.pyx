"""Pairs as they lie in the end: which of them are proper."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from gassst._core.orientation cimport leads, partner_strand, template_length, window_t
from gassst._core.layouts cimport hit_t

cdef extern from "contigs.h" nogil:
    Py_ssize_t contigs_before(const int64_t *starts, size_t n, int64_t coordinate)

DEF PROPER = 0x2
DEF UNMAPPED = 0x4
DEF MATCH = 0     # BAM operations
DEF DELETION = 2


def flag_proper(hit_t[::1] hits, const uint32_t[::1] cigars, const uint8_t[::1] mate, const int64_t[::1] starts,
                int orientation, int64_t low, int64_t high):
    """Set the flag of the primary alignments of proper pairs, gaps and clipped ends told.

    Parameters
    ----------
    hits : HIT[h]
        One or more of every read, in order, the primary first. Changed in place.
    cigars : uint32[]
    mate : uint8[n]
        Of the batch.
    starts : int64[c]
        Contig starts.
    orientation : int
        `InsertModel.code`.
    low, high : int
        Least and greatest template length of a proper pair.

    Returns
    -------
    int
        Proper pairs.
    """
    cdef Py_ssize_t i, a = -1
    cdef int64_t template, proper = 0
    cdef window_t w = window_t(orientation, low, high)
    cdef const uint32_t *runs = &cigars[0] if cigars.shape[0] else NULL
    with nogil:
        for i in range(hits.shape[0]):
            if i and hits[i].read == hits[i - 1].read:
                continue
            if mate[hits[i].read] == 1:
                a = i
            elif mate[hits[i].read] == 2 and fit(&hits[a], &hits[i], starts, &w):
                template = template_length(leads(&w, hits[a].strand, True), span(&hits[a], runs), span(&hits[i], runs),
                                           hits[a].position, hits[i].position)
                if low <= template <= high:
                    hits[a].flag |= PROPER
                    hits[i].flag |= PROPER
                    proper += 1
    return proper


cdef inline bint fit(const hit_t *a, const hit_t *b, const int64_t[::1] starts, const window_t *w) noexcept nogil:
    """Both mates are mapped, on one contig, on the strands that the orientation asks for."""
    if (a.flag | b.flag) & UNMAPPED or b.strand != partner_strand(w, a.strand):
        return False
    return (contigs_before(&starts[0], starts.shape[0], a.position)
            == contigs_before(&starts[0], starts.shape[0], b.position))


cdef inline int64_t span(const hit_t *hit, const uint32_t *cigars) noexcept nogil:
    """Reference bases that an alignment covers."""
    cdef int64_t bases = 0
    cdef uint32_t i
    for i in range(hit.cigar_start, hit.cigar_start + hit.cigar_runs):
        if cigars[i] & 15 == MATCH or cigars[i] & 15 == DELETION:
            bases += cigars[i] >> 4
    return bases
