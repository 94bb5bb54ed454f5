"""An OpenCL device at work, for mapping and for aligning: what all threads share, and what one of them has there.

pyopencl is imported when a device is asked for, and not before.
"""

from __future__ import annotations

import ctypes
import logging
import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from gassst._core.commands import FUNCTIONS, CommandError, CommandList, load
from gassst.errors import DeviceError
from gassst.gpu.drivers import own_signals
from gassst.model.array_types import U8, U64, NDArray
from gassst.model.times import Times

if TYPE_CHECKING:
    import pyopencl as cl
    from numpy.typing import DTypeLike

    Memory = cl.Buffer  # those of a pool are used like it
    Array = NDArray[np.generic]

log = logging.getLogger("gassst")

KERNELS = Path(__file__).parent / "kernels"
REMEDY = "`--device none` maps without OpenCL"
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
        library = ctypes.CDLL(
            self.cl._cl.__file__
        )  # that finds functions in the loader of OpenCL that pyopencl uses
        load(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in FUNCTIONS)
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

    def failure(self, function: str, code: int) -> Exception:
        """The error of pyopencl for what a function of OpenCL has returned."""
        error: Exception = self.cl.Error(self.cl._cl._ErrorRecord(function, code, ""))
        return error

    def queue(self) -> cl.CommandQueue:
        """A new one, whose events know how long each command took."""
        profiled = self.cl.command_queue_properties.PROFILING_ENABLE
        queue: cl.CommandQueue = self.cl.CommandQueue(self.context, properties=profiled)
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

    A subclass says which files its kernels are in (`paths`). All commands are done in order.
    """

    paths: tuple[Path, ...] = ()

    def __init__(self, device: Device):
        from pyopencl.tools import ImmediateAllocator, MemoryPool

        self.device, self.cl = device, device.cl
        with device.errors():
            self.queue = device.queue()
            # A pool of its own: memory may be given back while commands of this queue still use it. What it makes, it
            # writes to, so that a lack of memory shows at once; that waits for nothing else.
            self._making = device.queue()
            self.pool = MemoryPool(ImmediateAllocator(self._making))
        self.buffers: dict[str, Memory] = {}
        self._kernels: dict[tuple[str, int, tuple[str, ...]], cl.Kernel] = {}
        self._typed: set[cl.Kernel] = set()  # whose arguments pyopencl knows

    # --- memory --------------------------------------------------------------------------------------------------

    def buffer(self, name: str, size: int) -> Memory:
        """A buffer of at least `size` bytes under this name; what was in it is gone. Raises OutOfDeviceMemory."""
        held = self.buffers.get(name)
        if held is None or held.size < size:
            if self.buffers.pop(name, None) is not None:
                held = None
                self.pool.free_held()  # given back before a larger one is asked for
            self.buffers[name] = held = self.allocate(size)
        return held

    def allocate(self, size: int) -> Memory:
        """A buffer without a name. Its memory is given back when nobody has it: no command may use it then, but of
        those of this queue that are in order."""
        made = cast("Memory", self.pool.allocate(max(size, 64)))
        self._making.finish()
        return made

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
        kernel = self.kernel(name, options)
        if kernel not in self._typed:
            self._typed.add(kernel)
            # Ten numbers whose types are known ahead take 8 us a launch, others 100.
            kernel.set_scalar_arg_dtypes(
                [one.dtype if isinstance(one, np.generic) else None for one in arguments]
            )
        call: Callable[..., cl.Event] = kernel
        return call(queue or self.queue, items, group, *arguments, wait_for=wait_for)

    def kernel(self, name: str, options: tuple[str, ...]) -> cl.Kernel:
        """A kernel, compiled with these options."""
        key = name, id(self.paths), options  # to hash paths takes longer than all else here
        if key not in self._kernels:
            self._kernels[key] = self.cl.Kernel(self.device.program(self.paths, options), name)
        return self._kernels[key]


class Noted(NamedTuple):
    """Commands in their order. Uploads by name, each with the number of its command; downloads, each with the shape and
    type of its array, too."""

    commands: CommandList
    uploads: dict[str, int]
    downloads: dict[str, tuple[int, int | tuple[int, ...], DTypeLike]]


class Commands(Processing):
    """Processing whose commands are noted, until `finish` hands all of them over at once, without Python's lock.

    What goes to the device and comes back lies in memory that the driver has pinned: transfers from there run at the
    bus's rate beside the host's own work.
    """

    def __init__(self, device: Device):
        super().__init__(device)
        self._pinned: dict[str, tuple[Memory, U8]] = {}
        self._times = Times()
        self.forget()

    def _pinned_for(self, name: str, array: np.ndarray) -> U8:
        """Pinned memory under this name, for an array; what was in it is gone."""
        if name not in self._pinned or len(self._pinned[name][1]) < array.nbytes:
            self._pinned[name] = self.device.pinned(self.queue, max(array.nbytes, 64))
        return self._pinned[name][1]

    def note(
        self,
        name: str,
        options: tuple[str, ...],
        items: tuple[int, ...],
        group: tuple[int, ...] | None,
        *arguments: object,
    ) -> None:
        """Run a kernel, which is compiled with these options."""
        self.noted.commands.kernel(self.kernel(name, options), items, group, arguments)

    def filled(self, name: str, size: int, byte: int = 0) -> Memory:
        """A buffer of this name, filled with a byte."""
        return self.fill(self.buffer(name, size), size, byte)

    def fill(self, buffer: Memory, size: int, byte: int = 0) -> Memory:
        """The buffer, whose first bytes are filled with one."""
        self.noted.commands.fill(buffer, 0x01010101 * byte, max(-(-size // 4) * 4, 4))
        return buffer

    def upload(self, name: str, array: np.ndarray) -> Memory:
        """A buffer of this name with what is in an array."""
        buffer = self.buffer(name, array.nbytes)
        self.noted.uploads[name], self._arrays[name] = self.noted.commands.write(buffer), array
        return buffer

    def download(self, name: str, buffer: Memory, shape: int | tuple[int, ...], dtype: DTypeLike) -> None:
        """Have `finish` return what is in a buffer then, as an array."""
        self.noted.downloads[name] = self.noted.commands.read(buffer), shape, dtype

    def finish(self) -> dict[str, np.ndarray]:
        """Have the device do all that was noted, and wait for it. Returns the arrays of downloads, by name."""
        noted, arrays = self.noted, self._arrays
        self.forget()
        return self.handed_over(noted, arrays)

    def handed_over(self, noted: Noted, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """As `finish`, of what was noted before, with these arrays as its uploads."""
        found, commands = {}, noted.commands
        for name, i in noted.uploads.items():
            array = np.ascontiguousarray(arrays[name])
            commands.bind(i, array, self._pinned_for(name, array))
        for name, (i, shape, dtype) in noted.downloads.items():
            found[name] = array = np.empty(shape, dtype)
            commands.bind(i, array, self._pinned_for(name, array))
        try:
            commands.run()
        except CommandError as error:
            raise self.device.failure(error.function, error.code) from error
        finally:
            self._times.device_kernel += commands.kernels
            self._times.upload += commands.uploads
            self._times.download += commands.downloads
        return found

    def forget(self) -> None:
        """Do nothing of what was noted."""
        self.noted = Noted(CommandList(self.queue.int_ptr), {}, {})
        self._arrays: dict[str, np.ndarray] = {}

    def spent(self) -> Times:
        """How long the device took since the last call."""
        times, self._times = self._times, Times()
        return times
