/* The bases either side of a seed. */
#ifndef GASSST_FLANKS_H
#define GASSST_FLANKS_H

#include "planes.h"

enum { FLANK = 16 /* bases a side that the short filters look at */ };

typedef struct {
    bases64_t left, right;  /* base 15 of left and base 0 of right touch the seed */
} flanks_t;

INLINE flanks_t flanks_at(planes_t planes, int64_t start, int offset, int end)
{
    const bases64_t left = bases_at(planes, start + offset - FLANK);
    const int shift = FLANK + end - offset;
    if (shift + FLANK <= 64)
        return (flanks_t){left, {left.low >> shift, left.high >> shift, left.masked >> shift}};
    return (flanks_t){left, bases_at(planes, start + end)};
}

#endif
