/* Local alignment of two long sequences in tiles: what the kernels of all instruction sets and best.pyx share.
 *
 * The recurrence (Gotoh 1982). Rows are letters of the query, columns letters of the target.
 *
 *     H(i, j) = max(0, H(i-1, j-1) + s(i, j), E(i, j), F(i, j))
 *     E(i, j+1) = max(H(i, j) - first, E(i, j) - extend)        the gap that uses up letters of the target
 *     F(i+1, j) = max(H(i, j) - first, F(i, j) - extend)        the gap that uses up letters of the query
 *
 * A line holds H of a row (column) and the gap that enters the next row (column). So a tile is a function of the line
 * above it, the line left of it and the H of its corner, and its results are the lines at its other two sides. */
#ifndef GASSST_BEST_H
#define GASSST_BEST_H
#include <stddef.h>
#include <stdint.h>

#include "tables.h"

enum { BEST_MOST_LANES = 32, BEST_MOST_ROWS = 512, BEST_MOST_COLUMNS = 4096 };

typedef struct {
    int32_t h, gap;
} best_line;

typedef struct {
    const int32_t *matrix;   /* [letters][letters], row: letter of the query */
    int32_t letters;
    int32_t first, extend;   /* cost of a gap's first letter and of each further one */
    int32_t largest;         /* of the matrix */
} best_scoring;

/* `bottom` may be `top`, and `right` may be `left`: a place is written after it was read. */
typedef struct {
    const uint8_t *query, *target;
    int32_t rows, columns;
    const best_line *top, *left;
    best_line *bottom, *right;
    int32_t corner;
    int32_t is_simple;       /* the letters that occur in this tile score `match` if equal, `mismatch` if not */
    int32_t match, mismatch;
    const best_scoring *scoring;
} best_tile;

/* Both return the largest H of the tile. `shorts` is for tiles whose H stay below 2^15. `memory` has best_memory()
 * bytes, aligned to 64. `bottom` is right only where `rows` is a multiple of BEST_MOST_LANES, which all but the last
 * tiles of a matrix are. */
typedef struct {
    const char *name;
    int (*usable)(void);
    int32_t (*shorts)(const best_tile *, void *memory);
    int32_t (*words)(const best_tile *, void *memory);
} best_kernels;

extern LANES_HIDDEN const best_kernels *const best_tables[];

/* A gap of score 0 or less is no part of any alignment. In lines all of these are 0, so that equal matrices have equal
 * lines, wherever their computation began. */
static inline int32_t best_open_gap(int32_t gap)
{
    return gap > 0 ? gap : 0;
}

/* H, gap, letters, mismatches and scores of a strip for each row; the target backwards, twice; scores of all letters by
 * row. */
static inline size_t best_memory(int32_t letters)
{
    size_t rows = BEST_MOST_ROWS + BEST_MOST_LANES;
    return sizeof(int32_t) * (5 * rows + 2 * (BEST_MOST_COLUMNS + 3 * BEST_MOST_LANES) + rows * (size_t)letters) + 1024;
}

#endif
