# Of ext/pairing/read_through.pyx, for ext/search/one_read.pyx, which leaves reads with an adapter to the batches.
from libc.stdint cimport int64_t, uint8_t, uint16_t

from gassst._core.planes cimport planes_t

cdef struct adapters_t:
    const uint8_t *codes    # `length` of each
    Py_ssize_t number, length
    int first_part, shortest, bases_an_error


cdef adapters_t adapters_of(const uint8_t[:, ::1] codes, int first_part, int shortest, int bases_an_error) noexcept
cdef uint16_t adapter_start(planes_t reads, int64_t base, int64_t m, const adapters_t *known,
                            int64_t earliest) noexcept nogil
