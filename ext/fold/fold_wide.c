/* Folding one sequence at a time: in 32 bits, and what is known of all structures.
 *
 * For the latter a sequence lies there twice, its copies FOLD_GAP bases apart. The pair (i, j) closes all that is within
 * it, and the pair (j, i) of both copies all that is around it: a loop there is a loop here, but for the hairpin around the
 * gap, which stands for what lies outside of all loops (`open`). */
#include <stdlib.h>
#include <string.h>

#include "fold.h"
#include "one_lane.h"
#include "processor.h"

#define LARGEST 0
#define LOGS 0
#define LOOK(table, size, index) ((table)[index])
#define ANY(type) (type)
#define TWICE 1
#define INFINITE 100000000
#define KIND I32
#define COUNTED 0
#include "numbers.h"
#include "fold_lanes.h"
#include "fold_back.h"

/* See fold.h. */
void fold_zuker(const void *given, int64_t first, int64_t count, void *memory)
{
    const zuker_job *const job = given;
    FORM(space) space = FORM(twice)(&job->fold, 0, job->memory), *s = &space;
    const FORM(way) way = {s, 0, s->n};
    const int64_t n = s->second - FOLD_GAP;
    (void)first, (void)count, (void)memory;
    FORM(filled)(s, 1);
    job->fold.energy[0] = s->exterior[s->second];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            job->least[i * n + j] = j - i <= FOLD_HAIRPIN ? INFINITE : FORM(pair)(&way, i, j) + FORM(pair)(&way, j, i + s->second);
}

/* See fold.h. */
void fold_around(const void *given, int64_t number, int64_t count, void *memory)
{
    const zuker_job *const job = given;
    const FORM(space) space = FORM(twice)(&job->fold, 0, job->memory), *s = &space;
    const FORM(way) way = {s, 0, s->n};
    const int64_t n = s->second - FOLD_GAP, i = job->order[2 * number], j = job->order[2 * number + 1];
    char *const text = job->fold.structure;
    int64_t *stack = memory, depth = 0;
    (void)count;
    memset(text, '.', (size_t)n);
    FORM(pair_back)(&way, i, j, text);
    FORM(pair_back)(&way, j, i + s->second, text);
    for (int64_t k = 0; k < n; k++)
        if (text[k] == '(')
            stack[depth++] = k;
        else if (text[k] == ')')
            job->seen[stack[--depth] * n + k] = 1;
}

/* See fold.h. */
void fold_wide(const void *job, int64_t first, int64_t count, void *memory)
{
    FORM(fold)(job, first, count, memory);
}

#undef KIND
#undef COUNTED
#define KIND F64
#define COUNTED 1
#include "numbers.h"
#include "fold_lanes.h"

/* Weights of the space: what takes more bases is made smaller, so that all structures together weigh about 1. */
static void scaled(FORM(space) *s, const ensemble_job *job, int64_t n)
{
    const fold_few_weights *few = &job->weights->few;
    for (int64_t k = 0; k < s->n; k++) {
        s->scale[k] = exp(job->fold.energy[s->first] * (double)k / ((double)n * job->kt));
        if (k > 1)
            s->hairpin[k - 2] = k - 2 <= n ? job->hairpin[k - 2] * s->scale[k] : 0;
    }
    s->weights = job->weights;
    s->few = *few;
    for (int k = 0; k <= FOLD_LOOP; k++) {
        s->few.bulge[k] = few->bulge[k] * s->scale[k + 2];
        s->few.internal[k] = few->internal[k] * s->scale[k + 2];
    }
    s->few.unpaired = few->unpaired * s->scale[1];
    s->few.closing = few->closing * s->scale[2];
}

/* See fold.h. */
void fold_ensemble(const void *given, int64_t number, int64_t count, void *memory)
{
    const ensemble_job *const job = given;
    FORM(space) space = FORM(twice)(&job->fold, number, memory), *s = &space;
    const int64_t n = s->second - FOLD_GAP;
    double *const pairs = job->pairs + job->at[number];
    (void)count;
    job->whole[number] = 0;
    if (!n)
        return;
    scaled(s, job, n);
    FORM(filled)(s, 1);
    const double whole = s->exterior[s->second];
    job->whole[number] = job->fold.energy[number] - job->kt * log(whole);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const double ends = fold_types[s->code[i] << 2 | s->code[j]] > 2 ? s->few.terminal : 1;
            pairs[i * n + j] = j - i <= FOLD_HAIRPIN ? 0
                                                     : CELL(bulge, i, j) * CELL(bulge, j, i + s->second) /
                                                           (ends * ends * s->scale[2] * whole);
        }
}
