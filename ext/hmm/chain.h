/* Hidden Markov models of one chain: what the kernels of all instruction sets and chain.pyx share.
 *
 *     V(t, j) = (sum over k of V(t-1, k) T(k, j)) E(symbol(t), j)
 *
 * The sum is the largest (Viterbi, in logarithms) or the sum (forward). States are filled up to a multiple of
 * CHAIN_STATES, which no transition enters. */
#ifndef GASSST_CHAIN_H
#define GASSST_CHAIN_H
#include <stddef.h>
#include <stdint.h>

#include "tables.h"

enum { CHAIN_STATES = 16 };

typedef struct {
    int64_t states;         /* padding included */
    const void *start, *end;         /* [states] */
    const void *transition, *turned; /* [states][states], and its columns as rows */
    const void *emission;            /* [symbols][states] */
} chain_model;

typedef struct {
    const char *name;
    int (*usable)(void);
    /* The best path of n symbols, in logarithms of single and double precision. `marks` [n / stretch + 2][states] has V
     * of the first symbol of each stretch; `rows` [stretch + 1][states] all V of one stretch after another, the last
     * first. Returns 0 where no path has any probability. */
    int (*path[2])(const chain_model *, const uint16_t *symbols, int64_t n, int64_t stretch, void *marks, void *rows,
                   int32_t *path, const volatile int32_t *stop);
    /* V of double precision, whose rows are multiplied by `scales` such that each has the sum 1. Kept: `rows` [n][states]
     * and `scales` [n + states]; else `rows` [3][states] and `scales` [1]. Returns the natural logarithm of the sum. */
    double (*forward)(const chain_model *, const uint16_t *symbols, int64_t n, int is_kept, double *rows, double *scales,
                      const volatile int32_t *stop);
    /* Likewise from behind, multiplied by the same scales: the probability of what follows upon each state. `memory` has
     * [states]. */
    void (*backward)(const chain_model *, const uint16_t *symbols, int64_t n, const double *scales, double *rows,
                     double *memory, const volatile int32_t *stop);
} chain_kernels;

extern LANES_HIDDEN const chain_kernels *const chain_tables[];
#endif
