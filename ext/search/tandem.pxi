"""Rivals in tandem repeats: places of a read a few units beside the one that is known.

The search may end before it has seen them, and a band shows its best place alone. So the bases beside an alignment are
compared with the read. Only reads that repeat bases of their own are: others lie in no tandem repeat of short units.
"""

cdef enum:
    FURTHEST = 128      # diagonals from a place to its copies, of which the nearest are not the same place any more


cdef extern from "words.h" nogil:
    cdef enum:
        REPEATED_BASES
    bint repeats_itself(planes_t reads, int64_t first, int64_t m, int nearest)


cdef inline bint may_repeat(planes_t reads, int64_t first, int64_t m, int64_t length) noexcept nogil:
    """Whether a stretch of a read may lie in a tandem repeat, where all but short reads repeat words of their own."""
    return length < REPEATED_BASES + SAME_PLACE + 1 or repeats_itself(reads, first, m, SAME_PLACE + 1)


cdef uint16_t rivals_beside(planes_t bases, int64_t place, planes_t reads, int64_t first, int64_t m,
                            uint16_t *errors) noexcept nogil:
    """How many ungapped places of m bases of a read from `first` on, 11 to 128 diagonals beside `place`, have the fewest
    mismatches, `errors`, no more than before."""
    cdef int64_t shift, side, found
    cdef uint16_t count = 0
    for shift in range(SAME_PLACE + 1, FURTHEST + 1):
        for side in range(2):
            found = count_differences(bases, place + (shift if side else -shift), reads, first, m, errors[0])
            if found < errors[0]:
                errors[0], count = <uint16_t>found, 0
            count += found == errors[0]
    return count
