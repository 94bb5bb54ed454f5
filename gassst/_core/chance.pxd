# Of ext/search/chance.pyx, for ext/search/one_read.pyx, which rates one read.
from libc.stdint cimport int64_t

from gassst._core.planes cimport planes_t


cdef double word_letters(planes_t reads, int64_t first, int64_t m, double most) noexcept nogil
