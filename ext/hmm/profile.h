/* Profile hidden Markov models, a sequence in each lane: what the kernels of all instruction sets and profile.pyx share.
 *
 * The model is that of HMMER 3, local to the model and to the sequence, with several hits (Eddy 2011):
 *
 *     M(i, k) = e(k, x) (MM M(i-1, k-1) + IM I(i-1, k-1) + DM D(i-1, k-1) + BM(k) B(i-1))
 *     I(i, k) = MI M(i-1, k) + II I(i-1, k)
 *     D(i, k) = MD M(i, k-1) + DD D(i, k-1)
 *     E(i) = sum of M(i, k) + D(i, k),  N = N loop,  J = J loop + E / 2,  C = C loop + E / 2,  B = (N + J) move */
#ifndef GASSST_PROFILE_H
#define GASSST_PROFILE_H
#include <stddef.h>
#include <stdint.h>

#include "tables.h"

/* In lanes of 16 bits, in 500ths of a bit: what they begin with, and the least of a step, of one from the start into a match,
 * and of odds. Every match is reached from the start, which is 700 or more: so none has less than -18300, nothing else less
 * than a step below it or PROFILE_NOTHING, and what a step makes of that fits into 16 bits. */
enum { PROFILE_NOTHING = -18000, PROFILE_LOSS = -7000, PROFILE_ENTRY = -14000, PROFILE_ODDS = -5000 };

enum { PROFILE_LETTERS = 32, PROFILE_STEPS = 8, PROFILE_UNITS = 4096, PROFILE_PAST = 31, PROFILE_WRONG = 32 };

/* Of `trace`: what is impossible; where a cell comes from: bits 0 and 1 of a match, 2 of an insertion, 3 of a deletion. */
enum { TRACE_LOW = -(1 << 30), TRACE_FROM = 3, TRACE_INSERTION = 4, TRACE_DELETION = 8 };

/* Numbers are odds, or their logarithms; the end of the model, where it is not local, is in `exits`. */
typedef struct {
    int64_t nodes, exits;      /* a hit ends at node `exits` or behind it */
    const float *steps;        /* [nodes + 1][8]: MM IM DM BM into the node, MI II at it, MD DD into it */
    const float *emission;     /* [nodes + 1][32] */
    const int16_t *small;      /* [nodes + 1][8][2], each twice, then [nodes + 1][32], the same in 500ths of a bit */
    const int32_t *whole;      /* [8][nodes + 1], then [32][nodes + 1], the same in PROFILE_UNITS of a natural logarithm */
    const float *enough;       /* of each sequence, the logarithm that a stretch without gaps needs to pass */
    const uint8_t *text, *code; /* of all sequences, and the code of each byte, PROFILE_WRONG if it is no letter */
    const int64_t *begins, *lengths;
    const volatile int32_t *stop;
} profile_job;

/* The most probable stretch: bases begin .. end - 1 with nodes first .. last, and its operations (M, I, D) from the last. */
typedef struct {
    int64_t begin, end, first, last, count;
    int is_deleted; /* whether it ends so */
    double log;     /* natural logarithm of its odds */
    char *operations;
} profile_path;

enum { PROFILE_PATH, PROFILE_SUM, PROFILE_NARROW, PROFILE_COMPOSITION, PROFILE_FILTER, PROFILE_KINDS };

/* Natural logarithms of the odds of sequences first .. first + count - 1, at most `lanes` of them: the most probable path,
 * the sum over all; the path in lanes of 16 bits, infinite where these are too narrow; profile_filter.h. `rows` begins with
 * a cache line, and with zeros before its first use. Returns the bits of all codes. */
typedef struct {
    const char *name;
    int (*usable)(void);
    int32_t lanes[PROFILE_KINDS];
    int (*score[PROFILE_KINDS])(const profile_job *, int64_t first, int64_t count, void *rows, double *logs);
    /* `memory` has 6 (nodes + 1) int32 and (nodes + 1) bytes for each base, `path` nodes and bases for its operations. */
    void (*trace)(const profile_job *, int64_t number, void *memory, profile_path *path);
} profile_kernels;

extern LANES_HIDDEN const profile_kernels *const profile_tables[];

/* Bytes for any score. */
static inline size_t profile_memory(int64_t nodes)
{
    return (size_t)(nodes + 1) * 3 * 64 + (PROFILE_WRONG + 1) * (size_t)(2 * nodes + 1024) * 5 + 64;
}
#endif
