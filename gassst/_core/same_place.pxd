"""When two alignments are at one place of the reference."""

from libc.stdint cimport int64_t

cdef enum:
    # Diagonals. Alignments on one strand whose ends lie this near to each other are one place: so the benchmarks count
    # places, too (docs/benchmarks, "right": within 10 bases of the true one).
    SAME_PLACE = 10


cdef inline bint same_place(int64_t diagonal, int64_t other) noexcept nogil:
    return -SAME_PLACE <= diagonal - other <= SAME_PLACE
