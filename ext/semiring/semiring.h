/* Matrices over (min, +): what the kernels of all instruction sets and semiring.pyx share. */
#ifndef GASSST_SEMIRING_H
#define GASSST_SEMIRING_H
#include <stddef.h>
#include <stdint.h>

#include "tables.h"

/* Sides of matrices are multiples of SEMIRING_BLOCK, filled up with infinity. Functions are of single and of double
 * precision. */
enum { SEMIRING_BLOCK = 64 };

typedef struct {
    const char *name;
    int (*usable)(void);
    /* Rows first .. last - 1 of c[., n] = min(c, a[., l] b[l, n]). */
    void (*product[2])(const void *a, const void *b, void *c, int64_t first, int64_t last, int64_t l, int64_t n);
    /* Paths by way of block k of d[n, n]: within the rows of this block; then within those of block i. */
    void (*pivot[2])(void *d, int64_t n, int64_t k);
    void (*others[2])(void *d, int64_t n, int64_t k, int64_t i);
} semiring_kernels;

extern LANES_HIDDEN const semiring_kernels *const semiring_tables[];
#endif
