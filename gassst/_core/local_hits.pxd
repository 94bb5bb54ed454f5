# Of ext/align/local_hits.pyx, for ext/align/local_aligner.pyx, which makes hits of many alignments.
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

from gassst._core.contigs cimport contigs_t
from gassst._core.costs cimport costs_t
from gassst._core.layouts cimport hit_t, local_line_t
from gassst._core.planes cimport planes_t
from gassst._core.rooms cimport room_t


cdef struct ground_t:
    # What the reads of a batch are aligned to, and how. Its arrays belong to the context that it was made of.
    planes_t reference
    planes_t reads
    const uint32_t *plane_start
    const uint32_t *lengths
    contigs_t contigs
    costs_t costs


cdef struct aligned_t:
    # An alignment in a band, before it is cut at the ends of its contig.
    uint32_t read_strand
    int64_t position        # of the first aligned base
    const uint32_t *cigar
    Py_ssize_t runs
    int32_t score
    uint16_t edits          # NO_SCORE: these and the score are to be counted


cdef ground_t ground_of(context) except *
cdef Py_ssize_t hit_of(const ground_t *ground, const aligned_t *aligned, bint best_part, room_t *room, uint32_t *out,
                       hit_t *hit, local_line_t *line) except -1 nogil
cdef void inside(const uint32_t *cigar, Py_ssize_t runs, planes_t reference, planes_t reads, int64_t base, int64_t at,
                 const costs_t *costs, hit_t *hit) noexcept nogil
