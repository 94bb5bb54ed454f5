# Where the mate of a read lies in a concordant pair, from ext/common/orientation.h.
from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef extern from "orientation.h" nogil:
    cdef enum:
        FR "ORIENTATION_FR"
        RF "ORIENTATION_RF"
        FF "ORIENTATION_FF"
    ctypedef struct window_t:
        int orientation
        int64_t low, high
    bint leads(const window_t *w, bint reverse, bint is_first)
    bint partner_strand(const window_t *w, bint reverse)
    void partner_window(const window_t *w, bint leading, int64_t own, int64_t other, int64_t diagonal, int64_t *lo,
                        int64_t *hi)


cdef inline uint32_t partner_of(const uint8_t *mate, uint32_t r) noexcept nogil:
    """The row of the mate of a read, by the `mate` of a batch; a single read is its own partner."""
    return r + (mate[r] == 1) - (mate[r] == 2)


cdef inline window_t window_of(insert) except *:
    """Of a pairing.insert_size.InsertModel."""
    return window_t(insert.code, insert.low, insert.high)


cdef struct windows_t:
    window_t each[3]  # at most one of each orientation
    int n


cdef inline windows_t windows_of(insert, int64_t slack=0) except *:
    """Of all orientations of an InsertModel, each wider by `slack` diagonals on both sides."""
    cdef windows_t windows
    windows.n = 0
    for library in insert.libraries:
        windows.each[windows.n] = window_t(library.code, library.low - slack, library.high + slack)
        windows.n += 1
    return windows


cdef inline int64_t template_length(bint leading, int64_t own, int64_t other, int64_t diagonal,
                                    int64_t other_diagonal) noexcept nogil:
    return other_diagonal + other - diagonal if leading else diagonal + own - other_diagonal
