"""Energies on an OpenCL device (`kernels/fold.cl`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.fold.parameters import FEW
from gassst.gpu.device import Commands
from gassst.gpu.platforms import opened
from gassst.workers.tasks import ProgressBar

CALL = 1 << 16  # sequences between two looks at the progress
UNIT_GROUPS = 8  # for each of the device's units: as many as it has at work, or more
LEAST_ITEMS = 32  # of a group: what NVIDIA's devices do at once


class Folding(Commands):
    """The kernel, a sequence a work-group."""

    paths = (Path(__file__).parent / "kernels" / "fold.cl",)

    def fold(self, tables: list[Any], first: int, last: int, n: int, found: Any) -> None:
        """Note some sequences, of n bases at most."""
        groups = min(last - first, UNIT_GROUPS * self.device.device.max_compute_units)
        items = max(LEAST_ITEMS, 1 << (n - 1).bit_length())
        size = 100 * n + max(n * (n + 1) // 2, n + 1)  # of a group: three matrices of loops, codes, and parts
        memory, where = self.cl.LocalMemory(2 * size), "__local"
        if 2 * size + 64 > self.device.device.local_mem_size:
            memory, where = self.buffer("matrices", 2 * size * groups), "__global"
        sizes = np.int64(first), np.int64(last), memory, np.int64(size if where == "__global" else 0)
        outside = self.buffer("outside", 2 * n * n * groups), np.int64(n), self.filled("taken", 4)
        options = f"-DITEMS={items}", f"-DMATRICES={where}"
        self.note("fold", options, (items * groups,), (items,), *tables, *sizes, *outside, found)


def longest_of(device: str, threads: int) -> int:
    """Bases of a sequence at most, of which each takes a work-item. Raises DeviceError."""
    return int(opened(device, threads)[0].device.max_work_group_size)


def energies(
    tables: tuple[NDArray[Any], ...], cost: NDArray[np.float64], device: str, threads: int, bar: ProgressBar
) -> NDArray[np.int32]:
    """Compute the energies of the first sequences, as many as there are costs, as `Job.run` does. `tables` are those of
    a job, and sequences come in the order of their lengths. Raises DeviceError."""
    folding = Folding(opened(device, threads)[0])
    with folding.device.errors():
        given = [folding.device.given(table) for table in (tables[0], tables[0][:FEW], *tables[1:])]
        found = folding.buffer("energy", 4 * len(cost))
        last = len(cost)
        while last:  # the longest first
            first = max(0, last - CALL)
            folding.fold(given, first, last, int(tables[4][last - 1]), found)
            folding.finish()
            bar.add(float(cost[first:last].sum()))
            last = first
        folding.download("found", found, len(cost), np.int32)
        return folding.finish()["found"]
