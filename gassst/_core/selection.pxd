# Of ext/search/selection.pyx, for ext/search/one_read.pyx, which chooses among the places of one read.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.coordinates cimport coordinate_t
from gassst._core.layouts cimport read_summary_t


cdef struct place_t:
    # A scored band within the limits, as in search.arrays.Bands.
    coordinate_t first
    uint32_t read_strand
    uint16_t end, edits, reach
    uint8_t words


cdef struct choice_t:
    # How the places of a read are chosen.
    int margin          # strata beyond the best that count
    uint32_t max_hits   # most rows of a read


cdef struct read_bands_t:
    # The bands of one read.
    const uint32_t *read_strand
    const coordinate_t *end_position
    const uint16_t *edits
    int64_t first       # row of the first one
    Py_ssize_t size
    bint flip
    uint64_t digest


cdef struct scratch_t:
    # Room for the places of the read with the most bands.
    uint64_t *keys      # sorted: canonical strand, end, row
    uint64_t *sorting
    uint8_t *stratum    # of each place, or UINT8_MAX: at the place of a better row, or reported


cdef void select_places(const read_bands_t *bands, const choice_t *choice, const scratch_t *scratch,
                        read_summary_t *summary, int64_t *rows) noexcept nogil
