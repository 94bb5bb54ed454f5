/* Folding in 32 bits, one sequence at a time, and what is known of all structures of one. */
#include <stdlib.h>
#include <string.h>

#include "fold.h"
#include "one_lane.h"
#include "processor.h"

#define KIND I32
#define LOOK(table, size, index) ((table)[index])
#define ANY(type) (type)
#define INFINITE 100000000
#include "numbers.h"
#include "fold_lanes.h"

#define OWN(name) name##_sum
#define ADD2(a, b) ((a) + (b))
#define TIMES2(a, b) ((a) * (b))
#define OVER(a, b) ((a) / (b))
#define NONE 0.0
#define ONE 1.0
#define WEIGHT(energy, kt) exp(-(energy) / (kt))
#include "fold_ensemble.h"

/* As fmax, which compilers make a call of. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

#define OWN(name) name##_best
#define ADD2(a, b) larger(a, b)
#define TIMES2(a, b) ((a) + (b))
#define OVER(a, b) ((a) - (b))
#define NONE (-INFINITY)
#define ONE 0.0
#define WEIGHT(energy, kt) (-(double)(energy))
#include "fold_ensemble.h"
#include "fold_zuker.h"

/* See fold.h. */
double fold_ensemble(const fold_job *job, int64_t number, double least, const fold_weights *weights, double *memory,
                     double *pairs)
{
    const int64_t n = job->offsets[number + 1] - job->offsets[number];
    FORM(space) space = {.job = job, .n = n, .code = (int32_t *)memory};
    const FORM(way) way = {&space, 0, n};
    for (int64_t i = 0; i < n; i++)
        space.code[i] = job->codes[job->offsets[number] + i];
    const ensemble_sum e = whole_sum(&way, least, weights, memory + n);
    for (int64_t i = 0; i < n; i++)
        memcpy(pairs + i * n, e.by_pair + i * (n + 1), (size_t)n * sizeof(double));
    return least - weights->kt * log(e.exterior[0]);
}

const fold_kernels fold_wide = {"wide", usable_generic, 1, fold_sum_I32_plain};
