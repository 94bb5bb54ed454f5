"""Profile hidden Markov models: `profile.h`. Arrays are those of `gassst.hmm.profile`, which checks them; `run` releases the
GIL."""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc

include "../lanes/tables.pxi"

cdef extern from "profile.h" nogil:
    enum:
        PROFILE_LETTERS
        PROFILE_STEPS
    ctypedef struct profile_job:
        int64_t nodes
        const float *steps
        const float *emission
        const uint8_t *codes
        const int64_t *offsets
        const int32_t *stop
    ctypedef struct profile_kernels:
        const char *name
        int (*usable)() noexcept nogil
        int32_t lanes
        void (*score[2])(const profile_job *, int64_t first, int64_t count, void *rows, double *logs) noexcept nogil
    const profile_kernels *const *profile_tables


def instruction_sets():
    """Names of those that this processor has, the fastest first."""
    return lanes_names(<const lanes_head *const *>profile_tables)


cdef class Scorer:
    """A profile and sequences: `steps` float32[nodes + 1, 8], `emission` float32[nodes + 1, 32], `codes` uint8 below 31 and
    `offsets` int64[n + 1]."""

    cdef profile_job job
    cdef const profile_kernels *kernels
    cdef int32_t stopped
    cdef object arrays

    def __init__(self, const float[:, ::1] steps, const float[:, ::1] emission, const uint8_t[::1] codes,
                 const int64_t[::1] offsets, str instruction_set):
        self.kernels = <const profile_kernels *>lanes_find(<const lanes_head *const *>profile_tables, instruction_set)
        if (steps.shape[1] != PROFILE_STEPS or emission.shape[1] != PROFILE_LETTERS or not codes.shape[0]
                or steps.shape[0] != emission.shape[0] or offsets[offsets.shape[0] - 1] != codes.shape[0]):
            raise ValueError("sizes of the arrays of a profile")
        self.arrays = steps, emission, codes, offsets
        self.job = profile_job(steps.shape[0] - 1, &steps[0, 0], &emission[0, 0], &codes[0], &offsets[0], &self.stopped)

    @property
    def lanes(self):
        """Sequences of a group."""
        return self.kernels.lanes

    def stop(self):
        """Ends all calls of `run` soon, from any thread; what they return is incomplete."""
        self.stopped = 1

    def run(self, int64_t first, int64_t last, bint is_sum, double[::1] logs):
        """Natural logarithms of the odds of sequences first .. last - 1: the sum, or the most probable path."""
        cdef int64_t i = first
        cdef void *rows = malloc(3 * (self.job.nodes + 1) * 64 + 64)
        if rows == NULL:
            raise MemoryError("no memory for the rows of a profile")
        with nogil:
            while i < last and not self.stopped:
                self.kernels.score[is_sum](&self.job, i, min(last - i, <int64_t>self.kernels.lanes),
                                           <void *>((<size_t>rows + 63) & ~<size_t>63), &logs[i])
                i += self.kernels.lanes
            free(rows)
