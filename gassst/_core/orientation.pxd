"""Where the mate of a read lies in a concordant pair; `gassst/pairing/orientation.py` is the same for NumPy arrays.

A pair is *concordant* when its mates lie on one contig, on the strands that the orientation of the library asks
for, and its template length within the window. One mate *leads*: the template begins with its first base on the reference.
"""

from libc.stdint cimport int64_t

cdef enum:
    FR = 0
    RF = 1
    FF = 2


cdef struct window_t:
    # Template lengths of concordant pairs.
    int orientation
    int64_t low
    int64_t high


cdef inline window_t window_of(insert) except *:
    """Of a pairing.insert_size.InsertModel."""
    return window_t(insert.code, insert.low, insert.high)


cdef inline bint leads(const window_t *w, bint reverse, bint is_first) noexcept nogil:
    if w.orientation == FR:
        return not reverse
    if w.orientation == RF:
        return reverse
    return reverse != is_first


cdef inline bint partner_strand(const window_t *w, bint reverse) noexcept nogil:
    return reverse if w.orientation == FF else not reverse


cdef inline void partner_window(const window_t *w, bint leading, int64_t own, int64_t other, int64_t diagonal,
                                int64_t *lo, int64_t *hi) noexcept nogil:
    """Diagonals of the mate of `other` bases in a concordant pair with one of `own` bases on `diagonal`."""
    if leading:
        lo[0], hi[0] = diagonal + w.low - other, diagonal + w.high - other
    else:
        lo[0], hi[0] = diagonal + own - w.high, diagonal + own - w.low


cdef inline int64_t template_length(bint leading, int64_t own, int64_t other, int64_t diagonal,
                                    int64_t other_diagonal) noexcept nogil:
    return other_diagonal + other - diagonal if leading else diagonal + own - other_diagonal
