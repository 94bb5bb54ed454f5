"""Rivals in tandem repeats: places of a read a few units beside the one that is known.

The search may end before it has seen them, and a band shows its best place alone. So the bases beside an alignment are
compared with the read. Only reads that repeat bases of their own are: others lie in no tandem repeat of short units.
"""

import numpy as np

from libc.math cimport exp, pow
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

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
    MOST_COPIES = 2 * (FURTHEST - SAME_PLACE) + 1       # and the place itself
    ROWS = (2 * FURTHEST + 127) // 64 + 1               # of planes, on which 64 bases from each diagonal on lie
DEF LEAST_WEIGHT = 1e-7 # of a copy: all that may lie beside a place are still less than MAPQ 60 allows
DEF FAR = 30        # standard deviations of a template from which on it is no less likely: exp overflows behind 37


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


cdef struct part_t:
    # What one mate aligns, and what its copies cost.
    int64_t place, first, m
    int limit
    double loss, odds


cdef struct copies_t:
    # The place of a mate, at shift 0 with weight 1, and the copies beside it.
    int n
    double[MOST_COPIES] shift
    double[MOST_COPIES] weight


cdef class Parts:
    """The columns of `tandem_pairs` for one mate of each pair."""
    cdef const uint32_t[::1] read_strand, lengths, plane_start
    cdef const coordinate_t[::1] diagonal
    cdef const int64_t[::1] begin, end
    cdef const uint16_t[::1] most
    cdef const double[::1] loss, odds

    def __init__(self, columns, context):
        self.read_strand, self.diagonal, self.begin, self.end, self.most, self.loss, self.odds = columns
        self.lengths, self.plane_start = context.lengths, context.packed.plane_start

    cdef part_t at(self, Py_ssize_t i) noexcept nogil:
        cdef int64_t read = self.read_strand[i] >> 1, strand = self.read_strand[i] & 1
        cdef int64_t first = 64 * (self.plane_start[read] + strand * ((<int64_t>self.lengths[read] + 63) >> 6))
        return part_t(self.diagonal[i] + self.begin[i], first + self.begin[i], self.end[i] - self.begin[i],
                      self.most[i], self.loss[i], self.odds[i])


cdef void list_copies(planes_t bases, planes_t reads, const part_t *part, copies_t *copies) noexcept nogil:
    """The ungapped places of a part of a read 11 to 128 diagonals beside the known one, each with its weight."""
    cdef int64_t shift, side, moved
    cdef int found
    cdef double weight
    cdef around_t around = bases_around(bases, part.place)
    cdef bases64_t head = bases_at(reads, part.first)
    cdef uint64_t counted = first_bases(part.m)
    copies.n, copies.shift[0], copies.weight[0] = 1, 0, 1
    for shift in range(SAME_PLACE + 1, FURTHEST + 1):
        for side in range(2):
            moved = shift if side else -shift
            if least_differences(&around, part.place + moved, head, counted) > part.limit:
                continue
            found = count_differences(bases, part.place + moved, reads, part.first, part.m, part.limit)
            if found > part.limit:
                continue
            weight = pow(part.odds, max(found - part.loss, 0.0))
            if weight >= LEAST_WEIGHT:
                copies.shift[copies.n], copies.weight[copies.n] = moved, weight
                copies.n += 1


def tandem_pairs(own, other, const double[::1] deviate, const double[::1] step, context):
    """Weight of the copies of a tandem repeat beside mates of concordant pairs, with the other mate wherever it fits.

    Parameters
    ----------
    own, other : 7 columns each
        Of the mates to be rated, and of their partners: read_strand uint32[k], diagonal int64[k], begin int64[k],
        end int64[k] as in `tandem_rivals`; most uint16[k], mismatches of a copy that counts; loss float64[k],
        mismatches where the mate lies; odds float64[k], how much less likely each further one makes a place.
    deviate : float64[k]
        Template length of each pair, in standard deviations from the mean. It counts as 30 of them at most.
    step : float64[k]
        What it grows by where the mate to be rated moves by one diagonal to the right.
    context : search.context.BatchContext
        Read: `lengths`, `packed`, `reference.planes`.

    Returns
    -------
    float64[k]
        All pairs of places in which the mate to be rated lies elsewhere, relative to those in which it does not.
    """
    cdef Parts rated = Parts(own, context), partners = Parts(other, context)
    cdef planes_t bases = planes_of(context.reference.planes), reads = planes_of(context.packed.planes)
    cdef Py_ssize_t k = deviate.shape[0], i
    cdef part_t part, partner
    cdef copies_t here, there
    weight_array = np.empty(k)
    cdef double[::1] weight = weight_array
    with nogil:
        for i in range(k):
            part, partner = rated.at(i), partners.at(i)
            list_copies(bases, reads, &part, &here)
            list_copies(bases, reads, &partner, &there)
            weight[i] = elsewhere(&here, &there, deviate[i], step[i])
    return weight_array


cdef double elsewhere(const copies_t *here, const copies_t *there, double deviate, double step) noexcept nogil:
    cdef double stays = 0, moves = 0, z, likelihood
    cdef int i, j
    deviate = min(max(deviate, -FAR), FAR)
    for i in range(here.n):
        for j in range(there.n):
            z = deviate + step * (here.shift[i] - there.shift[j])
            likelihood = here.weight[i] * there.weight[j] * exp(0.5 * (deviate * deviate - z * z))
            if i:
                moves += likelihood
            else:
                stays += likelihood
    return moves / stays
