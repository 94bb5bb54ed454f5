/* Scores of groups, one after the other. */
#ifndef GASSST_PAIRWISE_H
#define GASSST_PAIRWISE_H
#include "lanes.h"

/* Groups g: lanes start[g] .. start[g + 1] - 1 of target, slot and (own) query. shared: queries first[g] .. last[g] - 1,
 * whose rows of the output begin with query `origin`. */
typedef struct {
    i64 n;
    const i64 *start, *target, *slot, *query, *first, *last;
    const i32 *base;
    i64 origin, stride;
} lanes_groups;

static int lanes_run(const lanes_kernels *kernels, int width, const lanes_job *job, const lanes_groups *groups, i32 *out)
{
    for (i64 g = 0; g < groups->n && !*job->stop; g++) {
        i64 at = groups->start[g];
        lanes_group group = {groups->target + at, groups->slot + at, (i32)(groups->start[g + 1] - at), groups->base[g]};
        int failed;
        if (groups->query)
            failed = kernels->own[width](job, &group, groups->query + at, out);
        else
            failed = kernels->shared[width](job, &group, groups->first[g], groups->last[g],
                                            out + (groups->first[g] - groups->origin) * groups->stride, groups->stride);
        if (failed)
            return failed;
    }
    return 0;
}
#endif
