# The contig of a coordinate, from ext/common/contigs.h; `gassst.model.reference.contig_before` is the same for NumPy arrays.
from libc.stdint cimport int64_t

cdef extern from "contigs.h" nogil:
    Py_ssize_t contigs_before(const int64_t *starts, size_t n, int64_t coordinate)
    Py_ssize_t contig_near(const int64_t *starts, const int64_t *lengths, size_t n, int64_t coordinate)


cdef struct contigs_t:
    const int64_t *starts
    const int64_t *lengths
    size_t n
