"""The best alignments of a matrix, one after the other, no two with a pair of letters in common.

After Waterman and Eggert (1987): the best alignment is taken, its pairs are blocked, and the matrix is computed again
as far as that changes it.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from gassst._core.best import walk
from gassst.align.blocks import BlockMatrix, MatrixLines

NONE, PAIR, TARGET_GAP = 0, 1, 2  # steps of `walk`; 3 is a gap that uses up the query
KEPT_BLOCKS = 4  # whose lines between tiles are kept, for each thread where these bytes suffice
KEPT_BYTES = 256 << 20
AHEAD = 2  # tiles of each thread that are looked at before their turn

Place = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Path:
    """An alignment: its score, the places (row, column) of its first and last pair, its steps from first to last."""

    score: int
    first: Place
    last: Place
    steps: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class _BlockLines:
    """All lines between the tiles of a block: `across` above each row of tiles, `down` left of each column."""

    across: MatrixLines
    down: MatrixLines


@dataclass(frozen=True, eq=False)
class _Trace:
    """What led to each H of a tile, and the first place whose H is the largest of the tile."""

    steps: NDArray[np.uint8]
    row: int
    column: int


class WatermanEggert:
    """Takes alignments off a matrix whose first pass is done.

    With several threads, which a `with` block ends, the tiles that come next are looked at together. What is found is
    the same.
    """

    def __init__(self, matrix: BlockMatrix, threads: int = 1):
        self.matrix = matrix
        geometry = matrix.geometry
        line_bytes = 8 * geometry.block_rows * geometry.block_columns
        block_bytes = line_bytes // geometry.tile_rows + line_bytes // geometry.tile_columns
        self._kept = max(KEPT_BLOCKS, min(KEPT_BLOCKS * threads, KEPT_BYTES // block_bytes))
        self._ahead = min(AHEAD * threads, self._kept)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._blocked: defaultdict[Place, list[NDArray[np.int32]]] = defaultdict(list)  # by tile
        self._lines: OrderedDict[Place, _BlockLines] = OrderedDict()  # by block, the last used at the end
        self._traces: dict[Place, dict[Place, _Trace]] = {}  # by block and tile

    def __enter__(self) -> WatermanEggert:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def next_path(self, min_score: int) -> Path | None:
        """The best alignment that is left, or None where none has `min_score`.

        Of several with one score it is the one whose last pair has the first column, then the first row.
        """
        best = self.matrix.best
        score = int(best.max())
        if score < max(1, min_score):
            return None
        rows, columns = np.nonzero(best == score)
        tiles = [(int(row), int(columns.min())) for row in rows[columns == columns.min()]]
        self._look_ahead(tiles)
        place = min(map(self._place_of, tiles))
        path = self._path(score, (place[1], place[0]))
        self._block(path)
        return path

    def _look_ahead(self, tiles: list[Place]) -> None:
        """Where a tile of these has no trace, computes those of the tiles that come after it, too, on all threads."""
        if self._pool is None or all(tile in self._traces_of(tile) for tile in tiles):
            return
        best = self.matrix.best
        n = min(best.size, self._ahead)
        order = np.argpartition(best, best.size - n, axis=None)[best.size - n :]
        wanted = dict.fromkeys(tiles)
        for row, column in zip(*(axis.tolist() for axis in np.unravel_index(order, best.shape)), strict=True):
            if best[row, column] > 0:
                wanted[row, column] = None
        blocks = {self.matrix.geometry.block_of(tile): None for tile in wanted}
        missing = [block for block in blocks if block not in self._lines]
        for block, lines in zip(missing, self._pool.map(self._new_lines, missing), strict=True):
            self._lines[block] = lines
        missing = [tile for tile in wanted if tile not in self._traces_of(tile)]
        traces = self._pool.map(self._new_trace, missing)
        for tile, trace in zip(missing, traces, strict=True):
            self._traces.setdefault(self.matrix.geometry.block_of(tile), {})[tile] = trace
        self._forget()

    def _place_of(self, tile: Place) -> Place:
        """Column and row of the first H of a tile that is its largest."""
        row, column, _ = self._begin_of(tile)
        trace = self._trace(tile)
        return column + trace.column, row + trace.row

    def _traces_of(self, tile: Place) -> dict[Place, _Trace]:
        """The traces that are kept of the block of a tile."""
        return self._traces.get(self.matrix.geometry.block_of(tile), {})

    def _trace(self, tile: Place) -> _Trace:
        block = self.matrix.geometry.block_of(tile)
        self._lines_of(block)
        traces = self._traces.setdefault(block, {})
        if tile not in traces:
            traces[tile] = self._new_trace(tile)
        return traces[tile]

    def _begin_of(self, tile: Place) -> tuple[int, int, Place]:
        """First row and column of a tile, and its block."""
        geometry = self.matrix.geometry
        return tile[0] * geometry.tile_rows, tile[1] * geometry.tile_columns, geometry.block_of(tile)

    def _new_trace(self, tile: Place) -> _Trace:
        """The trace of a tile of a block whose lines are at hand."""
        matrix, geometry = self.matrix, self.matrix.geometry
        row, column, block = self._begin_of(tile)
        lines = self._lines[block]
        rows, columns = geometry.rows_of(block[0]), geometry.columns_of(block[1])
        r, c = (row - rows.begin) // geometry.tile_rows, (column - columns.begin) // geometry.tile_columns
        end_row = min(row + geometry.tile_rows, rows.end)
        end_column = min(column + geometry.tile_columns, columns.end)
        top = lines.across[r, column - columns.begin : end_column - columns.begin]
        left = lines.down[c, row - rows.begin : end_row - rows.begin]
        if row == rows.begin:
            corner = int(lines.across[r, column - columns.begin - 1, 0]) if c else matrix.corner(block)
        else:
            corner = int(lines.down[c, row - rows.begin - 1, 0])
        blocked = None
        if tile in self._blocked:
            blocked = np.zeros((end_row - row, end_column - column), np.uint8)
            for places in self._blocked[tile]:
                blocked[places // geometry.tile_columns, places % geometry.tile_columns] = 1
        found = matrix.tiles.trace(
            matrix.query[row:end_row],
            matrix.target[column:end_column],
            top,
            left,
            corner,
            blocked,
            int(matrix.best[tile]),
        )
        return _Trace(*found)

    def _path(self, score: int, last: Place) -> Path:
        """Back from the place of its last pair, tile by tile."""
        geometry = self.matrix.geometry
        (row, column), state, parts = last, PAIR, []
        while row >= 0 and column >= 0:
            tile = row // geometry.tile_rows, column // geometry.tile_columns
            first_row, first_column, _ = self._begin_of(tile)
            steps, r, c, state = walk(self._trace(tile).steps, row - first_row, column - first_column, state)
            parts.append(steps)
            row, column = first_row + r, first_column + c
            if state == NONE:
                break
        return Path(score, (row + 1, column + 1), last, np.concatenate(parts)[::-1])

    def _block(self, path: Path) -> None:
        """No alignment may have its pairs from now on."""
        geometry = self.matrix.geometry
        rows = path.first[0] - 1 + np.cumsum(path.steps != TARGET_GAP)
        columns = path.first[1] - 1 + np.cumsum((path.steps == PAIR) | (path.steps == TARGET_GAP))
        rows, columns = rows[path.steps == PAIR], columns[path.steps == PAIR]
        tile_rows, tile_columns = rows // geometry.tile_rows, columns // geometry.tile_columns
        local = (rows % geometry.tile_rows) * geometry.tile_columns + columns % geometry.tile_columns
        tiles = tile_rows * geometry.tile_grid[1] + tile_columns
        dirty: defaultdict[Place, set[Place]] = defaultdict(set)
        starts = np.flatnonzero(np.diff(tiles, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(tiles)], strict=True):
            tile = int(tile_rows[start]), int(tile_columns[start])
            self._blocked[tile].append(local[start:end].astype(np.int32))
            dirty[geometry.block_of(tile)].add(tile)
        self._update(dirty)

    def _update(self, dirty: dict[Place, set[Place]]) -> None:
        """Computes these tiles again, by block, and whatever then changes."""
        queue = list(dirty)
        heapq.heapify(queue)
        seen: set[Place] = set()
        while queue:
            block = heapq.heappop(queue)
            if block in seen:
                continue
            seen.add(block)
            self._traces.pop(block, None)
            if block in self._lines:
                self._sweep(block, self._lines[block], dirty[block])
            lines = self._lines_of(block)
            for changed in self.matrix.take_lines(block, lines.across[-1], lines.down[-1]):
                self._lines.pop(changed, None)
                self._traces.pop(changed, None)
                heapq.heappush(queue, changed)

    def _lines_of(self, block: Place) -> _BlockLines:
        """All lines of a block, computed unless they are at hand."""
        if block not in self._lines:
            self._lines[block] = self._new_lines(block)
        self._lines.move_to_end(block)
        self._forget()
        return self._lines[block]

    def _forget(self) -> None:
        """Gives up the lines and traces of blocks that were not used for the longest time."""
        while len(self._lines) > self._kept:
            block, _ = self._lines.popitem(last=False)
            self._traces.pop(block, None)

    def _new_lines(self, block: Place) -> _BlockLines:
        matrix, geometry = self.matrix, self.matrix.geometry
        rows, columns = geometry.rows_of(block[0]), geometry.columns_of(block[1])
        tiles = geometry.tiles_of(block)
        across = np.empty((tiles[0].stop - tiles[0].start + 1, columns.size, 2), np.int32)
        down = np.empty((tiles[1].stop - tiles[1].start + 1, rows.size, 2), np.int32)
        across[0], down[0] = matrix.sides(block)
        lines = _BlockLines(across, down)
        self._sweep(block, lines, None)
        return lines

    def _sweep(self, block: Place, lines: _BlockLines, dirty: set[Place] | None) -> None:
        """Computes all tiles of a block, or those that are dirty and what they change."""
        matrix, geometry = self.matrix, self.matrix.geometry
        rows, columns = geometry.rows_of(block[0]), geometry.columns_of(block[1])
        tile_rows, tile_columns = tiles = geometry.tiles_of(block)
        best = np.ascontiguousarray(matrix.best[tiles])
        flags = None
        if dirty is not None:
            grid = np.zeros(best.shape, np.uint8)
            for row, column in dirty:
                grid[row - tile_rows.start, column - tile_columns.start] = 1
            flags = grid.reshape(-1)
        places = (
            [
                self._blocked.get((row, column), [])
                for row in range(tile_rows.start, tile_rows.stop)
                for column in range(tile_columns.start, tile_columns.stop)
            ]
            if self._blocked
            else []
        )
        start = blocked = None
        if any(places):
            start = np.cumsum([0, *(sum(map(len, parts)) for parts in places)], dtype=np.int64)
            blocked = np.concatenate([part for parts in places for part in parts])
        matrix.tiles.sweep(
            matrix.query[rows.begin : rows.end],
            matrix.target[columns.begin : columns.end],
            geometry.tile_rows,
            geometry.tile_columns,
            lines.across,
            lines.down,
            matrix.corner(block),
            best,
            start,
            blocked,
            flags,
        )
        matrix.best[tiles] = best
