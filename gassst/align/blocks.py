"""The matrix of two long sequences, kept as lines between its blocks, and the passes that compute it.

H of one place depends on all places above and left of it. A block, some thousand rows by some thousand columns, is a
function of the lines above and left of it (`ext/pairwise/best.h`). One pass over all blocks keeps these lines and the
largest H of each tile of a block. Any block can then be computed again by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gassst._core.best import LANES, MOST_ROWS, Tiles
from gassst.align.gaps import Gaps

Codes = NDArray[np.uint8]
MatrixLines = NDArray[np.int32]

# A further alignment computes some tiles in plain code, and a block or two. With tiles of 512 columns, and blocks of
# 2048 rows and 2^24 cells, it takes 17 ms of CPU time. With 2048, 4096 and 2^26 it took 2.6 times as long, and the pass
# 6 % less.
TILE_COLUMNS = 512
LEAST_BLOCK = 2048
LEAST_CELLS = 1 << 24  # of a block: two milliseconds
DEVICE_BLOCK, DEVICE_CELLS = 4096, 1 << 26
LINE_BYTES = 512 << 20  # of the lines between blocks
CHUNK_SHARE = 8  # a chunk is this many times as long as what it shares with the one before, at least
DEVICE_SHARE = 3  # likewise on a device, for which more chunks matter more
DEVICE_TILES = 2048  # a wave of so many tiles fills a device


class Interval(NamedTuple):
    """Half-open."""

    begin: int
    end: int

    @property
    def size(self) -> int:
        """Letters."""
        return self.end - self.begin


@dataclass(frozen=True)
class Geometry:
    """How a matrix of `rows` x `columns` is cut. Results do not depend on it.

    Attributes
    ----------
    tile_rows, tile_columns : int
        Of a tile; rows are a multiple of 32.
    block_rows, block_columns : int
        Of a block; multiples of those of a tile.
    overlap : int
        Columns before the begin of a chunk from which its first column can be computed: no alignment of positive score
        spans more (Jain and Kumar 2014, II).
    chunk_blocks : int
        Columns of blocks in a chunk. Chunks do not wait for each other.
    """

    rows: int
    columns: int
    tile_rows: int
    tile_columns: int
    block_rows: int
    block_columns: int
    overlap: int
    chunk_blocks: int

    def __post_init__(self) -> None:
        if (
            self.tile_rows % LANES
            or self.block_rows % self.tile_rows
            or self.block_columns % self.tile_columns
        ):
            raise ValueError("tiles are multiples of the lanes, and blocks of the tiles")

    @classmethod
    def of(
        cls,
        rows: int,
        columns: int,
        gaps: Gaps,
        largest: int,
        workers: int,
        least_block: int = LEAST_BLOCK,
        least_cells: int = LEAST_CELLS,
    ) -> Geometry:
        """For a number of threads; `largest` is the highest score of two letters."""
        side = max(least_block, 16 * rows * columns // LINE_BYTES)
        block_rows = -(-min(side, rows) // MOST_ROWS) * MOST_ROWS
        side = max(side, least_cells // block_rows)
        block_columns = -(-min(side, columns) // TILE_COLUMNS) * TILE_COLUMNS
        overlap = longest_span(rows, gaps, largest)
        wanted = -(-2 * workers // -(-rows // block_rows))
        chunks = max(1, min(wanted, columns // (CHUNK_SHARE * overlap)))
        chunk_blocks = -(-columns // (block_columns * chunks))
        return cls(rows, columns, MOST_ROWS, TILE_COLUMNS, block_rows, block_columns, overlap, chunk_blocks)

    @classmethod
    def of_device(cls, rows: int, columns: int, gaps: Gaps, largest: int, devices: int = 1) -> Geometry:
        """For devices, which take many small tiles at a time."""
        geometry = cls.of(rows, columns, gaps, largest, 1, DEVICE_BLOCK, DEVICE_CELLS)
        overlap = -(-geometry.overlap // MOST_ROWS) * MOST_ROWS
        block_columns = min(geometry.block_columns, -(-overlap * DEVICE_SHARE // MOST_ROWS) * MOST_ROWS)
        blocks = -(-columns // block_columns)
        wanted = -(-DEVICE_TILES * devices // geometry.tile_grid[0])
        if 16 * rows * blocks > LINE_BYTES or wanted == 1:
            block_columns, blocks = geometry.block_columns, geometry.block_grid[1]
        chunks = max(1, min(wanted, columns // (DEVICE_SHARE * overlap)))
        return replace(
            geometry,
            tile_columns=MOST_ROWS,
            block_columns=block_columns,
            overlap=overlap,
            chunk_blocks=-(-blocks // chunks),
        )

    @property
    def block_grid(self) -> tuple[int, int]:
        """Rows and columns of blocks."""
        return -(-self.rows // self.block_rows), -(-self.columns // self.block_columns)

    @property
    def tile_grid(self) -> tuple[int, int]:
        """Rows and columns of tiles."""
        return -(-self.rows // self.tile_rows), -(-self.columns // self.tile_columns)

    def block_of(self, tile: tuple[int, int]) -> tuple[int, int]:
        """The block of a tile."""
        return (
            tile[0] * self.tile_rows // self.block_rows,
            tile[1] * self.tile_columns // self.block_columns,
        )

    def rows_of(self, block_row: int) -> Interval:
        """Of the query."""
        begin = block_row * self.block_rows
        return Interval(begin, min(begin + self.block_rows, self.rows))

    def columns_of(self, block_column: int) -> Interval:
        """Of the target."""
        begin = block_column * self.block_columns
        return Interval(begin, min(begin + self.block_columns, self.columns))

    def tiles_of(self, block: tuple[int, int]) -> tuple[slice, slice]:
        """Rows and columns of tiles of a block."""
        rows, columns = self.rows_of(block[0]), self.columns_of(block[1])
        return (
            slice(rows.begin // self.tile_rows, -(-rows.end // self.tile_rows)),
            slice(columns.begin // self.tile_columns, -(-columns.end // self.tile_columns)),
        )

    @property
    def chunk_begins(self) -> list[int]:
        """Columns of blocks at which a chunk begins, but the first."""
        return list(range(self.chunk_blocks, self.block_grid[1], self.chunk_blocks))


def longest_span(rows: int, gaps: Gaps, largest: int) -> int:
    """Letters of a target that an alignment of at most `rows` letters can span while its score is positive.

    At most `rows` of them are paired, for `largest` each; every other one costs `extend` at least.
    """
    return rows + -(-rows * max(largest, 0) // gaps.extend)


@dataclass(frozen=True, eq=False)
class BlockMatrix:
    """Two sequences, their scores, and what the passes know of their matrix.

    Attributes
    ----------
    across : int32[rows of blocks, letters of the target, 2]
        The line above each row of blocks.
    down : int32[columns of blocks, letters of the query, 2]
        The line left of each column of blocks.
    best : int32[rows of tiles, columns of tiles]
        The largest H of each tile.
    """

    query: Codes
    target: Codes
    gaps: Gaps
    tiles: Tiles
    geometry: Geometry
    across: MatrixLines = field(init=False)
    down: MatrixLines = field(init=False)
    best: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        grid = self.geometry.block_grid
        object.__setattr__(self, "across", self.edge(grid[0], len(self.target)))
        object.__setattr__(self, "down", self.edge(grid[1], len(self.query)))
        object.__setattr__(self, "best", np.zeros(self.geometry.tile_grid, np.int32))

    def edge(self, lines: int, letters: int) -> MatrixLines:
        """Lines at which no alignment arrives."""
        return np.zeros((lines, letters, 2), np.int32)

    def corner(self, block: tuple[int, int]) -> int:
        """H above and left of a block."""
        return int(self.down[block[1], self.geometry.rows_of(block[0]).begin - 1, 0]) if block[0] else 0

    def sides(self, block: tuple[int, int]) -> tuple[MatrixLines, MatrixLines]:
        """The lines above and left of a block."""
        rows, columns = self.geometry.rows_of(block[0]), self.geometry.columns_of(block[1])
        return (
            self.across[block[0], columns.begin : columns.end],
            self.down[block[1], rows.begin : rows.end],
        )

    def take_lines(
        self, block: tuple[int, int], bottom: MatrixLines, right: MatrixLines
    ) -> Iterator[tuple[int, int]]:
        """Keeps the lines below and right of a block; yields the blocks for which something changed."""
        r, c = block
        below, beside = self.sides((r + 1, c))[0] if r + 1 < len(self.across) else None, None
        if c + 1 < len(self.down):
            beside = self.sides((r, c + 1))[1]
        corner = bottom[-1, 0]
        if below is not None and beside is not None and beside[-1, 0] != corner:
            yield r + 1, c + 1
        if below is not None and not np.array_equal(below, bottom):
            below[:] = bottom
            yield r + 1, c
        if beside is not None and not np.array_equal(beside, right):
            beside[:] = right
            yield r, c + 1

    def compute(self, block: tuple[int, int]) -> None:
        """One block of the first pass; those above and left of it are done."""
        geometry = self.geometry
        rows, columns = geometry.rows_of(block[0]), geometry.columns_of(block[1])
        top, left = (np.ascontiguousarray(side)[None].copy() for side in self.sides(block))
        found = np.empty_like(self.best[geometry.tiles_of(block)], order="C")
        self.tiles.sweep(
            self.query[rows.begin : rows.end],
            self.target[columns.begin : columns.end],
            geometry.tile_rows,
            geometry.tile_columns,
            top,
            left,
            self.corner(block),
            found,
        )
        self.best[geometry.tiles_of(block)] = found
        for _ in self.take_lines(block, top[0], left[0]):
            pass

    def warm_up(self, block_row: int, block_column: int, top: MatrixLines) -> None:
        """The line at which a chunk begins, without the chunk before; `top` is the line above, and then that below."""
        geometry = self.geometry
        rows, end = geometry.rows_of(block_row), geometry.columns_of(block_column).begin
        begin = max(0, end - geometry.overlap)
        left = self.edge(1, rows.size)
        grid = -(-rows.size // geometry.tile_rows), -(-(end - begin) // geometry.tile_columns)
        self.tiles.sweep(
            self.query[rows.begin : rows.end],
            self.target[begin:end],
            geometry.tile_rows,
            geometry.tile_columns,
            top,
            left,
            0,
            np.empty(grid, np.int32),
        )
        self.down[block_column, rows.begin : rows.end] = left[0]


Task = tuple[int, int, bool]
"""Row and column of a block, and whether it is the warm-up of the chunk that begins there."""


def compiled_pass(matrix: BlockMatrix, threads: int, done: Callable[[float], object]) -> None:
    """All blocks on threads, each as soon as those that it needs are done; `done` is told of the cells."""
    geometry = matrix.geometry
    begins = set(geometry.chunk_begins)
    tops = {
        c: matrix.edge(1, min(geometry.overlap, geometry.columns_of(c).begin)) for c in geometry.chunk_begins
    }

    def run(job: Task) -> None:
        r, c, is_warm_up = job
        if is_warm_up:
            matrix.warm_up(r, c, tops[c])
        else:
            matrix.compute((r, c))

    with ThreadPoolExecutor(threads) as pool:
        waiting = dependencies(geometry.block_grid, begins)
        running = {pool.submit(run, job): job for job, needs in waiting.items() if not needs}
        for job in running.values():
            del waiting[job]
        try:
            while running:
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    job = running.pop(future)
                    future.result()
                    r, c, is_warm_up = job
                    if not is_warm_up:
                        done(float(geometry.rows_of(r).size * geometry.columns_of(c).size))
                    for follower in ((r + 1, c, False), (r, c + 1, False), (r, c, False), (r + 1, c, True)):
                        needs = waiting.get(follower)
                        if needs is not None:
                            needs.discard(job)
                            if not needs:
                                del waiting[follower]
                                running[pool.submit(run, follower)] = follower
        except BaseException:  # an interrupt: blocks that have not begun are left
            pool.shutdown(cancel_futures=True)
            raise


def dependencies(grid: tuple[int, int], begins: set[int]) -> dict[Task, set[Task]]:
    """Every job, and those that it waits for; `begins` are columns of blocks at which chunks begin."""
    jobs: dict[Task, set[Task]] = {}
    for r in range(grid[0]):
        for c in range(grid[1]):
            above = {(r - 1, c, False)} if r else set()
            if c in begins:
                jobs[r, c, True] = {(r - 1, c, True)} if r else set()
                jobs[r, c, False] = above | {(r, c, True)}
            else:
                jobs[r, c, False] = above | ({(r, c - 1, False)} if c else set())
    return jobs
