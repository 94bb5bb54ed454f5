/* Where the mate of a read lies in a concordant pair.
 *
 * A pair is *concordant* when its mates lie on one contig, on the strands that the orientation of the library asks for,
 * and its template length within the window. One mate *leads*: the template begins with its first base on the reference. */
#ifndef GASSST_ORIENTATION_H
#define GASSST_ORIENTATION_H

#include <stdint.h>

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

/* Diagonals of the mate of `other` bases in a concordant pair with one of `own` bases on `diagonal`. */
static inline void partner_window(const window_t *w, int leading, int64_t own, int64_t other, int64_t diagonal,
                                  int64_t *lo, int64_t *hi)
{
    *lo = leading ? diagonal + w->low - other : diagonal + own - w->high;
    *hi = leading ? diagonal + w->high - other : diagonal + own - w->low;
}

#endif
