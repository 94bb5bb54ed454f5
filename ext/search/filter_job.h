/* What a filter works on: candidates, reads, reference and limits. */
#ifndef GASSST_FILTER_JOB_H
#define GASSST_FILTER_JOB_H

#include "coordinates.h"
#include "planes.h"

typedef struct {
    uint32_t *read_strand;
    coordinate_t *diagonal;
    uint16_t *offset, *length;
} columns_t;

struct cpu_kernels;

typedef struct {
    columns_t candidates, kept;
    int64_t n;
    planes_t reads, reference;
    const uint32_t *plane_start, *read_lengths;
    const uint16_t *limits;
    int64_t n_reads;
    int gaps;
    const uint8_t *scores;     /* PST_4 or PST_5, whichever the filter needs */
    const struct cpu_kernels *kernels;
} job_t;

INLINE int smaller(int a, int b) { return a < b ? a : b; }

/* Row of the planes where the read strand begins. */
INLINE int64_t read_row(const job_t *job, uint32_t read_strand)
{
    const uint32_t read = read_strand >> 1, rows = (job->read_lengths[read] + 63) / 64;
    return (int64_t)job->plane_start[read] + (read_strand & 1 ? rows : 0);
}

#endif
