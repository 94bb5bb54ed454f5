/* Sweeps over a block of tiles, and the way of one alignment through a tile. */
#ifndef GASSST_BEST_SWEEP_H
#define GASSST_BEST_SWEEP_H
#include <stddef.h>

#include "best.h"

/* A block is a rectangle of the matrix, cut into tiles of tile_rows x tile_columns; the last ones may be smaller.
 *
 * `across` has the lines above the rows of tiles, and `down` those left of the columns of tiles. With a stride they are
 * all kept: line t at t * stride, one more than there are rows (columns) of tiles. With stride 0 there is one line,
 * which a tile reads and overwrites; afterwards it is the block's last.
 *
 * `blocked` has pairs of letters that no alignment may use: of tile t, blocked[blocked_start[t] .. [t + 1]], each
 * row * tile_columns + column within the tile. NULL: none.
 *
 * `dirty` (of each tile, with strides): only these tiles are computed anew, and those whose lines or corner change
 * thereby. NULL: all are. */
typedef struct {
    const uint8_t *query, *target;
    int32_t rows, columns, tile_rows, tile_columns;
    best_line *across, *down;
    int64_t across_stride, down_stride;
    int32_t corner;
    int32_t *best; /* [rows of tiles][columns of tiles]: the largest H */
    const int64_t *blocked_start;
    const int32_t *blocked;
    uint8_t *dirty;
    const best_scoring *scoring;
    const best_kernels *kernels;
} best_block;

/* Returns -1 when it gets no memory, else how many tiles it computed. */
LANES_HIDDEN int64_t best_sweep(const best_block *block);

/* What led to the H of a place (the low two bits), and whether the gaps that leave it came into it. */
enum { FROM_NONE, FROM_PAIR, FROM_TARGET_GAP, FROM_QUERY_GAP, TARGET_GAP_GOES_ON = 4, QUERY_GAP_GOES_ON = 8 };

/* One tile in plain code: `trace` [rows][columns], and the first place, by column, then row, whose H is `wanted`;
 * -1, -1 if there is none. `blocked` is a flag for each place, or NULL. Returns the largest H. */
LANES_HIDDEN int32_t best_plain_tile(const best_tile *tile, const uint8_t *blocked, uint8_t *trace, int32_t wanted,
                                    int32_t *row, int32_t *column);

/* Goes back from a place until the alignment begins or leaves the tile. `state` is FROM_PAIR (at an H) or one of the
 * gaps. Steps are appended to `steps`, as FROM_ values. On return, `row` or `column` is -1 if it left the tile; else
 * `state` is FROM_NONE: it began at that place. Returns how many steps there are. */
LANES_HIDDEN int32_t best_walk(const uint8_t *trace, int32_t columns, int32_t *row, int32_t *column, int32_t *state,
                              uint8_t *steps);
#endif
