# Of ext/align/banded.pyx, for those that call the kernels without arrays around them.
from libc.stdint cimport int16_t, uint16_t, uint32_t, uint64_t

from gassst._core.coordinates cimport coordinate_t
from gassst._core.planes cimport planes_t
from gassst._core.seeds cimport reads_t

cdef extern from "cpu_kernels.h" nogil:
    ctypedef struct band_batch:
        const uint64_t *reference
        uint64_t reference_rows
        const uint64_t *reads
        const uint32_t *read_row
        const uint32_t *read_length
        const uint32_t *read_strand
        const coordinate_t *band_start
        uint32_t n

    ctypedef struct band_paths:
        const uint16_t *end
        const uint16_t *edits
        const uint32_t *slot_end
        uint16_t *start
        uint16_t *n_runs
        uint32_t *runs

    ctypedef struct local_scoring:
        int16_t match, mismatch, open_deletion, extend_deletion, open_insertion, extend_insertion, bonus

    ctypedef struct local_ends:
        uint16_t *key
        uint16_t *rows
        uint16_t *end

    ctypedef struct local_paths:
        const uint32_t *slot_end
        coordinate_t *position
        uint16_t *edits
        uint16_t *n_runs
        uint32_t *runs

    ctypedef struct cpu_kernels:
        const char *name
        int (*usable)() noexcept nogil
        void (*score[4])(const band_batch *, const uint16_t *limits, uint16_t *best, uint16_t *end) noexcept nogil
        void (*profile[4])(const band_batch *, uint64_t *errors) noexcept nogil
        int (*align[4])(const band_batch *, const band_paths *, uint32_t rows) noexcept nogil
        void (*local_score)(const band_batch *, const local_scoring *, uint32_t width,
                            const local_ends *) noexcept nogil
        int (*local_align)(const band_batch *, const local_scoring *, uint32_t width, const local_ends *,
                           const local_paths *, uint32_t rows) noexcept nogil


cdef inline band_batch bands_at(const planes_t *reference, const reads_t *reads, const uint32_t *read_strand,
                                const coordinate_t *first, uint32_t n) noexcept nogil:
    """`n` bands of open reads, as kernels take them."""
    cdef band_batch batch
    batch.reference, batch.reference_rows = reference.words, reference.rows
    batch.reads, batch.read_row, batch.read_length = reads.planes.words, reads.plane_start, reads.lengths
    batch.read_strand, batch.band_start, batch.n = read_strand, first, n
    return batch


cdef const cpu_kernels *kernels_of(str instruction_set) except NULL


cdef class Band:
    cdef band_batch batch
    cdef const cpu_kernels *kernels
    cdef object arrays

    cdef band_batch pairs(self, const uint32_t[::1] read_strand, const coordinate_t[::1] band_start) noexcept
