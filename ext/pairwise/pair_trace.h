/* One alignment with its path: Gotoh's recurrence row by row, a byte of directions for each cell of a block of rows.
 *
 * What a long pair needs is bounded by checkpoints: the first pass keeps H and `down` of every block's first row, and the
 * way back fills the blocks it comes through once more, the last one first. */
#ifndef GASSST_PAIR_TRACE_H
#define GASSST_PAIR_TRACE_H
#include <math.h>

#include "cigar.h"
#include "lanes.h"

enum {
    TRACE_DIAGONAL = 0,
    TRACE_INSERTION = 1, /* of a letter of the query */
    TRACE_DELETION = 2,  /* a letter of the target has none beside it */
    TRACE_STOP = 3,
    TRACE_SOURCE = 3,
    TRACE_INSERTION_OPENS = 4,
    TRACE_DELETION_OPENS = 8,
    TRACE_LOWEST = -(1 << 30),
};
#define TRACE_BLOCK ((i64)1 << 25) /* directions of a matrix that is kept as a whole */

typedef struct {
    const u8 *queries, *targets;
    const i64 *query_start, *target_start;
    const i16 *table; /* [rows, 32] */
    i32 profiles, first, extend, flags;
    volatile i32 *stop;
} trace_job;

typedef struct {
    u32 *runs;
    i64 n, room;
} trace_runs;

/* [begin, end) of the query and of the target. */
typedef struct {
    i64 query_begin, query_end, target_begin, target_end;
    i32 score;
} trace_result;

typedef struct {
    const u8 *query, *target;
    const i16 *table;
    i64 m, n, block; /* rows of a block */
    i32 *h, *down;   /* [n + 1], of the last row done */
    i32 *kept;       /* [blocks, 2, n + 1] */
    u8 *trace;       /* [block, n + 1] */
} trace_space;

static inline i32 trace_border(const trace_job *job, i64 letters, int free_begin)
{
    return job->flags & (LANES_LOCAL | free_begin) || !letters ? 0
                                                               : (i32)-(job->first + (letters - 1) * job->extend);
}

static void trace_top(const trace_job *job, trace_space *s)
{
    for (i64 j = 0; j <= s->n; j++) {
        s->h[j] = trace_border(job, j, FREE_TARGET_BEGIN);
        s->down[j] = TRACE_LOWEST;
    }
}

/* Row i, 1 .. m, from the one before; its directions to `trace` if there is one. The best end so far is kept in `best`. */
static void trace_row(const trace_job *job, trace_space *s, i64 i, u8 *trace, trace_result *best)
{
    const i16 *scores = s->table + (job->profiles ? i - 1 : s->query[i - 1]) * LANES_ROW;
    const i32 first = job->first, extend = job->extend, local = job->flags & LANES_LOCAL;
    const i64 n = s->n;
    i32 *h = s->h, *down = s->down;
    i32 diagonal = h[0], left = h[0] = trace_border(job, i, FREE_QUERY_BEGIN), along = TRACE_LOWEST;
    i32 highest = TRACE_LOWEST;
    i64 where = 0;
    for (i64 j = 1; j <= n; j++) {
        u8 way = 0;
        i32 opened = left - first;
        along -= extend;
        if (opened >= along) {
            along = opened;
            way |= TRACE_DELETION_OPENS;
        }
        i32 above = h[j], fresh = above - first, d = down[j] - extend;
        if (fresh >= d) {
            d = fresh;
            way |= TRACE_INSERTION_OPENS;
        }
        down[j] = d;
        i32 here = diagonal + scores[s->target[j - 1]];
        u8 source = TRACE_DIAGONAL;
        if (d > here) {
            here = d;
            source = TRACE_INSERTION;
        }
        if (along > here) {
            here = along;
            source = TRACE_DELETION;
        }
        if (local && here <= 0) {
            here = 0;
            source = TRACE_STOP;
        }
        if (trace)
            trace[j] = way | source;
        diagonal = above;
        h[j] = left = here;
        if (here > highest) {
            highest = here;
            where = j;
        }
    }
    if (!best)
        return;
    if (!(local || (i == s->m && job->flags & FREE_TARGET_END))) {
        if (i < s->m && !(job->flags & FREE_QUERY_END))
            return;
        highest = h[n];
        where = n;
    }
    if (highest > best->score) {
        best->score = highest;
        best->query_end = i;
        best->target_end = where;
    }
}

static int trace_push(trace_runs *runs, i64 start, u32 op, i64 length)
{
    if (runs->n + 1 >= runs->room) {
        i64 room = 2 * runs->room + 64;
        u32 *more = realloc(runs->runs, (size_t)room * sizeof *more);
        if (!more)
            return -1;
        runs->runs = more;
        runs->room = room;
    }
    runs->n = start + cigar_push(runs->runs + start, runs->n - start, op, (u32)length);
    return 0;
}

/* Back from the best end; appends the runs. */
static int trace_back(const trace_job *job, trace_space *s, trace_result *best, trace_runs *runs)
{
    i64 i = best->query_end, j = best->target_end, start = runs->n, top = (i - 1) / s->block * s->block;
    int state = TRACE_DIAGONAL, failed = 0, filled = s->block >= s->m;
    while (i > 0 && j > 0 && !failed) {
        if (!filled || i <= top) {
            top = (i - 1) / s->block * s->block;
            memcpy(s->h, s->kept + top / s->block * 2 * (s->n + 1), (size_t)(s->n + 1) * sizeof *s->h);
            memcpy(s->down, s->kept + (top / s->block * 2 + 1) * (s->n + 1), (size_t)(s->n + 1) * sizeof *s->h);
            for (i64 row = top + 1; row <= i && !*job->stop; row++)
                trace_row(job, s, row, s->trace + (row - 1 - top) * (s->n + 1), NULL);
            filled = 1;
        }
        if (*job->stop)
            return 0;
        u8 way = s->trace[(i - 1 - top) * (s->n + 1) + j];
        if (state == TRACE_DIAGONAL) {
            state = way & TRACE_SOURCE;
            if (state == TRACE_STOP)
                break;
            if (state == TRACE_DIAGONAL) {
                failed = trace_push(runs, start, CIGAR_MATCH, 1);
                i--, j--;
            }
        } else if (state == TRACE_INSERTION) {
            failed = trace_push(runs, start, CIGAR_INSERTION, 1);
            state = way & TRACE_INSERTION_OPENS ? TRACE_DIAGONAL : state;
            i--;
        } else {
            failed = trace_push(runs, start, CIGAR_DELETION, 1);
            state = way & TRACE_DELETION_OPENS ? TRACE_DIAGONAL : state;
            j--;
        }
    }
    if (i > 0 && j == 0 && !(job->flags & (LANES_LOCAL | FREE_QUERY_BEGIN)) && !failed) {
        failed = trace_push(runs, start, CIGAR_INSERTION, i);
        i = 0;
    }
    if (j > 0 && i == 0 && !(job->flags & (LANES_LOCAL | FREE_TARGET_BEGIN)) && !failed) {
        failed = trace_push(runs, start, CIGAR_DELETION, j);
        j = 0;
    }
    best->query_begin = i;
    best->target_begin = j;
    for (i64 a = start, b = runs->n - 1; a < b; a++, b--) {
        u32 run = runs->runs[a];
        runs->runs[a] = runs->runs[b];
        runs->runs[b] = run;
    }
    return failed;
}

/* The best alignment of query q and target t: the first end by the query, then by the target, where several are equally
 * good. A local one without score is empty. Returns -1 when it gets no memory. */
static int trace_pair(const trace_job *job, i64 q, i64 t, trace_result *best, trace_runs *runs)
{
    trace_space s = {0};
    s.query = job->queries + job->query_start[q];
    s.target = job->targets + job->target_start[t];
    s.table = job->table + (job->profiles ? job->query_start[q] * LANES_ROW : 0);
    s.m = lanes_length(job->query_start, q);
    s.n = lanes_length(job->target_start, t);
    s.block = s.m * (s.n + 1) <= TRACE_BLOCK ? s.m : (i64)sqrt(8.0 * (double)s.m) + 1;
    i64 blocks = (s.m + s.block - 1) / s.block;
    size_t row = (size_t)(s.n + 1) * sizeof *s.h;
    s.h = malloc(row);
    s.down = malloc(row);
    s.trace = malloc((size_t)s.block * (size_t)(s.n + 1));
    s.kept = blocks > 1 ? malloc(2 * row * (size_t)blocks) : NULL;
    int failed = !s.h || !s.down || !s.trace || (blocks > 1 && !s.kept) ? -1 : 0;
    *best = (trace_result){0};
    if (!failed) {
        best->score = job->flags & LANES_LOCAL ? 0 : TRACE_LOWEST;
        trace_top(job, &s);
        for (i64 i = 1; i <= s.m && !*job->stop; i++) {
            if (blocks > 1 && (i - 1) % s.block == 0) {
                i32 *kept = s.kept + (i - 1) / s.block * 2 * (s.n + 1);
                memcpy(kept, s.h, row);
                memcpy(kept + s.n + 1, s.down, row);
            }
            trace_row(job, &s, i, blocks > 1 ? NULL : s.trace + (i - 1) * (s.n + 1), best);
        }
        if (best->query_end)
            failed = trace_back(job, &s, best, runs);
    }
    free(s.h);
    free(s.down);
    free(s.trace);
    free(s.kept);
    return failed;
}
#endif
