"""Profile hidden Markov models: `profile.h`. Arrays are those of `gassst.hmm.profile`, which checks them; `run` releases the
GIL."""
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
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
        const int8_t *bytes
        int is_small
        const uint8_t *codes
        const int64_t *offsets
        const int32_t *stop
    ctypedef struct profile_kernels:
        const char *name
        int (*usable)() noexcept nogil
        int32_t lanes
        void (*score[2])(const profile_job *, int64_t first, int64_t count, void *rows, double *logs) noexcept nogil
        int32_t filter_lanes
        void (*filter)(const profile_job *, int64_t first, int64_t count, void *rows, double *logs) noexcept nogil
    const profile_kernels *const *profile_tables


cdef enum:
    _FILTER = 2

PATH, SUM, FILTER = 0, 1, _FILTER


def instruction_sets():
    """Names of those that this processor has, the fastest first."""
    return lanes_names(<const lanes_head *const *>profile_tables)


cdef class Scorer:
    """A profile and sequences: `steps` float32[nodes + 1, 8], `emission` float32[nodes + 1, 32], `thirds` int8[nodes + 1, 32],
    `codes` uint8 below 31 and `offsets` int64[n + 1]. Scores are SUM, PATH or FILTER (profile.h)."""

    cdef profile_job job
    cdef const profile_kernels *kernels
    cdef int32_t stopped
    cdef object arrays
    cdef int kind

    def __init__(self, const float[:, ::1] steps, const float[:, ::1] emission, const int8_t[:, ::1] thirds,
                 const uint8_t[::1] codes, const int64_t[::1] offsets, int kind, bint is_small, str instruction_set):
        self.kernels = <const profile_kernels *>lanes_find(<const lanes_head *const *>profile_tables, instruction_set)
        if (steps.shape[1] != PROFILE_STEPS or emission.shape[1] != PROFILE_LETTERS or not codes.shape[0]
                or thirds.shape[1] != PROFILE_LETTERS
                or steps.shape[0] != emission.shape[0] or steps.shape[0] != thirds.shape[0] or offsets[offsets.shape[0] - 1] != codes.shape[0]):
            raise ValueError("sizes of the arrays of a profile")
        self.arrays = steps, emission, thirds, codes, offsets
        self.kind = kind
        self.job = profile_job(steps.shape[0] - 1, &steps[0, 0], &emission[0, 0], &thirds[0, 0], is_small, &codes[0], &offsets[0],
                               &self.stopped)

    @property
    def lanes(self):
        """Sequences of a group."""
        return self.kernels.filter_lanes if self.kind == FILTER else self.kernels.lanes

    def stop(self):
        """Ends all calls of `run` soon, from any thread; what they return is incomplete."""
        self.stopped = 1

    def run(self, int64_t first, int64_t last, double[::1] logs):
        """Natural logarithms of the odds of sequences first .. last - 1."""
        cdef int64_t i = first, lanes = self.lanes, count
        cdef int kind = self.kind
        cdef void *space = malloc(3 * (self.job.nodes + 1) * 64 + 64)
        cdef void *rows = <void *>((<size_t>space + 63) & ~<size_t>63)
        if space == NULL:
            raise MemoryError("no memory for the rows of a profile")
        with nogil:
            while i < last and not self.stopped:
                count = min(last - i, lanes)
                if kind == _FILTER:
                    self.kernels.filter(&self.job, i, count, rows, &logs[i])
                else:
                    self.kernels.score[kind](&self.job, i, count, rows, &logs[i])
                i += lanes
            free(space)
