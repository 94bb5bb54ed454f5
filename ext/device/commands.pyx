"""Commands for an OpenCL device that are noted one by one, and handed over and waited for together without Python's lock,
any number of times.

It builds without OpenCL: `load` is given the addresses of the functions, as the loader of pyopencl has them.
"""
import numpy as np

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy
from posix.time cimport nanosleep, timespec

FUNCTIONS = (
    "clSetKernelArg", "clEnqueueNDRangeKernel", "clEnqueueWriteBuffer", "clEnqueueReadBuffer", "clEnqueueFillBuffer",
    "clFlush", "clFinish", "clGetEventInfo", "clGetEventProfilingInfo", "clReleaseEvent",
)
"""Names of the functions whose addresses `load` takes."""

cdef enum:
    # From the standard's headers.
    EVENT_STATUS = 0x11D3
    COMPLETE = 0
    PROFILED_START = 0x1282
    PROFILED_END = 0x1283
    # A driver that waits keeps a core busy, which the threads that compute need: so one looks, and sleeps. Nanoseconds.
    POLL = 100000

cdef enum:
    KERNEL
    WRITE
    READ
    FILL

cdef struct functions_t:  # in the order of FUNCTIONS
    int32_t (*set_argument)(void *kernel, uint32_t i, size_t size, const void *value) noexcept nogil
    int32_t (*enqueue_kernel)(void *queue, void *kernel, uint32_t dimensions, const size_t *offset, const size_t *items,
                              const size_t *group, uint32_t n, void **before, void **event) noexcept nogil
    int32_t (*enqueue_write)(void *queue, void *buffer, uint32_t blocking, size_t at, size_t size, const void *host,
                             uint32_t n, void **before, void **event) noexcept nogil
    int32_t (*enqueue_read)(void *queue, void *buffer, uint32_t blocking, size_t at, size_t size, void *host, uint32_t n,
                            void **before, void **event) noexcept nogil
    int32_t (*enqueue_fill)(void *queue, void *buffer, const void *pattern, size_t pattern_size, size_t at, size_t size,
                            uint32_t n, void **before, void **event) noexcept nogil
    int32_t (*flush)(void *queue) noexcept nogil
    int32_t (*finish)(void *queue) noexcept nogil
    int32_t (*event_info)(void *event, uint32_t what, size_t size, void *value, size_t *written) noexcept nogil
    int32_t (*event_profile)(void *event, uint32_t what, size_t size, void *value, size_t *written) noexcept nogil
    int32_t (*release_event)(void *event) noexcept nogil

cdef functions_t opencl

cdef struct argument_t:
    size_t size
    uint64_t value  # a number, or the handle of a buffer
    bint is_local   # memory of a work-group without a value

cdef struct command_t:
    int what
    void *object         # a kernel or a buffer
    void *event
    uint32_t dimensions  # of a kernel
    bint grouped
    size_t items[2]      # all of them, and of a work-group
    size_t group[2]
    Py_ssize_t first, n  # arguments of a kernel
    char *array          # of a transfer: where it comes from or goes to, by way of memory that is pinned
    char *pinned
    size_t size
    uint32_t pattern


class CommandError(Exception):
    """A function of OpenCL has failed. Attributes: `function`, its name; `code`, what it returned."""

    def __init__(self, function, code):
        super().__init__(function, code)
        self.function, self.code = function, code


def load(addresses):
    """Take the addresses of FUNCTIONS, integers."""
    cdef Py_ssize_t i
    for i, address in enumerate(addresses):
        (<void **>&opencl)[i] = <void *><uintptr_t>address


cdef char *address_of(array) except? NULL:
    """Where the bytes of a contiguous array are."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    cdef char *address = <char *>view.buf
    PyBuffer_Release(&view)
    return address


cdef class CommandList:
    """Commands of one thread for a queue that keeps their order, whose handle is an integer. `bind` gives transfers their
    arrays before each `run`.

    Attributes
    ----------
    kernels, uploads, downloads : int
        Nanoseconds that the device took for each kind in the last run, where the queue is profiled.
    """
    cdef void *queue
    cdef command_t *commands
    cdef argument_t *arguments
    cdef Py_ssize_t n, room, n_arguments, arguments_room
    cdef list kept          # what the commands use
    cdef dict bound         # arrays, by the number of the command
    cdef const char *failed
    cdef readonly uint64_t kernels, uploads, downloads

    def __cinit__(self, uintptr_t queue):
        self.queue, self.kept, self.bound = <void *>queue, [], {}

    def __dealloc__(self):
        free(self.commands)
        free(self.arguments)

    cdef command_t *added(self, int what, handle) except NULL:
        """A command on the object of pyopencl."""
        cdef void *moved
        if self.n == self.room:
            moved = realloc(self.commands, (2 * self.room + 64) * sizeof(command_t))
            if moved == NULL:
                raise MemoryError
            self.commands, self.room = <command_t *>moved, 2 * self.room + 64
        cdef command_t *command = &self.commands[self.n]
        command.what, command.object, command.event = what, <void *><uintptr_t>handle.int_ptr, NULL
        self.n += 1
        return command

    def kernel(self, kernel, tuple items, tuple group, tuple arguments):
        """Run a kernel of pyopencl with so many work-items along one or two dimensions, and of a work-group or None.

        Its arguments are buffers and local memory of pyopencl, and numbers of NumPy of at most eight bytes.
        """
        cdef command_t *command = self.added(KERNEL, kernel)
        cdef argument_t *argument
        cdef Py_ssize_t needed = self.n_arguments + len(arguments)
        cdef void *moved
        cdef bytes number
        cdef uint32_t i
        command.dimensions, command.grouped = len(items), group is not None
        for i in range(command.dimensions):
            command.items[i], command.group[i] = items[i], group[i] if command.grouped else 0
        command.first, command.n = self.n_arguments, len(arguments)
        if needed > self.arguments_room:
            moved = realloc(self.arguments, 2 * needed * sizeof(argument_t))
            if moved == NULL:
                raise MemoryError
            self.arguments, self.arguments_room = <argument_t *>moved, 2 * needed
        for one in arguments:
            argument = &self.arguments[self.n_arguments]
            argument.is_local = False
            if isinstance(one, np.generic):
                number = one.tobytes()
                argument.size = len(number)
                memcpy(&argument.value, <const char *>number, argument.size)
            elif hasattr(one, "int_ptr"):
                argument.size, argument.value = sizeof(void *), one.int_ptr
            else:
                argument.size, argument.is_local = one.size, True
            self.n_arguments += 1
        self.kept.append(arguments)

    def write(self, buffer):
        """Fill a buffer with an array. Returns the number of the command."""
        return self.transfer(WRITE, buffer)

    def read(self, buffer):
        """Fill an array with what is in a buffer then. Returns the number of the command."""
        return self.transfer(READ, buffer)

    cdef Py_ssize_t transfer(self, int what, buffer) except -1:
        self.added(what, buffer)
        self.kept.append(buffer)
        return self.n - 1

    def bind(self, Py_ssize_t i, array, pinned):
        """The array of transfer i in the next run, and pinned memory by way of which it goes, of as many bytes or more."""
        self.commands[i].array, self.commands[i].pinned = address_of(array), address_of(pinned)
        self.commands[i].size = array.nbytes
        self.bound[i] = array, pinned

    def fill(self, buffer, uint32_t pattern, size_t size):
        """Fill the first `size` bytes of a buffer, a multiple of four, with a pattern."""
        cdef command_t *command = self.added(FILL, buffer)
        command.pattern, command.size = pattern, size
        self.kept.append(buffer)

    def run(self):
        """Hand all commands over, and wait until they are done. Raises CommandError."""
        cdef int32_t code
        self.kernels = self.uploads = self.downloads = 0
        with nogil:
            code = self.hand_over()
            if code == 0:
                code = self.wait()
            if code != 0:
                opencl.finish(self.queue)
            self.end(code == 0)
        self.bound.clear()
        if code:
            raise CommandError(self.failed.decode(), code)

    cdef int32_t hand_over(self) noexcept nogil:
        """The code of the first function that fails, 0 if none does."""
        cdef command_t *command
        cdef argument_t *argument
        cdef int32_t code = 0
        cdef Py_ssize_t i, j
        for i in range(self.n):
            command = &self.commands[i]
            if command.what == KERNEL:
                self.failed = "clSetKernelArg"
                for j in range(command.n):
                    argument = &self.arguments[command.first + j]
                    code = opencl.set_argument(command.object, <uint32_t>j, argument.size,
                                               NULL if argument.is_local else &argument.value)
                    if code:
                        return code
                self.failed = "clEnqueueNDRangeKernel"
                code = opencl.enqueue_kernel(self.queue, command.object, command.dimensions, NULL, command.items,
                                             command.group if command.grouped else NULL, 0, NULL, &command.event)
            elif command.what != FILL and command.size == 0:
                continue
            elif command.what == WRITE:
                self.failed = "clEnqueueWriteBuffer"
                memcpy(command.pinned, command.array, command.size)
                code = opencl.enqueue_write(self.queue, command.object, 0, 0, command.size, command.pinned, 0, NULL,
                                            &command.event)
            elif command.what == READ:
                self.failed = "clEnqueueReadBuffer"
                code = opencl.enqueue_read(self.queue, command.object, 0, 0, command.size, command.pinned, 0, NULL,
                                           &command.event)
            else:
                self.failed = "clEnqueueFillBuffer"
                code = opencl.enqueue_fill(self.queue, command.object, &command.pattern, sizeof(uint32_t), 0, command.size,
                                           0, NULL, &command.event)
            if code:
                return code
        self.failed = "clFlush"
        return opencl.flush(self.queue)

    cdef int32_t wait(self) noexcept nogil:
        """Until the last command is done, and all before it."""
        cdef timespec pause = timespec(0, POLL)
        cdef int32_t status = COMPLETE, code
        cdef Py_ssize_t last = self.n - 1
        while last >= 0 and self.commands[last].event == NULL:  # a transfer of nothing
            last -= 1
        self.failed = "clGetEventInfo"
        while last >= 0:
            code = opencl.event_info(self.commands[last].event, EVENT_STATUS, sizeof(status), &status, NULL)
            if code or status < 0:
                return code or status
            if status == COMPLETE:
                break
            nanosleep(&pause, NULL)
        return 0

    cdef void end(self, bint done) noexcept nogil:
        """Count the times of the commands, and put what was read where it is to go."""
        cdef command_t *command
        cdef uint64_t start, end
        cdef Py_ssize_t i
        for i in range(self.n):
            command = &self.commands[i]
            if command.event == NULL:
                continue
            start = end = 0
            opencl.event_profile(command.event, PROFILED_START, sizeof(start), &start, NULL)
            opencl.event_profile(command.event, PROFILED_END, sizeof(end), &end, NULL)
            if start == 0 or end < start:  # as a driver now and then has it; the clock begins long before
                start = end
            if command.what == WRITE:
                self.uploads += end - start
            elif command.what == READ:
                self.downloads += end - start
                if done:
                    memcpy(command.array, command.pinned, command.size)
            elif command.what == KERNEL:
                self.kernels += end - start
            opencl.release_event(command.event)
            command.event = NULL
