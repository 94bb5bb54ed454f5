"""Hidden Markov models of one chain: `chain.h`. Arrays are those of `gassst.hmm`, which checks them, fills them up to
multiples of STATES, and aligns them to 64 bytes; all functions release the GIL."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

include "../lanes/tables.pxi"

cdef extern from "chain.h" nogil:
    enum:
        CHAIN_STATES
    ctypedef struct chain_model:
        int64_t states
        const void *start
        const void *end
        const void *transition
        const void *turned
        const void *emission
    ctypedef struct chain_kernels:
        const char *name
        int (*usable)() noexcept nogil
        int (*path[2])(const chain_model *, const uint16_t *, int64_t n, int64_t stretch, void *marks, void *rows,
                       int32_t *path, const int32_t *stop) noexcept nogil
        double (*forward)(const chain_model *, const uint16_t *, int64_t n, int is_kept, double *rows, double *scales,
                          const int32_t *stop) noexcept nogil
        void (*backward)(const chain_model *, const uint16_t *, int64_t n, const double *scales, double *rows,
                         double *memory, const int32_t *stop) noexcept nogil
    const chain_kernels *const *chain_tables

STATES = CHAIN_STATES


def instruction_sets():
    """Names of those that this processor has, the fastest first."""
    return lanes_names(<const lanes_head *const *>chain_tables)


cdef class Chain:
    """A model of so many states, as probabilities, or for `path` as their logarithms, which may be of single precision.

    All arrays are bytes: `start`, `end` of numbers [states]; `transition`, and `turned`, its transpose, [states][states];
    `emission` [symbols][states].
    """

    cdef chain_model model
    cdef const chain_kernels *kernels
    cdef int32_t stopped
    cdef int64_t size
    cdef object arrays

    def __init__(self, int64_t states, bint is_double, const uint8_t[::1] start, const uint8_t[::1] end,
                 const uint8_t[::1] transition, const uint8_t[::1] turned, const uint8_t[::1] emission,
                 str instruction_set):
        cdef int64_t row = states * (8 if is_double else 4)
        self.kernels = <const chain_kernels *>lanes_find(<const lanes_head *const *>chain_tables, instruction_set)
        if (states % CHAIN_STATES or not states or start.shape[0] != row or end.shape[0] != row
                or transition.shape[0] != row * states or turned.shape[0] != row * states or emission.shape[0] % row):
            raise ValueError("sizes of the arrays of a model")
        self.arrays = start, end, transition, turned, emission
        self.size = 8 if is_double else 4
        self.model = chain_model(states, &start[0], &end[0], &transition[0], &turned[0], &emission[0])

    def stop(self):
        """Ends all other calls soon, from any thread; what they return is incomplete."""
        self.stopped = 1

    def path(self, const uint16_t[::1] symbols, int64_t stretch, uint8_t[::1] marks, uint8_t[::1] rows, int32_t[::1] path):
        """The best path; False where none has any probability. `marks` [n // stretch + 2] and `rows` [stretch + 1] have
        room for rows of numbers, as bytes."""
        cdef int64_t n = symbols.shape[0], row = self.size * self.model.states
        cdef int found
        if path.shape[0] != n or marks.shape[0] < row * (n // stretch + 2) or rows.shape[0] < row * (stretch + 1):
            raise ValueError("no room for the path")
        with nogil:
            found = self.kernels.path[self.size == 8](&self.model, &symbols[0], n, stretch, &marks[0], &rows[0], &path[0],
                                                      &self.stopped)
        return bool(found)

    def forward(self, const uint16_t[::1] symbols, bint is_kept, double[:, ::1] rows, double[::1] scales):
        """The natural logarithm of the probability. `rows` [n] and `scales` [n + states], or 3 and 1."""
        cdef int64_t n = symbols.shape[0], states = self.model.states
        cdef double found
        if self.size != 8 or rows.shape[1] != states or rows.shape[0] < (n if is_kept else 3) or (
                scales.shape[0] < (n + states if is_kept else 1)):
            raise ValueError("no room for the rows")
        with nogil:
            found = self.kernels.forward(&self.model, &symbols[0], n, is_kept, &rows[0, 0], &scales[0], &self.stopped)
        return found

    def backward(self, const uint16_t[::1] symbols, const double[::1] scales, double[:, ::1] rows, double[::1] memory):
        """The rows of the other direction; `memory` has [states]."""
        cdef int64_t n = symbols.shape[0], states = self.model.states
        if self.size != 8 or rows.shape[0] != n or rows.shape[1] != states or scales.shape[0] < n or (
                memory.shape[0] < states):
            raise ValueError("no room for the rows")
        with nogil:
            self.kernels.backward(&self.model, &symbols[0], n, &scales[0], &rows[0, 0], &memory[0], &self.stopped)
