"""Matrices over (min, +): `semiring.h`. Arrays are those of `gassst.semiring`, which fills them up to whole blocks and
aligns them; all functions release the GIL."""
from libc.stdint cimport int64_t

include "../lanes/tables.pxi"

ctypedef fused real:
    float
    double

cdef extern from "semiring.h" nogil:
    enum:
        SEMIRING_BLOCK
    ctypedef struct semiring_kernels:
        const char *name
        int (*usable)() noexcept nogil
        void (*product[2])(const void *, const void *, void *, int64_t first, int64_t last, int64_t l, int64_t n) noexcept nogil
        void (*pivot[2])(void *, int64_t n, int64_t k) noexcept nogil
        void (*others[2])(void *, int64_t n, int64_t k, int64_t i) noexcept nogil
    const semiring_kernels *const *semiring_tables

BLOCK = SEMIRING_BLOCK


def instruction_sets():
    """Names of those that this processor has, the fastest first."""
    return lanes_names(<const lanes_head *const *>semiring_tables)


cdef const semiring_kernels *kernels_of(str instruction_set) except NULL:
    return <const semiring_kernels *>lanes_find(<const lanes_head *const *>semiring_tables, instruction_set)


def product(const real[:, ::1] a, const real[:, ::1] b, real[:, ::1] c, int64_t first, int64_t last, str instruction_set):
    """Rows first .. last - 1 of c, the least of c and of a times b. Sides are multiples of BLOCK."""
    cdef const semiring_kernels *kernels = kernels_of(instruction_set)
    cdef int64_t l = a.shape[1], n = b.shape[1]
    if b.shape[0] != l or c.shape[0] != a.shape[0] or c.shape[1] != n or (l | n | first | last) % SEMIRING_BLOCK:
        raise ValueError("sizes of the matrices")
    with nogil:
        kernels.product[sizeof(real) == 8](&a[0, 0], &b[0, 0], &c[0, 0], first, last, l, n)


def pivot(real[:, ::1] d, int64_t k, str instruction_set):
    """Shortens paths within the rows k .. k + BLOCK - 1 by way of these."""
    cdef const semiring_kernels *kernels = kernels_of(instruction_set)
    if d.shape[0] != d.shape[1] or (d.shape[0] | k) % SEMIRING_BLOCK:
        raise ValueError("sizes of the matrix")
    with nogil:
        kernels.pivot[sizeof(real) == 8](&d[0, 0], d.shape[0], k)


def others(real[:, ::1] d, int64_t k, int64_t first, int64_t last, str instruction_set):
    """Shortens paths within the rows first .. last - 1, except those of block k, by way of these."""
    cdef const semiring_kernels *kernels = kernels_of(instruction_set)
    cdef int64_t i
    if d.shape[0] != d.shape[1] or (d.shape[0] | k | first | last) % SEMIRING_BLOCK:
        raise ValueError("sizes of the matrix")
    with nogil:
        for i in range(first // SEMIRING_BLOCK, last // SEMIRING_BLOCK):
            if i != k // SEMIRING_BLOCK:
                kernels.others[sizeof(real) == 8](&d[0, 0], d.shape[0], k, i * SEMIRING_BLOCK)
