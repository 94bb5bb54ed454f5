"""What the extensions agree on about places: alignments as the search knows them, by strand and end."""

from libc.stdint cimport int64_t

cdef enum:
    SAME_PLACE = 10    # alignments of one strand whose ends lie this near to each other are one place
    NO_EDITS = 0xFFFF  # layouts.NO_SCORE: nothing was found


cdef inline bint same_place(int64_t diagonal, int64_t other) noexcept nogil:
    return -SAME_PLACE <= diagonal - other <= SAME_PLACE
