"""Profile hidden Markov models: `profile.h`. Arrays are those of `gassst.hmm.profile`, which checks them; `run` and `align`
release the GIL."""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc

include "../lanes/tables.pxi"

cdef extern from "profile.h" nogil:
    enum:
        PROFILE_LETTERS
        PROFILE_STEPS
        PROFILE_UNITS
        PROFILE_STRIPE
        PROFILE_PATH
        PROFILE_SUM
        PROFILE_NARROW
        PROFILE_FILTER
        PROFILE_KINDS
    ctypedef struct profile_job:
        int64_t nodes, exits
        const float *steps
        const float *emission
        const int16_t *small
        const int32_t *whole
        const int8_t *bytes
        const uint8_t *codes
        const int64_t *offsets
        const int32_t *stop
    ctypedef struct profile_path:
        int64_t begin, end, first, last, count
        double log
        char *operations
    ctypedef struct profile_kernels:
        const char *name
        int (*usable)() noexcept nogil
        int32_t lanes[PROFILE_KINDS]
        void (*score[PROFILE_KINDS])(const profile_job *, int64_t first, int64_t count, void *rows, double *logs) noexcept nogil
        void (*trace)(const profile_job *, int64_t number, void *memory, profile_path *path) noexcept nogil
    const profile_kernels *const *profile_tables

PATH, SUM, NARROW, FILTER = PROFILE_PATH, PROFILE_SUM, PROFILE_NARROW, PROFILE_FILTER
UNITS, STRIPE = PROFILE_UNITS, PROFILE_STRIPE


def instruction_sets():
    """Names of those that this processor has, the fastest first."""
    return lanes_names(<const lanes_head *const *>profile_tables)


cdef class Scorer:
    """A profile and sequences: arrays of `profile_job`, `whole` and `small` in one dimension; `codes` uint8 below 31 and
    `offsets` int64[n + 1]; the node that hits end at or behind. Scores are PATH, SUM, NARROW or FILTER (profile.h)."""

    cdef profile_job job
    cdef const profile_kernels *kernels
    cdef int32_t stopped
    cdef object arrays
    cdef int kind

    def __init__(self, const float[:, ::1] steps, const float[:, ::1] emission, const int16_t[::1] small,
                 const int32_t[::1] whole, const int8_t[:, :, ::1] thirds, const uint8_t[::1] codes, const int64_t[::1] offsets,
                 int64_t exits, int kind, str instruction_set):
        cdef int64_t size = steps.shape[0]
        self.kernels = <const profile_kernels *>lanes_find(<const lanes_head *const *>profile_tables, instruction_set)
        if (steps.shape[1] != PROFILE_STEPS or emission.shape[1] != PROFILE_LETTERS or not codes.shape[0]
                or thirds.shape[0] != PROFILE_LETTERS or thirds.shape[2] != PROFILE_STRIPE
                or thirds.shape[1] != (size + PROFILE_STRIPE - 2) // PROFILE_STRIPE or size != emission.shape[0]
                or small.shape[0] != (PROFILE_STEPS + PROFILE_LETTERS) * size or whole.shape[0] != small.shape[0]
                or not 1 <= exits < size or not 0 <= kind < PROFILE_KINDS
                or offsets[offsets.shape[0] - 1] != codes.shape[0]):
            raise ValueError("sizes of the arrays of a profile")
        self.arrays = steps, emission, small, whole, thirds, codes, offsets
        self.kind = kind
        self.job = profile_job(size - 1, exits, &steps[0, 0], &emission[0, 0], &small[0], &whole[0], &thirds[0, 0, 0],
                               &codes[0], &offsets[0], &self.stopped)

    @property
    def lanes(self):
        """Sequences of a group."""
        return self.kernels.lanes[self.kind]

    def stop(self):
        """Ends all calls of `run` and `align` soon, from any thread; what they return is incomplete."""
        self.stopped = 1

    def run(self, int64_t first, int64_t last, double[::1] logs):
        """Natural logarithms of the odds of sequences first .. last - 1."""
        cdef int64_t i = first, lanes = self.lanes
        cdef int kind = self.kind
        cdef void *space = malloc(3 * (self.job.nodes + 1) * 64 + 64)
        cdef void *rows = <void *>((<size_t>space + 63) & ~<size_t>63)
        if space == NULL:
            raise MemoryError("no memory for the rows of a profile")
        with nogil:
            while i < last and not self.stopped:
                self.kernels.score[kind](&self.job, i, min(last - i, lanes), rows, &logs[i])
                i += lanes
            free(space)

    def align(self, int64_t number):
        """The most probable stretch of one sequence: the natural logarithm of its odds, begin, end, first and last node, and
        its operations from the last to the first, as bytes."""
        cdef int64_t n = self.job.offsets[number + 1] - self.job.offsets[number], size = self.job.nodes + 1
        cdef profile_path path
        cdef char *space = <char *>malloc(6 * 4 * size + n * size + n + size)
        if space == NULL:
            raise MemoryError("no memory for the alignment with a profile")
        path.operations = space + 6 * 4 * size + n * size
        try:
            with nogil:
                self.kernels.trace(&self.job, number, space, &path)
            return path.log, path.begin, path.end, path.first, path.last, path.operations[:path.count]
        finally:
            free(space)
