# Of ext/search/tandem.pyx, for ext/search/mapq.pyx, which rates places.
from libc.stdint cimport int64_t, uint16_t

from gassst._core.planes cimport planes_t


cdef uint16_t rivals_beside(planes_t bases, int64_t place, planes_t reads, int64_t first, int64_t m, int64_t length,
                            int limit, uint16_t *errors) noexcept nogil
