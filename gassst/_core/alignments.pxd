# Of ext/search/alignments.pyx, for ext/search/one_read.pyx, which aligns one read.
from libc.stdint cimport int64_t, uint32_t

from gassst._core.coordinates cimport coordinate_t
from gassst._core.planes cimport planes_t


cdef struct contigs_t:
    const int64_t *starts
    const int64_t *lengths
    size_t n


cdef coordinate_t ungapped_diagonal(planes_t reference, coordinate_t diagonal, planes_t reads, int64_t first, int64_t m,
                                    int edits, uint32_t reach) noexcept nogil
cdef Py_ssize_t fit_contig(const uint32_t *cigar, Py_ssize_t *n, int64_t *position, int64_t m, const contigs_t *contigs,
                           uint32_t *out) noexcept nogil
cdef Py_ssize_t fewest_gaps(const uint32_t *cigar, Py_ssize_t n, uint32_t *runs, int64_t *first, planes_t reference,
                            planes_t reads, int64_t base, int64_t m) noexcept nogil
