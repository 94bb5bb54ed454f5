/* Profile hidden Markov models, a sequence in each lane: jobs of problems.h.
 *
 * The model is that of HMMER 3, local to the model and to the sequence, with several hits (Eddy 2011):
 *
 *     M(i, k) = e(k, x) (MM M(i-1, k-1) + IM I(i-1, k-1) + DM D(i-1, k-1) + BM(k) B(i-1))
 *     I(i, k) = MI M(i-1, k) + II I(i-1, k)
 *     D(i, k) = MD M(i, k-1) + DD D(i, k-1)
 *     E(i) = sum of M(i, k) + D(i, k),  N = N loop,  J = J loop + E / 2,  C = C loop + E / 2,  B = (N + J) move */
#ifndef GASSST_PROFILE_H
#define GASSST_PROFILE_H
#include "problems.h"

/* In lanes of 16 bits, in 500ths of a bit: what they begin with, and the least of a step, of one from the start into a match,
 * and of odds. Every match is reached from the start, which is 700 or more: so none has less than -18300, nothing else less
 * than a step below it or PROFILE_NOTHING, and what a step makes of that fits into 16 bits. */
enum { PROFILE_NOTHING = -18000, PROFILE_LOSS = -7000, PROFILE_ENTRY = -14000, PROFILE_ODDS = -5000 };

enum { PROFILE_LETTERS = 32, PROFILE_STEPS = 8, PROFILE_UNITS = 4096, PROFILE_PAST = 31, PROFILE_WRONG = 32 };

/* Of `trace`: what is impossible; where a cell comes from: bits 0 and 1 of a match, 2 of an insertion, 3 of a deletion. */
enum { TRACE_LOW = -(1 << 30), TRACE_FROM = 3, TRACE_INSERTION = 4, TRACE_DELETION = 8 };

/* Numbers are odds, or their logarithms; the end of the model, where it is not local, is in `exits`. */
typedef struct {
    const volatile int32_t *stop;
    const float *steps;        /* [nodes + 1][8]: MM IM DM BM into the node, MI II at it, MD DD into it */
    const float *emission;     /* [nodes + 1][32] */
    const int16_t *small;      /* [nodes + 1][8][2], each twice, then [nodes + 1][32], the same in 500ths of a bit */
    const int32_t *whole;      /* [8][nodes + 1], then [32][nodes + 1], the same in PROFILE_UNITS of a natural logarithm */
    const uint8_t *code;       /* of each byte, PROFILE_WRONG if it is no letter */
    int64_t nodes, exits;      /* a hit ends at node `exits` or behind it */
    const uint8_t *text;       /* of all sequences */
    const int64_t *begins, *lengths;
    const float *enough;       /* of each sequence, the logarithm that a stretch without gaps needs to pass */
    double *logs;              /* results: natural logarithms of the odds of each sequence */
    uint8_t *seen;             /* the bits of all codes of a sequence, and perhaps of those beside it */
    int64_t (*places)[5];      /* of its best stretch: begin, end, first node, last node, number of operations */
    char *operations;          /* M, I, D from the last to the first, from begins[k] + k * (nodes + 1) on */
} profile_job;

#define PROFILE_TYPES "f4 f4 i2 i4 u1 n n u1 i8 i8 f4 f8 u1 i8 u1"
#endif
