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
#include "fold_ensemble.h"

const fold_kernels fold_wide = {"wide", usable_generic, 1, fold_sum_I32_plain};
