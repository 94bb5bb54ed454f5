"""The seed index in the memory of a device, and what a batch needs there: a queue, kernels, buffers.

Everything is summed and compared with the device's memory before anything is allocated. An array that is only too large
for one allocation is split into up to four.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from gassst.errors import DeviceError
from gassst.gpu.arrays import GROUP, definitions, dense_columns, plan_columns, shares_missed
from gassst.gpu.opencl_engine import Engine, OutOfDeviceMemory, scalar_types
from gassst.gpu.opencl_upload import pinned_memory, upload
from gassst.index.seed_index import SeedIndex
from gassst.model.array_types import U8
from gassst.search.context import QUICK_EVERY, borders_of
from gassst.search.dense import DenseSeeds
from gassst.search.plan import SearchPlan

SOURCES: tuple[str, ...] = (
    "band.h",
    "score.cl",
    "search.h",
    "seeds.cl",
    "anchors.cl",
    "stretches.cl",
    "bounds.cl",
    "buckets.cl",
    "pairs.cl",
    "repeats.cl",
)
SOURCES_OF_ALL: tuple[str, ...] = (
    "band.h",
    "score.cl",
    "search.h",
    "seeds.cl",
    "anchors.cl",
    "bounds.cl",
    "buckets.cl",
    "places.cl",
)
"""Where all places are wanted."""
MOST_PARTS = 4
IN_FLIGHT = 2
"""Batches on the device at once: while the host prepares a command of one, the other runs."""
WORK_BYTES = 1 << 30
"""Of a batch in flight, at least. A batch that needs more gets more while there is some."""
MOST_AHEAD = 1 << 28
"""Bytes of a buffer, at most, that are taken ahead of need."""
POLL = 1e-4  # s
SPARE_SHARE = 0.06
"""Of the device's memory, for its driver and for the alignments."""


class Fit(NamedTuple):
    """Whether an index fits a device. `why`: for people, "" where it fits; `parts`: into how many an array is split;
    `part_bits`: log2 of the elements of a part; `work_bytes`: of each batch in flight."""

    why: str
    parts: int
    part_bits: int
    work_bytes: int


class Spent(NamedTuple):
    """`calls` of a kernel or transfer, their `seconds`; `size`: bytes that transfers have moved, 0 of kernels."""

    calls: int
    seconds: float
    size: int


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
    cannot be built. `allocation`: bytes of the largest buffer, by default what the device says. `sources`: of the
    kernels that are built meanwhile.
    """

    def __init__(
        self,
        index: SeedIndex,
        engine: Engine,
        allocation: int | None = None,
        sources: tuple[str, ...] = SOURCES,
    ):
        self.engine, self.index = engine, index
        self.fit = fit(index, engine.info.memory, allocation or engine.device.max_mem_alloc_size)
        if self.fit.why:
            raise OutOfDeviceMemory(f"the index does not fit {engine.info.name}: {self.fit.why}")
        self.reads_at_once = 0
        """Of the largest batches that will come; 0 where nobody knows."""
        self._programs: dict[tuple[int, tuple[str, ...]], Any] = {}
        self._lock = threading.Lock()
        with engine.errors():
            arrays = index.table, index.positions, index.following
            pieces = [self._cut(array) for array in arrays]
            self.table, self.positions, self.following = (self._buffers(parts) for parts in pieces)
            if not engine.shares_memory:
                buffers = *self.table, *self.positions, *self.following
                with ThreadPoolExecutor(1, thread_name_prefix="gassst-upload") as beside:
                    uploaded = beside.submit(
                        upload, engine.cl, engine.context, buffers, [part for cut in pieces for part in cut]
                    )
                    self.program(1, sources)
                    uploaded.result()
        self.slots = [Slot(self) for _ in range(IN_FLIGHT)]
        self._idle: queue.LifoQueue[Slot] = queue.LifoQueue()
        for slot in self.slots:
            self._idle.put(slot)

    def _cut(self, array: np.ndarray) -> list[np.ndarray]:
        """The parts of an array; of all parts, those that it does not need are empty."""
        room = 1 << self.fit.part_bits
        return (
            [array[i * room : (i + 1) * room] for i in range(self.fit.parts)]
            if self.fit.parts > 1
            else [array]
        )

    def _buffers(self, parts: list[np.ndarray]) -> list[Any]:
        cl, engine = self.engine.cl, self.engine
        if engine.shares_memory:
            return [engine.in_place(part if part.nbytes else np.zeros(64, np.uint8)) for part in parts]
        return [cl.Buffer(engine.context, cl.mem_flags.READ_ONLY, max(part.nbytes, 64)) for part in parts]

    def program(self, words: int, sources: tuple[str, ...] = SOURCES) -> Any:
        """The compiled kernels of some files, for bands of 64 * words diagonals."""
        with self._lock:
            if (words, sources) not in self._programs:
                fitted = f"-DINDEX_PARTS={self.fit.parts}", f"-DPART_BITS={self.fit.part_bits}"
                options = ["-DLANES=1", f"-DWORDS={words}", *fitted, *definitions()]
                self._programs[words, sources] = self.engine.build(sources, options)
            return self._programs[words, sources]

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
    """The queue, kernels and memory of one batch in flight. Buffers grow, and are kept from batch to batch.

    What a batch takes from the host, and gives back to it, goes through memory that the driver has pinned: transfers
    from there run at the bus's rate beside the host's own work. It belongs to the batch until `end`.
    """

    def __init__(self, index: DeviceIndex):
        self.index, self.engine, self.cl = index, index.engine, index.engine.cl
        properties = self.cl.command_queue_properties.PROFILING_ENABLE if self.engine.profiling else 0
        self.queue = self.cl.CommandQueue(self.engine.context, properties=properties)
        self.buffers: dict[str, Any] = {}
        self._pinned: dict[str, tuple[Any, U8]] = {}
        self._kernels: dict[tuple[str, int, tuple[str, ...]], Any] = {}
        self._sources = SOURCES
        self._plan: tuple[Any, int] | None = None
        self._pairs: tuple[Any, np.ndarray] | None = None
        self._dense: tuple[Any, ...] = ()
        self._scale = 1.5
        self.events: list[tuple[str, Any, int]] = []

    def begin(
        self, plan: SearchPlan, reads: int, is_small: bool = False, sources: tuple[str, ...] = SOURCES
    ) -> list[Any]:
        """A batch of so many reads: buffers of the plan, of the columns of every stage, of the quick look of pairs, and
        of the caps.

        What the batch needs is taken for the largest one at once, as far as that is known; of the plan all is known.
        `is_small`: a batch of a kind that is never large. `sources`: of its kernels.
        """
        self._sources = sources
        self._scale = 1.0
        buffers = self._of_plan(plan)
        self._scale = 1.5 if is_small else max(self.index.reads_at_once / reads, 1.5)
        return buffers

    def _room(self, size: int) -> int:
        """For a buffer of `size` bytes: as much for each read of a larger batch."""
        return max(min(int(size * self._scale), max(size + size // 2, MOST_AHEAD)), 256)

    def buffer(self, name: str, size: int) -> Any:
        """A buffer of at least `size` bytes under this name; what was in it is gone. Raises OutOfDeviceMemory."""
        held = self.buffers.get(name)
        if held is None or held.size < size:
            self.buffers[name] = held = None
            used = sum(each.size for each in self.buffers.values() if each is not None)
            most = min(self.index.fit.work_bytes - used, self.engine.device.max_mem_alloc_size)
            if size > most:
                raise OutOfDeviceMemory(
                    f"{self.engine.info.name}: a batch needs more than {_gib(self.index.fit.work_bytes)}"
                )
            flags, room = self.cl.mem_flags.READ_WRITE, min(self._room(size), most)
            self.buffers[name] = held = self.cl.Buffer(self.engine.context, flags, room)
        return held

    def pinned(self, name: str, n: int, dtype: Any) -> np.ndarray:
        """Pinned memory under this name for `n` numbers; what was in it is gone."""
        size = max(n * np.dtype(dtype).itemsize, 64)
        if name not in self._pinned or len(self._pinned[name][1]) < size:
            room = self._room(size)
            self._pinned[name] = pinned_memory(self.cl, self.engine.context, self.queue, room)
        return self._pinned[name][1][: n * np.dtype(dtype).itemsize].view(dtype)

    def zeros(self, name: str, size: int) -> Any:
        """A buffer of this name, filled with zeros."""
        return self.filled(name, size, 0)

    def filled(self, name: str, size: int, byte: int) -> Any:
        """A buffer of this name, filled with a byte."""
        buffer, pattern = self.buffer(name, size), np.uint32(0x01010101 * byte)
        event = self.cl.enqueue_fill_buffer(self.queue, buffer, pattern, 0, max(-(-size // 4) * 4, 4))
        self._note("fill", event, size)
        return buffer

    def upload(self, name: str, *arrays: np.ndarray) -> Any:
        """A buffer of this name with what is in these arrays of one type, one behind the other."""
        staged = self.pinned(name, sum(map(len, arrays)), arrays[0].dtype)
        at = 0
        for array in arrays:
            np.copyto(staged[at : at + len(array)], array)
            at += len(array)
        return self.upload_pinned(name, staged)

    def upload_pinned(self, name: str, staged: np.ndarray) -> Any:
        """A buffer of this name with what is in pinned memory."""
        buffer = self.buffer(name, staged.nbytes)
        if staged.nbytes:
            event = self.cl.enqueue_copy(self.queue, buffer, staged, is_blocking=False)
            self._note("upload", event, staged.nbytes)
        return buffer

    def download(self, name: str, buffer: Any, n: int, dtype: Any) -> np.ndarray:
        """Pinned memory with what will be in a buffer once `wait` has returned."""
        staged = self.pinned(name, n, dtype)
        if n:
            event = self.cl.enqueue_copy(self.queue, staged, buffer, is_blocking=False)
            self._note("download", event, staged.nbytes)
        return staged

    def wait(self) -> None:
        """Until all commands are done.

        A driver that waits keeps a core busy, which the threads that compute need: so this sleeps.
        """
        done, complete = self.cl.enqueue_marker(self.queue), self.cl.command_execution_status.COMPLETE
        self.queue.flush()
        while done.command_execution_status > complete:
            time.sleep(POLL)
        self.queue.finish()

    def _of_plan(self, plan: SearchPlan) -> list[Any]:
        known = plan, int(np.count_nonzero(plan.known_lengths))
        names = [f"plan{stage}" for stage in range(plan.MAX_STAGES)]
        is_held = self._plan is not None and self._plan[0] is plan and self._plan[1] == known[1]
        if not is_held or "caps" not in self.buffers:
            for stage, name in enumerate(names):
                self.upload(name, plan_columns(plan, stage).ravel())
            self.upload("quick", plan_columns(plan, 0, QUICK_EVERY).ravel())
            self.upload("caps", plan.caps)
            self._plan = known
        return [self.buffers[name] for name in (*names, "quick", "caps")]

    def of_dense(self, plan: SearchPlan, seeds: DenseSeeds) -> tuple[Any, Any]:
        """Buffers for dense seeds: columns of a plan, and caps."""
        if self._dense[:2] != (plan, seeds) or "dense_caps" not in self.buffers:
            self.upload("dense_plan", dense_columns(plan, seeds).ravel())
            self.upload("dense_caps", seeds.caps(plan))
            self._dense = plan, seeds
        return self.buffers["dense_plan"], self.buffers["dense_caps"]

    def of_pairs(self, plan: SearchPlan, present: np.ndarray) -> tuple[Any, Any, Any]:
        """Buffers for the quick look of pairs: borders of contigs, and `shares_missed` of reads of these lengths."""
        if "borders" not in self.buffers:
            self.upload("borders", borders_of(self.index.index.reference))
        known = self._pairs if "shares_missed" in self.buffers else None
        if known is None or known[0] is not plan or not np.array_equal(known[1], present):
            row, shares = shares_missed(plan, present)
            self.upload("miss_row", row)
            self.upload("shares_missed", shares.ravel())
            self._pairs = plan, present
        return self.buffers["borders"], self.buffers["miss_row"], self.buffers["shares_missed"]

    def launch(self, name: str, items: Any, *arguments: Any, words: int = 1, group: int = GROUP) -> None:
        """Run a kernel with so many work-items, or so many times so many."""
        across, down = items if isinstance(items, tuple) else (items, 1)
        if not across or not down:
            return
        key = name, words, self._sources
        kernel = self._kernels.get(key)
        if kernel is None:
            program = self.index.program(words, self._sources)
            kernel = self._kernels[key] = self.cl.Kernel(program, name)
            kernel.set_scalar_arg_dtypes(scalar_types(arguments))
        size = -(-across // group) * group
        event = kernel(self.queue, (size, down), (group, 1), *arguments)
        self._note(name, event)

    def _note(self, name: str, event: Any, size: int = 0) -> None:
        if self.engine.profiling:
            self.events.append((name, event, size))

    def end(self) -> None:
        """After a batch, also one that failed: nothing runs any more. A device that is lost is told of elsewhere."""
        try:
            self.queue.finish()
        except self.cl.Error as error:
            raise DeviceError(f"OpenCL device {self.engine.info.name}: {error}") from error

    def spent(self) -> dict[str, Spent]:
        """What every kernel and transfer took since this was last asked for, by the device's own clock."""
        found: dict[str, Spent] = {}
        for name, event, size in self.events:
            event.wait()
            known = found.get(name, Spent(0, 0.0, 0))
            seconds = known.seconds + 1e-9 * (event.profile.end - event.profile.start)
            found[name] = Spent(known.calls + 1, seconds, known.size + size)
        self.events.clear()
        return found
