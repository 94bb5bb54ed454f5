"""Scores on an OpenCL device: a pair a work-item, or two pairs where 16 bits hold their scores."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst.align.device import named_device
from gassst.align.scoring import PAD, Costs
from gassst.align.sequences import Sequences
from gassst.align.workers import Progress, ProgressBar
from gassst.errors import DeviceError
from gassst.extension import opencl_engine

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

KERNELS = Path(__file__).parent / "kernels"
NARROW_LIMIT = 16_000  # no score of two pairs a word is larger, or smaller than its negative
COLUMNS = 8  # of a strip: what is between two strips goes through memory
GROUP = 128  # work-items
COLUMN_BYTES = 1 << 30  # at most, of what is between two strips
LAUNCH_CELLS = 2e10  # of a launch: an interrupt waits for its end
PAIRS_AT_ONCE, PAIRS_OF_LAUNCH = 1 << 22, 1 << 20

log = logging.getLogger("gassst")


class _Launch(NamedTuple):
    """What the device works on: where its scores go, the scores, the event that they are there, cells, memory."""

    slot: I64
    found: I32
    copied: Any
    work: float
    buffers: tuple[Any, Any]


class DeviceProduct:
    """Scores by the OpenCL device `device` ("gpu", "0:1", part of a name).

    Raises DeviceError when there is no such device, and when it fails.
    """

    def __init__(self, queries: Sequences, targets: Sequences, costs: Costs, device: str, threads: int):
        self._queries, self._targets, self._costs = queries, targets, costs
        self._m, self._n = queries.lengths, targets.lengths
        self._cl, info, cl_device = named_device(device, threads)
        cl = self._cl
        self._name = info.name
        self._memory = min(COLUMN_BYTES, cl_device.max_mem_alloc_size, cl_device.global_mem_size // 4)
        with opencl_engine.AsDeviceError(cl, info.name):
            self._context = cl.Context([cl_device])
            self._queue = cl.CommandQueue(self._context)
            self._arrays = [
                self._buffer(array if array.size else np.zeros(1, array.dtype))
                for array in (queries.codes, targets.codes, queries.offsets, targets.offsets)
            ]
            self._tables = {each: self._buffer(self._padded(each)) for each in (1, 2)}
            self._kernels: dict[int, Any] = {}
            self._before: Any = None
            self._has_pairs = self._makes_pairs(cl_device)

    def run(self, out: I32, pairs: I64 | None = None, progress: Progress | bool | None = None) -> None:
        """All against all into int32[queries, targets], or `pairs` int64[n, 2] into int32[n].

        While the device computes one launch, the next one is made ready.
        """
        flat = out.reshape(-1)
        given = (
            0.0 if pairs is None else float((self._m[pairs[:, 0]].astype(float) * self._n[pairs[:, 1]]).sum())
        )
        bar = ProgressBar(progress, given or float(self._m.sum()) * float(self._n.sum()))
        with opencl_engine.AsDeviceError(self._cl, self._name):
            running: list[_Launch] = []
            for slot, chosen, rows, each, work in self._work(pairs):
                running.append(self._begin(slot, chosen, rows, each, work))
                if len(running) > 1:
                    bar.add(self._end(running.pop(0), flat))
            for launch in running:
                bar.add(self._end(launch, flat))
        bar.finish()

    def _work(self, pairs: I64 | None) -> Iterator[tuple[I64, I64, int, int, float]]:
        """Of each launch: where its scores go, its pairs, the longest query, pairs of a work-item, cells."""
        for slot, chosen in self._chunks(pairs):
            m, n = self._m[chosen[:, 0]], self._n[chosen[:, 1]]
            extreme = np.maximum(self._costs.highest * np.minimum(m, n), -self._costs.lowest(m, n))
            is_narrow = (extreme + self._costs.first < NARROW_LIMIT) & self._has_pairs
            for each, mine in ((2, np.flatnonzero(is_narrow)), (1, np.flatnonzero(~is_narrow))):
                for part in self._launches(m[mine], n[mine], each):
                    these = mine[part]
                    work = float((m[these].astype(float) * n[these]).sum())
                    yield slot[these], chosen[these], int(m[these].max()), each, work

    def _chunks(self, pairs: I64 | None) -> Iterator[tuple[I64, I64]]:
        """(where their scores go, pairs) of some millions of pairs, like lengths side by side."""
        if pairs is not None:
            order = np.lexsort((self._n[pairs[:, 1]], self._m[pairs[:, 0]]))
            for i in range(0, len(order), PAIRS_AT_ONCE):
                these = order[i : i + PAIRS_AT_ONCE]
                yield these, pairs[these]
            return
        target_order = np.argsort(self._n, kind="stable")
        query_order = np.argsort(self._m, kind="stable")
        step = max(1, PAIRS_AT_ONCE // len(target_order))
        for i in range(0, len(query_order), step):
            query = np.repeat(query_order[i : i + step], len(target_order))
            target = np.tile(target_order, len(query) // len(target_order))
            yield query * len(target_order) + target, np.stack([query, target], axis=1)

    def _launches(self, m: I64, n: I64, each: int) -> Iterator[slice]:
        """Runs of neighbouring pairs that one launch does."""
        start = 0
        while start < len(m):
            near = slice(start, start + PAIRS_OF_LAUNCH)
            cells = np.cumsum(m[near].astype(float) * n[near])
            rows = np.maximum.accumulate(m[near])
            room = rows * 8 * (np.arange(1, len(rows) + 1) / each + GROUP)
            end = min(int(np.searchsorted(cells, LAUNCH_CELLS)), int(np.searchsorted(room, self._memory)))
            end = start + max(1, end)
            yield slice(start, end)
            start = end

    def _begin(self, slot: I64, pairs: I64, rows: int, each: int, work: float) -> _Launch:
        """Hands a launch to the device."""
        cl, costs = self._cl, self._costs
        items = (len(pairs) + each * GROUP - 1) // (each * GROUP) * GROUP
        if self._before is None or self._before.size < 8 * rows * items:
            self._before = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, 8 * rows * items)
        found = np.empty(len(pairs), np.int32)
        out = cl.Buffer(self._context, cl.mem_flags.WRITE_ONLY, found.nbytes)
        given = self._buffer(np.ascontiguousarray(pairs, np.uint32))
        numbers = np.array([costs.first, costs.extend, costs.flags, 0], np.int32).view(cl.cltypes.int4)[0]
        self._kernel(each)(
            self._queue, (items,), (GROUP,), *self._arrays, self._tables[each], numbers, given,
            np.uint32(len(pairs)), self._before, out,
        )  # fmt: skip
        copied = cl.enqueue_copy(self._queue, found, out, is_blocking=False)
        self._queue.flush()
        return _Launch(slot, found, copied, work, (out, given))

    def _end(self, launch: _Launch, flat: I32) -> float:
        """Its scores to where they belong, once they are there; returns its cells."""
        launch.copied.wait()
        flat[launch.slot] = launch.found
        for buffer in launch.buffers:
            buffer.release()
        return launch.work

    def _kernel(self, each: int, *options: str) -> Any:
        """The compiled kernel for so many pairs a work-item. Raises DeviceError."""
        if each not in self._kernels:
            text = "\n".join((KERNELS / name).read_text() for name in ("cells.h", "scores.cl"))
            options += ("-cl-std=CL1.2", f"-DPAIRS={each}", f"-DCOLUMNS={COLUMNS}")
            options += ("-DPROFILES",) if self._costs.profiles else ()
            try:
                program = self._cl.Program(self._context, text).build(options=list(options))
            except self._cl.Error as error:
                raise DeviceError(f"OpenCL device {self._name} cannot build the kernels:\n{error}") from error
            self._kernels[each] = self._cl.Kernel(program, "pair_scores")
        return self._kernels[each]

    def _makes_pairs(self, device: Any) -> bool:
        """Whether two values of 16 bits a word are faster: NVIDIA has instructions for them since 9.0 (Hopper)."""
        if "nvidia" not in device.platform.vendor.lower():
            return True
        try:
            if device.compute_capability_major_nv < 9:
                return False
            self._kernel(2, "-DNATIVE_PAIRS")
        except (AttributeError, self._cl.Error, DeviceError) as error:
            log.debug("no pairs of 16 bits: %s", error)
            return False
        return True

    def _padded(self, each: int) -> NDArray[np.int16]:
        """The table; a letter of padding loses more than any gap."""
        table = self._costs.table.copy()
        least = -(NARROW_LIMIT if each == 2 else 1 << 15)
        table[:, PAD] = least
        if not self._costs.profiles:
            table[PAD] = least
        return np.ascontiguousarray(table)

    def _buffer(self, array: NDArray[Any]) -> Any:
        flags = self._cl.mem_flags
        return self._cl.Buffer(self._context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=array)
