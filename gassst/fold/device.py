"""Energies on an OpenCL device (`kernels/fold.cl`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst._core.fold import FEW
from gassst.gpu.device import Processing
from gassst.gpu.platforms import opened
from gassst.workers.tasks import ProgressBar

MOST_GROUPS = 1 << 16  # of a call
CALL_BYTES = 1 << 27  # of the matrices of a call, for each of the device's units at most
LOCAL_BYTES = 48 << 10  # of a group that keeps its matrices in local memory, at most
LEAST_ITEMS = 32  # of a group: what NVIDIA's devices do at once


class Folding(Processing):
    """The kernel, a sequence a work-group."""

    paths = (Path(__file__).parent / "kernels" / "fold.cl",)

    def fold(self, tables: list[Any], first: int, count: int, n: int, found: Any) -> None:
        """Enqueue sequences of n bases at most."""
        items, size = max(LEAST_ITEMS, 1 << (n - 1).bit_length()), shorts(n)
        options = [f"-DITEMS={items}", *(["-DNVIDIA"] if self.device.is_nvidia else [])]
        if 2 * size + 64 <= min(LOCAL_BYTES, self.device.device.local_mem_size):
            memory, size = self.cl.LocalMemory(2 * size), 0
            options.append("-DMATRICES=__local")
        else:
            memory = self.buffer("matrices", 2 * size * count)
            options.append("-DMATRICES=__global")
        outside = self.buffer("outside", 2 * n * n * count)
        sizes = memory, np.int64(size), outside, np.int64(n)
        self.run("fold", tuple(options), (items * count,), (items,), *tables, np.int64(first), *sizes, found)


def shorts(n: int) -> int:
    """Numbers of a group's matrices: three of loops, codes, and parts."""
    return 100 * n + max(n * (n + 1) // 2, n + 1)


def longest_of(device: str, threads: int) -> int:
    """Bases of a sequence at most, of which each takes a work-item. Raises DeviceError."""
    return int(opened(device, threads)[0].device.max_work_group_size)


def energies(
    tables: tuple[NDArray[np.int16], NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]],
    cost: NDArray[np.float64],
    device: str,
    threads: int,
    bar: ProgressBar,
) -> NDArray[np.int32]:
    """Compute the energies of the first sequences, as many as there are costs, as `Folder.run` does. `tables` are those
    of a Folder, and sequences come in the order of their lengths. Raises DeviceError."""
    folding = Folding(opened(device, threads)[0])
    chosen, lengths = folding.device.device, np.diff(tables[3])
    room = min(chosen.max_mem_alloc_size, chosen.global_mem_size // 4, chosen.max_compute_units * CALL_BYTES)
    with folding.device.errors():
        given = [folding.device.given(table) for table in (tables[0], tables[0][:FEW], *tables[1:])]
        found = folding.buffer("energy", 4 * len(cost))
        last = len(cost)
        while last:  # the longest first
            n = int(lengths[last - 1])
            count = max(1, min(last, MOST_GROUPS, room // (2 * (n * n + shorts(n)))))
            folding.fold(given, last - count, count, n, found)
            folding.wait()
            bar.add(float(cost[last - count : last].sum()))
            last -= count
        result = folding.download("found", found, len(cost), np.int32)
        folding.wait()
    return result.copy()
