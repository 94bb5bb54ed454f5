/* Where the mate of a read lies in a concordant pair.
 *
 * A pair is *concordant* when its mates lie on one contig, on the strands that the orientation of the library asks for,
 * and its template length within the window. One mate *leads*: the template begins with its first base on the reference. */
#ifndef GASSST_ORIENTATION_H
#define GASSST_ORIENTATION_H

#include "contigs.h"

enum { ORIENTATION_FR, ORIENTATION_RF, ORIENTATION_FF };

/* Template lengths of concordant pairs. */
typedef struct {
    int orientation;
    int64_t low, high;
} window_t;

static inline int leads(const window_t *w, int reverse, int is_first)
{
    return w->orientation == ORIENTATION_FR ? !reverse : w->orientation == ORIENTATION_RF ? reverse : reverse != is_first;
}

static inline int partner_strand(const window_t *w, int reverse)
{
    return w->orientation == ORIENTATION_FF ? reverse : !reverse;
}

/* Where the mate of a read lies in a concordant pair. */
typedef struct {
    uint32_t strand;   /* 0 forward, 1 reverse */
    int64_t low, high; /* its first and last diagonal; none where `high` is `low` - 1 */
} beside_t;

/* Beside a read of `own` bases on `diagonal` for one of `other` bases. A read is on the contig that has its middle: of n
 * contigs these begin at `borders`, which end behind the last one. */
static inline beside_t beside(const window_t *w, const int64_t *borders, size_t n, int reverse, int is_first, int64_t own,
                              int64_t other, int64_t diagonal)
{
    const int leading = leads(w, reverse, is_first);
    const size_t before = contigs_before(borders + 1, n - 1, diagonal + (own >> 1));
    const int64_t first = borders[before] - (other >> 1), last = borders[before + 1] - 1 - (other >> 1);
    beside_t near = {(uint32_t)partner_strand(w, reverse), diagonal + own - w->high, diagonal + own - w->low};
    if (leading)
        near.low = diagonal + w->low - other, near.high = diagonal + w->high - other;
    near.low = near.low > first ? near.low : first;
    near.high = near.high < last ? near.high : last;
    near.high = near.high < near.low ? near.low - 1 : near.high;
    return near;
}

#endif
