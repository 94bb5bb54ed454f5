"""Scores on an OpenCL device: some neighbouring work-items a pair, or two pairs where 16 bits hold their scores.

The kernel is `kernels/scores.cl`. This module chooses how many work-items a pair takes and how many letters of the
query each of them holds, and keeps the device busy: while it computes one launch, the scores of the one before
arrive.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst.align.device import named_device
from gassst.align.scoring import LEAST, MOST, PAD, Costs
from gassst.align.sequences import Sequences
from gassst.align.workers import Progress, ProgressBar
from gassst.errors import DeviceError
from gassst.extension import opencl_engine

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

KERNELS = Path(__file__).parent / "kernels"
WARP = 32
LANES = (1, 2, 4, 8, 16, 32)
LETTERS = (6, 16, 25, 32)  # rows of a profile: ACGTN, IUPAC, amino acids, all; with padding
CELL_COST, STEP_COST = 7, 30  # instructions of a cell, and of a step besides
FILLING_ITEMS = 512  # of a compute unit
BORDER_BYTES = 1 << 30  # at most, of what is between two strips
LAUNCH_CELLS = 5e10  # of a launch: an interrupt waits for its end
LAUNCH_SCORES = 1 << 24
IN_FLIGHT = 2

log = logging.getLogger("gassst")


class Shape(NamedTuple):
    """How a pair is computed: `lanes` work-items hold `columns` letters of the query each."""

    lanes: int
    columns: int


class Machine:
    """A device, its queues and its programs, which later calls find again."""

    def __init__(self, info: Any, device: Any):
        cl = self.cl = opencl_engine.load_pyopencl()
        self.name = info.name
        with opencl_engine.AsDeviceError(cl, info.name):
            self.context = cl.Context([device])
            self.queue, self.copies = cl.CommandQueue(self.context), cl.CommandQueue(self.context)
        self.units = device.max_compute_units
        self.local_bytes = device.local_mem_size
        self.border_bytes = min(BORDER_BYTES, device.max_mem_alloc_size, device.global_mem_size // 4)
        self.is_nvidia = "nvidia" in device.platform.vendor.lower()
        self.is_hopper = self.is_nvidia and device.compute_capability_major_nv >= 9
        # Before Hopper, NVIDIA's processors have no instructions for two values of 16 bits.
        self.each = (1,) if self.is_nvidia and not self.is_hopper else (2, 1)
        self.items = 256 if self.is_nvidia else 64
        # Elsewhere one program does for all.
        self.columns: tuple[int, ...] = (8, 12, 16, 20, 24, 28, 32) if self.is_nvidia else (4,)
        self.letters = LETTERS if self.is_nvidia else LETTERS[-1:]

    @functools.cache  # noqa: B019 (machines last as long as the process)
    def program(self, options: tuple[str, ...]) -> Any:
        """The kernel for some options. Raises DeviceError."""
        text = (KERNELS / "scores.cl").read_text()
        own = ("-cl-std=CL1.2", f"-DITEMS={self.items}")
        own += ("-DNVIDIA",) if self.is_nvidia else ()
        own += ("-DHOPPER",) if self.is_hopper else ()
        try:
            return self.cl.Program(self.context, text).build(options=[*own, *options])
        except self.cl.Error as error:
            raise DeviceError(f"OpenCL device {self.name} cannot build the kernels:\n{error}") from error

    def buffer(self, array: NDArray[Any]) -> Any:
        """Its contents on the device, read-only."""
        flags = self.cl.mem_flags
        given = np.ascontiguousarray(array) if array.size else np.zeros(1, array.dtype)
        return self.cl.Buffer(self.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=given)

    def room(self, size: int) -> Any:
        """Bytes on the device."""
        return self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, max(16, size))


@functools.cache
def _machine(index: str, threads: int) -> Machine:
    _, info, device = named_device(index, threads)
    return Machine(info, device)


class _Run(NamedTuple):
    """Neighbours in an order, for one kernel."""

    begin: int
    count: int
    each: int


class _Launch(NamedTuple):
    """What the device works on: the scores, the event that they are there, where they go, cells, memory."""

    found: I32
    copied: Any
    place: I64
    work: float
    buffers: tuple[Any, ...]


class DeviceProduct:
    """Scores by the OpenCL device `device` ("gpu", "0:1", part of a name).

    `shape` fixes what is else chosen by the lengths. Raises DeviceError when there is no such device, and when it
    fails.
    """

    def __init__(
        self,
        queries: Sequences,
        targets: Sequences,
        costs: Costs,
        device: str,
        threads: int,
        shape: Shape | None = None,
    ):
        _, info, _ = named_device(device, threads)
        self._machine = machine = _machine(info.index, threads)
        self._costs, self._shape = costs, shape
        self._m, self._n = queries.lengths, targets.lengths
        most = int(targets.codes.max()) + 2
        self._letters = next(size for size in machine.letters if size >= most)
        letters = costs.table[:, :PAD]
        self._fits_bytes = not costs.wide and costs.first < 1 << 12
        del letters
        with opencl_engine.AsDeviceError(machine.cl, machine.name):
            self._sides = [
                machine.buffer(array)
                for array in (queries.codes, queries.offsets, targets.codes, targets.offsets)
            ]
            self._tables = {each: machine.buffer(self._padded(each)) for each in (1, 2)}
            self._border: Any = None
            self._none = machine.buffer(np.zeros(4, np.int32))
            self._kernels: dict[tuple[int, int], Any] = {}

    def run(self, out: I32, pairs: I64 | None = None, progress: Progress | bool | None = None) -> None:
        """All against all into int32[queries, targets], or `pairs` int64[n, 2] into int32[n]."""
        if pairs is None:
            bar = ProgressBar(progress, float(self._m.sum()) * float(self._n.sum()))
        else:
            bar = ProgressBar(
                progress, float((self._m[pairs[:, 0]].astype(float) * self._n[pairs[:, 1]]).sum())
            )
        with opencl_engine.AsDeviceError(self._machine.cl, self._machine.name):
            if pairs is None:
                self._run_product(out, bar)
            else:
                self._run_pairs(out, pairs, bar, narrow=True)
        bar.finish()

    # --- all against all

    def _run_product(self, out: I32, bar: ProgressBar) -> None:
        order = np.argsort(-self._n, kind="stable")
        given = self._machine.buffer(order.astype(np.int32))
        running: list[_Launch] = []
        redo: list[I64] = []

        def end(launch: _Launch) -> None:
            launch.copied.wait()
            rows = launch.place
            if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
                out[rows[0] : rows[-1] + 1] = launch.found
            else:
                out[rows] = launch.found
            row, column = np.nonzero(launch.found >= self._overflow)
            if len(row):
                redo.append(np.stack([rows[row], column], axis=1))
            self._release(launch)
            bar.add(launch.work)

        for shape, rows in self._row_blocks():
            running.append(self._begin_rows(shape, rows, order, given))
            if len(running) >= IN_FLIGHT:
                end(running.pop(0))
        for launch in running:
            end(launch)
        if redo:
            again = np.concatenate(redo)
            found = np.empty(len(again), np.int32)
            self._run_pairs(found, again, ProgressBar(None, 1), narrow=False)
            out[again[:, 0], again[:, 1]] = found

    def _row_blocks(self) -> Iterator[tuple[Shape, I64]]:
        """Queries that one launch aligns with all targets."""
        width, letters = len(self._n), float(self._n.sum())
        choice, shapes = self._shapes(self._m, float(self._n.mean()), width, own=False, each=self._machine.each[0])
        for i in range(len(shapes)):
            rows = np.flatnonzero(choice == i)
            if not len(rows):
                continue
            rows = rows[np.argsort(self._m[rows], kind="stable")] if self._strips(shapes[i], rows) > 1 else rows
            start = 0
            while start < len(rows):
                cells = np.cumsum(self._m[rows[start:]]) * letters
                end = start + max(1, int(np.searchsorted(cells, LAUNCH_CELLS)))
                end = min(end, start + max(1, LAUNCH_SCORES // width))
                yield shapes[i], rows[start:end]
                start = end

    def _begin_rows(self, shape: Shape, rows: I64, order: I64, given: Any) -> _Launch:
        machine = self._machine
        m, n = self._m[rows], self._n[order]
        result = machine.room(4 * len(rows) * len(n))
        which = machine.buffer(rows.astype(np.int32))
        last = None
        for run in self._runs(int(m.max()), n, shape):
            last = self._enqueue(shape, run, n, (given, which), len(rows), len(n), result, int(m.max()), own=False)
        found = np.empty((len(rows), len(n)), np.int32)
        copied = machine.cl.enqueue_copy(
            machine.copies, found, result, is_blocking=False, wait_for=[last]
        )
        machine.copies.flush()
        return _Launch(found, copied, rows, float(m.sum()) * float(n.sum()), (result, which))

    def _runs(self, m: int, n: I64, shape: Shape) -> Iterator[_Run]:
        """Targets of falling length, those for 32 bits first."""
        wide = int(np.count_nonzero(~self._is_narrow(np.full(1, m), n, shape)))
        for begin, end, each in ((0, wide, 1), (wide, len(n), 2)):
            if end > begin:
                yield _Run(begin, end - begin, each)

    # --- given pairs

    def _run_pairs(self, out: I32, pairs: I64, bar: ProgressBar, narrow: bool) -> None:
        m, n = self._m[pairs[:, 0]], self._n[pairs[:, 1]]
        running: list[_Launch] = []
        redo: list[I64] = []

        def end(launch: _Launch, narrow: bool) -> None:
            launch.copied.wait()
            out[launch.place] = launch.found
            if narrow:
                redo.append(launch.place[launch.found >= self._overflow])
            self._release(launch)
            bar.add(launch.work)

        for each in self._machine.each if narrow else (1,):
            choice, shapes = self._shapes(m, float(n.mean()) if len(n) else 1.0, len(n), own=True, each=each)
            for i, shape in enumerate(shapes):
                mine = np.flatnonzero(choice == i)
                if len(self._machine.each) > 1 and narrow:
                    fits = self._is_narrow(m[mine], n[mine], shape)
                    mine = mine[fits if each == 2 else ~fits]
                mine = mine[np.argsort(-n[mine], kind="stable")]
                start = 0
                while start < len(mine):
                    cells = np.cumsum(m[mine[start:]].astype(float) * n[mine[start:]])
                    stop = start + max(1, int(np.searchsorted(cells, LAUNCH_CELLS)))
                    stop = min(stop, start + LAUNCH_SCORES)
                    running.append(self._begin_pairs(shape, mine[start:stop], pairs, each))
                    start = stop
                    if len(running) >= IN_FLIGHT:
                        end(running.pop(0), narrow)
        for launch in running:
            end(launch, narrow)
        again = np.concatenate(redo) if redo else np.empty(0, np.int64)
        if len(again):
            found = np.empty(len(again), np.int32)
            self._run_pairs(found, pairs[again], ProgressBar(None, 1), narrow=False)
            out[again] = found

    def _begin_pairs(self, shape: Shape, mine: I64, pairs: I64, each: int) -> _Launch:
        machine = self._machine
        m, n = self._m[pairs[mine, 0]], self._n[pairs[mine, 1]]
        given = machine.buffer(pairs[mine].astype(np.int32))
        result = machine.room(4 * len(mine))
        done = self._enqueue(
            shape, _Run(0, len(mine), each), n, (given, self._none), 1, 0, result, int(m.max()), own=True
        )
        found = np.empty(len(mine), np.int32)
        copied = machine.cl.enqueue_copy(machine.copies, found, result, is_blocking=False, wait_for=[done])
        machine.copies.flush()
        return _Launch(found, copied, mine, float((m.astype(float) * n).sum()), (result, given))

    # --- both

    def _enqueue(self, shape, run, n, given, rows, width, result, longest, own):
        """Hands a kernel to the device; returns its event. `n`: lengths of targets in their order."""
        machine, costs = self._machine, self._costs
        items = self._group_items(shape.columns, run.each, own)
        items = max(WARP, min(items, -(-run.count // run.each) * shape.lanes + WARP - 1) // WARP * WARP)
        groups = -(-(-(-run.count // run.each)) * shape.lanes // items) * items
        stride, starts = 0, self._none
        if longest > shape.lanes * shape.columns:
            each_n = np.zeros(groups // shape.lanes, np.int64)
            firsts = n[run.begin : run.begin + run.count : run.each]
            each_n[: len(firsts)], each_n[len(firsts) :] = firsts, n[run.begin + run.count - 1]
            start = np.zeros(len(each_n) + 1, np.int64)
            np.cumsum(each_n, out=start[1:])
            stride = int(start[-1])
            starts = machine.buffer(start.astype(np.int32))
            size = 8 * stride * rows
            if self._border is None or self._border.size < size:
                self._border = machine.room(size)
        numbers = np.array(
            [costs.first, costs.extend, shape.lanes, run.begin, run.count, width, costs.profiles, own, costs.flags, stride],
            np.int32,
        )  # fmt: skip
        warps = items // WARP * run.each if own else 1
        local = machine.cl.LocalMemory(warps * self._profile_bytes(shape.columns, run.each))
        event = self._kernel(shape.columns, run.each)(
            machine.queue, (groups, rows), (items, 1), numbers, *self._sides, self._tables[run.each], *given,
            starts, self._border or self._none, result, local,
        )  # fmt: skip
        machine.queue.flush()
        return event

    def _release(self, launch: _Launch) -> None:
        for buffer in launch.buffers:
            buffer.release()

    @property
    def _overflow(self) -> int:
        """Scores from here on may have left 16 bits."""
        return MOST[1] - MOST[0]

    def _is_narrow(self, m: I64, n: I64, shape: Shape) -> NDArray[np.bool_]:
        """Whether 16 bits hold what the kernel computes, or tell that they do not."""
        if 2 not in self._machine.each or not self._fits_bytes:
            return np.zeros(np.broadcast(m, n).shape, bool)
        columns = shape.lanes * shape.columns
        lowest = self._costs.lowest(-(-m // columns) * columns, n)
        if self._costs.flags & 16:
            return np.ones(np.broadcast(m, n).shape, bool)
        highest = self._costs.highest * np.minimum(m, n)
        return (highest < self._overflow) & (lowest - self._costs.first - MOST[0] > LEAST[1])

    def _strips(self, shape: Shape, rows: I64) -> int:
        return -(-int(self._m[rows].max()) // (shape.lanes * shape.columns))

    def _profile_bytes(self, columns: int, each: int) -> int:
        return 4 * (columns // (2 * each)) * self._letters * WARP

    def _group_items(self, columns: int, each: int, own: bool) -> int:
        """Of a work-group; 0 where local memory has no room for its profiles."""
        room = (self._machine.local_bytes - 4 * (self._machine.items * each + 64)) // self._profile_bytes(
            columns, each
        )
        if not own:
            return self._machine.items if room else 0
        return min(self._machine.items, room // each * WARP)

    def _shapes(self, m: I64, n: float, count: int, own: bool, each: int) -> tuple[I64, list[Shape]]:
        """(which shape suits each query, the shapes): the fewest instructions, and items for the whole device."""
        if self._shape is not None:
            return np.zeros(len(m), np.int64), [self._shape]
        least = 1
        rows = 1 if own else len(m)
        while least < WARP and rows * -(-count // each) * least < FILLING_ITEMS * self._machine.units:
            least *= 2
        shapes = [
            Shape(lanes, columns)
            for lanes in LANES
            for columns in self._machine.columns
            if lanes >= least and self._group_items(columns, each, own)
        ]
        cost = [
            -(-m // (lanes * columns)) * lanes * (columns * CELL_COST + STEP_COST) * (n + lanes - 1)
            for lanes, columns in shapes
        ]
        return np.argmin(np.array(cost), axis=0), shapes

    def _kernel(self, columns: int, each: int) -> Any:
        if (columns, each) not in self._kernels:
            program = self._machine.program(
                (
                    f"-DPAIRS={each}",
                    f"-DCOLUMNS={columns}",
                    f"-DLETTERS={self._letters}",
                    *((f"-DFLAGS={self._costs.flags}",) if self._machine.is_nvidia else ()),
                )
            )
            self._kernels[columns, each] = self._machine.cl.Kernel(program, "pair_scores")
        return self._kernels[columns, each]

    def _padded(self, each: int) -> NDArray[np.int16]:
        """The table; padding scores as little as a profile can say."""
        table = self._costs.table.copy()
        table[:, PAD] = LEAST[2 - each]
        return np.ascontiguousarray(table)
