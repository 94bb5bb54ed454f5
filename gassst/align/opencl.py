"""Scores on an OpenCL device: a pair a work-item, or two pairs where 16 bits hold their scores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
PAIRS_AT_ONCE = 1 << 22


class DeviceProduct:
    """Scores by the OpenCL device `device` ("gpu", "0:1", part of a name).

    Raises DeviceError when there is no such device, and when it fails.
    """

    def __init__(self, queries: Sequences, targets: Sequences, costs: Costs, device: str, threads: int):
        self._queries, self._targets, self._costs = queries, targets, costs
        self._m, self._n = queries.lengths, targets.lengths
        info, cl_device = opencl_engine.choose(device.lower(), threads)
        self._cl = cl = opencl_engine.load_pyopencl()
        self._name = info.name
        self._memory = min(COLUMN_BYTES, cl_device.max_mem_alloc_size, cl_device.global_mem_size // 4)
        self._capability = getattr(cl_device, "compute_capability_major_nv", 0) if info.type == "gpu" else 0
        with opencl_engine._AsDeviceError(cl, info.name):
            self._context = cl.Context([cl_device])
            self._queue = cl.CommandQueue(self._context)
            self._arrays = [
                self._buffer(array if array.size else np.zeros(1, array.dtype))
                for array in (queries.codes, targets.codes, queries.offsets, targets.offsets)
            ]
            self._programs: dict[int, Any] = {}
            self._tables = {pairs: self._buffer(self._padded(pairs)) for pairs in (1, 2)}

    def run(self, out: I32, pairs: I64 | None = None, progress: Progress | bool | None = None) -> None:
        """All against all into int32[queries, targets], or `pairs` int64[n, 2] into int32[n]."""
        flat = out.reshape(-1)
        given = (
            float((self._m[pairs[:, 0]].astype(float) * self._n[pairs[:, 1]]).sum())
            if pairs is not None
            else 0
        )
        bar = ProgressBar(progress, given or float(self._m.sum()) * float(self._n.sum()))
        for slot, chosen in self._chunks(pairs):
            m, n = self._m[chosen[:, 0]], self._n[chosen[:, 1]]
            highest = self._costs.highest * np.minimum(m, n)
            lowest = -self._costs.lowest(m, n)
            is_narrow = np.maximum(highest, lowest) + self._costs.first < NARROW_LIMIT
            for each, mine in ((2, np.flatnonzero(is_narrow)), (1, np.flatnonzero(~is_narrow))):
                for part in self._launches(m[mine], n[mine], each):
                    these = mine[part]
                    flat[slot[these]] = self._scores(chosen[these], int(m[these].max()), each)
                    bar.add(float((m[these].astype(float) * n[these]).sum()))
        bar.finish()

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
            cells = np.cumsum(m[start:].astype(float) * n[start:])
            rows = np.maximum.accumulate(m[start:])
            room = rows * 8 * (np.arange(1, len(rows) + 1) / each + GROUP)
            end = min(int(np.searchsorted(cells, LAUNCH_CELLS)), int(np.searchsorted(room, self._memory)))
            end = start + max(1, end)
            yield slice(start, end)
            start = end

    def _scores(self, pairs: I64, rows: int, each: int) -> I32:
        cl = self._cl
        with opencl_engine._AsDeviceError(cl, self._name):
            items = (len(pairs) + each * GROUP - 1) // (each * GROUP) * GROUP
            found = np.empty(len(pairs), np.int32)
            out = cl.Buffer(self._context, cl.mem_flags.WRITE_ONLY, found.nbytes)
            before = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, 8 * rows * items)
            costs = self._costs
            numbers = np.array([costs.first, costs.extend, costs.flags, 0], np.int32)
            kernel = self._kernel(each)
            arrays = [*self._arrays, self._tables[each]]
            given = self._buffer(np.ascontiguousarray(pairs, np.uint32))
            kernel(
                self._queue, (items,), (GROUP,), *arrays, numbers.view(cl.cltypes.int4)[0], given,
                np.uint32(len(pairs)), before, out,
            )  # fmt: skip
            cl.enqueue_copy(self._queue, found, out)
            self._queue.finish()
            for buffer in (out, before, given):
                buffer.release()
        return found

    def _kernel(self, each: int) -> Any:
        if each not in self._programs:
            text = "\n".join((KERNELS / name).read_text() for name in ("cells.h", "scores.cl"))
            options = ["-cl-std=CL1.2", f"-DPAIRS={each}", f"-DCOLUMNS={COLUMNS}"]
            options += ["-DPROFILES"] if self._costs.profiles else []
            native = ["-DNATIVE_PAIRS"] if each == 2 and self._capability >= 9 else []
            self._programs[each] = self._built(text, [options + native, options] if native else [options])
        return self._programs[each]

    def _built(self, text: str, choices: list[list[str]]) -> Any:
        """The kernel with the first options that the driver takes."""
        for last, options in enumerate(choices, 1):
            try:
                return self._cl.Kernel(
                    self._cl.Program(self._context, text).build(options=options), "pair_scores"
                )
            except self._cl.Error as error:
                if last == len(choices):
                    raise DeviceError(
                        f"OpenCL device {self._name} cannot build the kernels:\n{error}"
                    ) from error
        raise AssertionError

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
