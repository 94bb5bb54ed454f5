/* Hidden Markov models of one chain, for every instruction set. This file is a template of itself.
 *
 *     V(t, j) = (sum over k of V(t-1, k) T(k, j)) E(symbol(t), j)
 *
 * The sum is the largest (Viterbi, in logarithms) or the sum (forward, which from behind is backward). States are filled up
 * to a multiple of 16, which no transition enters. */
#ifndef ISA
#include <math.h>
#include <string.h>

#include "problems.h"

typedef struct {
    const volatile int32_t *stop;
    int64_t states;                    /* padding included */
    const double *start, *end;         /* [states] */
    const double *transition, *turned; /* [states][states], and its columns as rows */
    const double *emission;            /* [symbols][states] */
    const uint16_t *symbols;           /* of sequence k, offsets[k] to offsets[k + 1] - 1 */
    const int64_t *offsets;
    double *logs;          /* of each sequence */
    double *rows, *scales; /* V of each symbol of a sum, multiplied by these such that its sum is 1, or NULL */
    int32_t *path;         /* beside symbols */
    int64_t kept;          /* bytes of V that a path keeps; of more, it keeps the first rows of stretches, and computes twice */
} chain_job;

#define CHAIN_TYPES "n f8 f8 f8 f8 f8 u2 i8 f8 f8 f8 i4 n"

/* Symbols of a stretch of a sequence of n. */
static int64_t stretch_of(const chain_job *job, int64_t n)
{
    return n * job->states * (int64_t)sizeof(double) <= job->kept ? n : (int64_t)sqrt((double)n) + 1;
}

/* A row of each stretch, those of one, and two more. */
static size_t path_memory(const void *given, int64_t first, int64_t last)
{
    const chain_job *const job = given;
    int64_t most = 0;
    for (int64_t k = first; k < last; k++) {
        const int64_t n = job->offsets[k + 1] - job->offsets[k], stretch = stretch_of(job, n);
        most = n / stretch + stretch + 3 > most ? n / stretch + stretch + 3 : most;
    }
    return (size_t)(most * job->states) * sizeof(double);
}

static size_t forward_memory(const void *job, int64_t first, int64_t last)
{
    return (void)first, (void)last, 2 * (size_t)((const chain_job *)job)->states * sizeof(double);
}

#define LANES_TEMPLATE "chain_kernels.c"
#define LANES_KERNELS problem_kernels
#define LANES_TABLE chain_tables
#include "each_isa.h"
#else
#define LARGEST 1
#define LOGS 1
#define KIND F64
#include "numbers.h"
#include "chain_lanes.h"
#undef LARGEST
#undef LOGS
#define LARGEST 0
#define LOGS 0
#include "numbers.h"
#include "chain_lanes.h"
#undef KIND
#undef LARGEST
#undef LOGS

static const problem_kernel ISA_(entries)[] = {
    {"path", CHAIN_TYPES, 1, path_memory, ISA_(path_largest_F64)},
    {"forward", CHAIN_TYPES, 1, forward_memory, ISA_(forward_sum_F64)},
    {NULL},
};
static const problem_kernels ISA_(kernels) = {LANES_HEAD, ISA_(entries)};
#endif
