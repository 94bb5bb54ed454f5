# Bit planes, from gassst/gpu/kernels/planes.h; nothing here is to be imported at run time.
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef extern from "planes.h" nogil:
    ctypedef struct planes_t:
        const uint64_t *words
        int64_t rows
    ctypedef struct bases64_t:
        uint64_t low, high, masked
    bases64_t bases_at(planes_t planes, int64_t coordinate)
    uint64_t ambiguous_bases(bases64_t a)
    uint64_t unknown_bases(bases64_t a, bases64_t b)
    uint64_t differences(bases64_t a, bases64_t b)
    int C_TO_T, G_TO_A
    int conversion_of_strand(int conversion, int strand)
    uint64_t converted_high(uint64_t low, uint64_t high, int conversion)
    uint64_t first_bases(int64_t n)
    int64_t clamped(int64_t row, int64_t rows)
    uint64_t funnel_shift(uint64_t first, uint64_t second, int shift)
    int count_bits(uint64_t x)
    int count_differences(planes_t a, int64_t a_first, planes_t b, int64_t b_first, int64_t n, int limit)
    bint any_masked(planes_t planes, int64_t first, int64_t last)
    int64_t first_base(uint32_t plane_start, uint32_t read_strand, int64_t m)
    int MASKED_BASE
    int base_at(planes_t planes, int64_t coordinate)
    int AHEAD
    void prefetch_bases(planes_t planes, int64_t first, int64_t end)
    void prefetch_read(planes_t planes, int64_t first)


cdef inline planes_t planes_of(const uint64_t[:, ::1] rows) noexcept:
    """The view of an array of planes, uint64[rows, 3]; it must outlive the view."""
    cdef planes_t planes
    planes.words, planes.rows = NULL, rows.shape[0]
    if rows.shape[0]:
        planes.words = &rows[0, 0]
    return planes
