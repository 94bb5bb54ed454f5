/* Folding in 32 bits, one sequence at a time, and what is known of all structures of one. */
#include <stdlib.h>
#include <string.h>

#include "fold.h"
#include "one_lane.h"
#include "processor.h"

#define KIND I32
#define ADD(a, b) ((a) + (b))
#define LOOK(table, size, index) ((table)[index])
#define ANY(type) (type)
#define INFINITE 100000000
#include "numbers.h"
#include "fold_lanes.h"
#include "fold_suboptimal.h"

#define OWN(name) name##_sum
#define ADD2(a, b) ((a) + (b))
#define TIMES2(a, b) ((a) * (b))
#define OVER(a, b) ((a) / (b))
#define NONE 0.0
#define ONE 1.0
#define WEIGHT(energy, kt) exp(-(energy) / (kt))
#include "fold_ensemble.h"

#define OWN(name) name##_best
#define ADD2(a, b) fmax(a, b)
#define TIMES2(a, b) ((a) + (b))
#define OVER(a, b) ((a) - (b))
#define NONE (-INFINITY)
#define ONE 0.0
#define WEIGHT(energy, kt) (-(double)(energy))
#include "fold_ensemble.h"

/* See fold.h. */
double fold_ensemble(const fold_job *job, int64_t number, int is_best, double least, const fold_weights *weights,
                     double *memory, double *pairs)
{
    if (is_best)
        return -pairs_best(job, number, 0, weights, memory, pairs);
    return least - weights->kt * log(pairs_sum(job, number, least, weights, memory, pairs));
}

const fold_kernels fold_wide = {"wide", usable_generic, 1, fold_sum_I32_plain};
