/* Scores of many pairs at once, a pair a lane: what the kernels of all instruction sets and pairwise.pyx share.
 *
 * A lane has 8, 16 or 32 bits. A score s is held as s + base. Lanes of 8 and 16 bits saturate: a lane whose highest
 * score reached the end of its range is reported as LANES_OVERFLOW, to be done again in wider ones. That no score runs
 * out of the range below is for the caller to see to (`base`); of a local alignment the floor is the empty alignment. */
#ifndef GASSST_LANES_H
#define GASSST_LANES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;

#define LANES_OVERFLOW INT32_MIN
enum {
    LANES_PAD = 31,    /* the code behind the end of a target */
    LANES_ROW = 32,    /* scores of a row of the table */
    LANES_COLUMNS = 4, /* of a strip */
    LANES_MOST = 64,   /* of any vector */
    LANES_WIDTHS = 3,  /* 8, 16, 32 bits */
};

/* Which letters beyond the ends of an alignment cost nothing. LOCAL: all, and no score is below 0. */
enum { FREE_QUERY_BEGIN = 1, FREE_QUERY_END = 2, FREE_TARGET_BEGIN = 4, FREE_TARGET_END = 8, LANES_LOCAL = 16 };

/* Queries are codes, and `table` has a row of scores for each code; or they are profiles, and the table has a row for
 * each place of each of them. Its 16-bit scores are in two planes of bytes; score 31 of a row is that of padding. */
typedef struct {
    const u8 *queries, *targets;
    const i64 *query_start, *target_start;
    const u8 *table_low, *table_high; /* [rows, 32] */
    i32 profiles;                     /* the queries are such */
    i32 wide;                         /* some score takes more than the low byte */
    i32 first, extend;                /* what the first letter of a gap costs, and each further one */
    i32 flags;
    volatile i32 *stop; /* becomes 1 when the results are no longer wanted */
} lanes_job;

/* One vector of pairs. `slot[l]` is where in the output the score of lane l goes. */
typedef struct {
    const i64 *target, *slot;
    i32 n;
    i32 base;
} lanes_group;

struct trace_kernel; /* trace.h */

/* A function that returns int returns -1 when it gets no memory. shared: the lanes of a group are aligned with each of the
 * queries first .. last - 1, whose scores are `stride` apart. own: lane l with query[l]. By the logarithm of a lane's
 * bytes. */
typedef struct {
    const char *name;
    int (*usable)(void);
    i32 lanes[LANES_WIDTHS];
    int (*shared[LANES_WIDTHS])(const lanes_job *, const lanes_group *, i64 first, i64 last, i32 *out, i64 stride);
    int (*own[LANES_WIDTHS])(const lanes_job *, const lanes_group *, const i64 *query, i32 *out);
    const struct trace_kernel *trace[LANES_WIDTHS - 1]; /* of 16 and 32 bits */
} lanes_kernels;

extern LANES_HIDDEN const lanes_kernels *const lanes_tables[];

static inline i64 lanes_length(const i64 *start, i64 i)
{
    return start[i + 1] - start[i];
}

/* Memory for vectors: it begins with a cache line. */
static inline void *lanes_memory(size_t bytes)
{
    return aligned_alloc(64, (bytes + 127) / 64 * 64);
}

static inline i64 lanes_gap(const lanes_job *job, i64 letters)
{
    return letters ? job->first + (letters - 1) * job->extend : 0;
}

/* The lowest bit of a set that is not empty. */
static inline int lanes_lowest(u32 set)
{
#if defined(__GNUC__)
    return __builtin_ctz(set);
#else
    int bit = 0;
    while (!(set >> bit & 1))
        bit++;
    return bit;
#endif
}
#endif
