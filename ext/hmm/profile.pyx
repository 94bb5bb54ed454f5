"""Profile hidden Markov models: `profile.h`. Arrays are those of `gassst.hmm.profile`, which checks them; `run` and `align`
release the GIL."""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc

include "../lanes/tables.pxi"

cdef extern from "profile.h" nogil:
    enum:
        PROFILE_LETTERS
        PROFILE_STEPS
        PROFILE_UNITS
        PROFILE_WRONG
        PROFILE_LOSS
        PROFILE_ENTRY
        PROFILE_ODDS
        PROFILE_PATH
        PROFILE_SUM
        PROFILE_NARROW
        PROFILE_COMPOSITION
        PROFILE_FILTER
        PROFILE_KINDS
    ctypedef struct profile_job:
        int64_t nodes, exits
        const float *steps
        const float *emission
        const int16_t *small
        const int32_t *whole
        const float *enough
        const uint8_t *text
        const uint8_t *code
        const int64_t *begins
        const int64_t *lengths
        const int32_t *stop
    ctypedef struct profile_path:
        int64_t begin, end, first, last, count
        double log
        char *operations
    ctypedef struct profile_kernels:
        const char *name
        int (*usable)() noexcept nogil
        int32_t lanes[PROFILE_KINDS]
        int (*score[PROFILE_KINDS])(const profile_job *, int64_t first, int64_t count, void *rows, double *logs) noexcept nogil
        void (*trace)(const profile_job *, int64_t number, void *memory, profile_path *path) noexcept nogil
    const profile_kernels *const *profile_tables
    size_t profile_memory(int64_t nodes)

PATH, SUM, NARROW, COMPOSITION, FILTER = range(PROFILE_KINDS)
UNITS, WRONG = PROFILE_UNITS, PROFILE_WRONG
LEAST_STEPS, LEAST_ODDS = [PROFILE_LOSS] * 3 + [PROFILE_ENTRY] + [PROFILE_LOSS] * 4, PROFILE_ODDS


def instruction_sets():
    """Names of those that this processor has, the fastest first."""
    return lanes_names(<const lanes_head *const *>profile_tables)


cdef class Scorer:
    """A profile and sequences: arrays of `profile_job`, `whole` and `small` in one dimension, `code` uint8[256], `begins` and
    `lengths` int64[n]; the node that hits end at or behind. Scores are PATH, SUM, NARROW, COMPOSITION or FILTER
    (profile.h)."""

    cdef profile_job job
    cdef const profile_kernels *kernels
    cdef int32_t stopped
    cdef object arrays
    cdef int kind
    cdef readonly int seen
    """The bits of all codes so far."""

    def __init__(self, const float[:, ::1] steps, const float[:, ::1] emission, const int16_t[::1] small,
                 const int32_t[::1] whole, const float[::1] enough, const uint8_t[::1] text, const uint8_t[::1] code,
                 const int64_t[::1] begins, const int64_t[::1] lengths, int64_t exits, int kind, str instruction_set):
        cdef int64_t size = steps.shape[0], k, n = begins.shape[0]
        self.kernels = <const profile_kernels *>lanes_find(<const lanes_head *const *>profile_tables, instruction_set)
        if (steps.shape[1] != PROFILE_STEPS or emission.shape[1] != PROFILE_LETTERS or not text.shape[0] or not n
                or code.shape[0] != 256 or size != emission.shape[0] or lengths.shape[0] != n or enough.shape[0] != n
                or small.shape[0] != (2 * PROFILE_STEPS + PROFILE_LETTERS) * size
                or whole.shape[0] != (PROFILE_STEPS + PROFILE_LETTERS) * size
                or not 1 <= exits < size or not 0 <= kind < PROFILE_KINDS):
            raise ValueError("sizes of the arrays of a profile")
        for k in range(n):
            if not 0 <= lengths[k] <= text.shape[0] - begins[k] or begins[k] < 0:
                raise ValueError("a sequence outside of the text")
        self.arrays = steps, emission, small, whole, enough, text, code, begins, lengths
        self.kind = kind
        self.job = profile_job(size - 1, exits, &steps[0, 0], &emission[0, 0], &small[0], &whole[0], &enough[0], &text[0],
                               &code[0], &begins[0], &lengths[0], &self.stopped)

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
        cdef int kind = self.kind, seen = 0
        cdef void *space = calloc(profile_memory(self.job.nodes) + 64, 1)
        cdef void *rows = <void *>((<size_t>space + 63) & ~<size_t>63)
        if space == NULL:
            raise MemoryError("no memory for the rows of a profile")
        with nogil:
            while i < last and not self.stopped:
                seen |= self.kernels.score[kind](&self.job, i, min(last - i, lanes), rows, &logs[i])
                i += lanes
            free(space)
        self.seen |= seen

    def align(self, int64_t number):
        """The most probable stretch of one sequence: the natural logarithm of its odds, begin, end, first and last node, and
        its operations from the last to the first, as bytes."""
        cdef int64_t n = self.job.lengths[number], size = self.job.nodes + 1
        cdef profile_path path
        cdef int64_t i, begin = self.job.begins[number]
        cdef char *space = <char *>malloc(6 * 4 * size + n * size + n + size)
        if space == NULL:
            raise MemoryError("no memory for the alignment with a profile")
        path.operations = space + 6 * 4 * size + n * size
        for i in range(begin, begin + n):
            self.seen |= self.job.code[self.job.text[i]]
        try:
            with nogil:
                self.kernels.trace(&self.job, number, space, &path)
            return path.log, path.begin, path.end, path.first, path.last, path.operations[:path.count]
        finally:
            free(space)
