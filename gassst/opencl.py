"""OpenCL devices, and batches of banded alignments on one of them; the kernels are in `gassst/kernels`.

Nothing here is imported by other code but `gassst.extend`, and pyopencl only when a device is asked for.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
import warnings
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np

from gassst.errors import DeviceError

log = logging.getLogger("gassst")

KERNELS = Path(__file__).parent / "kernels"
SOURCES = ("band.h", "score.cl", "profile.cl", "align.cl")
LOCAL_SOURCES = ("band.h", "score.cl", "local_lanes.h", "local.cl")
LOCAL_WIDEST = 512  # of the bands of local alignments
ITEMS_A_UNIT = (
    4  # work-items of a CPU for local alignments: few, so that they keep what they write in their cache
)
BAND_TILE = 32  # as in band.h: pairs whose traceback words lie side by side where LANES is 1
TRACE_BYTES = 256 << 20
SMALLEST_CHUNK = 256  # pairs; a device that has no room for so few has failed
MAX_CHUNK = 1 << 22


@dataclass
class Times:
    """Where the time of an extender went, in ns, and how much it did. Add with `+=`.

    `upload` (none to a CPU), `kernel` and `download` are the device's own clock, and 0 unless profiling was asked for;
    the CPU backend knows `kernel` only (wall clock of the calls, summed over threads).
    """

    calls: int = 0
    pairs: int = 0
    compile: int = 0
    upload: int = 0
    kernel: int = 0
    download: int = 0

    def __iadd__(self, other: Times) -> Times:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        return self


@dataclass(frozen=True)
class DeviceInfo:
    """One OpenCL device; `index` is "platform:device", `memory` in bytes, `reason` is why it is not
    usable."""

    index: str
    platform: str
    name: str
    type: str
    compute_units: int
    memory: int
    driver: str
    usable: bool
    reason: str = ""

    def __str__(self) -> str:
        size = f"{self.compute_units} units, {self.memory / 2**30:.1f} GiB"
        text = f"{self.index} {self.type} {self.name} ({self.platform}, {size}, {self.driver})"
        return text if self.usable else f"{text}: not usable, {self.reason}"


def load_pyopencl(threads: int | None = None):
    """The pyopencl module, or DeviceError.

    `threads` bounds PoCL's own threads, if this is the process's first look at its platforms.
    """
    if threads:
        os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", str(threads))  # PoCL < 5
        os.environ.setdefault("POCL_CPU_MAX_CU_COUNT", str(threads))
    try:
        import pyopencl
    except ImportError as error:
        raise DeviceError(f"pyopencl cannot be imported: {error}") from error
    warnings.filterwarnings("ignore", category=pyopencl.CompilerWarning)  # logged at DEBUG by Program instead
    return pyopencl


def _type_name(cl, device) -> str:
    for name in ("GPU", "ACCELERATOR", "CPU"):
        if device.type & getattr(cl.device_type, name):
            return name.lower()
    return "custom"


def _why_not(device) -> str:
    if not device.available:
        return "not available"
    if not device.compiler_available:
        return "no compiler"
    if not device.endian_little:
        return "big-endian"
    return ""


def _describe(cl, index, platform, device) -> DeviceInfo:
    reason = _why_not(device)
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
    )


def _discover(threads=None):
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


def choose(wanted: str | None = None, threads: int | None = None):
    """The (DeviceInfo, pyopencl.Device) to use: GPU, then accelerator, then CPU, then by compute units.

    `wanted` narrows it: an index "0:1", "gpu", "cpu", "accelerator", or part of a name. DeviceError when none
    is left.
    """
    found = _discover(threads)
    if not found:
        raise DeviceError("no OpenCL device found")
    fitting = [pair for pair in found if wanted is None or _matches(pair[0], wanted)]
    if not fitting:
        names = "; ".join(str(info) for info, _ in found)
        raise DeviceError(f"no OpenCL device matches {wanted!r}; there are: {names}")
    usable = [pair for pair in fitting if pair[0].usable]
    if not usable:
        raise DeviceError(f"no usable OpenCL device: {fitting[0][0]}")
    order = ("gpu", "accelerator", "cpu", "custom")
    return min(usable, key=lambda pair: (order.index(pair[0].type), -pair[0].compute_units))


@cache
def source(names: tuple[str, ...] = SOURCES) -> str:
    """The one program text of all kernels, or of those of local alignment, with what they include."""
    text = "\n".join((KERNELS / name).read_text() for name in names)
    return re.sub(r'^#include "(\w+\.h)"$', lambda found: source((found[1],)), text, flags=re.MULTILINE)


def lanes_of(info: DeviceInfo, device) -> int:
    """Pairs per work-item: a CPU's vector width, as compilers do not vectorise loops of varying length."""
    if info.type != "cpu":
        return 1
    width = max(device.native_vector_width_long, device.preferred_vector_width_long)
    return max(lanes for lanes in (1, 2, 4, 8) if lanes <= max(width, 1))


class Engine:
    """A device with the reference on it, and its programs by band width. Shared by all threads.

    `reference` is planes uint64[rows, 3]. Raises DeviceError where the device has no room or cannot compile.
    """

    def __init__(self, info, device, reference, profiling=False):
        self.cl = cl = load_pyopencl()
        self.info, self.device, self.profiling = info, device, profiling
        self.lanes = lanes_of(info, device)
        self.programs = {}
        self.lock = threading.Lock()
        self.times = Times()
        self.reference = np.ascontiguousarray(reference, np.uint64)
        with self.errors():
            self.context = cl.Context([device])
            copied = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
            self.planes = (
                self.in_place(self.reference)
                if self.shares_memory
                else cl.Buffer(self.context, copied, hostbuf=self.reference)
            )
            self.program(1)
        # Half of what may be asked for at once: several threads want their share.
        self.trace_bytes = min(TRACE_BYTES, device.max_mem_alloc_size // 4)

    def errors(self):
        """Context in which pyopencl's errors are DeviceError."""
        return _AsDeviceError(self.cl, self.info.name)

    @property
    def shares_memory(self):
        """A CPU works where an array lies, which may be a file mapped into memory; others get their copy."""
        return self.info.type == "cpu"

    def in_place(self, array):
        """A read-only buffer that is the array itself, which it keeps alive."""
        flags = self.cl.mem_flags
        return self.cl.Buffer(self.context, flags.READ_ONLY | flags.USE_HOST_PTR, hostbuf=array)

    def program(self, words, names=SOURCES):
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

    def _build(self, words, names):
        band = [f"-DWORDS={words}"] if names == SOURCES else ["-DWORDS=1", f"-DWIDTH={words}"]
        options = ["-cl-std=CL1.2", f"-DLANES={self.lanes}", *band]
        program = self.cl.Program(self.context, source(names))
        try:
            program.build(options=options)
        except self.cl.Error as error:
            raise DeviceError(f"OpenCL device {self.info.name} cannot build the kernels:\n{error}") from error
        build_log = program.get_build_info(self.device, self.cl.program_build_info.LOG).strip()
        if build_log:
            log.debug("OpenCL build log, words=%d:\n%s", words, build_log)
        return program

    def items(self, name, n, rows=0, width=0):
        """Work-items of a kernel for n pairs: one a group of lanes; on a CPU a few share the local alignments."""
        if self.lanes == 1 or not name.startswith("local"):
            return -(-n // self.lanes)
        room = self.trace_bytes // max(1, rows * width * self.local_lanes)
        return max(1, min(-(-n // self.local_lanes), ITEMS_A_UNIT * self.info.compute_units, room))

    @property
    def local_lanes(self):
        """Pairs of a group of local alignments on a CPU, at the most: a byte each in vectors of as many bits."""
        return max(32, 8 * self.lanes)

    def add(self, times: Times) -> None:
        """Adds one handle's counters to the engine's."""
        with self.lock:
            self.times += times


class Worker:
    """One thread's queue, kernels and buffers; buffers grow and are kept from batch to batch."""

    def __init__(self, engine: Engine):
        cl = engine.cl
        self.engine, self.cl = engine, cl
        properties = cl.command_queue_properties.PROFILING_ENABLE if engine.profiling else 0
        with engine.errors():
            self.queue = cl.CommandQueue(engine.context, properties=properties)
        self.buffers: dict = {}
        self.kernels: dict = {}
        self.events: list = []
        self.shared: list = []  # arrays that commands may still read
        self.times = Times()

    def kernel(self, name, words):
        """This worker's own kernel object: their arguments are state, so threads must not share them."""
        if (name, words) not in self.kernels:
            names = LOCAL_SOURCES if name.startswith("local") else SOURCES
            self.kernels[name, words] = self.cl.Kernel(self.engine.program(words, names), name)
        return self.kernels[name, words]

    def buffer(self, name, size):
        """A device buffer of at least `size` bytes under this name; what was in it is gone."""
        held = self.buffers.get(name)
        if held is None or held.size < size:
            self.buffers[name] = held = None  # given back before a larger one is asked for
            flags = self.cl.mem_flags.READ_WRITE
            self.buffers[name] = held = self.cl.Buffer(self.engine.context, flags, max(size, 64))
        return held

    def upload(self, name, array):
        """A buffer with what is in `array`, which must neither change nor go until all is done: the array itself, or
        the one of this name, into which it is being copied."""
        if self.engine.shares_memory and array.nbytes:
            self.shared.append(self.engine.in_place(array))
            return self.shared[-1]
        buffer = self.buffer(name, array.nbytes)
        if array.nbytes:
            self._note("upload", self.cl.enqueue_copy(self.queue, buffer, array, is_blocking=False))
        return buffer

    def download(self, *pairs):
        """Waits for all before it, then copies to each array from its buffer: pairs of them."""
        for i, (array, buffer) in enumerate(pairs, 1):
            last = i == len(pairs)  # the queue is in order, so this one is waited for alone
            self._note("download", self.cl.enqueue_copy(self.queue, array, buffer, is_blocking=last))

    def launch(self, name, words, items, *arguments):
        """So many work-items, in work-groups that suit the device."""
        local = 64 if self.engine.lanes == 1 else 1
        kernel = self.kernel(name, words)
        event = kernel(self.queue, (-(-items // local) * local,), (local,), *arguments)
        self._note("kernel", event)

    def _note(self, stage, event):
        self.events.append((stage, event))  # an upload's event waits for it when it is let go of

    def settle(self):
        """All commands have finished: their times go to the counters."""
        for stage, event in self.events if self.engine.profiling else ():
            event.wait()
            setattr(self.times, stage, getattr(self.times, stage) + event.profile.end - event.profile.start)
        self.events.clear()
        self.shared.clear()

    def forget(self):
        """After a failure: waits for what still runs and gives all buffers but the reads back."""
        self.events.clear()
        try:
            self.queue.finish()
        except self.cl.Error as error:
            log.debug("OpenCL queue: %s", error)
        self.shared.clear()
        self.buffers = {name: buffer for name, buffer in self.buffers.items() if name.startswith("read_")}


class DeviceBatch:
    """One batch of reads on the device. The arrays of every call were checked in extend.py."""

    def __init__(self, engine: Engine, worker: Worker, planes, plane_start, lengths):
        self.engine, self.worker, self.cl = engine, worker, engine.cl
        self.chunk = MAX_CHUNK
        self.lengths = lengths
        self.kept = (planes, plane_start, lengths)
        with engine.errors():
            arrays = zip(("read_planes", "read_row", "read_length"), self.kept, strict=True)
            self.reads = [worker.upload(name, array) for name, array in arrays]
            worker.queue.finish()
            worker.settle()

    def score(self, read_strand, band_start, words):
        """(best uint16[n], end uint16[n])."""
        n = len(read_strand)
        best, end = np.empty(n, np.uint16), np.empty(n, np.uint16)

        def run(part):
            both = np.empty((2, part.stop - part.start), np.uint16)
            out = self.worker.buffer("small_out", both.nbytes)
            self._launch("score", words, part, read_strand, band_start, out)
            self.worker.download((both, out))
            best[part], end[part] = both

        self._in_chunks(n, MAX_CHUNK, run)
        return best, end

    def profile(self, read_strand, band_start, words):
        """uint16[n, 64 * words]."""
        errors = np.empty((len(read_strand), 64 * words), np.uint16)

        def run(part):
            out = self.worker.buffer("large_out", errors[part].nbytes)
            self._launch("profile", words, part, read_strand, band_start, out)
            self.worker.download((errors[part], out))

        self._in_chunks(len(errors), max(1, self.engine.trace_bytes // (128 * words)), run)
        return errors

    def align(self, read_strand, band_start, words, end, edits, slot_end, rows):
        """(start uint16[n], n_runs uint16[n], runs uint32[slot_end[-1]]) as `_nw_cpu.Band.align` has them."""
        n, worker = len(read_strand), self.worker
        start, n_runs = np.empty(n, np.uint16), np.empty(n, np.uint16)
        runs = np.empty(int(slot_end[-1]), np.uint32)

        def run(part):
            first = int(slot_end[part.start - 1]) if part.start else 0
            both, slots = np.stack([end[part], edits[part]]), slot_end[part] - np.uint32(first)
            trace = worker.buffer("trace", self._trace_size(part.stop - part.start, words, rows))
            inputs = np.uint32(rows), worker.upload("end_edits", both), worker.upload("slot_end", slots)
            out = worker.buffer("small_out", both.nbytes), worker.buffer("large_out", int(slots[-1]) * 4)
            self._launch("align", words, part, read_strand, band_start, *inputs, trace, *out)
            worker.download((both, out[0]), (runs[first : first + int(slots[-1])], out[1]))
            start[part], n_runs[part] = both

        per_pair = 16 * words * rows + 4 * -(-len(runs) // n)
        self._in_chunks(n, max(1, self.engine.trace_bytes // per_pair), run)
        return start, n_runs, runs

    def local(self, read_strand, band_start, width, costs):
        """uint16[3, n] as `_nw_cpu.Band.local` has it."""
        n = len(read_strand)
        ends = np.empty((3, n), np.uint16)

        def run(part):
            found = np.empty((3, part.stop - part.start), np.uint16)
            out = self.worker.buffer("small_out", found.nbytes)
            inputs = np.uint32(width), self._costs(costs)
            self._launch("local_scores", width, part, read_strand, band_start, *inputs, out)
            self.worker.download((found, out))
            ends[:, part] = found

        self._in_chunks(n, MAX_CHUNK, run)
        return ends

    def align_local(self, read_strand, band_start, width, costs, slot_end, rows):
        """(ends, position, edits, n_runs, runs) as `_nw_cpu.Band.align_local` has them."""
        n, worker = len(read_strand), self.worker
        ends, position = np.empty((3, n), np.uint16), np.empty(n, np.uint32)
        small, runs = np.empty((2, n), np.uint16), np.empty(int(slot_end[-1]), np.uint32)

        def run(part):
            first, size = int(slot_end[part.start - 1]) if part.start else 0, part.stop - part.start
            slots = slot_end[part] - np.uint32(first)
            trace = worker.buffer("trace", self._local_trace_size(size, width, rows))
            inputs = (
                np.uint32(width),
                self._costs(costs),
                np.uint32(rows),
                worker.upload("slot_end", slots),
                trace,
            )
            found = np.empty((3, size), np.uint16), np.empty(size, np.uint32), np.empty((2, size), np.uint16)
            out = [worker.buffer(f"local_out{i}", array.nbytes) for i, array in enumerate(found)]
            large = worker.buffer("large_out", int(slots[-1]) * 4)
            items = self.engine.items("local_alignments", size, rows, width)
            self._launch(
                "local_alignments", width, part, read_strand, band_start, *inputs, *out, large, items=items
            )
            cigars = runs[first : first + int(slots[-1])]
            worker.download(*zip(found, out, strict=True), (cigars, large))
            ends[:, part], position[part], small[:, part] = found

        per_pair = (width * rows if self.engine.lanes == 1 else 0) + 4 * -(-len(runs) // n)
        self._in_chunks(n, max(1, self.engine.trace_bytes // per_pair), run)
        return ends, position, *small, runs

    def _costs(self, costs):
        self.kept = (*self.kept[:3], costs)  # an upload's array must live until it is done
        return self.worker.upload("costs", costs)

    def _trace_size(self, pairs, words, rows):
        """Bytes of whole tiles: all lanes of a group write."""
        tile = BAND_TILE if self.engine.lanes == 1 else self.engine.lanes
        return -(-pairs // tile) * tile * 16 * words * rows

    def _local_trace_size(self, pairs, width, rows):
        """Bytes of whole tiles, or of what each of a CPU's work-items overwrites group by group."""
        engine = self.engine
        if engine.lanes == 1:
            return -(-pairs // BAND_TILE) * BAND_TILE * width * rows
        return engine.items("local_alignments", pairs, rows, width) * engine.local_lanes * width * rows

    def _launch(self, name, words, part, read_strand, band_start, *arguments, items=None):
        worker, n = self.worker, part.stop - part.start
        items = items or self.engine.items(name, n)
        pairs = worker.upload("pairs", np.stack([read_strand[part], band_start[part]]))  # one command
        rows = np.uint64(len(self.engine.reference))
        batch = self.engine.planes, rows, *self.reads, pairs, np.uint32(n)
        worker.launch(name, words, items, *batch, *arguments)

    def _in_chunks(self, n, most, run):
        """run(slice) over 0..n; where the device has no memory, with half as many pairs from there on."""
        chunk, first = min(most, self.chunk), 0
        while first < n:
            part = slice(first, min(n, first + chunk))
            try:
                with self.engine.errors():
                    run(part)
                    self.worker.settle()
            except OutOfDeviceMemory as error:
                chunk = self._smaller(part.stop - part.start, error)
                continue
            first = part.stop
        self.worker.times.calls += 1
        self.worker.times.pairs += n

    def _smaller(self, pairs, error):
        self.worker.forget()
        if pairs <= SMALLEST_CHUNK:
            raise DeviceError(f"{error}, even for {pairs} pairs") from error
        self.chunk = pairs // 2
        log.debug("%s: on with %d pairs at a time", error, self.chunk)
        return self.chunk


class OutOfDeviceMemory(DeviceError):
    """The device has no room for this many pairs."""


class _AsDeviceError:
    """Turns pyopencl's errors into DeviceError."""

    def __init__(self, cl, name):
        self.cl, self.name = cl, name
        status = cl.status_code
        self.no_memory = {
            status.MEM_OBJECT_ALLOCATION_FAILURE,
            status.OUT_OF_RESOURCES,
            status.OUT_OF_HOST_MEMORY,
            status.INVALID_BUFFER_SIZE,
        }

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if isinstance(error, self.cl.Error):
            what = OutOfDeviceMemory if error.code in self.no_memory else DeviceError
            raise what(f"OpenCL device {self.name}: {error}") from error
        return False
