"""An OpenCL device at work, for mapping and for aligning: what all threads share, and what one of them has there.

pyopencl is imported when a device is asked for, and not before.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gassst.errors import DeviceError
from gassst.gpu.drivers import own_signals
from gassst.model.array_types import U8, U64
from gassst.model.times import Times

if TYPE_CHECKING:
    import pyopencl as cl

    Memory = cl.Buffer  # those of a pool are used like it
    Array = NDArray[np.generic]

log = logging.getLogger("gassst")

KERNELS = Path(__file__).parent / "kernels"
REMEDY = "`--device none` maps without OpenCL"
POLL = 1e-4  # s
COPIED = 1 << 22
"""Bytes uploaded at once. An H100 takes 26 GB/s in pieces of 4 MiB from 8 threads, 12 in pieces of 16 MiB."""
UPLOADERS = 8
"""Threads that upload an index, at most."""
PIECES_EACH = 4
"""Pieces from which on a thread is worth its pinned memory."""


@dataclass(frozen=True)
class DeviceInfo:
    """One OpenCL device; `index` is "platform:device", `memory` in bytes, `reason` is why it is not
    usable, `allocation` the bytes of its largest buffer."""

    index: str
    platform: str
    name: str
    type: str
    compute_units: int
    memory: int
    driver: str
    usable: bool
    reason: str = ""
    allocation: int = 0

    def __str__(self) -> str:
        size = f"{self.compute_units} units, {self.memory / 2**30:.1f} GiB"
        text = f"{self.index} {self.type} {self.name} ({self.platform}, {size}, {self.driver})"
        return text if self.usable else f"{text}: not usable, {self.reason}"


class OutOfDeviceMemory(DeviceError):
    """The device has no room for what is asked."""


def load_pyopencl(threads: int | None = None) -> ModuleType:
    """The pyopencl module, or DeviceError.

    `threads` bounds the threads of PoCL and of Intel's runtime, if this is the process's first look at platforms.
    """
    if threads:
        os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", str(threads))  # PoCL < 5
        os.environ.setdefault("POCL_CPU_MAX_CU_COUNT", str(threads))
        os.environ.setdefault("CL_CONFIG_CPU_TBB_NUM_WORKERS", str(threads))  # Intel's
    try:
        import pyopencl
    except ImportError as error:
        raise DeviceError(f"pyopencl cannot be imported: {error}. Install pyopencl; {REMEDY}") from error
    warnings.filterwarnings("ignore", category=pyopencl.CompilerWarning)  # logged at DEBUG by Device instead
    return pyopencl


@cache
def source(paths: tuple[Path, ...]) -> str:
    """The one program text of some files, with the headers beside them that they include."""
    text = "\n".join(path.read_text() for path in paths)
    folder = paths[0].parent
    include = r'^#include "(\w+\.h)"$'
    return re.sub(include, lambda found: source((folder / found[1],)), text, flags=re.MULTILINE)


class Device:
    """A device that threads share: its context, and its programs. Raises DeviceError where it cannot be had."""

    def __init__(self, info: DeviceInfo, device: cl.Device):
        self.cl = load_pyopencl()
        self.info, self.device = info, device
        self.is_nvidia = "nvidia" in device.platform.vendor.lower()
        self.is_hopper = self.is_nvidia and getattr(device, "compute_capability_major_nv", 0) >= 9
        self.compiled = 0  # ns
        self.programs: dict[tuple[tuple[Path, ...], tuple[str, ...]], cl.Program] = {}
        self._lock = threading.Lock()
        with self.errors(), own_signals():
            self.context: cl.Context = self.cl.Context([device])

    @property
    def shares_memory(self) -> bool:
        """A CPU works where an array lies, which may be a file mapped into memory; others get their copy."""
        return self.info.type == "cpu"

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Context in which pyopencl's errors are DeviceError."""
        status = self.cl.status_code
        no_memory = (
            status.MEM_OBJECT_ALLOCATION_FAILURE,
            status.OUT_OF_RESOURCES,
            status.OUT_OF_HOST_MEMORY,
            status.INVALID_BUFFER_SIZE,
        )
        try:
            yield
        except self.cl.Error as error:
            what = OutOfDeviceMemory if error.code in no_memory else DeviceError
            raise what(f"OpenCL device {self.info.name}: {error}") from error

    def queue(self, timed: bool = False) -> cl.CommandQueue:
        """A new one; where it is `timed`, its events know how long each command took."""
        properties = self.cl.command_queue_properties.PROFILING_ENABLE if timed else 0
        queue: cl.CommandQueue = self.cl.CommandQueue(self.context, properties=properties)
        return queue

    def program(self, paths: tuple[Path, ...], options: tuple[str, ...]) -> cl.Program:
        """The program of some files, built once. Raises DeviceError with what the compiler says."""
        with self._lock:
            if (paths, options) not in self.programs:
                began = time.perf_counter_ns()
                self.programs[paths, options] = self._build(paths, options)
                self.compiled += time.perf_counter_ns() - began
            return self.programs[paths, options]

    def _build(self, paths: tuple[Path, ...], options: tuple[str, ...]) -> cl.Program:
        program = self.cl.Program(self.context, source(paths))
        try:
            program.build(options=["-cl-std=CL1.2", *options])
        except self.cl.Error as error:
            raise DeviceError(f"OpenCL device {self.info.name} cannot build the kernels:\n{error}") from error
        build_log = program.get_build_info(self.device, self.cl.program_build_info.LOG).strip()
        if build_log:
            log.debug("OpenCL build log, %s:\n%s", " ".join(options), build_log)
        built: cl.Program = program
        return built

    def given(self, array: Array) -> Memory:
        """A read-only buffer with what is in an array. On a CPU it is the array, which it keeps alive."""
        flags = self.cl.mem_flags
        held = flags.USE_HOST_PTR if self.shares_memory else flags.COPY_HOST_PTR
        array = np.ascontiguousarray(array) if array.size else np.zeros(64, np.uint8)
        buffer: Memory = self.cl.Buffer(self.context, flags.READ_ONLY | held, hostbuf=array)
        return buffer

    def given_all(
        self, arrays: Sequence[Array], meanwhile: Callable[[], object] | None = None
    ) -> list[Memory]:
        """Buffers as `given` makes them, which several threads fill through pinned memory, as suits large arrays.

        The bus takes 20 GB/s and more from pinned memory. One thread does not read a mapped file that fast, so several
        fill pinned pieces, each one while the last is on its way. `meanwhile` is done by this thread.
        """
        if self.shares_memory:
            return [self.given(array) for array in arrays]
        flags = self.cl.mem_flags.READ_ONLY
        buffers = [self.cl.Buffer(self.context, flags, max(array.nbytes, 64)) for array in arrays]
        views = [array.reshape(-1).view(np.uint8) for array in arrays]
        cut = [
            (buffer, at, view[at : at + COPIED])
            for buffer, view in zip(buffers, views, strict=True)
            for at in range(0, len(view), COPIED)
        ]
        pieces, lock, handing = iter(cut), threading.Lock(), threading.Lock()

        def copy_share() -> None:
            uploader = _Uploader(self, handing)
            while True:
                with lock:
                    piece = next(pieces, None)
                if piece is None:
                    break
                uploader.copy(*piece)
            uploader.queue.finish()

        threads = min(UPLOADERS, -(-len(cut) // PIECES_EACH)) or 1
        with ThreadPoolExecutor(threads, thread_name_prefix="gassst-upload") as pool:
            shares = [pool.submit(copy_share) for _ in range(threads)]
            if meanwhile is not None:
                meanwhile()
            for share in shares:
                share.result()
        return buffers

    def pinned(self, queue: cl.CommandQueue, size: int) -> tuple[Memory, U8]:
        """A buffer in the host's memory that the driver has pinned, and its bytes."""
        flags, access = self.cl.mem_flags, self.cl.map_flags.READ | self.cl.map_flags.WRITE
        buffer = self.cl.Buffer(self.context, flags.READ_WRITE | flags.ALLOC_HOST_PTR, size)
        return buffer, self.cl.enqueue_map_buffer(queue, buffer, access, 0, size, np.uint8)[0]


class Engine(Device):
    """A device with the reference of a run on it. `reference`: planes uint64[rows, 3]; `planes`: the same there.

    Raises DeviceError where the device has no room.
    """

    def __init__(self, info: DeviceInfo, device: cl.Device, reference: U64):
        super().__init__(info, device)
        self.reference = np.ascontiguousarray(reference, np.uint64)
        with self.errors():
            (self.planes,) = self.given_all([self.reference])


class _Uploader:
    """A queue, and two pinned pieces of `COPIED` bytes that take turns.

    `handing`: held while a command is handed over. PoCL 3.0 crashes where several queues are given commands of one
    buffer at once.
    """

    def __init__(self, device: Device, handing: AbstractContextManager[object]):
        self._enqueue_copy, self._handing = device.cl.enqueue_copy, handing
        self.queue = device.queue()
        self._pinned = [device.pinned(self.queue, COPIED) for _ in range(2)]
        self._under_way: list[cl.Event | None] = [None, None]
        self._turn = 0

    def copy(self, buffer: Memory, at: int, data: U8) -> None:
        """The bytes into the buffer from byte `at` on; they have been read when this returns."""
        self._turn = 1 - self._turn
        before = self._under_way[self._turn]
        if before is not None:
            before.wait()
        piece = self._pinned[self._turn][1][: len(data)]
        np.copyto(piece, data)
        with self._handing:
            event = self._enqueue_copy(self.queue, buffer, piece, dst_offset=at, is_blocking=False)
            self._under_way[self._turn] = event
            self.queue.flush()


class Processing:
    """What one thread does on a device: a queue, kernels, and memory by name that is kept from call to call.

    A subclass says which files its kernels are in (`paths`), and how much room a buffer gets. What goes to the device
    and comes back lies in memory that the driver has pinned: transfers from there run at the bus's rate beside the
    host's own work. All commands are done in order. Where the class is `timed`, `spent` tells how long they took.
    """

    paths: tuple[Path, ...] = ()
    timed = False

    def __init__(self, device: Device):
        from pyopencl.tools import ImmediateAllocator, MemoryPool

        self.device, self.cl = device, device.cl
        with device.errors():
            self.queue = device.queue(self.timed)
            # A pool of its own: memory may be given back while commands of this queue still use it. What it makes, it
            # writes to, so that a lack of memory shows at once; that waits for nothing else.
            self._making = device.queue()
            self.pool = MemoryPool(ImmediateAllocator(self._making))
        self._commands: list[tuple[str, cl.Event]] = []
        self.buffers: dict[str, Memory] = {}
        self._pinned: dict[str, tuple[Memory, U8]] = {}
        self._kernels: dict[tuple[str, int, tuple[str, ...]], cl.Kernel] = {}

    # --- memory --------------------------------------------------------------------------------------------------

    def room(self, size: int) -> int:
        """Bytes that a buffer or pinned memory of `size` bytes gets."""
        return max(size, 64)

    def buffer(self, name: str, size: int) -> Memory:
        """A buffer of at least `size` bytes under this name; what was in it is gone. Raises OutOfDeviceMemory."""
        held = self.buffers.get(name)
        if held is None or held.size < size:
            if self.buffers.pop(name, None) is not None:
                held = None
                self.pool.free_held()  # given back before a larger one is asked for
            self.buffers[name] = held = self.allocate(self.room(size))
        return held

    def allocate(self, size: int) -> Memory:
        """A buffer without a name. Its memory is given back when nobody has it: no command may use it then, but of
        those of this queue that are in order."""
        made = cast("Memory", self.pool.allocate(max(size, 64)))
        self._making.finish()
        return made

    def part(self, buffer: Memory, first: int, size: int) -> Memory:
        """Some bytes of a buffer."""
        part: Memory = self.cl.Buffer.from_int_ptr(buffer.int_ptr).get_sub_region(first, size)
        return part

    def pinned(self, name: str, n: int, dtype: DTypeLike) -> np.ndarray:
        """Pinned memory under this name for `n` numbers; what was in it is gone."""
        size = n * np.dtype(dtype).itemsize
        if name not in self._pinned or len(self._pinned[name][1]) < size:
            self._pinned[name] = self.device.pinned(self.queue, self.room(size))
        return self._pinned[name][1][:size].view(dtype)

    def filled(self, name: str, size: int, byte: int = 0) -> Memory:
        """A buffer of this name, filled with a byte."""
        buffer, pattern = self.buffer(name, size), np.uint32(0x01010101 * byte)
        self.cl.enqueue_fill_buffer(self.queue, buffer, pattern, 0, max(-(-size // 4) * 4, 4))
        return buffer

    def upload(self, name: str, *arrays: np.ndarray) -> Memory:
        """A buffer of this name with what is in these arrays of one type, one behind the other."""
        staged = self.pinned(name, sum(map(len, arrays)), arrays[0].dtype)
        at = 0
        for array in arrays:
            np.copyto(staged[at : at + len(array)], array)
            at += len(array)
        buffer = self.buffer(name, staged.nbytes)
        if staged.nbytes:
            self._note("upload", self.cl.enqueue_copy(self.queue, buffer, staged, is_blocking=False))
        return buffer

    def download(self, name: str, buffer: Memory, n: int, dtype: DTypeLike) -> np.ndarray:
        """Pinned memory with what will be in a buffer once `wait` has returned."""
        staged = self.pinned(name, n, dtype)
        if n:
            self._note("download", self.cl.enqueue_copy(self.queue, staged, buffer, is_blocking=False))
        return staged

    # --- commands ------------------------------------------------------------------------------------------------

    def run(
        self,
        name: str,
        options: tuple[str, ...],
        items: tuple[int, ...],
        group: tuple[int, ...] | None,
        *arguments: object,
        queue: cl.CommandQueue | None = None,
        wait_for: Sequence[cl.Event] | None = None,
    ) -> cl.Event:
        """Hand a kernel over, which is compiled with these options. Every call of it has arguments of the same types.

        Kernel objects are this thread's own: their arguments are state.
        """
        key = name, id(self.paths), options  # to hash paths takes longer than all else here
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self.cl.Kernel(self.device.program(self.paths, options), name)
            # Ten numbers whose types are known ahead take 8 us a launch, others 100.
            kernel.set_scalar_arg_dtypes(
                [one.dtype if isinstance(one, np.generic) else None for one in arguments]
            )
        call: Callable[..., cl.Event] = kernel
        return self._note(
            "device_kernel", call(queue or self.queue, items, group, *arguments, wait_for=wait_for)
        )

    def _note(self, what: str, command: cl.Event) -> cl.Event:
        if self.timed:
            self._commands.append((what, command))
        return command

    def spent(self) -> Times:
        """How long the device took for the commands since the last call, which are all done."""
        times, commands, self._commands = Times(), self._commands, []
        for what, command in commands:
            taken = command.profile.end - command.profile.start
            setattr(times, what, getattr(times, what) + taken)
        return times

    def wait(self) -> None:
        """Until all commands are done.

        A driver that waits keeps a core busy, which the threads that compute need: so this sleeps.
        """
        done, complete = self.cl.enqueue_marker(self.queue), self.cl.command_execution_status.COMPLETE
        self.queue.flush()
        while done.command_execution_status > complete:
            time.sleep(POLL)
        self.queue.finish()
