"""Pairs as they lie in the end: which of them are proper."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from gassst._core.cigar cimport cigar_span
from gassst._core.contigs cimport contigs_before
from gassst._core.layouts cimport hit_t
from gassst._core.orientation cimport leads, partner_strand, template_length, window_of, window_t
from gassst._core.sam_flags cimport PROPER_PAIR, UNMAPPED


def flag_proper(hit_t[::1] hits, const uint32_t[::1] cigars, const uint8_t[::1] mate, const int64_t[::1] starts,
                insert):
    """Set the flag of the primary alignments of proper pairs that have none, by the reference bases that they cover.

    Parameters
    ----------
    hits : HIT[h]
        One or more of every read, in order, the primary first. Changed in place.
    cigars : uint32[]
    mate : uint8[n]
        Of the batch.
    starts : int64[c]
        Contig starts.
    insert : InsertModel

    Returns
    -------
    int
        Pairs that are proper now.
    """
    cdef Py_ssize_t i, a = -1
    cdef int64_t template, proper = 0
    cdef window_t w = window_of(insert)
    cdef const uint32_t *runs = &cigars[0] if cigars.shape[0] else NULL
    with nogil:
        for i in range(hits.shape[0]):
            if i and hits[i].read == hits[i - 1].read:
                continue
            if mate[hits[i].read] == 1:
                a = i
            elif mate[hits[i].read] == 2 and fit(&hits[a], &hits[i], starts, &w):
                template = template_length(leads(&w, hits[a].strand, True), span_of(&hits[a], runs),
                                           span_of(&hits[i], runs), hits[a].position, hits[i].position)
                if w.low <= template <= w.high and not hits[a].flag & PROPER_PAIR:
                    hits[a].flag |= PROPER_PAIR
                    hits[i].flag |= PROPER_PAIR
                    proper += 1
    return proper


cdef inline bint fit(const hit_t *a, const hit_t *b, const int64_t[::1] starts, const window_t *w) noexcept nogil:
    """Both mates are mapped, on one contig, on the strands that the orientation asks for."""
    if (a.flag | b.flag) & UNMAPPED or b.strand != partner_strand(w, a.strand):
        return False
    return (contigs_before(&starts[0], starts.shape[0], a.position)
            == contigs_before(&starts[0], starts.shape[0], b.position))


cdef inline int64_t span_of(const hit_t *hit, const uint32_t *cigars) noexcept nogil:
    """Reference bases that an alignment covers."""
    return cigar_span(cigars + hit.cigar_start, hit.cigar_runs)
