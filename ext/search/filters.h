/* Lossless filters over batches of candidates (Rizk 4.6). Those of the thesis are in `ext/thesis`.
 *
 * A candidate is a seed without errors on one diagonal; the read left and right of the seed is its left and
 * right flank. Every bound here is a lower bound on the errors in one flank, walking away from the seed. Masked bases count
 * as A: a masked base costs an error against anything, an A at most as much, so the bound can only fall. For the same
 * reason it does not matter what lies off the ends of the reference.
 *
 * A filter copies the candidates it passes to the front of `job->kept`, in their order, and returns their
 * number; -2 - i where candidate i lies outside the reads or the reference.
 */
#ifndef GASSST_FILTERS_H
#define GASSST_FILTERS_H

#include "cpu_kernels.h"
#include "filter_job.h"
#include "planes.h"

/* What is the same for all candidates of a read strand. */
typedef struct {
    uint32_t read_strand;
    uint32_t row;            /* of its planes */
    int64_t length, limit;
    int64_t last_block;      /* the last multiple of 64 bases before its end */
    int is_there, decides;
} strand_t;

/* A narrow band decides where it holds every alignment that matters through the seed of the candidate: one that
   leaves it has more gap bases than are allowed, or than errors. */
INLINE strand_t strand_of(const job_t *job, uint32_t read_strand)
{
    const uint32_t read = read_strand >> 1;
    strand_t s = {.read_strand = read_strand, .is_there = read < job->n_reads};
    if (!s.is_there)
        return s;
    s.length = job->read_lengths[read], s.limit = job->limits[read];
    s.is_there = job->plane_start[read] + 2 * ((s.length + 63) / 64) <= job->reads.rows;
    s.row = (uint32_t)read_row(job, read_strand);
    s.last_block = (s.length - 1) & ~63;
    __builtin_prefetch(job->reads.words + 3 * (int64_t)s.row);
    s.decides = s.length && smaller(job->gaps, (int)s.limit) <= BAND_REACH;
    return s;
}

/* Candidates with an alignment within the limit in their narrow band, and those of which it does not decide: not all of
   the band can be read, or an alignment may leave it. -2 - i where candidate i lies outside the reads or the reference. */
static int64_t keep_band(const job_t *job)
{
    const columns_t from = job->candidates, to = job->kept; /* so that no store makes them be loaded again */
    const int64_t bases = 64 * job->reference.rows, reference_rows = job->reference.rows;
    const band_planes_of planes = {job->reads.words, job->reference.words};
    strand_t strand = {.read_strand = UINT32_MAX};
    int64_t kept = 0;
    uint32_t rows[BOUND_BLOCK];
    uint16_t errors[BOUND_BLOCK];
    band_site sites[BOUND_BLOCK];
    for (int64_t start = 0; start < job->n; start += BOUND_BLOCK) {
        const int64_t stop = start + BOUND_BLOCK < job->n ? start + BOUND_BLOCK : job->n;
        int n = 0, next = 0;
        for (int64_t i = start; i < stop; i++) {
            const int64_t diagonal = from.diagonal[i], first = diagonal - BAND_LEAD;
            if (from.read_strand[i] != strand.read_strand)
                strand = strand_of(job, from.read_strand[i]);
            if (!strand.is_there | (from.offset[i] + from.length[i] > strand.length) |
                (diagonal < 0) | (diagonal + strand.length > bases))
                return -2 - i;
            rows[n] = (uint32_t)i;
            sites[n] = (band_site){first, 3 * strand.row, (uint32_t)strand.length, (uint32_t)strand.limit};
            n += strand.decides & (first >= 0) & (((first + strand.last_block) >> 6) + BAND_ROWS < reference_rows);
        }
        job->kernels->bound(&planes, sites, n, errors);
        for (int64_t i = start; i < stop; i++) {
            const int decided = next < n && rows[next] == (uint32_t)i;
            const int passes = !decided || errors[next] <= sites[next].limit;
            next += decided;
            to.read_strand[kept] = from.read_strand[i], to.diagonal[kept] = from.diagonal[i];
            to.offset[kept] = from.offset[i], to.length[kept] = from.length[i];
            kept += passes;
        }
    }
    return kept;
}

#endif
