# Of ext/search/selection.pyx, for ext/search/read_search.pyx.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.coordinates cimport coordinate_t
from gassst._core.layouts cimport read_summary_t
from gassst._core.rooms cimport room_t


cdef struct place_t:
    # A scored band within the limits: that of one of its read's alignments. layouts.PLACE
    coordinate_t first      # its first diagonal (docs/pipeline.md)
    uint32_t read_strand
    uint16_t end            # offset of the diagonal on which the best alignment ends
    uint16_t edits          # errors of that alignment
    # How many diagonals behind `end` an ungapped alignment with as many errors may end instead: with e of them gaps move
    # an end by no more than e.
    uint16_t reach
    uint8_t words           # the band spans 64 * words diagonals


cdef struct sought_t:
    # A read, and how its places are chosen.
    int64_t length
    bint flip
    uint64_t digest
    int margin          # strata beyond the best that count
    uint32_t max_hits   # most rows of the best stratum


cdef int select_places(const place_t *places, Py_ssize_t n, const sought_t *read, room_t *room, read_summary_t *summary,
                       int64_t *rows) except -1 nogil
cdef int list_places(const place_t *places, Py_ssize_t n, const sought_t *read, bint strata, room_t *room,
                     read_summary_t *summary, int64_t *rows) except -1 nogil
cdef void put_first(int64_t *rows, int64_t at) noexcept nogil
