"""The pass over the matrix of two long sequences on OpenCL devices (`gassst/align/kernels/best.cl`).

Each device has some neighbouring columns of blocks. Where the target has several chunks, these do not wait for each
other. Otherwise a device begins a row of tiles when the device before has ended it, with the line between both.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core.best import MOST_ROWS, Tiles
from gassst.align.blocks import BlockMatrix, Codes, Geometry, compiled_pass
from gassst.align.gaps import Gaps
from gassst.errors import DeviceError
from gassst.gpu.device import Device, Processing
from gassst.gpu.platforms import opened
from gassst.workers.tasks import Progress, ProgressBar

if TYPE_CHECKING:
    from gassst.gpu.device import Memory

KERNEL = Path(__file__).parent / "kernels" / "best.cl"
PACKED_LETTERS = 8  # whose scores two registers hold
IN_FLIGHT = 64  # waves between two waits for the device, and so between two looks for an interrupt
TRIAL = 2 * MOST_ROWS  # letters of both sequences that are computed twice: four tiles


class Columns(NamedTuple):
    """What one device computes: columns of blocks, the first and the one after the last; and its chunks."""

    begin: int
    end: int
    chunks: int
    continues: bool
    """Whether the one chunk begins in the part before."""


def columns_of(geometry: Geometry, devices: int) -> list[Columns]:
    """Of about the same number of columns each, no more than there are blocks."""
    columns, chunk = geometry.block_grid[1], geometry.chunk_blocks
    chunks = -(-columns // chunk)
    count = min(devices, chunks if chunks > 1 else columns)
    if chunks > 1:
        ends = [chunks * (i + 1) // count for i in range(count)]
        return [
            Columns(begin * chunk, min(end * chunk, columns), end - begin, False)
            for begin, end in zip([0, *ends], ends, strict=False)
        ]
    ends = [columns * (i + 1) // count for i in range(count)]
    return [Columns(begin, end, 1, begin > 0) for begin, end in zip([0, *ends], ends, strict=False)]


class _Lines:
    """Where parts meet: how many rows of tiles each has ended."""

    def __init__(self, count: int):
        self._ended, self._changed, self._failed = [0] * count, threading.Condition(), False

    def tell(self, part: int, rows: int) -> None:
        """The line right of so many rows of tiles is in the matrix."""
        with self._changed:
            self._ended[part] = rows
            self._changed.notify_all()

    def fail(self) -> None:
        """Nobody is to wait any more."""
        with self._changed:
            self._failed = True
            self._changed.notify_all()

    def wait(self, part: int, rows: int) -> bool:
        """Whether the part got so far."""
        with self._changed:
            self._changed.wait_for(lambda: self._failed or self._ended[part] >= rows)
            return not self._failed


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
) -> BlockMatrix:
    """The matrix as `compiled_pass` leaves it, by all devices that `device` names.

    `geometry` is by default that of `Geometry.of_device`; its tiles are 512 x 512. Raises DeviceError, also where the
    first letters have other scores than with compiled code.
    """
    found = opened(device, threads)
    geometry = geometry or Geometry.of_device(len(query), len(target), gaps, int(scores.max()), len(found))
    if geometry.tile_columns != MOST_ROWS or geometry.tile_rows != MOST_ROWS:
        raise ValueError("tiles of a device")
    matrix = BlockMatrix(query, target, gaps, tiles, geometry)
    parts = columns_of(geometry, len(found))
    bar, lines = ProgressBar(progress, float(len(parts))), _Lines(len(parts))

    def run(index: int) -> None:
        try:
            with found[index].errors():
                waves = Waves(found[index], scores, query, target)
                waves.verify(matrix)
                waves.compute(matrix, (index, parts), lines, bar)
        except BaseException:
            lines.fail()
            raise

    if len(parts) == 1:
        run(0)
    else:
        with ThreadPoolExecutor(len(parts), thread_name_prefix="gassst-device") as pool:
            futures = [pool.submit(run, index) for index in range(len(parts))]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                lines.fail()
                raise
    bar.finish()
    return matrix


class Waves(Processing):
    """The kernel for a pair of sequences; for few letters, with their scores in registers."""

    paths = (KERNEL,)

    def __init__(self, device: Device, scores: NDArray[np.int16], query: Codes, target: Codes):
        super().__init__(device)
        self.scores = scores
        letters = int(max(query.max(), target.max())) + 1
        table = scores[:letters, :letters]
        # So that a tile has a work-item for each of a warp, where these shuffle.
        rows = MOST_ROWS // 32 if device.is_nvidia else 8
        self.items = MOST_ROWS // rows
        packed = letters <= PACKED_LETTERS and bool(table.min() >= -128 and table.max() <= 127)
        self.options = (
            f"-DITEMS={self.items}",
            f"-DROWS={rows}",
            f"-DCOLUMNS={MOST_ROWS}",
            f"-DLETTERS={len(scores)}",
            *["-DPACKED"] * packed,
            *["-DNVIDIA"] * device.is_nvidia,
        )

    def verify(self, matrix: BlockMatrix) -> None:
        """Raises DeviceError where the device and compiled code differ in the first letters."""
        query, target, gaps = matrix.query[:TRIAL], matrix.target[:TRIAL], matrix.gaps
        geometry = Geometry.of_device(len(query), len(target), gaps, int(self.scores.max()))
        expected, found = (BlockMatrix(query, target, gaps, matrix.tiles, geometry) for _ in range(2))
        compiled_pass(expected, 1, lambda cells: None)
        self.compute(found, (0, columns_of(geometry, 1)), _Lines(1), ProgressBar(None, 1.0))
        if not np.array_equal(found.best, expected.best):
            raise DeviceError(f"OpenCL device {self.device.info.name} computes wrong scores")

    def compute(
        self, matrix: BlockMatrix, place: tuple[int, list[Columns]], lines: _Lines, bar: ProgressBar
    ) -> None:
        """Everything of one part, `place` is its number among all."""
        cl, queue, geometry = self.cl, self.queue, matrix.geometry
        index, parts = place
        part = parts[index]
        rows, tile_columns = geometry.tile_grid
        block_tiles = geometry.block_columns // MOST_ROWS
        first_tile, end_tile = part.begin * block_tiles, min(part.end * block_tiles, tile_columns)
        own_tiles = end_tile - first_tile
        is_piped = len(parts) > 1 and parts[-1].continues
        chunk_tiles = own_tiles if is_piped else geometry.chunk_blocks * block_tiles
        overlap_tiles = 0 if is_piped or len(parts) * part.chunks == 1 else -(-geometry.overlap // MOST_ROWS)
        given, room = self.device.given, self.allocate
        across = room(8 * part.chunks * (chunk_tiles + overlap_tiles) * MOST_ROWS)
        cl.enqueue_fill_buffer(queue, across, np.uint32(0), 0, across.size // 4 * 4)
        down, corners = room(8 * part.chunks * geometry.rows), room(4 * part.chunks * rows)
        kept_across = room(8 * (geometry.block_grid[0] - 1) * own_tiles * MOST_ROWS)
        kept_down = room(8 * (part.end - part.begin) * geometry.rows)
        best = room(4 * rows * own_tiles)
        arguments = [
            given(matrix.query), given(matrix.target), given(self.scores.astype(np.int32)),
            across, down, corners, kept_across, kept_down, best,
        ]  # fmt: skip
        waves = rows + min(end_tile, chunk_tiles + overlap_tiles) - 1
        ended = 0  # rows of tiles of a part that hands its line on
        for begin in range(0, waves, IN_FLIGHT):
            end = min(begin + IN_FLIGHT, waves)
            if part.continues and begin < rows:
                if not lines.wait(index - 1, min(end, rows)):
                    return
                self._continue(matrix, part, (begin, min(end, rows)), (down, corners))
            for wave in range(begin, end):
                constants = np.array(
                    [
                        geometry.rows, geometry.columns, rows, first_tile, end_tile, chunk_tiles, overlap_tiles,
                        part.continues, geometry.block_rows // MOST_ROWS, block_tiles,
                        wave, matrix.gaps.first, matrix.gaps.extend, 1,
                    ],
                    np.int32,
                )  # fmt: skip
                items = part.chunks * rows * self.items
                self.run("best_wave", self.options, (items,), (self.items,), constants, *arguments)
            queue.finish()
            bar.add((end - begin) / waves)
            if is_piped and index + 1 < len(parts):
                now = min(rows, max(0, end - own_tiles + 1))
                if now > ended:
                    line = matrix.down[part.end, ended * MOST_ROWS : now * MOST_ROWS]
                    cl.enqueue_copy(queue, line, down, src_offset=8 * ended * MOST_ROWS)
                    ended = now
                    lines.tell(index, ended)
        # The first lines are the edges of the matrix: zeros.
        columns = slice(first_tile * MOST_ROWS, min(end_tile * MOST_ROWS, geometry.columns))
        for r in range(1, geometry.block_grid[0]):
            cl.enqueue_copy(
                queue, matrix.across[r, columns], kept_across, src_offset=8 * (r - 1) * own_tiles * MOST_ROWS
            )
        kept = matrix.down[part.begin + 1 : part.end + 1]
        if len(kept):
            cl.enqueue_copy(queue, kept, kept_down)
        found = np.empty((rows, own_tiles), np.int32)
        cl.enqueue_copy(queue, found, best)
        matrix.best[:, first_tile:end_tile] = found

    def _continue(
        self, matrix: BlockMatrix, part: Columns, rows: tuple[int, int], onto: tuple[Memory, Memory]
    ) -> None:
        """Puts the line left of these rows of tiles, and the corners of the first tiles, onto the device."""
        line = matrix.down[part.begin]
        begin, end = rows[0] * MOST_ROWS, min(rows[1] * MOST_ROWS, len(line))
        corners = np.zeros(rows[1] - rows[0], np.int32)
        above = np.arange(rows[0], rows[1]) * MOST_ROWS - 1
        corners[above >= 0] = line[above[above >= 0], 0]
        for buffer, array, at in ((onto[0], line[begin:end], 8 * begin), (onto[1], corners, 4 * rows[0])):
            self.cl.enqueue_copy(self.queue, buffer, np.ascontiguousarray(array), dst_offset=at)
