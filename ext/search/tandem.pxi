"""Rivals in tandem repeats: places of a read a few units beside the one that is known.

The search may end before it has seen them, and a band shows its best place alone. So the bases beside an alignment are
compared with the read. Only reads that repeat bases of their own are: others lie in no tandem repeat of short units.
"""

cdef enum:
    FURTHEST = 128      # diagonals from a place to its copies, of which the nearest are not the same place any more
    ROWS_AROUND = (2 * FURTHEST + 127) // 64 + 1               # of planes, on which 64 bases from each diagonal on lie


cdef extern from "repeats.h" nogil:
    cdef enum:
        REPEATED_BASES
    bint repeats_itself(planes_t reads, int64_t first, int64_t m, int nearest)


cdef struct around_t:
    # Rows of the reference around a place, from base `first` on.
    int64_t first
    uint64_t[ROWS_AROUND] low
    uint64_t[ROWS_AROUND] high


cdef inline around_t bases_around(planes_t reference, int64_t at) noexcept nogil:
    cdef around_t around
    cdef int64_t row = (at - FURTHEST) >> 6, i
    cdef const uint64_t *words
    around.first = 64 * row
    for i in range(ROWS_AROUND):
        words = reference.words + 3 * clamped(row + i, reference.rows)
        around.low[i], around.high[i] = words[0], words[1]
    return around


cdef inline int least_differences(const around_t *around, int64_t at, bases64_t read, uint64_t counted) noexcept nogil:
    """The bases that are `counted` and differ from the reference, masked ones apart."""
    cdef int64_t i = at - around.first, row = i >> 6, j = i & 63
    cdef uint64_t low = funnel_shift(around.low[row], around.low[row + 1], j)
    cdef uint64_t high = funnel_shift(around.high[row], around.high[row + 1], j)
    return count_bits(((low ^ read.low) | ((high ^ read.high) & ~ambiguous_bases(read))) & counted)


cdef inline bint shows_repeats(int64_t length) noexcept nogil:
    """Whether a read in a tandem repeat repeats words of its own. A shorter one may lie in a repeat of any unit."""
    return length >= REPEATED_BASES + SAME_PLACE + 1


cdef uint16_t rivals_beside(planes_t bases, int64_t place, planes_t reads, int64_t first, int64_t m, int64_t length,
                            int limit, uint16_t *errors) noexcept nogil:
    """The best ungapped places of m bases from `first` on of a read of `length` bases, 11 to 128 diagonals beside `place`.

    Returns how many have the fewest mismatches, `errors`, at most `limit`: none where the read repeats nothing.
    """
    cdef int64_t shift, side, at
    cdef int found
    cdef uint16_t count = 0
    if shows_repeats(length) and not repeats_itself(reads, first, m, SAME_PLACE + 1):
        return 0
    cdef around_t around = bases_around(bases, place)
    cdef bases64_t head = bases_at(reads, first)
    cdef uint64_t counted = first_bases(m)
    for shift in range(SAME_PLACE + 1, FURTHEST + 1):
        for side in range(2):
            at = place + (shift if side else -shift)
            if least_differences(&around, at, head, counted) > limit:
                continue
            found = count_differences(bases, at, reads, first, m, limit)
            if found > limit:
                continue
            if found < errors[0]:
                errors[0], count = <uint16_t>found, 0
                limit = found
            count += 1
    return count
