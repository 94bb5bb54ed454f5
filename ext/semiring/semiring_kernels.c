/* Matrices over (min, +), for every instruction set. Sides are multiples of BLOCK, filled up with infinity; a problem is a block
 * of rows. This file is a template of itself. */
#ifndef ISA
#include <string.h>

#include "problems.h"

/* c[., n] = min(c, a[., depth] b[depth, n]). */
typedef struct {
    const volatile int32_t *stop;
    const void *a, *b;
    void *c;
    int64_t depth, n;
} product_job;

/* Paths by way of block k of d[n, n]: within the rows of this block, or within others. */
typedef struct {
    const volatile int32_t *stop;
    void *d;
    int64_t n, k;
} closure_job;

enum { BLOCK = 64 };

/* Of a copy of a block. */
static size_t block_memory(const void *job, int64_t first, int64_t last)
{
    return (void)job, (void)first, (void)last, BLOCK * BLOCK * sizeof(double);
}

#define LANES_TEMPLATE "semiring_kernels.c"
#define LANES_KERNELS problem_kernels
#define LANES_TABLE semiring_tables
#include "each_isa.h"
#else
#define LARGEST 0
#define LOGS 0
#define KIND F32
#include "numbers.h"
#include "semiring_lanes.h"
#undef KIND
#define KIND F64
#include "numbers.h"
#include "semiring_lanes.h"
#undef KIND

static const problem_kernel ISA_(entries)[] = {
    {"product f4", "f4 f4 f4 n n", 1, block_memory, ISA_(product_sum_F32)},
    {"product f8", "f8 f8 f8 n n", 1, block_memory, ISA_(product_sum_F64)},
    {"pivot f4", "f4 n n", 1, block_memory, ISA_(pivot_sum_F32)},
    {"pivot f8", "f8 n n", 1, block_memory, ISA_(pivot_sum_F64)},
    {"others f4", "f4 n n", 1, block_memory, ISA_(others_sum_F32)},
    {"others f8", "f8 n n", 1, block_memory, ISA_(others_sum_F64)},
    {NULL},
};
static const problem_kernels ISA_(kernels) = {LANES_HEAD, ISA_(entries)};
#endif
