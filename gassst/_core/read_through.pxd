# Of ext/pairing/read_through.pyx, for ext/search/one_read.pyx, which leaves reads with an adapter to the batches.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

from gassst._core.planes cimport planes_t

cdef struct adapters_t:
    const uint8_t *codes    # `length` of each
    Py_ssize_t number, length
    int first_part, shortest, bases_an_error
    int64_t earliest        # bases of the shortest fragment


cdef adapters_t adapters_of(const uint8_t[:, ::1] codes, int first_part, int shortest, int bases_an_error,
                            int64_t earliest) noexcept
cdef void find_ends(planes_t reads, const uint32_t *plane_start, const uint32_t *lengths, Py_ssize_t n,
                    const adapters_t *known, const uint8_t *mate, uint16_t *ends) noexcept nogil
