"""Local alignment of two long sequences in tiles: `best_tile.h`, `best_sweep.h`. Arrays are those of `gassst.align.best`.

A line is int32[n, 2]: H of a row (column), and the gap that enters the next. All functions release the GIL.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

include "../lanes/tables.pxi"

cdef extern from "best_sweep.h" nogil:
    enum:
        BEST_MOST_LANES
        BEST_MOST_ROWS
        BEST_MOST_COLUMNS
    ctypedef struct best_line:
        int32_t h, gap
    ctypedef struct best_scoring:
        const int32_t *matrix
        int32_t letters, first, extend, largest
    ctypedef struct best_tile:
        const uint8_t *query
        const uint8_t *target
        int32_t rows, columns
        const best_line *top
        const best_line *left
        best_line *bottom
        best_line *right
        int32_t corner
        const best_scoring *scoring
    ctypedef struct best_kernels:
        const char *name
        int (*usable)() noexcept nogil
    ctypedef struct best_block:
        const uint8_t *query
        const uint8_t *target
        int32_t rows, columns, tile_rows, tile_columns
        best_line *across
        best_line *down
        int64_t across_stride, down_stride
        int32_t corner
        int32_t *best
        const int64_t *blocked_start
        const int32_t *blocked
        uint8_t *dirty
        const best_scoring *scoring
        const best_kernels *kernels
    const best_kernels *const *best_tables
    int64_t best_sweep(const best_block *block) noexcept
    int32_t best_plain_tile(const best_tile *tile, const uint8_t *blocked, uint8_t *trace, int32_t wanted, int32_t *row,
                            int32_t *column) noexcept
    int32_t best_walk(const uint8_t *trace, int32_t columns, int32_t *row, int32_t *column, int32_t *state,
                      uint8_t *steps) noexcept

LANES = BEST_MOST_LANES
MOST_ROWS = BEST_MOST_ROWS
MOST_COLUMNS = BEST_MOST_COLUMNS


def instruction_sets():
    """Names of those that this processor has, the fastest first."""
    return lanes_names(<const lanes_head *const *>best_tables)


cdef class Tiles:
    """The scores of letters and gaps, and the kernels of one instruction set.

    Parameters
    ----------
    matrix : int32[n, n]
    first, extend : int
        What the first letter of a gap costs, and each further one.
    instruction_set : str
    """

    cdef const int32_t[:, ::1] matrix
    cdef best_scoring scoring
    cdef const best_kernels *kernels

    def __cinit__(self, const int32_t[:, ::1] matrix, int32_t first, int32_t extend, str instruction_set):
        self.matrix = matrix
        self.scoring.matrix = &matrix[0, 0]
        self.scoring.letters = matrix.shape[0]
        self.scoring.first, self.scoring.extend = first, extend
        self.scoring.largest = np.max(matrix)
        self.kernels = <const best_kernels *>lanes_find(<const lanes_head *const *>best_tables, instruction_set)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError("a square matrix")

    def sweep(self, const uint8_t[::1] query, const uint8_t[::1] target, int32_t tile_rows, int32_t tile_columns,
              int32_t[:, :, ::1] across, int32_t[:, :, ::1] down, int32_t corner, int32_t[:, ::1] best,
              const int64_t[::1] blocked_start=None, const int32_t[::1] blocked=None, uint8_t[::1] dirty=None):
        """Computes a block of the matrix; `best_sweep.h` says what the arrays hold. Returns how many tiles it computed.

        `across` has one line, or one more than rows of tiles; `down` has one, or one more than columns of tiles.
        """
        cdef best_block b
        cdef int64_t done
        cdef Py_ssize_t grid_rows = (query.shape[0] + tile_rows - 1) // tile_rows
        cdef Py_ssize_t grid_columns = (target.shape[0] + tile_columns - 1) // tile_columns
        if not (tile_rows % BEST_MOST_LANES == 0 and 0 < tile_rows <= BEST_MOST_ROWS
                and 0 < tile_columns <= BEST_MOST_COLUMNS and query.shape[0] and target.shape[0]):
            raise ValueError("size of tiles")
        if not (across.shape[0] in (1, grid_rows + 1) and down.shape[0] in (1, grid_columns + 1)
                and across.shape[1] == target.shape[0] and down.shape[1] == query.shape[0]
                and across.shape[2] == 2 and down.shape[2] == 2
                and best.shape[0] == grid_rows and best.shape[1] == grid_columns
                and (blocked_start is None or blocked_start.shape[0] == grid_rows * grid_columns + 1)
                and (dirty is None or (dirty.shape[0] == grid_rows * grid_columns and across.shape[0] > 1
                                       and down.shape[0] > 1))):
            raise ValueError("sizes of the arrays of a block disagree")
        b.query, b.target = &query[0], &target[0]
        b.rows, b.columns = <int32_t>query.shape[0], <int32_t>target.shape[0]
        b.tile_rows, b.tile_columns = tile_rows, tile_columns
        b.across, b.down = <best_line *>&across[0, 0, 0], <best_line *>&down[0, 0, 0]
        b.across_stride = across.shape[1] if across.shape[0] > 1 else 0
        b.down_stride = down.shape[1] if down.shape[0] > 1 else 0
        b.corner = corner
        b.best = &best[0, 0]
        b.blocked_start = &blocked_start[0] if blocked_start is not None else NULL
        b.blocked = &blocked[0] if blocked is not None and blocked.shape[0] else NULL
        b.dirty = &dirty[0] if dirty is not None else NULL
        b.scoring, b.kernels = &self.scoring, self.kernels
        with nogil:
            done = best_sweep(&b)
        if done < 0:
            raise MemoryError("no memory for the lines of a tile")
        return done

    def trace(self, const uint8_t[::1] query, const uint8_t[::1] target, const int32_t[:, ::1] top,
              const int32_t[:, ::1] left, int32_t corner, const uint8_t[:, ::1] blocked=None, int32_t wanted=-1):
        """One tile in plain code: (trace uint8[rows, columns], row, column).

        The place is the first, by column, then row, whose H is `wanted`; -1, -1 if there is none.
        """
        cdef best_tile t
        cdef int32_t row, column
        trace = np.empty((query.shape[0], target.shape[0]), np.uint8)
        cdef uint8_t[:, ::1] to = trace
        cdef int32_t[:, ::1] bottom = np.empty((target.shape[0], 2), np.int32)
        cdef int32_t[:, ::1] right = np.empty((query.shape[0], 2), np.int32)
        if top.shape[0] != target.shape[0] or left.shape[0] != query.shape[0] or top.shape[1] != 2 or left.shape[1] != 2:
            raise ValueError("sizes of the arrays of a tile disagree")
        if blocked is not None and (blocked.shape[0] != to.shape[0] or blocked.shape[1] != to.shape[1]):
            raise ValueError("sizes of the arrays of a tile disagree")
        t.query, t.target, t.rows, t.columns = &query[0], &target[0], to.shape[0], to.shape[1]
        t.top, t.left = <const best_line *>&top[0, 0], <const best_line *>&left[0, 0]
        t.bottom, t.right = <best_line *>&bottom[0, 0], <best_line *>&right[0, 0]
        t.corner, t.scoring = corner, &self.scoring
        with nogil:
            best_plain_tile(&t, &blocked[0, 0] if blocked is not None else NULL, &to[0, 0], wanted, &row, &column)
        return trace, row, column


def walk(const uint8_t[:, ::1] trace, int32_t row, int32_t column, int32_t state):
    """Goes back from a place of a tile: (steps uint8[], row, column, state) as `best_walk` has them."""
    cdef int32_t n
    cdef uint8_t[::1] steps = np.empty(trace.shape[0] + trace.shape[1], np.uint8)
    if not (0 <= row < trace.shape[0] and 0 <= column < trace.shape[1]):
        raise ValueError("a place outside the tile")
    with nogil:
        n = best_walk(&trace[0, 0], trace.shape[1], &row, &column, &state, &steps[0])
    return np.asarray(steps[:n]), row, column, state
