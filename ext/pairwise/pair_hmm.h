/* The pair hidden Markov model of reads and haplotypes: match, insertion, deletion (Durbin et al. 1998, chapter 4), with
 * transitions that depend on the base of the read.
 *
 *     M(i, j) = e(i, j) (mm_i M(i-1, j-1) + im_i I(i-1, j-1) + dm_i D(i-1, j-1))
 *     I(i, j) = q (mi_i M(i-1, j) + ii_i I(i-1, j))
 *     D(i, j) = md_i M(i, j-1) + dd_i D(i, j-1)
 *
 * The read is emitted from end to end, the haplotype begins and ends anywhere. Bases are bits (A 1, C 2, G 4, T 8, N 15):
 * bases match if they have one in common. */
#ifndef GASSST_PAIR_HMM_H
#define GASSST_PAIR_HMM_H
#include <stddef.h>
#include <stdint.h>

#include "tables.h"

/* Probabilities at one base of a read. */
typedef struct {
    double match, mismatch;    /* e(i, j) */
    double mm, mi, md;         /* from match */
    double im, ii, dm, dd;     /* from insertion and deletion */
} hmm_step;

/* --- many pairs at a time: the parametrisation of GATK, where im = dm and ii = dd, and a read begins out of a deletion
 * that lies before every base of the haplotype with equal probability. */

typedef struct {
    const uint8_t *bases;      /* of all reads, as bits */
    const int64_t *offsets;    /* [reads + 1] */
    const hmm_step *steps;     /* of each base of a read */
    const uint8_t *haplotypes; /* as bits */
    const int64_t *haplotype_offsets;
    const int32_t *pairs;      /* [n][2]: read, haplotype */
    int64_t n;
    const volatile int32_t *stop; /* becomes 1 when the results are no longer wanted */
} hmm_batch;

/* Natural logarithms of the probabilities of pairs, the sum over all alignments or the largest of them. -1 when there is
 * no memory, else 0. */
typedef int (*hmm_function)(const hmm_batch *, double *logs);

typedef struct {
    const char *name;
    int (*usable)(void);
    hmm_function function[2][2]; /* [sum, largest][single, double] */
} hmm_kernels;

extern LANES_HIDDEN const hmm_kernels *const hmm_tables[];
/* The same in logarithms, one pair at a time: slow, and without any bound on what it can tell apart. */
LANES_HIDDEN int hmm_log_sum(const hmm_batch *batch, double *logs);
LANES_HIDDEN int hmm_log_largest(const hmm_batch *batch, double *logs);

/* --- one pair at a time, any parameters, in a band of diagonals */

typedef struct {
    const uint8_t *read, *haplotype;
    int32_t m, n;
    int32_t band;              /* |i - j| at most, i and j counted from 1 */
    const hmm_step *steps;     /* [m] */
    double begin_match, begin_insertion; /* at each base of the haplotype */
    double insertion;          /* q */
    const volatile int32_t *stop; /* as that of a batch; or NULL */
} hmm_pair;

/* Places of a row of the band. */
static inline int32_t hmm_width(const hmm_pair *p)
{
    return p->n < 2 * p->band + 1 ? p->n : 2 * p->band + 1;
}

/* The first column (from 1) of row i (from 1) and the last. */
static inline int32_t hmm_first(const hmm_pair *p, int32_t i)
{
    return i - p->band > 1 ? i - p->band : 1;
}

static inline int32_t hmm_last(const hmm_pair *p, int32_t i)
{
    return i + p->band < p->n ? i + p->band : p->n;
}

static inline size_t hmm_posterior_memory(const hmm_pair *p)
{
    return sizeof(double) * (((size_t)2 * p->m + 10) * ((size_t)2 * p->band + 4) + p->m);
}

/* Probabilities that base i of the read is paired with base j of the haplotype, or is inserted behind it, given the
 * read: match[(i - 1) * stride + j - first(i)], likewise insertion. Returns the natural logarithm of the probability of
 * the read. `memory` has hmm_posterior_memory() bytes. */
LANES_HIDDEN double hmm_posterior(const hmm_pair *pair, double *match, double *insertion, size_t stride, void *memory);

/* The most probable alignment of a pair of a batch: `trace` has (m + 1) * (n + 1) bytes. Steps are written from last to
 * first: 0 a pair, 1 an insertion, 2 a deletion. Returns how many; *first is the first base of the haplotype. */
LANES_HIDDEN int64_t hmm_path(const hmm_batch *batch, int64_t pair, uint8_t *trace, double *memory, uint8_t *steps,
                            int64_t *first, double *log_probability);
#endif
