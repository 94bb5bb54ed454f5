/* Profiles for every instruction set: the most probable path, and the sum, in single precision; the path in 16 bits, infinite
 * where these are too narrow; filters. This file is a template of itself. */
#ifndef ISA
#include <math.h>
#include <string.h>

#include "profile.h"

/* Three rows of cells. */
static size_t score_memory(const void *job, int64_t first, int64_t last)
{
    return (void)first, (void)last, (size_t)(((const profile_job *)job)->nodes + 1) * 3 * 64;
}

/* Odds and scores of letters, and of what is none, in lanes of which many may be empty. */
static size_t filter_memory(const void *job, int64_t first, int64_t last)
{
    return (void)first, (void)last, (PROFILE_WRONG + 1) * (size_t)(2 * ((const profile_job *)job)->nodes + 1024) * 5 + 64;
}

/* Two rows of cells, and marks of all. */
static size_t trace_memory(const void *given, int64_t first, int64_t last)
{
    const profile_job *const job = given;
    int64_t longest = 0;
    for (int64_t k = first; k < last; k++)
        longest = job->lengths[k] > longest ? job->lengths[k] : longest;
    return (size_t)(job->nodes + 1) * (6 * sizeof(int32_t) + (size_t)longest);
}

#define LANES_TEMPLATE "profile_kernels.c"
#define LANES_KERNELS problem_kernels
#define LANES_TABLE profile_tables
#include "each_isa.h"
#else
#define LARGEST 1
#define LOGS 1
#define KIND I16
#define INT int16_t
#include "numbers.h"
#undef TIMES
#undef NOTHING
#define TIMES(a, b) ((a) + (b)) /* of a step: which is 0 at most, and bounded below */
#define NOTHING PROFILE_NOTHING
#define NARROW 1
#include "profile_lanes.h"
#undef KIND
#undef INT
#undef NARROW

#define KIND F32
#define INT int32_t
#define NARROW 0
#include "numbers.h"
#include "profile_lanes.h"
#undef LARGEST
#undef LOGS
#define LARGEST 0
#define LOGS 0
#include "numbers.h"
#include "profile_lanes.h"
#include "profile_filter.h"
#undef LARGEST
#undef LOGS
#undef KIND
#undef INT
#undef NARROW
#include "profile_trace.h"

#define PROFILE_LANES(bytes) (LANES_BYTES ? LANES_BYTES / (bytes) : 1)
static const problem_kernel ISA_(entries)[] = {
    {"profile path", PROFILE_TYPES, PROFILE_LANES(4), score_memory, ISA_(score_largest_F32)},
    {"profile sum", PROFILE_TYPES, PROFILE_LANES(4), score_memory, ISA_(score_sum_F32)},
    {"profile narrow", PROFILE_TYPES, PROFILE_LANES(2), score_memory, ISA_(score_largest_I16)},
    {"profile composition", PROFILE_TYPES, PROFILE_LANES(4), score_memory, ISA_(composition)},
    {"profile filter", PROFILE_TYPES, PROFILE_LANES(1), filter_memory, ISA_(filter)},
    {"profile trace", PROFILE_TYPES, 1, trace_memory, ISA_(trace)},
    {NULL},
};
static const problem_kernels ISA_(kernels) = {LANES_HEAD, ISA_(entries)};
#endif
