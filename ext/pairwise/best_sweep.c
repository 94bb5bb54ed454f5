#include "best_sweep.h"
#include "tables.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_SHORT_ROOM 32767

/* What does not depend on the place in the block. */
typedef struct {
    const best_block *block;
    void *memory;
    best_line *bottom, *right; /* new lines, where the old ones are compared with them */
    uint8_t *flags;            /* of blocked places */
    int32_t tile_columns;      /* tiles in a row of tiles */
    int32_t match, mismatch, pairs_are_simple[256];
} sweep;

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* The commonest scores of letter against letter. A letter is simple if it scores `match` with itself and `mismatch`
 * with all others that are simple. Wildcards are not; tiles without them take the fast way. */
static void find_simple(sweep *s)
{
    const best_scoring *scoring = s->block->scoring;
    const int32_t n = scoring->letters, *matrix = scoring->matrix;
    memset(s->pairs_are_simple, 0, sizeof s->pairs_are_simple);
    s->match = n ? matrix[0] : 0;
    s->mismatch = n > 1 ? matrix[1] : -1;
    for (int32_t a = 0; a < n; a++) {
        int simple = matrix[a * n + a] == s->match;
        for (int32_t b = 0; b < a; b++)
            if (s->pairs_are_simple[b])
                simple = simple && matrix[a * n + b] == s->mismatch && matrix[b * n + a] == s->mismatch;
        s->pairs_are_simple[a] = simple;
    }
}

static int all_simple(const sweep *s, const uint8_t *letters, int32_t n)
{
    int32_t simple = 1;
    for (int32_t i = 0; i < n; i++)
        simple &= s->pairs_are_simple[letters[i]];
    return simple;
}

static int fits_shorts(const best_tile *t)
{
    const best_scoring *scoring = t->scoring;
    int64_t most = t->corner;
    for (int32_t i = 0; i < t->columns; i++)
        most = t->top[i].h > most ? t->top[i].h : most;
    for (int32_t i = 0; i < t->rows; i++)
        most = t->left[i].h > most ? t->left[i].h : most;
    most += (int64_t)scoring->largest * smaller(t->rows, t->columns);
    return most < LEAST_SHORT_ROOM && (int64_t)scoring->first + scoring->extend < LEAST_SHORT_ROOM / 2;
}

/* Flags of the blocked places of a tile, or NULL if there are none. */
static const uint8_t *blocked_places(const sweep *s, int64_t tile, const best_tile *t)
{
    const best_block *b = s->block;
    if (!b->blocked_start || b->blocked_start[tile] == b->blocked_start[tile + 1])
        return NULL;
    memset(s->flags, 0, (size_t)t->rows * t->columns);
    for (int64_t i = b->blocked_start[tile]; i < b->blocked_start[tile + 1]; i++)
        s->flags[b->blocked[i] / b->tile_columns * t->columns + b->blocked[i] % b->tile_columns] = 1;
    return s->flags;
}

/* A score that some letter has with another lies in the matrix's row, all of which must fit 16 bits. */
static int32_t run_tile(const sweep *s, int64_t index, best_tile *t)
{
    const uint8_t *blocked = blocked_places(s, index, t);
    int32_t row, column;
    if (blocked)
        return best_plain_tile(t, blocked, NULL, -1, &row, &column);
    t->is_simple = all_simple(s, t->query, t->rows) && all_simple(s, t->target, t->columns);
    t->match = s->match, t->mismatch = s->mismatch;
    return (fits_shorts(t) ? s->block->kernels->shorts : s->block->kernels->words)(t, s->memory);
}

/* Takes over a new line; returns 1 if it differs, 3 if its last H does. */
static int take_line(best_line *old, const best_line *new, int32_t n)
{
    int change = memcmp(old, new, n * sizeof *old) != 0;
    change |= (old[n - 1].h != new[n - 1].h) << 1;
    if (change)
        memcpy(old, new, n * sizeof *old);
    return change;
}

static void mark(const sweep *s, int32_t tile_row, int32_t tile_column, int32_t tile_rows)
{
    if (tile_row < tile_rows && tile_column < s->tile_columns)
        s->block->dirty[(int64_t)tile_row * s->tile_columns + tile_column] = 1;
}

static int64_t sweep_tiles(sweep *s)
{
    const best_block *b = s->block;
    const int32_t tile_rows = (b->rows + b->tile_rows - 1) / b->tile_rows;
    int32_t first_corner = b->corner;
    int64_t done = 0;
    for (int32_t r = 0; r < tile_rows; r++) {
        const int32_t row = r * b->tile_rows, rows = smaller(b->tile_rows, b->rows - row);
        int32_t corner = first_corner;
        first_corner = b->down[row + rows - 1].h;
        for (int32_t c = 0; c < s->tile_columns; c++) {
            const int32_t column = c * b->tile_columns, columns = smaller(b->tile_columns, b->columns - column);
            const int64_t index = (int64_t)r * s->tile_columns + c;
            best_line *top = b->across + r * b->across_stride + column;
            best_line *left = b->down + c * b->down_stride + row;
            best_line *bottom = top + b->across_stride, *right = left + b->down_stride;
            best_tile t = {
                .query = b->query + row, .target = b->target + column, .rows = rows, .columns = columns,
                .top = top, .left = left, .bottom = b->dirty ? s->bottom : bottom,
                .right = b->dirty ? s->right : right, .corner = corner, .scoring = b->scoring,
            };
            corner = top[columns - 1].h;
            if (b->dirty && !b->dirty[index])
                continue;
            b->best[index] = run_tile(s, index, &t);
            done++;
            if (b->dirty) {
                const int below = take_line(bottom, s->bottom, columns), beside = take_line(right, s->right, rows);
                if (below)
                    mark(s, r + 1, c, tile_rows);
                if (beside)
                    mark(s, r, c + 1, tile_rows);
                if ((below | beside) & 2)
                    mark(s, r + 1, c + 1, tile_rows);
            }
        }
    }
    return done;
}

int64_t best_sweep(const best_block *b)
{
    const size_t places = (size_t)b->tile_rows * b->tile_columns;
    const size_t kernel = (best_memory(b->scoring->letters) + 63) & ~(size_t)63;
    const size_t lines = sizeof(best_line) * ((size_t)b->tile_rows + b->tile_columns);
    sweep s = {.block = b, .tile_columns = (b->columns + b->tile_columns - 1) / b->tile_columns};
    char *memory = malloc(64 + kernel + lines + (b->blocked_start ? places : 0));
    int64_t done;
    if (!memory)
        return -1;
    s.memory = (void *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    s.bottom = (best_line *)((char *)s.memory + kernel);
    s.right = s.bottom + b->tile_columns;
    s.flags = (uint8_t *)(s.right + b->tile_rows);
    find_simple(&s);
    done = sweep_tiles(&s);
    free(memory);
    return done;
}

/* One row after another; pointers are copies, as what is written might lie anywhere else. */
LANES_ALWAYS int32_t plain_tile(const best_tile *t, const uint8_t *blocked, uint8_t *trace, int32_t wanted, int32_t *row,
                                int32_t *column)
{
    const best_scoring *scoring = t->scoring;
    const int32_t first = scoring->first, extend = scoring->extend, columns = t->columns;
    const uint8_t *target = t->target;
    best_line *line = t->bottom;
    int32_t best = 0, corner = t->corner;
    for (int32_t j = 0; j < columns; j++)
        line[j] = t->top[j];
    for (int32_t i = 0; i < t->rows; i++) {
        const int32_t *scores = scoring->matrix + t->query[i] * scoring->letters;
        int32_t diagonal = corner, target_gap = t->left[i].gap;
        corner = t->left[i].h;
        for (int32_t j = 0; j < columns; j++) {
            const size_t place = (size_t)i * columns + j;
            const int32_t query_gap = line[j].gap, sum = diagonal + scores[target[j]];
            const int32_t pair = blocked && blocked[place] ? 0 : sum > 0 ? sum : 0;
            const int32_t larger = target_gap > pair ? target_gap : pair, h = query_gap > larger ? query_gap : larger;
            const int32_t opened = h - first, on_target = target_gap - extend, on_query = query_gap - extend;
            if (trace) {
                uint8_t from = pair > 0 ? FROM_PAIR : FROM_NONE;
                from = target_gap > pair ? FROM_TARGET_GAP : from;
                from = query_gap > larger ? FROM_QUERY_GAP : from;
                trace[place] = (uint8_t)(from | (opened < on_target ? TARGET_GAP_GOES_ON : 0) |
                                         (opened < on_query ? QUERY_GAP_GOES_ON : 0));
                if (h == wanted && (*column < 0 || j < *column))
                    *row = i, *column = j;
            }
            target_gap = opened < on_target ? on_target : opened;
            diagonal = line[j].h;
            line[j].h = h;
            line[j].gap = opened < on_query ? on_query : opened;
            best = h > best ? h : best;
        }
        t->right[i].h = line[columns - 1].h;
        t->right[i].gap = best_open_gap(target_gap);
    }
    for (int32_t j = 0; j < columns; j++)
        line[j].gap = best_open_gap(line[j].gap);
    return best;
}

int32_t best_plain_tile(const best_tile *t, const uint8_t *blocked, uint8_t *trace, int32_t wanted, int32_t *row,
                        int32_t *column)
{
    *row = *column = -1;
    if (trace)
        return blocked ? plain_tile(t, blocked, trace, wanted, row, column) : plain_tile(t, NULL, trace, wanted, row, column);
    return plain_tile(t, blocked, NULL, wanted, row, column);
}

int32_t best_walk(const uint8_t *trace, int32_t columns, int32_t *row, int32_t *column, int32_t *state,
                  uint8_t *steps)
{
    int32_t i = *row, j = *column, now = *state, n = 0;
    while (i >= 0 && j >= 0) {
        const uint8_t here = trace[(size_t)i * columns + j];
        int32_t step;
        if (now == FROM_TARGET_GAP && !(here & TARGET_GAP_GOES_ON))
            now = FROM_PAIR;
        if (now == FROM_QUERY_GAP && !(here & QUERY_GAP_GOES_ON))
            now = FROM_PAIR;
        step = now == FROM_PAIR ? here & 3 : now;
        if (step == FROM_NONE) {
            now = FROM_NONE;
            break;
        }
        steps[n++] = (uint8_t)step;
        now = step;
        i -= step != FROM_TARGET_GAP;
        j -= step != FROM_QUERY_GAP;
    }
    *row = i, *column = j, *state = now;
    return n;
}
