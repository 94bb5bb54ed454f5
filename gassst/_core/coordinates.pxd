# Coordinates and keys of places, from ext/common/coordinates.h; declarations only, so that there is nothing to import at run time.
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef extern from "coordinates.h" nogil:
    ctypedef int64_t coordinate_t
    enum:
        COORDINATE_BITS
        KEY_ROW_BITS
        KEY_ROW_MASK
    uint64_t place_key(uint32_t read_strand, coordinate_t place)
    uint32_t strand_of_key(uint64_t key)
    coordinate_t place_of_key(uint64_t key)
