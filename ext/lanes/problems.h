/* Kernels of the rooms of dynamic programmes: each computes problems of a job, some of them side by side in lanes. problems.pyx
 * calls them by their names. */
#ifndef GASSST_PROBLEMS_H
#define GASSST_PROBLEMS_H
#include <stddef.h>
#include <stdint.h>

#include "tables.h"

/* A job is a struct whose members all have 8 bytes: the first is `const volatile int32_t *stop`, which ends all work soon. Of
 * each other one `types` has a word: "n" for int64_t, "x" for double, else the type of an array's numbers as NumPy names it. */
typedef struct {
    const char *name, *types;
    int32_t lanes;
    /* Bytes for problems first .. last - 1: they begin with a cache line, which is zero before their first use. */
    size_t (*memory)(const void *job, int64_t first, int64_t last);
    /* Problems first .. first + count - 1, `lanes` of them at most. */
    void (*run)(const void *job, int64_t first, int64_t count, void *memory);
} problem_kernel;

/* The kernels of an instruction set; one without a name ends them. */
typedef struct {
    const char *name;
    int (*usable)(void);
    const problem_kernel *kernels;
} problem_kernels;

extern LANES_HIDDEN const problem_kernels *const fold_tables[], *const chain_tables[], *const profile_tables[],
    *const semiring_tables[];
#endif
