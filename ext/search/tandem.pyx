"""Rivals in tandem repeats: places of a read a few units beside the one that is known.

The search may end before it has seen them, and a band shows its best place alone. So the bases beside an alignment are
compared with the read. Only reads that repeat bases of their own are: others lie in no tandem repeat of short units.
"""

import numpy as np

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from gassst._core.coordinates cimport coordinate_t
from gassst._core.layouts cimport NO_SCORE
from gassst._core.planes cimport (
    ambiguous_bases,
    bases64_t,
    bases_at,
    clamped,
    count_bits,
    count_differences,
    first_bases,
    funnel_shift,
    planes_of,
    planes_t,
)
from gassst._core.same_place cimport SAME_PLACE

cdef enum:
    FURTHEST = 128      # diagonals from a place to its copies, of which the nearest are not the same place any more
    ROWS = (2 * FURTHEST + 127) // 64 + 1               # of planes, on which 64 bases from each diagonal on lie


cdef extern from "repeats.h" nogil:
    cdef enum:
        REPEATED_BASES
    bint repeats_itself(planes_t reads, int64_t first, int64_t m, int nearest)


cdef struct around_t:
    # Rows of the reference around a place, from base `first` on.
    int64_t first
    uint64_t[ROWS] low
    uint64_t[ROWS] high


cdef inline around_t bases_around(planes_t reference, int64_t at) noexcept nogil:
    cdef around_t around
    cdef int64_t row = (at - FURTHEST) >> 6, i
    cdef const uint64_t *words
    around.first = 64 * row
    for i in range(ROWS):
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


def tandem_rivals(const uint32_t[::1] read_strand, const coordinate_t[::1] diagonal, const int64_t[::1] begin,
                  const int64_t[::1] end, const uint16_t[::1] most, context):
    """The best ungapped places of parts of reads, 11 to 128 diagonals beside known ones.

    Parameters
    ----------
    read_strand : uint32[k], diagonal : int64[k]
        The known places.
    begin, end : int64[k]
        Bases begin .. end - 1 of the strand are aligned there.
    most : uint16[k]
        Mismatches of a rival that counts; 0 where none is asked for.
    context : search.context.BatchContext
        Read: `lengths`, `packed`, `reference.planes`.

    Returns
    -------
    errors : uint16[k]
        Fewest mismatches of those bases beside the known place; NO_SCORE where no rival counts, or the read repeats
        nothing.
    count : uint16[k]
        Places with so few.
    """
    packed = context.packed
    cdef const uint32_t[::1] lengths = context.lengths, plane_start = packed.plane_start
    cdef planes_t bases = planes_of(context.reference.planes), reads = planes_of(packed.planes)
    cdef Py_ssize_t k = read_strand.shape[0], i
    cdef int64_t first, m, length
    errors_array, count_array = np.full(k, NO_SCORE, np.uint16), np.zeros(k, np.uint16)
    cdef uint16_t[::1] errors = errors_array, count = count_array
    with nogil:
        for i in range(k):
            if most[i] == 0:
                continue
            m, length = end[i] - begin[i], lengths[read_strand[i] >> 1]
            first = plane_start[read_strand[i] >> 1] + <int64_t>(read_strand[i] & 1) * ((length + 63) >> 6)
            first = 64 * first + begin[i]
            count[i] = rivals_beside(bases, diagonal[i] + begin[i], reads, first, m, length, most[i], &errors[i])
    return errors_array, count_array


cdef uint16_t rivals_beside(planes_t bases, int64_t place, planes_t reads, int64_t first, int64_t m, int64_t length,
                            int limit, uint16_t *errors) noexcept nogil:
    """`tandem_rivals` of one place: of m bases from `first` on of a read, which lie at `place`; returns the count."""
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
