/* All places of short patterns in a text, within k edits.
 *
 * E(j) is the fewest edits of a pattern with any stretch of the text that ends before position j. Of a pattern cut into
 * pieces, one holds no more than its share of the edits (pigeonhole). All words that can end such a piece are listed
 * beforehand, and each word of the text is looked up. A hit leads to a few positions j, where Myers' bit-parallel
 * algorithm (1999) computes E(j). Patterns that would be hit too often have E(j) computed everywhere.
 *
 * Bases are 0 to 3 as bits 1 and 2 of their ASCII codes say: A, C, T, G. Any other letter equals none, so a word may
 * hold any base in its stead: every base has its words, at no more than the cost of an edit. */
#ifndef GASSST_FIND_H
#define GASSST_FIND_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIND_MOST_LETTERS = 64, /* of a pattern: a machine word */
    FIND_OTHER = 4,         /* the code of what is no base */
    FIND_BETWEEN = 0,       /* the byte between two contigs of a text */
    FIND_TOGETHER = 4,      /* patterns of which E(j) is computed everywhere at a time: their chains of operations overlap */
    FIND_STEP = 1 << 16,    /* letters between two looks at the flag that stops a search */
};

typedef struct {
    uint64_t equal[5]; /* by code: rows whose letter allows this base */
    uint8_t allowed[FIND_MOST_LETTERS];
    int32_t letters;
} find_pattern;

typedef struct {
    int64_t end; /* of the stretch: behind its last letter */
    int32_t pattern, edits;
} find_event;

/* A word ends a piece behind which `rest` letters of the pattern follow. */
typedef struct {
    int32_t pattern, rest;
} find_word;

typedef struct {
    const find_pattern *patterns;
    int32_t n_patterns, edits, most_letters, word;
    const uint32_t *pairs;    /* bits: the word + 1 letters from an even position on hold a listed word */
    const uint32_t *start;    /* [4^word + 1]: the entries of a word */
    const find_word *entries;
    const int32_t *everywhere; /* patterns of which E(j) is computed at all positions */
    int32_t n_everywhere;
    const uint8_t *codes;      /* [256]: of bytes */
    const uint8_t *is_letter;  /* [256] */
    volatile int *stop;
} find_job;

/* Grows by itself; `failed` where there was no memory. */
typedef struct {
    find_event *events;
    int64_t n, room;
    int failed;
} find_events;

static inline void find_put(find_events *to, int64_t end, int32_t pattern, int32_t edits)
{
    if (to->n == to->room) {
        int64_t room = to->room ? 2 * to->room : 1024;
        find_event *more = realloc(to->events, (size_t)room * sizeof *more);
        if (!more) {
            to->failed = 1;
            return;
        }
        to->events = more;
        to->room = room;
    }
    to->events[to->n++] = (find_event){end, pattern, edits};
}

/* --- words of a piece ------------------------------------------------------------------------------------------ */

typedef struct {
    const uint8_t *allowed;
    int32_t begin, end, word; /* of the piece */
    uint32_t *seen, mark;     /* [4^word]: the last piece that listed a word */
    uint32_t *codes;
    int64_t n, most;
} find_listing;

/* Lists the words with this end: `left` letters are missing, beside letters begin .. at - 1 of the pattern, with so many
 * edits. A piece does not end with a letter of the text alone. Stops beyond `most`. */
static void find_list(find_listing *to, int32_t at, int32_t left, int32_t edits, uint32_t code)
{
    if (to->n > to->most)
        return;
    if (left == 0) {
        if (to->seen[code] != to->mark) {
            to->seen[code] = to->mark;
            if (to->n < to->most)
                to->codes[to->n] = code;
            to->n++;
        }
        return;
    }
    int is_free = at == to->begin;
    for (uint32_t base = 0; base < 4; base++) {
        uint32_t more = code | base << 2 * (left - 1);
        if (is_free) {
            find_list(to, at, left - 1, edits, more);
            continue;
        }
        int cost = !(to->allowed[at - 1] >> base & 1);
        if (cost <= edits)
            find_list(to, at - 1, left - 1, edits - cost, more);
        if (edits && at < to->end)
            find_list(to, at, left - 1, edits - 1, more);
    }
    if (edits && !is_free)
        find_list(to, at - 1, left, edits - 1, code);
}

/* --- E(j) ------------------------------------------------------------------------------------------------------ */

typedef struct {
    uint64_t more, less; /* rows that are one more, one less than the row above */
    int32_t edits;       /* of the last row */
} find_column;

static inline void find_next(find_column *c, uint64_t equal, int last)
{
    uint64_t vertical = equal | c->less;
    uint64_t horizontal = (((equal & c->more) + c->more) ^ c->more) | equal;
    uint64_t up = c->less | ~(horizontal | c->more), down = c->more & horizontal;
    c->edits += (int32_t)(up >> last & 1) - (int32_t)(down >> last & 1);
    up <<= 1;
    down <<= 1;
    c->more = down | ~(vertical | up);
    c->less = up & vertical;
}

/* E(j) for from <= j <= to, where it is at most k. The text before from - letters - k does not matter. */
static void find_around(const find_job *job, const uint8_t *text, int32_t p, int64_t from, int64_t to, find_events *found)
{
    const find_pattern *pattern = &job->patterns[p];
    const int last = pattern->letters - 1;
    int64_t j = from - pattern->letters - job->edits;
    find_column c = {~(uint64_t)0, 0, pattern->letters};
    for (j = j > 0 ? j : 0; j < from - 1; j++)
        find_next(&c, pattern->equal[job->codes[text[j]]], last);
    for (; j < to; j++) {
        find_next(&c, pattern->equal[job->codes[text[j]]], last);
        if (c.edits <= job->edits && text[j] != FIND_BETWEEN)
            find_put(found, j + 1, p, c.edits);
    }
}

/* As find_around, of up to FIND_TOGETHER patterns. */
static void find_everywhere(const find_job *job, const uint8_t *text, const int32_t *these, int32_t n, int64_t from,
                            int64_t to, find_events *found)
{
    find_column c[FIND_TOGETHER];
    const find_pattern *patterns[FIND_TOGETHER];
    int last[FIND_TOGETHER];
    int64_t j = from - job->most_letters - job->edits;
    for (int32_t i = 0; i < FIND_TOGETHER; i++) {
        patterns[i] = &job->patterns[these[i < n ? i : 0]];
        last[i] = patterns[i]->letters - 1;
        c[i] = (find_column){~(uint64_t)0, 0, patterns[i]->letters};
    }
    for (j = j > 0 ? j : 0; j < to && !*job->stop && !found->failed;) {
        int64_t stop = j + FIND_STEP < to ? j + FIND_STEP : to;
        for (; j < stop; j++) {
            int code = job->codes[text[j]], any = 0;
            for (int32_t i = 0; i < FIND_TOGETHER; i++) {
                find_next(&c[i], patterns[i]->equal[code], last[i]);
                any |= c[i].edits <= job->edits;
            }
            if (any && j + 1 >= from && text[j] != FIND_BETWEEN)
                for (int32_t i = 0; i < n; i++)
                    if (c[i].edits <= job->edits)
                        find_put(found, j + 1, these[i], c[i].edits);
        }
    }
}

/* --- words of the text ----------------------------------------------------------------------------------------- */

enum { FIND_PACKED = 32 }; /* letters that are packed at a time, two bits each */

static inline uint64_t find_eight(const uint8_t *text)
{
    uint64_t x = 0;
    for (int i = 0; i < 8; i++)
        x |= (uint64_t)text[i] << 8 * i;
    x = x >> 1 & 0x0303030303030303u;
    x = (x | x >> 6) & 0x000F000F000F000Fu;
    x = (x | x >> 12) & 0x000000FF000000FFu;
    return (x | x >> 24) & 0xFFFF;
}

/* The 32 letters from `at` on. What is no base gets one by its position, so that a run of N holds many words, each of
 * them rarely. Returns -1, or where the first byte is that is no letter. */
static int64_t find_pack(const find_job *job, const uint8_t *text, int64_t letters, int64_t at, uint64_t *to)
{
    uint8_t part[FIND_PACKED];
    const uint8_t *from = text + at;
    int64_t wrong = -1;
    if (at < 0 || at + FIND_PACKED > letters) {
        for (int i = 0; i < FIND_PACKED; i++)
            part[i] = at + i < 0 || at + i >= letters ? 'A' : text[at + i];
        from = part;
    }
    int others = 0;
    for (int i = 0; i < FIND_PACKED; i++) {
        uint8_t letter = from[i] & 0xDF;
        others |= (letter != 'A') & (letter != 'C') & (letter != 'G') & (letter != 'T');
    }
    if (others) {
        for (int i = 0; i < FIND_PACKED; i++) {
            uint8_t letter = from[i];
            if (!job->is_letter[letter] && letter != FIND_BETWEEN && wrong < 0)
                wrong = at + i;
            uint32_t code = job->codes[letter];
            if (code == FIND_OTHER)
                code = (uint32_t)(at + i) * 2654435761u >> 30;
            part[i] = (uint8_t)(code << 1);
        }
        from = part;
    }
    *to = find_eight(from) | find_eight(from + 8) << 16 | find_eight(from + 16) << 32 | find_eight(from + 24) << 48;
    return wrong;
}

/* The word at `at` is listed: E(j) wherever its pieces lead to, unless it is known there. `known` has two positions for
 * each pattern, between which it is. */
static inline void find_hits(const find_job *job, const uint8_t *text, uint32_t code, int64_t at, int64_t begin, int64_t end,
                             int64_t *known, find_events *found)
{
    for (uint32_t i = job->start[code]; i < job->start[code + 1]; i++) {
        const find_word *word = &job->entries[i];
        int64_t middle = at + job->word + word->rest, from = middle - job->edits, to = middle + job->edits;
        int64_t *between = known + 2 * (int64_t)word->pattern;
        if (from <= begin)
            from = begin + 1;
        if (to > end)
            to = end;
        if (from >= between[0] && from <= between[1] + 1) {
            from = between[1] + 1;
            if (from > to)
                continue;
            between[1] = to;
        } else if (from <= to) {
            between[0] = from;
            between[1] = to;
        }
        if (from <= to)
            find_around(job, text, word->pattern, from, to, found);
    }
}

/* E(j) for begin < j <= end wherever it is at most k, of all patterns, in no order, some more than once. `known` is
 * memory for 2 * n_patterns. Returns -1, or where the first byte is that is no letter, in this part of the text. */
static int64_t find_search(const find_job *job, const uint8_t *text, int64_t letters, int64_t begin, int64_t end,
                           int64_t *known, find_events *found)
{
    int64_t wrong = -1;
    for (int32_t i = 0; i < job->n_everywhere; i += FIND_TOGETHER) {
        int32_t n = job->n_everywhere - i;
        find_everywhere(job, text, job->everywhere + i, n < FIND_TOGETHER ? n : FIND_TOGETHER, begin + 1, end, found);
    }
    for (int32_t i = 0; i < job->n_patterns; i++) {
        known[2 * i] = -2;
        known[2 * i + 1] = -3;
    }
    /* The words that end at j lead to j - k and later, and to j + letters + k and before. */
    const int word = job->word;
    const uint64_t pair = ((uint64_t)1 << (2 * word + 2)) - 1, one = pair >> 2;
    int64_t from = begin - job->most_letters - job->edits - word, to = end + job->edits - word + 1;
    if (from < -word)
        from = -word;
    if (to > letters - word + 1)
        to = letters - word + 1;
    from &= ~(int64_t)1;
    uint64_t these, next;
    int64_t bad = find_pack(job, text, letters, from, &next);
    for (int64_t at = from, step = 0; at < to && !found->failed; at += FIND_PACKED, step++) {
        if ((step & 2047) == 0 && *job->stop)
            break;
        if (bad >= 0 && wrong < 0)
            wrong = bad;
        these = next;
        bad = find_pack(job, text, letters, at + FIND_PACKED, &next);
        uint32_t hits = 0;
        for (int i = 0; i < FIND_PACKED / 2; i++) {
            uint64_t code = these >> 4 * i;
            if (i && 2 * i + word + 1 > FIND_PACKED)
                code |= next << (64 - 4 * i);
            code &= pair;
            hits |= (job->pairs[code >> 5] >> (code & 31) & 1) << i;
        }
        for (; hits; hits &= hits - 1) {
            int i = 0;
            while (!(hits >> i & 1))
                i++;
            uint64_t code = (these >> 4 * i | (i ? next << (64 - 4 * i) : 0)) & pair;
            find_hits(job, text, (uint32_t)(code & one), at + 2 * i, begin, end, known, found);
            find_hits(job, text, (uint32_t)(code >> 2), at + 2 * i + 1, begin, end, known, found);
        }
    }
    if (bad >= 0 && wrong < 0)
        wrong = bad;
    return wrong;
}

/* By pattern, then position; each once. */
static int find_compare(const void *a, const void *b)
{
    const find_event *x = a, *y = b;
    if (x->pattern != y->pattern)
        return x->pattern < y->pattern ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static void find_sort(find_events *found)
{
    int64_t n = 0;
    int sorted = 1;
    for (int64_t i = 1; i < found->n && sorted; i++)
        sorted = find_compare(&found->events[i - 1], &found->events[i]) < 0;
    if (sorted)
        return;
    qsort(found->events, (size_t)found->n, sizeof *found->events, find_compare);
    for (int64_t i = 0; i < found->n; i++)
        if (!n || find_compare(&found->events[n - 1], &found->events[i]))
            found->events[n++] = found->events[i];
    found->n = n;
}

/* --- local minima ---------------------------------------------------------------------------------------------- */

/* The last E(j) of a pattern that is at most k; `end` is 0 where none waits. */
typedef struct {
    int64_t end;
    int32_t edits, falling;
} find_last;

static inline void find_close(find_last *last, int32_t pattern, find_events *to)
{
    if (last->end && last->falling)
        find_put(to, last->end, pattern, last->edits);
    last->end = 0;
}

/* Adds the local minima of sorted E(j) to `to`: all up to those that may go on behind `until`, which stay in `last`. */
static void find_minima(const find_event *events, int64_t n, find_last *last, int32_t n_patterns, int64_t until,
                        find_events *to)
{
    for (int64_t i = 0; i < n; i++) {
        find_last *l = &last[events[i].pattern];
        if (!l->end || events[i].end != l->end + 1) {
            find_close(l, events[i].pattern, to);
            l->falling = 1;
        } else if (events[i].edits < l->edits) {
            l->falling = 1;
        } else if (events[i].edits > l->edits) {
            find_close(l, events[i].pattern, to);
            l->falling = 0;
        }
        l->end = events[i].end;
        l->edits = events[i].edits;
    }
    for (int32_t p = 0; p < n_patterns; p++)
        if (last[p].end && last[p].end < until)
            find_close(&last[p], p, to);
}

/* --- paths ----------------------------------------------------------------------------------------------------- */

enum { FIND_INSERTED = 1, FIND_DELETED = 2, FIND_EQUAL = 7, FIND_DIFFERENT = 8 }; /* as in BAM */

/* The path of a place that ends at `end` and begins at `least` or later: runs backwards, as in BAM. Returns how many
 * runs there are. From the end a pair goes before a letter of the text alone, and that before one of the pattern. */
static int find_path(const find_job *job, const uint8_t *text, int64_t least, const find_event *at, uint32_t *runs,
                     int64_t *begin)
{
    const find_pattern *pattern = &job->patterns[at->pattern];
    const int m = pattern->letters;
    int64_t from = at->end - m - job->edits;
    if (from < least)
        from = least;
    const int n = (int)(at->end - from);
    uint8_t edits[FIND_MOST_LETTERS + 1][2 * FIND_MOST_LETTERS + 1];
    memset(edits[0], 0, sizeof edits[0]);
    for (int i = 1; i <= m; i++) {
        edits[i][0] = (uint8_t)i;
        for (int j = 1; j <= n; j++) {
            int code = job->codes[text[from + j - 1]];
            int least_edits = edits[i - 1][j - 1] + !(pattern->equal[code] >> (i - 1) & 1);
            if (edits[i - 1][j] + 1 < least_edits)
                least_edits = edits[i - 1][j] + 1;
            if (edits[i][j - 1] + 1 < least_edits)
                least_edits = edits[i][j - 1] + 1;
            edits[i][j] = (uint8_t)least_edits;
        }
    }
    int count = 0, i = m, j = n;
    while (i) {
        uint32_t step = FIND_INSERTED;
        if (j) {
            int equal = (int)(pattern->equal[job->codes[text[from + j - 1]]] >> (i - 1) & 1);
            if (edits[i - 1][j - 1] + !equal == edits[i][j])
                step = equal ? FIND_EQUAL : FIND_DIFFERENT;
            else if (edits[i][j - 1] + 1 == edits[i][j])
                step = FIND_DELETED;
        }
        i -= step != FIND_DELETED;
        j -= step != FIND_INSERTED;
        if (count && (runs[count - 1] & 15) == step)
            runs[count - 1] += 16;
        else
            runs[count++] = 16 | step;
    }
    *begin = from + j;
    return count;
}
#endif
