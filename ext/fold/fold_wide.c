/* Folding in 32 bits, one sequence at a time, and what is known of all structures of one. */
#include <stdlib.h>
#include <string.h>

#include "fold.h"
#include "one_lane.h"
#include "processor.h"

#define LARGEST 0
#define LOGS 0
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
void fold_ensemble(const void *given, int64_t number, int64_t count, void *memory)
{
    const ensemble_job *const job = given;
    const fold_job *const fold = &job->fold;
    const int64_t n = fold->offsets[number + 1] - fold->offsets[number];
    FORM(space) space = {.job = fold, .n = n, .code = memory};
    const FORM(way) way = {&space, 0, n};
    const double least = fold->energy[number];
    (void)count;
    for (int64_t i = 0; i < n; i++)
        space.code[i] = fold->codes[fold->offsets[number] + i];
    const ensemble_sum e = of_sum(&way, least, job, (double *)memory + n);
    if (n)
        fill_sum(&e);
    for (int64_t i = 0; i < n; i++)
        memcpy(job->pairs + job->at[number] + i * n, e.by_pair + i * (n + 1), (size_t)n * sizeof(double));
    job->whole[number] = n ? least - job->kt * log(e.exterior[0]) : 0;
}

/* See fold.h. */
void fold_zuker(const void *given, int64_t first, int64_t count, void *memory)
{
    const zuker_job *const job = given;
    FORM(space) space;
    FORM(way) way;
    const ensemble_best e = zuker_of(job, &space, &way);
    (void)first, (void)count, (void)memory;
    FORM(filled)(&space, 1);
    fill_best(&e);
    for (int64_t i = 0; i < e.n; i++)
        for (int64_t j = 0; j < e.n; j++)
            job->ensemble.pairs[i * e.n + j] = -e.by_pair[i * (e.n + 1) + j];
    job->ensemble.whole[0] = -e.exterior[0];
}

/* See fold.h. */
void fold_around(const void *given, int64_t number, int64_t count, void *memory)
{
    const zuker_job *const job = given;
    const fold_job *const fold = &job->ensemble.fold;
    FORM(space) space;
    FORM(way) way;
    const ensemble_best e = zuker_of(job, &space, &way);
    const int32_t *const pair = job->order + 2 * number;
    char *const text = fold->structure + number % FOLD_ROWS * e.n;
    int64_t *stack = (int64_t *)e.stems, depth = 0;
    (void)count, (void)memory;
    if (job->seen[pair[0] * e.n + pair[1]])
        return;
    job->is_written[number] = 1;
    with_pair(&e, pair[0], pair[1], text);
    for (int64_t j = 0; j < e.n; j++)
        if (text[j] == '(')
            stack[depth++] = j;
        else if (text[j] == ')')
            job->seen[stack[--depth] * e.n + j] = 1;
}

/* See fold.h. */
void fold_wide(const void *job, int64_t first, int64_t count, void *memory)
{
    fold_sum_I32_plain(job, first, count, memory);
}
