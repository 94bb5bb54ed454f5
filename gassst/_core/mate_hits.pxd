"""Two mates as rows of hits: whether they make a pair, and how long its template is."""

from libc.stdint cimport int64_t, uint32_t

from gassst._core.cigar cimport cigar_span
from gassst._core.contigs cimport contigs_before
from gassst._core.layouts cimport hit_t
from gassst._core.orientation cimport leads, partner_strand, template_length, window_t
from gassst._core.sam_flags cimport PROPER_PAIR, UNMAPPED


cdef inline bint fit(const hit_t *a, const hit_t *b, const int64_t[::1] starts, const window_t *w) noexcept nogil:
    """Both mates are mapped, on one contig, on the strands that the orientation asks for."""
    if (a.flag | b.flag) & UNMAPPED or b.strand != partner_strand(w, a.strand):
        return False
    return (contigs_before(&starts[0], starts.shape[0], a.position)
            == contigs_before(&starts[0], starts.shape[0], b.position))


cdef inline int64_t template_of(const hit_t *a, const hit_t *b, const uint32_t *cigars, const window_t *w) noexcept nogil:
    """Template length of a first mate and a second one that fit."""
    return template_length(leads(w, a.strand, True), cigar_span(cigars + a.cigar_start, a.cigar_runs),
                           cigar_span(cigars + b.cigar_start, b.cigar_runs), a.position, b.position)


cdef inline bint flag_pair(hit_t *a, hit_t *b, const uint32_t *cigars, const int64_t[::1] starts,
                           const window_t *w) noexcept nogil:
    """Flag a first mate and a second one that fit in a window of template lengths, unless they are flagged already."""
    if a.flag & PROPER_PAIR or not fit(a, b, starts, w) or not w.low <= template_of(a, b, cigars, w) <= w.high:
        return False
    a.flag |= PROPER_PAIR
    b.flag |= PROPER_PAIR
    return True
