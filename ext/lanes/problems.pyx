"""Kernels of the rooms of dynamic programmes, by their names (`problems.h`). `Job.run` releases the GIL."""
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset, strcmp

from numpy import empty

include "tables.pxi"

cdef extern from "problems.h" nogil:
    ctypedef struct problem_kernel:
        const char *name
        const char *types
        int32_t lanes
        size_t (*memory)(const void *job, int64_t first, int64_t last) noexcept nogil
        void (*run)(const void *job, int64_t first, int64_t count, void *memory) noexcept nogil
    ctypedef struct problem_kernels:
        const char *name
        int (*usable)() noexcept nogil
        const problem_kernel *kernels

cdef extern from *:
    """
    static const problem_kernels *const *const rooms[] = {fold_tables, chain_tables, profile_tables, semiring_tables, NULL};
    """
    const problem_kernels *const *const *rooms

SETS = lanes_names(<const lanes_head *const *>rooms[0])
"""Names of the instruction sets that this processor has, the fastest first, which jobs take."""


cdef class Job:
    """Problems that the kernel `name` computes, given all members of its struct but the first: whole numbers, floats,
    contiguous arrays, or None. Whoever gives them sees to the sizes of arrays, and aligns what vectors are loaded from.
    `stop` is a job that ends this one, too.

    Raises ValueError for a name that there is not, and members of other types.
    """

    cdef int64_t members[32]
    cdef const problem_kernel *kernel
    cdef int32_t stopped
    cdef object given

    def __init__(self, str name, *given, Job stop=None):
        cdef Py_buffer array
        cdef int i = 0
        cdef bytes wanted = name.encode()
        self.kernel = NULL
        while rooms[i] != NULL and (self.kernel == NULL or self.kernel.name == NULL):
            self.kernel = (<const problem_kernels *>lanes_find(<const lanes_head *const *>rooms[i], SETS[0])).kernels
            while self.kernel.name != NULL and strcmp(self.kernel.name, wanted):
                self.kernel += 1
            i += 1
        types = self.kernel.types.decode().split() if self.kernel.name != NULL else ()
        if len(types) != len(given) or len(given) > 31:
            raise ValueError(f"no kernel {name} of {len(given)} members")
        self.given = given, stop
        self.members[0] = <int64_t>&(self if stop is None else stop).stopped
        for i, (kind, one) in enumerate(zip(types, given), 1):
            if kind == "n":
                self.members[i] = one
            elif kind == "x":
                (<double *>self.members)[i] = one
            elif one is None:
                self.members[i] = 0
            elif one.dtype.str[1:] != kind:
                raise ValueError(f"{name}: member {i} is no array of {kind}")
            else:
                PyObject_GetBuffer(one, &array, PyBUF_C_CONTIGUOUS)
                self.members[i] = <int64_t>array.buf
                PyBuffer_Release(&array)  # `given` has it

    @property
    def lanes(self):
        """Problems side by side."""
        return self.kernel.lanes

    def memory(self, int64_t first, int64_t last):
        """Bytes that a call of `run` takes."""
        return self.kernel.memory(self.members, first, last)

    def stop(self):
        """Ends all calls of `run` soon, from any thread; what they write is incomplete."""
        self.stopped = 1

    def run(self, int64_t first, int64_t last):
        """Compute problems first .. last - 1. Raises MemoryError."""
        cdef int64_t i = first, lanes = self.kernel.lanes
        cdef const int32_t *stop = <const int32_t *>self.members[0]
        cdef uint8_t[::1] space = empty(self.memory(first, last) + 128, "u1")  # of large pages, where it is large
        cdef uint8_t *memory = &space[0] + (-<size_t>&space[0] & 63)
        with nogil:
            memset(memory, 0, 64)
            while i < last and not stop[0]:
                self.kernel.run(self.members, i, min(last - i, lanes), memory)
                i += lanes
