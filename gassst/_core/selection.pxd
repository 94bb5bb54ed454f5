# Of ext/search/selection.pyx, for ext/search/one_read.pyx, which chooses among the places of one read.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.coordinates cimport coordinate_t
from gassst._core.layouts cimport read_summary_t
from gassst._core.rooms cimport room_t


cdef struct place_t:
    # A scored band within the limits, as in search.arrays.Bands.
    coordinate_t first
    uint32_t read_strand
    uint16_t end, edits, reach
    uint8_t words


cdef struct sought_t:
    # A read, and how its places are chosen.
    int64_t length
    bint flip
    uint64_t digest
    int margin          # strata beyond the best that count
    uint32_t max_hits   # most rows


cdef int select_places(const place_t *places, Py_ssize_t n, const sought_t *read, room_t *room, read_summary_t *summary,
                       int64_t *rows) except -1 nogil
cdef Py_ssize_t put_first(const int64_t[::1] rows, int64_t start, int64_t stop, int64_t primary,
                          const uint16_t[::1] edits, uint16_t limit, uint32_t most, int64_t *kept) noexcept nogil
