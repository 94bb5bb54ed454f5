"""Energies on an OpenCL device (`kernels/fold.cl`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gassst.gpu.device import Processing
from gassst.gpu.platforms import opened
from gassst.workers.tasks import ProgressBar

MOST_ITEMS = 1 << 16  # of a call
CALL_BYTES = 1 << 24  # of the matrices of a call, for each of the device's units at most


class Folding(Processing):
    """The kernel, a sequence a work-item."""

    paths = (Path(__file__).parent / "kernels" / "fold.cl",)


def energies(
    tables: tuple[NDArray[np.int16], NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]],
    cost: NDArray[np.float64],
    device: str,
    threads: int,
    bar: ProgressBar,
) -> NDArray[np.int32]:
    """Compute the energies of the first sequences, as many as there are costs, as `Folder.run` does. `tables` are those
    of a Folder, and sequences come in the order of their lengths. Raises DeviceError."""
    processing = Folding(opened(device, threads)[0])
    chosen, lengths = processing.device.device, np.diff(tables[3])[: len(cost)]
    room = min(
        chosen.max_mem_alloc_size, chosen.global_mem_size // 2, chosen.max_compute_units * CALL_BYTES * 8
    )
    with processing.device.errors():
        constant = [processing.device.given(table) for table in tables]
        found = processing.buffer("energy", 4 * len(cost))
        last = len(cost)
        while last:  # the longest first
            n = int(lengths[last - 1])
            item = 2 * (6 * n * n + 4 * n + 8)
            count = max(1, min(last, MOST_ITEMS, room // item))
            sizes = np.int64(last - count), np.int32(count), np.int32(n)
            memory = processing.buffer("matrices", count * item)
            processing.run("fold", (), (count,), None, *constant, *sizes, memory, found)
            processing.wait()
            bar.add(float(cost[last - count : last].sum()))
            last -= count
        result = processing.download("found", found, len(cost), np.int32)
        processing.wait()
    return result.copy()
