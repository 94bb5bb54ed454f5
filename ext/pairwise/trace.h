/* Alignments with their paths: what the kernels of all instruction sets (trace_wave.h) and their user (pair_trace.h)
 * share.
 *
 * A pair is computed in blocks of rows, from the line above each to its last row. A kernel keeps four bits of directions
 * for each cell, from which the path is walked back. Rows are letters of the query, columns letters of the target. */
#ifndef GASSST_TRACE_H
#define GASSST_TRACE_H
#include "cigar.h"
#include "lanes.h"

/* The directions of cell (i, j), a bit each. H is the best score that ends with the cell. */
enum {
    FROM_ABOVE = 0, /* H ends with a letter of the query alone */
    FROM_LEFT = 1,  /* H ends with a letter of the target alone; then FROM_ABOVE does not count */
    DOWN_GOES_ON = 2,  /* a gap that takes up letter i + 1 of the query took up letter i as well */
    RIGHT_GOES_ON = 3, /* a gap that takes up letter j + 1 of the target took up letter j as well */
    TRACE_BITS = 4,
};

typedef struct {
    const u8 *queries, *targets;
    const i64 *query_start, *target_start;
    const i16 *table; /* [rows, 32] */
    i32 profiles, first, extend, flags;
    i32 highest;          /* score of two letters */
    u32 simple;           /* letters that score `match` if they are equal, `mismatch` if not */
    i32 match, mismatch;
    i16 by_target[LANES_ROW][LANES_ROW]; /* the table with the letters of the target as rows; not of profiles */
    volatile i32 *stop;
} trace_job;

/* H of a place of a row, and the gap that enters the row below. */
typedef struct {
    i32 h, gap;
} trace_line;

/* The end of an alignment: letters of both before it. */
typedef struct {
    i64 i, j;
    i32 score;
} trace_end;

typedef struct {
    const u8 *query;  /* its first letter; not of a profile */
    const u8 *target;
    const i16 *table; /* scores; of a profile, those of its first row */
    i64 row;          /* rows above the block */
    i64 rows, columns;
    u32 letters;      /* of both, a set; of a profile those of the target */
    i32 corner;       /* H above and left of the block */
    trace_line *line; /* [columns], the line above; the last row replaces it */
    i32 *right;       /* [rows], H of the last column; or NULL */
    trace_end *best;  /* of a local alignment: the best end so far; or NULL */
    u8 *directions;   /* or NULL */
    void *memory;     /* trace_memory(), aligned to 64 */
} trace_block;

/* Where a walk has come to: cell (i, j), counted from 1, and over which side of it. `rest`: H there, local only. */
typedef struct {
    i64 i, j;
    i32 rest;
    int came; /* TRACE_DIAGONAL, or the gap that is walked */
} trace_place;

enum { TRACE_DIAGONAL, TRACE_INSERTION, TRACE_DELETION, TRACE_ENDED };

typedef struct {
    u32 *runs;
    i64 n, room;
} trace_runs;

/* walk: back through a block until it leaves it or ends; appends the runs, the last one first. -1: no memory. */
typedef struct trace_kernel {
    i32 lanes;
    void (*run)(const trace_job *, const trace_block *);
    int (*walk)(const trace_job *, const trace_block *, trace_place *, trace_runs *, i64 start);
} trace_kernel;

static inline i32 trace_border(const trace_job *job, i64 letters, int free_begin)
{
    return job->flags & (LANES_LOCAL | free_begin) || !letters ? 0
                                                               : (i32)-(job->first + (letters - 1) * job->extend);
}

static inline const i16 *trace_scores(const trace_job *job, const trace_block *b, i64 row)
{
    return b->table + (job->profiles ? row : b->query[row]) * LANES_ROW;
}

/* The set of some letters. */
static inline u32 trace_letters(const u8 *letters, i64 n)
{
    u32 found = 0;
    for (i64 i = 0; i < n; i++)
        found |= (u32)1 << letters[i];
    return found;
}

static inline i64 trace_strip(i64 rows, i64 lanes)
{
    return (rows + lanes - 1) / lanes;
}

/* Bytes of the directions of a block. */
static inline size_t trace_directions(i64 rows, i64 columns, i64 lanes)
{
    return (size_t)(columns + lanes) * (size_t)trace_strip(rows, lanes) * (size_t)((lanes * TRACE_BITS + 7) / 8) + 64;
}

/* Bytes that a kernel needs beside its lines, for scores of `bytes`. */
static inline size_t trace_memory(i64 rows, i64 columns, i64 lanes, size_t bytes)
{
    size_t strip = (size_t)trace_strip(rows, lanes), places = (strip + 8) * (size_t)lanes;
    return bytes * (6 + LANES_ROW + 1) * places + sizeof(i32) * ((size_t)columns + 2 * (size_t)lanes) + 64;
}

/* Makes room for two runs more. */
static inline int trace_room(trace_runs *runs)
{
    if (runs->n + 2 < runs->room)
        return 0;
    i64 room = 2 * runs->room + 64;
    u32 *more = realloc(runs->runs, (size_t)room * sizeof *more);
    if (!more)
        return -1;
    runs->runs = more;
    runs->room = room;
    return 0;
}

/* Appends to the runs from `start` on. */
static inline int trace_push(trace_runs *runs, i64 start, u32 op, i64 length)
{
    if (trace_room(runs))
        return -1;
    runs->n = start + cigar_push(runs->runs + start, runs->n - start, op, (u32)length);
    return 0;
}
#endif
