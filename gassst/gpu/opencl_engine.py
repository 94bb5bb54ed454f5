"""OpenCL devices, and the engine that one of them is; the kernels are in `gassst/gpu/kernels`.

What runs there is in `gassst.gpu.opencl_batch`. pyopencl is imported only when a device is asked for.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gassst.errors import DeviceError
from gassst.gpu.opencl_upload import upload
from gassst.model.array_types import U64
from gassst.model.times import Times

log = logging.getLogger("gassst")

KERNELS = Path(__file__).parent / "kernels"
SOURCES = ("band.h", "score.cl", "profile.cl", "align.cl")
LOCAL_SOURCES = ("band.h", "score.cl", "local_lanes.h", "local.cl")
LOCAL_WIDEST = 512  # of the bands of local alignments
ITEMS_A_UNIT = (
    4  # work-items of a CPU for local alignments: few, so that they keep what they write in their cache
)
TRACE_BYTES = 256 << 20
ALL = ":all"  # behind the name of a kind of devices
REMEDY = "`--device none` maps without OpenCL"


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


def load_pyopencl(threads: int | None = None) -> Any:
    """The pyopencl module, or DeviceError.

    `threads` bounds PoCL's own threads, if this is the process's first look at its platforms.
    """
    if threads:
        os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", str(threads))  # PoCL < 5
        os.environ.setdefault("POCL_CPU_MAX_CU_COUNT", str(threads))
    try:
        import pyopencl
    except ImportError as error:
        raise DeviceError(f"pyopencl cannot be imported: {error}. Install pyopencl; {REMEDY}") from error
    warnings.filterwarnings("ignore", category=pyopencl.CompilerWarning)  # logged at DEBUG by Program instead
    return pyopencl


def _type_name(cl: Any, device: Any) -> str:
    for name in ("GPU", "ACCELERATOR", "CPU"):
        if device.type & getattr(cl.device_type, name):
            return name.lower()
    return "custom"


def _why_not(cl: Any, device: Any) -> str:
    if not device.available:
        return "not available"
    if not device.compiler_available:
        return "no compiler"
    if not device.endian_little:
        return "big-endian"
    if device.type & cl.device_type.CPU and not _compiles(cl, device):
        return "its compiler does not know this processor"
    return ""


def _compiles(cl: Any, device: Any) -> bool:
    """Whether the device's compiler builds a kernel at all: the LLVM of an older PoCL refuses a newer processor."""
    try:
        cl.Program(cl.Context([device]), "__kernel void nothing(void) {}").build()
    except cl.Error:
        return False
    return True


def _describe(cl: Any, index: str, platform: Any, device: Any) -> DeviceInfo:
    reason = _why_not(cl, device)
    return DeviceInfo(
        index=index,
        platform=platform.name.strip(),
        name=device.name.strip(),
        type=_type_name(cl, device),
        compute_units=device.max_compute_units,
        memory=device.global_mem_size,
        driver=device.driver_version.strip(),
        usable=not reason,
        reason=reason,
        allocation=device.max_mem_alloc_size,
    )


def _discover(threads: int | None = None) -> list[tuple[DeviceInfo, Any]]:
    """(DeviceInfo, pyopencl.Device) of every device, maybe none. DeviceError without pyopencl."""
    cl = load_pyopencl(threads)
    try:
        platforms = cl.get_platforms()
    except cl.Error:  # the loader says PLATFORM_NOT_FOUND_KHR where it finds none
        return []
    found = []
    for p, platform in enumerate(platforms):
        try:
            devices_here = platform.get_devices()
        except cl.Error as error:
            log.debug("OpenCL platform %s: %s", platform.name, error)
            continue
        for d, device in enumerate(devices_here):
            found.append((_describe(cl, f"{p}:{d}", platform, device), device))
    return found


def devices(threads: int | None = None) -> list[DeviceInfo]:
    """All OpenCL devices of this machine, usable or not; empty without pyopencl."""
    try:
        return [info for info, _ in _discover(threads)]
    except DeviceError as error:
        log.debug("%s", error)
        return []


def _matches(info: DeviceInfo, wanted: str) -> bool:
    wanted = wanted.lower()
    return wanted in (info.index, info.type) or (":" not in wanted and wanted in info.name.lower())


def choose(wanted: str | None = None, threads: int | None = None) -> tuple[DeviceInfo, Any]:
    """The (DeviceInfo, pyopencl.Device) to use: GPU, then accelerator, then CPU, then by compute units.

    `wanted` narrows it: an index "0:1", "gpu", "cpu", "accelerator", or part of a name. DeviceError when none
    is left.
    """
    return _ranked(wanted, threads)[0]


def choose_all(wanted: str, threads: int | None = None) -> list[tuple[DeviceInfo, Any]]:
    """The devices to use together: that of `choose`, or with ":all" behind `wanted` all usable ones like it.

    Devices are alike that have a platform, a type and a name in common. Raises DeviceError when none is left.
    """
    first = choose(wanted.removesuffix(ALL), threads)
    if not wanted.endswith(ALL):
        return [first]
    return [pair for pair in _discover(threads) if pair[0].usable and _kind(pair[0]) == _kind(first[0])]


def _kind(info: DeviceInfo) -> tuple[str, str, str]:
    return info.platform, info.type, info.name


def _ranked(wanted: str | None, threads: int | None) -> list[tuple[DeviceInfo, Any]]:
    found = _discover(threads)
    if not found:
        raise DeviceError(
            "no OpenCL device found: a driver is missing. PoCL makes the CPU a device (`pip install gassst[opencl]` "
            f"on x86-64 Linux, `conda install pocl` elsewhere); {REMEDY}"
        )
    fitting = [pair for pair in found if wanted is None or _matches(pair[0], wanted)]
    if not fitting:
        names = "; ".join(str(info) for info, _ in found)
        raise DeviceError(f"no OpenCL device matches {wanted!r}; there are: {names}")
    usable = [pair for pair in fitting if pair[0].usable]
    if not usable:
        raise DeviceError(f"no usable OpenCL device: {fitting[0][0]}")
    order = ("gpu", "accelerator", "cpu", "custom")
    return sorted(usable, key=lambda pair: (order.index(pair[0].type), -pair[0].compute_units))


@cache
def source(names: tuple[str, ...] = SOURCES) -> str:
    """The one program text of all kernels, or of those of local alignment, with what they include."""
    text = "\n".join((KERNELS / name).read_text() for name in names)
    return re.sub(r'^#include "(\w+\.h)"$', lambda found: source((found[1],)), text, flags=re.MULTILINE)


def lanes_of(info: DeviceInfo, device: Any) -> int:
    """Pairs per work-item: a CPU's vector width, as compilers do not vectorise loops of varying length.

    Four at most: on processors with AVX-512 that its LLVM does not know, PoCL builds programs of eight without kernels.
    """
    if info.type != "cpu":
        return 1
    width = max(device.native_vector_width_long, device.preferred_vector_width_long)
    return max(lanes for lanes in (1, 2, 4) if lanes <= max(width, 1))


class Engine:
    """A device with the reference on it, and its programs by band width. Shared by all threads.

    `reference` is planes uint64[rows, 3]. Without `alignments` no program is built before it is asked for. Raises
    DeviceError where the device has no room or cannot compile.
    """

    def __init__(
        self, info: DeviceInfo, device: Any, reference: U64, profiling: bool = False, alignments: bool = True
    ):
        self.cl = cl = load_pyopencl()
        self.info, self.device, self.profiling = info, device, profiling
        self.lanes = lanes_of(info, device)
        self.programs: dict[tuple[int, tuple[str, ...]], Any] = {}
        self.lock = threading.Lock()
        self.times = Times()
        self.reference = np.ascontiguousarray(reference, np.uint64)
        with self.errors():
            self.context = cl.Context([device])
            self.planes = self.in_place(self.reference) if self.shares_memory else self._uploaded()
            if alignments:
                self.program(1)
        # Half of what may be asked for at once: several threads want their share.
        self.trace_bytes = min(TRACE_BYTES, device.max_mem_alloc_size // 4)

    def errors(self) -> AsDeviceError:
        """Context in which pyopencl's errors are DeviceError."""
        return AsDeviceError(self.cl, self.info.name)

    @property
    def shares_memory(self) -> bool:
        """A CPU works where an array lies, which may be a file mapped into memory; others get their copy."""
        return self.info.type == "cpu"

    def in_place(self, array: NDArray[Any]) -> Any:
        """A read-only buffer that is the array itself, which it keeps alive."""
        flags = self.cl.mem_flags
        return self.cl.Buffer(self.context, flags.READ_ONLY | flags.USE_HOST_PTR, hostbuf=array)

    def _uploaded(self) -> Any:
        """A buffer with a copy of the reference."""
        flags, size = self.cl.mem_flags.READ_ONLY, max(self.reference.nbytes, 64)
        buffer = self.cl.Buffer(self.context, flags, size)
        upload(self.cl, self.context, [buffer], [self.reference.reshape(-1)])
        return buffer

    def program(self, words: int, names: tuple[str, ...] = SOURCES) -> Any:
        """The compiled program for bands of 64 * words diagonals; of the local kernels for `words` diagonals, on a CPU
        one for all widths."""
        if names == LOCAL_SOURCES and self.lanes > 1:
            words = LOCAL_WIDEST
        with self.lock:
            if (words, names) not in self.programs:
                began = time.perf_counter_ns()
                self.programs[words, names] = self._build(words, names)
                self.times.compile += time.perf_counter_ns() - began
            return self.programs[words, names]

    def _build(self, words: int, names: tuple[str, ...]) -> Any:
        band = [f"-DWORDS={words}"] if names == SOURCES else ["-DWORDS=1", f"-DWIDTH={words}"]
        return self.build(names, [f"-DLANES={self.lanes}", *band])

    def build(self, names: tuple[str, ...], options: list[str]) -> Any:
        """The program of these sources. Raises DeviceError with what the compiler says."""
        program = self.cl.Program(self.context, source(names))
        try:
            program.build(options=["-cl-std=CL1.2", *options])
        except self.cl.Error as error:
            raise DeviceError(f"OpenCL device {self.info.name} cannot build the kernels:\n{error}") from error
        build_log = program.get_build_info(self.device, self.cl.program_build_info.LOG).strip()
        if build_log:
            log.debug("OpenCL build log, %s:\n%s", " ".join(options), build_log)
        return program

    def items(self, name: str, n: int, rows: int = 0, width: int = 0) -> int:
        """Work-items of a kernel for n pairs: one a group of lanes; on a CPU a few share the local alignments."""
        if self.lanes == 1 or not name.startswith("local"):
            return -(-n // self.lanes)
        room = self.trace_bytes // max(1, rows * width * self.local_lanes)
        return max(1, min(-(-n // self.local_lanes), ITEMS_A_UNIT * self.info.compute_units, room))

    @property
    def local_lanes(self) -> int:
        """Pairs of a group of local alignments on a CPU, at the most: a byte each in vectors of as many bits."""
        return max(32, 8 * self.lanes)

    def add(self, times: Times) -> None:
        """Adds one handle's counters to the engine's."""
        with self.lock:
            self.times += times


def scalar_types(arguments: Sequence[Any]) -> list[Any]:
    """The types of the numbers among the arguments of a kernel, as `Kernel.set_scalar_arg_dtypes` takes them.

    Ten numbers whose types are known ahead take 8 us a launch, others 100.
    """
    return [each.dtype if isinstance(each, np.generic) else None for each in arguments]


class OutOfDeviceMemory(DeviceError):
    """The device has no room for this many pairs."""


class AsDeviceError:
    """Turns pyopencl's errors into DeviceError."""

    def __init__(self, cl: Any, name: str):
        self.cl, self.name = cl, name
        status = cl.status_code
        self.no_memory = {
            status.MEM_OBJECT_ALLOCATION_FAILURE,
            status.OUT_OF_RESOURCES,
            status.OUT_OF_HOST_MEMORY,
            status.INVALID_BUFFER_SIZE,
        }

    def __enter__(self) -> AsDeviceError:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        if isinstance(error, self.cl.Error):
            what = OutOfDeviceMemory if error.code in self.no_memory else DeviceError
            raise what(f"OpenCL device {self.name}: {error}") from error
        return False
