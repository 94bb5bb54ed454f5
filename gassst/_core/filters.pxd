# Of ext/search/filters.pyx, for ext/search/stages.pyx, which filters the candidates of a block of reads, and for ext/thesis.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.coordinates cimport coordinate_t
from gassst._core.planes cimport planes_t

cdef extern from "bound_kernels.h" nogil:
    ctypedef struct bound_kernels:
        const char *name
        int (*usable)() noexcept nogil

cdef extern from "filter_job.h" nogil:
    ctypedef struct columns_t:
        uint32_t *read_strand
        coordinate_t *diagonal
        uint16_t *offset
        uint16_t *length
    ctypedef struct job_t:
        columns_t candidates, kept
        uint32_t *rejected_read_strand
        coordinate_t *rejected_diagonal
        int64_t n
        planes_t reads, reference
        const uint32_t *plane_start
        const uint32_t *read_lengths
        const uint16_t *limits
        int64_t n_reads
        int gaps
        const uint8_t *scores
        const bound_kernels *kernels


# How many candidates pass, -1 where there is no memory, -2 - i where candidate i lies outside the reads or the reference.
ctypedef int64_t (*keep_t)(const job_t *job) noexcept nogil


cdef struct filter_t:
    # One filter of a run.
    keep_t keep
    const uint8_t *scores   # PST_4 or PST_5, whichever it needs
    int gaps
    bint tells_rejected     # fills `rejected_*`


cdef class Filter:
    cdef filter_t of


cdef int use_kernels(job_t *job, str instruction_set) except -1
cdef int64_t pass_filter(const filter_t *one, job_t *job) noexcept nogil
