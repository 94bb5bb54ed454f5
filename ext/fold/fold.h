/* RNA secondary structures of least free energy: what the kernels of all instruction sets and fold.pyx share.
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
#include <stddef.h>
#include <stdint.h>

#include "fold_model.h"
#include "tables.h"

typedef struct {
    const fold_parameters *parameters;
    const int32_t *hairpin; /* by unpaired bases */
    const uint8_t *codes;
    const int64_t *offsets;
    const volatile int32_t *stop;
} fold_job;

/* Weights at 37 degrees of what lies beside a stem, indexed as above, and energies of hairpins by unpaired bases. */
typedef struct {
    double kt; /* in .01 kcal/mol */
    const double *hairpin;
    double mismatch_multi[128], mismatch_exterior[128], dangle5[32], dangle3[32];
} fold_weights;

/* Structures and their energies, which the caller frees; `is_full` if there is no memory for them. */
typedef struct {
    char *texts;
    int32_t *energies;
    int64_t count, room;
    int is_full;
} fold_found;

/* Folds `lanes` sequences at most: sequence first + l in lane l. `energy` [count]; `structure`, or NULL, is written at the
 * sequences' offsets. A lane too narrow has the energy INT32_MIN. `memory` begins with a cache line. */
typedef struct {
    const char *name;
    int (*usable)(void);
    int32_t lanes;
    void (*fold)(const fold_job *, int64_t first, int64_t count, int64_t longest, void *memory, int32_t *energy,
                 char *structure);
} fold_kernels;

extern LANES_HIDDEN const fold_kernels *const fold_tables[];
/* The same in 32 bits, one sequence at a time. */
extern LANES_HIDDEN const fold_kernels fold_wide;

/* Probabilities [n][n] of pairs i < j of one sequence, whose least free energy is known; returns the free energy of all
 * structures together. `memory` has fold_ensemble_memory(n) bytes. */
LANES_HIDDEN double fold_ensemble(const fold_job *, int64_t number, double least, const fold_weights *, double *memory,
                                  double *pairs);
/* For each pair that none before has, a best structure with it up to `range` above the least energy, the best first. Weights
 * are energies whose sign is turned; `memory` has fold_memory(n, 1) bytes and fold_ensemble_memory(n), `text` [n]. */
LANES_HIDDEN void fold_zuker(const fold_job *, int64_t number, int32_t range, const fold_weights *, void *memory, char *text,
                             fold_found *found);

static inline size_t fold_ensemble_memory(int64_t n)
{
    return (size_t)(6 * (n + 1) * (n + 1) + 6 * (n + 2)) * sizeof(double);
}

/* Bytes for sequences of n bases: four matrices, what lies around each centre, codes, F. */
static inline size_t fold_memory(int64_t n, int32_t lanes)
{
    return (size_t)(4 * n * n + 66 * n + 1) * (lanes > 1 ? 2 * (size_t)lanes : 4) + 64;
}
#endif
