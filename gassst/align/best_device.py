"""The pass over the matrix of two long sequences on an OpenCL device (`gassst/align/kernels/best.cl`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gassst._core.best import MOST_ROWS, Tiles
from gassst.align.blocks import Codes, Geometry, Matrix
from gassst.align.device import machines
from gassst.align.gaps import Gaps
from gassst.align.workers import Progress, ProgressBar

KERNEL = Path(__file__).parent / "kernels" / "best.cl"
ROWS_AN_ITEM = 8
IN_FLIGHT = 64  # waves between two waits for the device, and so between two looks for an interrupt


def device_pass(
    query: Codes,
    target: Codes,
    gaps: Gaps,
    scores: NDArray[np.int16],
    tiles: Tiles,
    device: str,
    threads: int,
    progress: Progress | bool | None = None,
    geometry: Geometry | None = None,
) -> Matrix:
    """The matrix as `compiled_pass` leaves it. Raises DeviceError.

    `geometry` is by default that of `Geometry.of_device`; its tiles are 512 x 512.
    """
    machine = machines(device, threads)[0]
    geometry = geometry or Geometry.of_device(len(query), len(target), gaps, int(scores.max()))
    matrix = Matrix(query, target, gaps, tiles, geometry)
    with machine.errors():
        _run(machine, _kernel(machine, scores, query, target), matrix, scores, ProgressBar(progress, 1.0))
    return matrix


def _kernel(machine, scores, query, target):
    """The kernel for a matrix; for letters that are equal or not and nothing else, without a table."""
    occurring = np.flatnonzero(np.bincount(query, minlength=256) + np.bincount(target, minlength=256))
    table = scores[np.ix_(occurring, occurring)]
    equal, others = np.diag(table), table[~np.eye(len(occurring), dtype=bool)]
    options = [
        "-cl-std=CL1.2",
        f"-DITEMS={MOST_ROWS // ROWS_AN_ITEM}",
        f"-DROWS={ROWS_AN_ITEM}",
        f"-DCOLUMNS={MOST_ROWS}",
        f"-DLETTERS={len(scores)}",
    ]
    if len(np.unique(equal)) == 1 and len(np.unique(others)) <= 1:
        options += [f"-DMATCH={equal[0]}", f"-DMISMATCH=({others[0] if others.size else -1})"]
    return machine.cl.Kernel(machine.program(KERNEL.read_text(), options), "best_wave")


def _run(machine, kernel, matrix, scores, bar):
    cl, queue = machine.cl, machine.queue
    geometry = matrix.geometry
    if geometry.tile_columns != MOST_ROWS or geometry.tile_rows != MOST_ROWS:
        raise ValueError("tiles of a device")
    rows, columns = geometry.tile_grid
    chunk_tiles = geometry.chunk_blocks * geometry.block_columns // MOST_ROWS
    chunks = -(-columns // chunk_tiles)
    overlap_tiles = -(-geometry.overlap // MOST_ROWS) if chunks > 1 else 0
    given, room = machine.buffer, machine.room
    across = room(8 * chunks * (chunk_tiles + overlap_tiles) * MOST_ROWS)
    down, corners = room(8 * chunks * geometry.rows), room(4 * chunks * rows)
    kept = room(matrix.across.nbytes), room(matrix.down.nbytes)
    best = room(matrix.best.nbytes)
    cl.enqueue_fill_buffer(queue, across, np.int32(0), 0, across.size)
    arguments = [
        given(matrix.query), given(matrix.target), given(scores.astype(np.int32)),
        across, down, corners, *kept, best,
    ]  # fmt: skip
    waves = rows + min(columns, chunk_tiles + overlap_tiles) - 1
    items = MOST_ROWS // ROWS_AN_ITEM
    for wave in range(waves):
        constants = np.array(
            [
                geometry.rows, geometry.columns, rows, chunk_tiles, overlap_tiles,
                geometry.block_rows // MOST_ROWS, geometry.block_columns // MOST_ROWS,
                wave, matrix.gaps.first, matrix.gaps.extend,
            ],
            np.int32,
        )  # fmt: skip
        kernel(queue, (chunks * rows * items,), (items,), constants, *arguments)
        if wave % IN_FLIGHT == IN_FLIGHT - 1:
            queue.finish()
            bar.add(IN_FLIGHT / waves)
    bar.finish()
    # The first lines are the edges of the matrix: zeros.
    for array, buffer in ((matrix.across, kept[0]), (matrix.down, kept[1])):
        if len(array) > 1:
            cl.enqueue_copy(queue, array[1:], buffer, src_offset=array[0].nbytes)
    cl.enqueue_copy(queue, matrix.best, best)
