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

enum { PROFILE_LETTERS = 32, PROFILE_STEPS = 8 };

/* Numbers are odds, or their logarithms. */
typedef struct {
    int64_t nodes;
    const float *steps;    /* [nodes + 1][8]: MM IM DM BM into the node, MI II at it, MD DD into it */
    const float *emission; /* [nodes + 1][32] */
    const int8_t *bytes;   /* [nodes + 1][32], emissions for `filter`, in thirds of a bit */
    int is_small;          /* whether all letters are below 15 */
    const uint8_t *codes;
    const int64_t *offsets;
    const volatile int32_t *stop;
} profile_job;

/* Natural logarithms of the odds of sequences first .. first + count - 1, at most a vector of them: the most probable path,
 * or the sum over all. `rows` has 3 (nodes + 1) vectors and begins with a cache line. */
typedef struct {
    const char *name;
    int (*usable)(void);
    int32_t lanes;
    void (*score[2])(const profile_job *, int64_t first, int64_t count, void *rows, double *logs);
    /* The best ungapped stretches (HMMER's first filter), in lanes of 8 bits: likewise, at most `filter_lanes`, and infinity
     * where they are too narrow. */
    int32_t filter_lanes;
    void (*filter)(const profile_job *, int64_t first, int64_t count, void *rows, double *logs);
} profile_kernels;

extern LANES_HIDDEN const profile_kernels *const profile_tables[];
#endif
