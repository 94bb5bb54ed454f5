/* Edit distance, 64 rows of a column at a time (Myers 1999; the carry between words as in Hyyro 2003).
 *
 * A word has the vertical differences of 64 rows as two bits each. With a limit k only the words that touch the diagonals
 * -k .. k are computed (Ukkonen 1985): cells beyond take part with values that are too large, but never too small. */
#ifndef GASSST_EDITS_H
#define GASSST_EDITS_H
#include "lanes.h"

typedef uint64_t u64;

typedef struct {
    u64 *equal;           /* [32, words]: rows whose letter is this one */
    u64 *more, *less;     /* [words]: rows that are one more, one less than the row above */
    i64 *bottom;          /* [words]: distance of the word's last row in this column */
    i64 m, words;
} edit_space;

static int edit_open(const u8 *query, i64 m, edit_space *s)
{
    s->m = m;
    s->words = (m + 63) / 64;
    s->equal = calloc((size_t)s->words * LANES_ROW, sizeof *s->equal);
    s->more = malloc((size_t)s->words * sizeof *s->more);
    s->less = malloc((size_t)s->words * sizeof *s->less);
    s->bottom = malloc((size_t)s->words * sizeof *s->bottom);
    if (!s->equal || !s->more || !s->less || !s->bottom)
        return -1;
    for (i64 i = 0; i < m; i++)
        s->equal[query[i] * s->words + i / 64] |= (u64)1 << (i % 64);
    return 0;
}

static void edit_close(edit_space *s)
{
    free(s->equal);
    free(s->more);
    free(s->less);
    free(s->bottom);
}

/* One word of a column; `carry` is the horizontal difference above it, the result that of the row `last`. */
static inline int edit_word(edit_space *s, i64 w, u64 equal, int carry, int last)
{
    u64 more = s->more[w], less = s->less[w], below = carry < 0;
    u64 vertical = equal | less;
    equal |= below;
    u64 horizontal = (((equal & more) + more) ^ more) | equal;
    u64 up = less | ~(horizontal | more), down = more & horizontal;
    int out = (int)(up >> last & 1) - (int)(down >> last & 1);
    up = up << 1 | (u64)(carry > 0);
    down = down << 1 | below;
    s->more[w] = down | ~(vertical | up);
    s->less[w] = up & vertical;
    return out;
}

/* The distance if it is at most `limit`, else -1. `infix`: letters of the target before and behind cost nothing, and the
 * limit saves no work. */
static i64 edit_within(edit_space *s, const u8 *target, i64 n, i64 limit, int infix, volatile i32 *stop)
{
    const i64 m = s->m, words = s->words;
    const int last_row = (int)((m - 1) % 64);
    i64 apart = m > n ? m - n : n - m;
    if (!infix && apart > limit)
        return -1;
    i64 begun = 0, best = m;
    for (i64 j = 1; j <= n; j++) {
        i64 from = infix || j - limit < 1 ? 0 : (j - limit - 1) / 64;
        i64 to = infix || j + limit > m ? words : (j + limit + 63) / 64;
        int carry = !infix;
        if (from >= words)
            return -1;
        for (; begun < to; begun++) { /* as if the rows below went on one by one */
            s->more[begun] = ~(u64)0;
            s->less[begun] = 0;
            i64 rows = begun + 1 < words ? 64 : last_row + 1;
            s->bottom[begun] = begun ? s->bottom[begun - 1] + rows : (infix ? 0 : j - 1) + rows;
        }
        const u64 *equal = s->equal + target[j - 1] * words;
        for (i64 w = from; w < to; w++) {
            carry = edit_word(s, w, equal[w], carry, w + 1 < words ? 63 : last_row);
            s->bottom[w] += carry;
        }
        if (infix && s->bottom[words - 1] < best)
            best = s->bottom[words - 1];
        if ((j & 1023) == 0 && *stop)
            return -1;
    }
    if (!infix)
        best = s->bottom[words - 1];
    return best <= limit ? best : -1;
}

/* Distances of one query to targets first .. last - 1; -1 where a distance passes `limit`. A negative limit means none:
 * the band is doubled until it holds the distance. Returns -1 when it gets no memory. */
static int edit_distances(const lanes_job *job, i64 q, const i64 *target, i64 n_targets, i64 limit, int infix, i32 *out)
{
    edit_space s = {0};
    int failed = edit_open(job->queries + job->query_start[q], lanes_length(job->query_start, q), &s);
    for (i64 t = 0; t < n_targets && !failed && !*job->stop; t++) {
        const u8 *letters = job->targets + job->target_start[target[t]];
        i64 n = lanes_length(job->target_start, target[t]);
        i64 most = s.m > n ? s.m : n, k = infix ? most : 64, found = -1;
        if (limit >= 0)
            found = edit_within(&s, letters, n, limit < most ? limit : most, infix, job->stop);
        else
            while ((found = edit_within(&s, letters, n, k < most ? k : most, infix, job->stop)) < 0 && k < most &&
                   !*job->stop)
                k *= 4;
        out[t] = (i32)found;
    }
    edit_close(&s);
    return failed;
}
#endif
