/* One alignment with its path, in blocks of rows (trace.h).
 *
 * The directions of a small matrix are kept as a whole. Of a large one a first pass keeps the line above every block, and
 * the way back computes the blocks that it comes through once more, the last one first.
 *
 * Where an alignment may begin anywhere in the target, it does not span more of that than its score allows. If the
 * target is much longer, or the matrix is large, a pass finds the end first, and this window alone is traced. */
#ifndef GASSST_PAIR_TRACE_H
#define GASSST_PAIR_TRACE_H
#include <math.h>

#include "trace.h"

enum {
    TRACE_WINDOWS = 2,         /* so many windows or more: the end is worth a pass of its own */
    TRACE_SPARE = 1 << 24,     /* bytes up to which a buffer that grows takes some more */
};

/* [begin, end) of the query and of the target. */
typedef struct {
    i64 query_begin, query_end, target_begin, target_end;
    i32 score;
} trace_result;

/* Memory that all pairs of a call use. */
typedef struct {
    void *at;
    size_t bytes;
} trace_buffer;

typedef struct {
    size_t whole; /* bytes of directions that are kept as a whole */
    i64 rows;     /* of a block at least, a multiple of LANES_MOST */
    trace_buffer memory, directions, line, kept, right;
} trace_space;

/* A part of a pair, and how it is cut. */
typedef struct {
    const trace_kernel *kernel;
    size_t score_bytes;
    const u8 *query, *target;
    const i16 *table;
    i64 m, n, rows, blocks; /* rows of a block */
    int whole;              /* all directions are kept */
} trace_part;

static inline void *trace_reserve(trace_buffer *buffer, size_t bytes)
{
    if (buffer->bytes < bytes) {
        bytes += bytes < TRACE_SPARE ? bytes / 4 : 0;
        free(buffer->at);
        buffer->at = lanes_memory(bytes);
        buffer->bytes = buffer->at ? bytes : 0;
    }
    return buffer->at;
}

static void trace_close(trace_space *s)
{
    free(s->memory.at);
    free(s->directions.at);
    free(s->line.at);
    free(s->kept.at);
    free(s->right.at);
}

/* What follows from the table: its transpose; what the commonest letters score with themselves and with each other, and
 * those of which that is true. A mismatch that gains something is left to the table. */
static inline void trace_prepare(trace_job *job)
{
    for (int a = 0; a < LANES_ROW && !job->profiles; a++)
        for (int b = 0; b < LANES_ROW; b++)
            job->by_target[b][a] = job->table[a * LANES_ROW + b];
    job->match = job->table[0];
    job->mismatch = job->table[1];
    job->simple = 0;
    if (job->profiles || job->mismatch > 0)
        return;
    for (int a = 0; a < LANES_PAD; a++) {
        int simple = job->table[a * LANES_ROW + a] == job->match;
        for (int b = 0; b < a; b++)
            if (job->simple >> b & 1)
                simple = simple && job->table[a * LANES_ROW + b] == job->mismatch &&
                         job->table[b * LANES_ROW + a] == job->mismatch;
        job->simple |= (u32)simple << a;
    }
}

/* Letters of the target that an alignment of this score spans at the most: beyond those of the query each is in a gap. */
static inline i64 trace_span(const trace_job *job, i64 m, i64 n, i32 score)
{
    i64 letters = m < n ? m : n;
    return m + (letters * job->highest - score) / job->extend + 1;
}

/* Whether lanes of 16 bits hold all scores that matter, and the numbers of all steps. */
static inline int trace_fits_16(const trace_job *job, i64 m, i64 n)
{
    i64 least = m < n ? m : n, lost = 2 * (i64)job->first, open = job->first - job->extend;
    const int query_free = job->flags & (LANES_LOCAL | FREE_QUERY_BEGIN);
    const int target_free = job->flags & (LANES_LOCAL | FREE_TARGET_BEGIN);
    if (query_free && target_free)
        lost += job->flags & LANES_LOCAL ? 0 : open + job->extend * least;
    else
        lost += (query_free ? 0 : open + job->extend * m) + (target_free ? 0 : open + job->extend * n);
    return job->highest * least < INT16_MAX && lost < INT16_MAX && n + LANES_MOST <= UINT16_MAX;
}

static inline trace_part trace_part_of(const trace_job *job, const lanes_kernels *kernels, const trace_space *s,
                                       const u8 *query, const u8 *target, const i16 *table, i64 m, i64 n)
{
    trace_part p = {.query = query, .target = target, .table = table, .m = m, .n = n};
    int width = trace_fits_16(job, m, n) ? 1 : 2;
    p.kernel = kernels->trace[width - 1];
    p.score_bytes = (size_t)1 << width;
    p.whole = trace_directions(m, n, p.kernel->lanes) <= s->whole;
    p.rows = s->rows;
    if (!p.whole)
        while (p.rows * p.rows < 16 * m) /* lines and directions take the same */
            p.rows += LANES_MOST;
    p.rows = p.rows < m ? p.rows : m;
    p.blocks = (m + p.rows - 1) / p.rows;
    return p;
}

/* Block r of a part, before its line, corner and directions are set. */
static inline trace_block trace_block_of(const trace_job *job, const trace_space *s, const trace_part *p, i64 r)
{
    i64 row = r * p->rows;
    trace_block b = {.target = p->target, .table = p->table, .row = row, .columns = p->n};
    b.rows = p->m - row < p->rows ? p->m - row : p->rows;
    b.memory = s->memory.at;
    b.line = s->line.at;
    b.corner = trace_border(job, row, FREE_QUERY_BEGIN);
    if (job->profiles)
        b.table += row * LANES_ROW;
    else
        b.query = p->query + row;
    b.letters = trace_letters(p->target, p->n) | (job->profiles ? 0 : trace_letters(b.query, b.rows));
    return b;
}

static inline size_t trace_block_bytes(const trace_part *p)
{
    return (trace_directions(p->rows, p->n, p->kernel->lanes) + 63) & ~(size_t)63;
}

/* All blocks of a part. Keeps the directions, or the lines above the blocks, where `directed`; finds the best end where
 * `best`. Returns -1 when it gets no memory. */
static int trace_pass(const trace_job *job, trace_space *s, const trace_part *p, int directed, trace_end *best)
{
    const int local = job->flags & LANES_LOCAL, column = best && !local && job->flags & FREE_QUERY_END;
    const size_t line = (size_t)p->n * sizeof(trace_line);
    const size_t directions = directed ? (p->whole ? (size_t)p->blocks : 1) * trace_block_bytes(p) : 0;
    const size_t kept = directed && !p->whole ? (size_t)p->blocks * line : 0;
    if (!trace_reserve(&s->memory, trace_memory(p->rows, p->n, p->kernel->lanes, p->score_bytes)) ||
        !trace_reserve(&s->line, line) || (directions && !trace_reserve(&s->directions, directions)) ||
        (kept && !trace_reserve(&s->kept, kept)) ||
        (column && !trace_reserve(&s->right, (size_t)p->rows * sizeof(i32))))
        return -1;
    trace_line *top = s->line.at;
    for (i64 j = 0; j < p->n; j++) {
        top[j].h = trace_border(job, j + 1, FREE_TARGET_BEGIN);
        top[j].gap = top[j].h - job->first;
    }
    for (i64 r = 0; r < p->blocks && !*job->stop; r++) {
        trace_block b = trace_block_of(job, s, p, r);
        if (kept)
            memcpy((u8 *)s->kept.at + (size_t)r * line, top, line);
        if (directed && p->whole)
            b.directions = (u8 *)s->directions.at + (size_t)r * trace_block_bytes(p);
        b.best = local ? best : NULL;
        b.right = column ? s->right.at : NULL;
        p->kernel->run(job, &b);
        for (i64 i = 0; column && i < b.rows && b.row + i + 1 < p->m; i++)
            if (b.right[i] > best->score)
                *best = (trace_end){b.row + i + 1, p->n, b.right[i]};
    }
    if (best && !local) /* the last row */
        for (i64 j = job->flags & FREE_TARGET_END ? 0 : p->n - 1; j < p->n; j++)
            if (top[j].h > best->score)
                *best = (trace_end){p->m, j + 1, top[j].h};
    return 0;
}

/* Back from an end; appends the runs. The pass before has kept what this needs. */
static int trace_back(const trace_job *job, trace_space *s, const trace_part *p, const trace_end *end,
                      trace_result *result, trace_runs *runs)
{
    const size_t line = (size_t)p->n * sizeof(trace_line);
    const int local = job->flags & LANES_LOCAL;
    trace_place place = {end->i, end->j, end->score, TRACE_DIAGONAL};
    i64 start = runs->n;
    int failed = 0;
    while (place.i > 0 && place.j > 0 && place.came != TRACE_ENDED && !failed && !*job->stop) {
        i64 r = (place.i - 1) / p->rows;
        trace_block b = trace_block_of(job, s, p, r);
        b.directions = (u8 *)s->directions.at + (p->whole ? (size_t)r * trace_block_bytes(p) : 0);
        if (!p->whole) {
            memcpy(s->line.at, (u8 *)s->kept.at + (size_t)r * line, line);
            b.columns = place.j;
            p->kernel->run(job, &b);
        }
        if (!*job->stop)
            failed = p->kernel->walk(job, &b, &place, runs, start);
    }
    if (place.i > 0 && place.j == 0 && !local && !(job->flags & FREE_QUERY_BEGIN) && !failed) {
        failed = trace_push(runs, start, CIGAR_INSERTION, place.i);
        place.i = 0;
    }
    if (place.j > 0 && place.i == 0 && !local && !(job->flags & FREE_TARGET_BEGIN) && !failed) {
        failed = trace_push(runs, start, CIGAR_DELETION, place.j);
        place.j = 0;
    }
    *result = (trace_result){place.i, end->i, place.j, end->j, end->score};
    for (i64 a = start, b = runs->n - 1; a < b; a++, b--) {
        u32 run = runs->runs[a];
        runs->runs[a] = runs->runs[b];
        runs->runs[b] = run;
    }
    return failed;
}

/* The best alignment of query q and target t: the first end by the query, then by the target, where several are equally
 * good. A local one without score is empty. Returns -1 when it gets no memory. */
static int trace_pair(const trace_job *job, const lanes_kernels *kernels, i64 q, i64 t, trace_space *s,
                      trace_result *result, trace_runs *runs)
{
    const u8 *query = job->profiles ? NULL : job->queries + job->query_start[q];
    const u8 *target = job->targets + job->target_start[t];
    const i16 *table = job->table + (job->profiles ? job->query_start[q] * LANES_ROW : 0);
    const i64 m = lanes_length(job->query_start, q), n = lanes_length(job->target_start, t);
    const int free_begin = job->flags & (LANES_LOCAL | FREE_TARGET_BEGIN);
    trace_part p = trace_part_of(job, kernels, s, query, target, table, m, n);
    trace_end end = {0, 0, job->flags & LANES_LOCAL ? 0 : INT32_MIN};
    i64 skipped = 0;
    int separate = job->flags && (!p.whole || (free_begin && n > TRACE_WINDOWS * trace_span(job, m, n, 0)));
    *result = (trace_result){0};
    int failed = trace_pass(job, s, &p, !separate, &end);
    if (failed || *job->stop || !end.i)
        return failed;
    if (separate) {
        i64 span = trace_span(job, m, n, end.score);
        skipped = free_begin && end.j > span ? end.j - span : 0;
        end.j -= skipped;
        p = trace_part_of(job, kernels, s, query, target + skipped, table, end.i, end.j);
        failed = trace_pass(job, s, &p, 1, NULL);
    }
    if (!failed && !*job->stop)
        failed = trace_back(job, s, &p, &end, result, runs);
    result->target_begin += skipped;
    result->target_end += skipped;
    return failed;
}
#endif
