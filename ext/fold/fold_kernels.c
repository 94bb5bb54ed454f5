/* Folding for every instruction set, in lanes of 16 bits. This file is a template of itself. */
#ifndef ISA
#include <string.h>

#include "fold.h"

static size_t wide_memory(const void *job, int64_t first, int64_t last)
{
    const int64_t n = fold_longest(job, first, last);
    return fold_memory(n, n, sizeof(int32_t));
}

static size_t ensemble_memory(const void *job, int64_t first, int64_t last)
{
    return fold_twice_memory(fold_longest(job, first, last), sizeof(double));
}

/* What all calls share, `memory` of the job. */
static size_t zuker_memory(const void *job, int64_t first, int64_t last)
{
    return (void)first, (void)last, fold_twice_memory(fold_longest(job, 0, 1), sizeof(int32_t));
}

#define LANES_TEMPLATE "fold_kernels.c"
#define LANES_KERNELS problem_kernels
#define LANES_TABLE fold_tables
#include "each_isa.h"
#else
#define LARGEST 0
#define LOGS 0
#define KIND I16
#define LOOK(table, size, index) ISA_(lookup)(table, size, index)
#define ANY(type) 1
#define TWICE 0
#define COUNTED 0
#define INFINITE FOLD_INFINITE
#include "numbers.h"
#include "fold_lanes.h"
#include "fold_back.h"

static size_t FORM(memory)(const void *job, int64_t first, int64_t last)
{
    const int64_t n = fold_longest(job, first, last);
    return fold_memory(n, n, sizeof(VEC));
}

static const problem_kernel ISA_(entries)[] = {
    {"fold", FOLD_TYPES, LANES, FORM(memory), FORM(fold)},
    {"fold wide", FOLD_TYPES, 1, wide_memory, fold_wide},
    {"ensemble", ENSEMBLE_TYPES, 1, ensemble_memory, fold_ensemble},
    {"zuker", ZUKER_TYPES, 1, zuker_memory, fold_zuker},
    {"around", ZUKER_TYPES, 1, zuker_memory, fold_around},
    {NULL},
};
static const problem_kernels ISA_(kernels) = {LANES_HEAD, ISA_(entries)};
#endif
