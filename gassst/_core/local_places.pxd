# Of ext/align/local_places.pyx, for those that align the best place of each read, or compare it with the others.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.coordinates cimport COORDINATE_BITS, coordinate_t, place_key
from gassst._core.layouts cimport local_line_t, local_place_t
from gassst._core.rooms cimport room_t


cdef enum:
    MOST_SCORED = 32        # places of a read: those that the search found, or another look


cdef struct known_t:
    uint64_t key    # chosen before the others, fewest errors, canonical strand, first diagonal
    uint64_t place  # strand, diagonal on which it ends
    int64_t row


cdef inline known_t known_of(uint32_t read_strand, coordinate_t first, uint16_t end, uint16_t edits, uint8_t flip,
                             int64_t row, bint is_chosen) noexcept nogil:
    """A band of a read, as `keep_known` orders it."""
    return known_t(<uint64_t>(not is_chosen) << 63 | <uint64_t>edits << (COORDINATE_BITS + 1)
                   | place_key((read_strand & 1) ^ flip, first), place_key(read_strand & 1, first + end), row)


cdef struct rival_t:
    # The next best place for the part of a read that a line aligns; no `count` where there is none.
    int32_t total
    int32_t score
    int64_t count       # places with that total that are not within 10 diagonals of one another


cdef struct stretch_of_read_t:
    # Bases begin .. end - 1 of a read as sequenced.
    int64_t begin, end


cdef inline bint overlap(stretch_of_read_t one, int64_t begin, int64_t end) noexcept nogil:
    """Whether two stretches have at least half of the shorter one in common."""
    return 2 * (min(one.end, end) - max(one.begin, begin)) >= min(one.end - one.begin, end - begin)


cdef Py_ssize_t keep_known(known_t *places, Py_ssize_t kept, known_t place) noexcept nogil
cdef stretch_of_read_t aligned_for_certain(const local_place_t *place, int64_t m, int32_t match) noexcept nogil
cdef Py_ssize_t best_rows(const local_place_t *places, Py_ssize_t k, const uint8_t *chosen, const uint8_t *flip,
                          const uint64_t *digest, room_t *room, int64_t *rows) except -1 nogil
cdef Py_ssize_t rivals_of(const local_line_t *line, const local_place_t *places, Py_ssize_t n, int64_t m,
                          int32_t match, room_t *room, rival_t *rival) except -1 nogil
