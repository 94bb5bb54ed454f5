"""Rivals in tandem repeats: places of a read a few units beside the one that is known.

The search may end before it has seen them, and a band shows its best place alone. So the bases beside an alignment are
compared with the read. Only reads that repeat bases of their own are: others lie in no tandem repeat of short units.
"""

import numpy as np

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from gassst._core.layouts cimport NO_SCORE
from gassst._core.planes cimport bases64_t, bases_at, count_differences, planes_of, planes_t

DEF WORD = 8        # bases that a read has twice where it lies in a tandem repeat
DEF PROBES = 3      # words of a read that are looked for
DEF NEAREST = 11    # diagonals from one place to the next, more than one place spans (docs/pipeline.md)
DEF FURTHEST = 128


cdef inline uint64_t from_bit(uint64_t here, uint64_t behind, int64_t j) noexcept nogil:
    """64 bits from bit j on of two neighbouring words, j < 64."""
    return here >> j | (behind << 1) << (63 - j)


cdef bint repeats_itself(planes_t reads, int64_t first, int64_t m) noexcept nogil:
    """Whether one of a few words of m bases occurs in them once more."""
    cdef int64_t probe, at, word, j, last = m - WORD
    cdef uint64_t found, low, high
    cdef bases64_t here, behind
    cdef bases64_t[PROBES] words
    if last < NEAREST:
        return False
    for probe in range(PROBES):
        words[probe] = bases_at(reads, first + probe * last // (PROBES - 1))
    for word in range(0, last + 1, 64):
        here, behind = bases_at(reads, first + word), bases_at(reads, first + word + 64)
        for probe in range(PROBES):
            found = ~<uint64_t>0 if last + 1 - word >= 64 else (<uint64_t>1 << (last + 1 - word)) - 1
            at = probe * last // (PROBES - 1) - word
            if 0 <= at < 64:
                found &= ~(<uint64_t>1 << at)
            j = 0
            while found and j < WORD:
                low, high = -(words[probe].low >> j & 1), -(words[probe].high >> j & 1)
                found &= ~(from_bit(here.low, behind.low, j) ^ low | from_bit(here.high, behind.high, j) ^ high)
                j += 1
            if found:
                return True
    return False


def tandem_rivals(const uint32_t[::1] read_strand, const uint32_t[::1] diagonal, const int64_t[::1] begin,
                  const int64_t[::1] end, const uint16_t[::1] most, context):
    """The best ungapped places of parts of reads, 11 to 128 diagonals beside known ones.

    Parameters
    ----------
    read_strand, diagonal : uint32[k]
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
    cdef int64_t first, m
    errors_array, count_array = np.full(k, NO_SCORE, np.uint16), np.zeros(k, np.uint16)
    cdef uint16_t[::1] errors = errors_array, count = count_array
    with nogil:
        for i in range(k):
            if most[i] == 0:
                continue
            m = lengths[read_strand[i] >> 1]
            first = 64 * (plane_start[read_strand[i] >> 1] + <int64_t>(read_strand[i] & 1) * ((m + 63) >> 6)) + begin[i]
            m = end[i] - begin[i]
            count[i] = rivals_beside(bases, <int64_t>diagonal[i] + begin[i], reads, first, m, most[i], &errors[i])
    return errors_array, count_array


cdef uint16_t rivals_beside(planes_t bases, int64_t place, planes_t reads, int64_t first, int64_t m, int limit,
                            uint16_t *errors) noexcept nogil:
    """`tandem_rivals` of one place: of m bases from `first` on, which lie at `place`; returns the count."""
    cdef int64_t shift, side
    cdef int found
    cdef uint16_t count = 0
    if not repeats_itself(reads, first, m):
        return 0
    for shift in range(NEAREST, FURTHEST + 1):
        for side in range(2):
            found = count_differences(bases, place + (shift if side else -shift), reads, first, m, limit)
            if found > limit:
                continue
            if found < errors[0]:
                errors[0], count = <uint16_t>found, 0
                limit = found
            count += 1
    return count
