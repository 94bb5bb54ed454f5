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

/* H, gap, letters, mismatches and scores of a strip for each row; the target backwards; scores of all letters by row. */
static inline size_t best_memory(int32_t letters)
{
    size_t rows = BEST_MOST_ROWS + BEST_MOST_LANES;
    return sizeof(int32_t) * (5 * rows + BEST_MOST_COLUMNS + 3 * BEST_MOST_LANES + rows * (size_t)letters) + 1024;
}

#if defined(__GNUC__)
typedef int16_t best_eight __attribute__((vector_size(16)));
typedef int16_t best_eight_anywhere __attribute__((vector_size(16), aligned(2), may_alias));
#if defined(__clang__) || __GNUC__ >= 12
#define BEST_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define BEST_MIX(a, b, ...) __builtin_shuffle(a, b, (best_eight){__VA_ARGS__})
#endif

/* Eight scores from each of eight lanes' profiles, to eight rows of lanes: an 8 x 8 transpose in three rounds. Lane l
 * reads at from + letters[l] * letter_stride + l * lane_stride. */
static inline void best_transpose(const int16_t *from, const int16_t *letters, int32_t letter_stride,
                                  int32_t lane_stride, int16_t *to, int32_t to_stride)
{
    best_eight a[8], b[8];
    for (int i = 0; i < 8; i++)
        a[i] = (best_eight)(*(const best_eight_anywhere *)(from + letters[i] * letter_stride + i * lane_stride));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            b[2 * i] = BEST_MIX(a[i], a[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            b[2 * i + 1] = BEST_MIX(a[i], a[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        for (int i = 0; i < 8; i++)
            a[i] = b[i];
    }
    for (int i = 0; i < 8; i++)
        *(best_eight_anywhere *)(to + i * to_stride) = (best_eight_anywhere)a[i];
}
#endif
#endif
