"""The seed index in the memory of a device, and what a batch needs there: a queue, kernels, buffers.

Everything is summed and compared with the device's memory before anything is allocated. An array that is only too large
for one allocation is split into up to four.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from gassst.errors import DeviceError
from gassst.extension.opencl_engine import Engine, OutOfDeviceMemory
from gassst.search.device_arrays import GROUP, definitions
from gassst.seeding.seed_index import SeedIndex

SOURCES = ("band.h", "score.cl", "search.h", "seeds.cl", "anchors.cl", "bounds.cl", "buckets.cl")
MOST_PARTS = 4
IN_FLIGHT = 2
"""Batches on the device at once: while the host prepares a command of one, the other runs."""
WORK_BYTES = 1 << 30
"""Of a batch in flight, at least. A batch that needs more gets more while there is some."""
SPARE_SHARE = 0.06
"""Of the device's memory, for its driver and for the alignments."""
COPIED = 1 << 26
"""Bytes uploaded at once."""


class Fit(NamedTuple):
    """Whether an index fits a device. `why`: for people, "" where it fits; `parts`: into how many an array is split;
    `part_bits`: log2 of the elements of a part; `work_bytes`: of each batch in flight."""

    why: str
    parts: int
    part_bits: int
    work_bytes: int


def fit(index: SeedIndex, memory: int, allocation: int) -> Fit:
    """Whether an index and two batches fit `memory` bytes of a device, whose buffers take `allocation` each at most."""
    arrays = index.table, index.positions, index.following
    planes = index.reference.planes.nbytes
    index_bytes = sum(array.nbytes for array in arrays) + planes
    work = (int(memory * (1 - SPARE_SHARE)) - index_bytes) // IN_FLIGHT
    bits = max((allocation // 4).bit_length() - 1, 0)
    parts = -(-max(len(array) for array in arrays) >> bits)
    parts = 1 if max(array.nbytes for array in arrays) <= allocation else max(2, parts)
    why = ""
    if index.step != 1:
        why = f"an index of step {index.step} is searched on the host"
    elif work < WORK_BYTES:
        why = f"{_gib(index_bytes)} of index and {_gib(IN_FLIGHT * WORK_BYTES)} to work in do not fit {_gib(memory)}"
    elif planes > allocation or parts > MOST_PARTS:
        why = f"the largest allocation is {_gib(allocation)}"
    return Fit(why, min(parts, MOST_PARTS) if parts == 1 else MOST_PARTS, bits, work)


def _gib(n: int) -> str:
    return f"{n / 2**30:.1f} GiB"


class DeviceIndex:
    """The arrays of an index on the device of an engine, and slots for batches.

    Raises OutOfDeviceMemory where `fit` says that it does not fit, or the driver does; DeviceError where the kernels
    cannot be built. `allocation`: bytes of the largest buffer, by default what the device says.
    """

    def __init__(self, index: SeedIndex, engine: Engine, allocation: int | None = None):
        self.engine, self.index = engine, index
        self.fit = fit(index, engine.info.memory, allocation or engine.device.max_mem_alloc_size)
        if self.fit.why:
            raise OutOfDeviceMemory(f"the index does not fit {engine.info.name}: {self.fit.why}")
        self._programs: dict[int, Any] = {}
        self._lock = threading.Lock()
        with engine.errors():
            first = Slot(self)
            self.table, self.positions, self.following = (
                self._parts(first, array) for array in (index.table, index.positions, index.following)
            )
            first.queue.finish()
        self.slots = [first, *(Slot(self) for _ in range(IN_FLIGHT - 1))]
        self._idle: queue.LifoQueue[Slot] = queue.LifoQueue()
        for slot in self.slots:
            self._idle.put(slot)

    def _parts(self, slot: Slot, array: np.ndarray) -> list[Any]:
        """Buffers of an array; of all parts, those that it does not need are the first one again."""
        cl, room = self.engine.cl, 1 << self.fit.part_bits
        parts = [array] if self.fit.parts == 1 else [array[i : i + room] for i in range(0, len(array), room)]
        buffers = []
        for part in parts:
            if self.engine.shares_memory and part.nbytes:
                buffers.append(self.engine.in_place(part))
                continue
            buffers.append(cl.Buffer(self.engine.context, cl.mem_flags.READ_ONLY, max(part.nbytes, 64)))
            data = part.view(np.uint8)
            for at in range(0, len(data), COPIED):
                cl.enqueue_copy(slot.queue, buffers[-1], data[at : at + COPIED], dst_offset=at)
        return [*buffers, *buffers[:1] * (self.fit.parts - len(buffers))]

    def program(self, words: int) -> Any:
        """The compiled kernels, for bands of 64 * words diagonals."""
        with self._lock:
            if words not in self._programs:
                fitted = f"-DINDEX_PARTS={self.fit.parts}", f"-DPART_BITS={self.fit.part_bits}"
                options = ["-DLANES=1", f"-DWORDS={words}", *fitted, *definitions()]
                self._programs[words] = self.engine.build(SOURCES, options)
            return self._programs[words]

    @contextmanager
    def slot(self) -> Iterator[Slot]:
        """A slot of one's own; waits for it."""
        slot = self._idle.get()
        try:
            yield slot
        finally:
            slot.end()
            self._idle.put(slot)


class Slot:
    """The queue, kernels and buffers of one batch in flight. Buffers grow, and are kept from batch to batch."""

    def __init__(self, index: DeviceIndex):
        self.index, self.engine, self.cl = index, index.engine, index.engine.cl
        properties = self.cl.command_queue_properties.PROFILING_ENABLE if self.engine.profiling else 0
        self.queue = self.cl.CommandQueue(self.engine.context, properties=properties)
        self.buffers: dict[str, Any] = {}
        self._kernels: dict[tuple[str, int], Any] = {}
        self._sources: list[Any] = []  # of uploads under way
        self.events: list[tuple[str, Any]] = []

    def buffer(self, name: str, size: int) -> Any:
        """A buffer of at least `size` bytes under this name; what was in it is gone. Raises OutOfDeviceMemory."""
        held = self.buffers.get(name)
        if held is None or held.size < size:
            self.buffers[name] = held = None
            size += size // 4
            used = sum(each.size for each in self.buffers.values() if each is not None)
            most = self.index.fit.work_bytes
            if used + size > most or size > self.engine.device.max_mem_alloc_size:
                raise OutOfDeviceMemory(f"{self.engine.info.name}: a batch needs more than {_gib(most)}")
            flags = self.cl.mem_flags.READ_WRITE
            self.buffers[name] = held = self.cl.Buffer(self.engine.context, flags, max(size, 256))
        return held

    def zeros(self, name: str, size: int) -> Any:
        """A buffer of this name, filled with zeros."""
        buffer = self.buffer(name, size)
        event = self.cl.enqueue_fill_buffer(self.queue, buffer, np.uint32(0), 0, max(-(-size // 4) * 4, 4))
        self._note("fill", event)
        return buffer

    def upload(self, name: str, array: np.ndarray) -> Any:
        """A buffer of this name with what is in an array, which must not change before the next download."""
        array = np.ascontiguousarray(array)
        buffer = self.buffer(name, array.nbytes)
        if array.nbytes:
            self._sources.append(array)
            event = self.cl.enqueue_copy(self.queue, buffer, array, is_blocking=False)
            self._note("upload", event)
            self._sources.append(event)
        return buffer

    def download(self, buffer: Any, shape: Any, dtype: Any) -> np.ndarray:
        """Waits for all commands, and returns what is in a buffer."""
        array = np.empty(shape, dtype)
        if array.nbytes:
            self._note("download", self.cl.enqueue_copy(self.queue, array, buffer))
        else:
            self.queue.finish()
        self._sources.clear()
        return array

    def launch(self, name: str, items: Any, *arguments: Any, words: int = 1, group: int = GROUP) -> None:
        """Run a kernel with so many work-items, or so many times so many."""
        across, down = items if isinstance(items, tuple) else (items, 1)
        if not across or not down:
            return
        if (name, words) not in self._kernels:
            self._kernels[name, words] = self.cl.Kernel(self.index.program(words), name)
        size = -(-across // group) * group
        event = self._kernels[name, words](self.queue, (size, down), (group, 1), *arguments)
        self._note(name, event)

    def _note(self, name: str, event: Any) -> None:
        if self.engine.profiling:
            self.events.append((name, event))

    def end(self) -> None:
        """After a batch, also one that failed: nothing runs any more. A device that is lost is told of elsewhere."""
        try:
            self.queue.finish()
        except self.cl.Error as error:
            raise DeviceError(f"OpenCL device {self.engine.info.name}: {error}") from error
        finally:
            self._sources.clear()

    def seconds(self) -> dict[str, tuple[int, float]]:
        """Calls and seconds of every kernel and transfer since this was last asked for, by the device's own clock."""
        found: dict[str, tuple[int, float]] = {}
        for name, event in self.events:
            event.wait()
            calls, seconds = found.get(name, (0, 0.0))
            found[name] = calls + 1, seconds + 1e-9 * (event.profile.end - event.profile.start)
        self.events.clear()
        return found
