/* RNA secondary structures: jobs of problems.h.
 *
 * The nearest neighbour model with dangles on both sides of a stem (RNAfold -d2; Lorenz et al. 2011), energies in .01
 * kcal/mol. Codes are A 0, C 1, G 2, U 3; types of pairs CG 1, GC 2, GU 3, UG 4, AU 5, UA 6, none 0.
 *
 *     C(i, j)   i and j pair: a hairpin, a loop with the pair (k, l), or a multiloop
 *     M(i, j)   a part of a multiloop with at least one stem
 *     F(i)      all from i on
 *
 * C is kept with the other half of each kind of loop added, so that a loop takes one sum. */
#ifndef GASSST_FOLD_H
#define GASSST_FOLD_H
#include "problems.h"

#include "fold_model.h"

FOLD_TABLES(double, fold_few_weights, fold_weights)

#define FOLD_TYPES "i2 i4 u1 i8 i8 i4 u1"
#define ENSEMBLE_TYPES FOLD_TYPES " x f8 f8 f8 f8 i8"
#define ZUKER_TYPES FOLD_TYPES " u1 i4 i4 u1"

/* Bases between the two copies of a sequence, which no loop with two pairs reaches over. */
enum { FOLD_GAP = FOLD_LOOP + 1 };

static const int16_t fold_types[32] = {0, 0, 0, 5, 0, 0, 1, 0, 0, 2, 0, 3, 6, 0, 4, 0};

/* The least energy of each sequence, INT32_MIN where lanes are too narrow, and a structure that has it. */
typedef struct {
    const volatile int32_t *stop;
    const fold_parameters *parameters;
    const int32_t *hairpin; /* by unpaired bases */
    const uint8_t *codes;
    const int64_t *begins, *lengths;
    int32_t *energy;
    char *structure; /* beside codes, or NULL */
} fold_job;

/* All structures of each sequence, whose least energies are known. */
typedef struct {
    fold_job fold;
    double kt; /* in .01 kcal/mol */
    const fold_weights *weights;
    const double *hairpin; /* weights by unpaired bases */
    double *whole;         /* the free energy of all structures together */
    double *pairs;         /* [n][n] of each sequence, probabilities of i < j */
    const int64_t *at;     /* where they begin */
} ensemble_job;

/* The best structures with each pair of one sequence. `zuker` writes their energies to `least`. Then `around` writes the one
 * with pair k of `order`, and which pairs it has. */
typedef struct {
    fold_job fold;
    char *memory;         /* of fold_twice_memory bytes: what `zuker` leaves there, `around` needs */
    int32_t *least;       /* [n][n], for i < j; else more than any */
    const int32_t *order; /* [..][2] */
    uint8_t *seen;        /* [n][n], pairs of all structures that were written */
} zuker_job;

/* In 32 bits, one sequence at a time. */
LANES_HIDDEN void fold_wide(const void *job, int64_t first, int64_t count, void *memory);
LANES_HIDDEN void fold_ensemble(const void *job, int64_t first, int64_t count, void *memory);
LANES_HIDDEN void fold_zuker(const void *job, int64_t first, int64_t count, void *memory);
LANES_HIDDEN void fold_around(const void *job, int64_t first, int64_t count, void *memory);

/* Bytes for n bases, in lanes of so many bytes: four matrices, what lies around each centre, codes, F. */
static inline size_t fold_memory(int64_t n, int64_t stride, int64_t bytes)
{
    return (size_t)((4 * (stride + 1) + 66) * n + 1) * (size_t)bytes + 64;
}

/* The same of a sequence that lies there twice, with five rows more. */
static inline size_t fold_twice_memory(int64_t n, int64_t bytes)
{
    return fold_memory(2 * n + FOLD_GAP, n + FOLD_GAP - 1, bytes) + (size_t)(5 * (2 * n + FOLD_GAP) * bytes);
}

/* Bases of the longest of some sequences. */
static inline int64_t fold_longest(const fold_job *job, int64_t first, int64_t last)
{
    int64_t longest = 0;
    for (int64_t k = first; k < last; k++)
        longest = job->lengths[k] > longest ? job->lengths[k] : longest;
    return longest;
}
#endif
