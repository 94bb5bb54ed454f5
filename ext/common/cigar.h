/* CIGAR runs as BAM has them: length << 4 | operation. */
#ifndef GASSST_CIGAR_H
#define GASSST_CIGAR_H

#include <stddef.h>
#include <stdint.h>

enum { CIGAR_MATCH = 0, CIGAR_INSERTION = 1, CIGAR_DELETION = 2, CIGAR_SOFT_CLIP = 4 };

static inline uint32_t cigar_op(uint32_t run)
{
    return run & 15;
}

static inline uint32_t cigar_length(uint32_t run)
{
    return run >> 4;
}

/* Appends `length` bases to `n` runs, to the last run if it has the same operation; returns the number of runs. */
static inline ptrdiff_t cigar_push(uint32_t *runs, ptrdiff_t n, uint32_t op, uint32_t length)
{
    if (length == 0)
        return n;
    if (n && cigar_op(runs[n - 1]) == op) {
        runs[n - 1] += length << 4;
        return n;
    }
    runs[n] = length << 4 | op;
    return n + 1;
}

/* Reference bases that `n` runs cover. */
static inline int64_t cigar_span(const uint32_t *runs, ptrdiff_t n)
{
    int64_t span = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        if (cigar_op(runs[i]) == CIGAR_MATCH || cigar_op(runs[i]) == CIGAR_DELETION)
            span += cigar_length(runs[i]);
    return span;
}

#endif
