"""Pairs as they lie in the end: which of them are proper."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from gassst._types cimport hit_t

DEF PROPER = 0x2
DEF UNMAPPED = 0x4
DEF MATCH = 0     # BAM operations
DEF DELETION = 2
DEF RF = 1  # orientations, as in params.ORIENTATIONS
DEF FF = 2


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
    cdef const uint32_t *runs = &cigars[0] if cigars.shape[0] else NULL
    with nogil:
        for i in range(hits.shape[0]):
            if i and hits[i].read == hits[i - 1].read:
                continue
            if mate[hits[i].read] == 1:
                a = i
            elif mate[hits[i].read] == 2 and fit(&hits[a], &hits[i], starts, orientation):
                template = template_length(&hits[a], &hits[i], runs, orientation)
                if low <= template <= high:
                    hits[a].flag |= PROPER
                    hits[i].flag |= PROPER
                    proper += 1
    return proper


cdef inline bint fit(const hit_t *a, const hit_t *b, const int64_t[::1] starts, int orientation) noexcept nogil:
    """Both mates are mapped, on one contig, on the strands that the orientation asks for."""
    if (a.flag | b.flag) & UNMAPPED or (a.strand == b.strand) != (orientation == FF):
        return False
    return contigs_before(a.position, starts) == contigs_before(b.position, starts)


cdef inline Py_ssize_t contigs_before(int64_t position, const int64_t[::1] starts) noexcept nogil:
    """How many contigs begin at or before a position."""
    cdef Py_ssize_t low = 0, high = starts.shape[0], middle
    while low < high:
        middle = (low + high) >> 1
        if starts[middle] <= position:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline int64_t template_length(const hit_t *a, const hit_t *b, const uint32_t *cigars,
                                    int orientation) noexcept nogil:
    """From the 5' end of one mate to that of the other; at most 0 where they face the wrong way."""
    if a.strand == (orientation == RF):
        return <int64_t>b.position + span(b, cigars) - a.position
    return <int64_t>a.position + span(a, cigars) - b.position


cdef inline int64_t span(const hit_t *hit, const uint32_t *cigars) noexcept nogil:
    """Reference bases that an alignment covers."""
    cdef int64_t bases = 0
    cdef uint32_t i
    for i in range(hit.cigar_start, hit.cigar_start + hit.cigar_runs):
        if cigars[i] & 15 == MATCH or cigars[i] & 15 == DELETION:
            bases += cigars[i] >> 4
    return bases
