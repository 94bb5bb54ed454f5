# Of ext/align/local_places.pyx, for ext/align/local_aligner.pyx, which aligns the best place of each read.
from libc.stdint cimport int64_t, uint8_t, uint64_t

from gassst._core.layouts cimport local_place_t
from gassst._core.rooms cimport room_t


cdef Py_ssize_t best_rows(const local_place_t *places, Py_ssize_t k, const uint8_t *chosen, const uint8_t *flip,
                          const uint64_t *digest, room_t *room, int64_t *rows) except -1 nogil
