/* The best ungapped local alignment on a diagonal, from the positions of its mismatches. */
#ifndef GASSST_STRETCHES_H
#define GASSST_STRETCHES_H

#include "planes.h"

typedef struct {
    int32_t match, mismatch, bonus;
    int short_run; /* fewer matches than these score less than the mismatch behind them costs */
} costs_t;

typedef struct {
    int32_t total;
    int begin, end;
} stretch_t;

/* Of all of a read, with so many mismatches. */
INLINE int32_t total_with(int32_t mismatches, int m, costs_t costs)
{
    return m * costs.match + 2 * costs.bonus - mismatches * (costs.match + costs.mismatch);
}

/* The mismatches of a word that end a run of `short_run` matches or more; before the word all may match. */
INLINE uint64_t ends_of_runs(uint64_t differ, int short_run)
{
    uint64_t beside = 0;
    for (int i = 1; i <= short_run; i++)
        beside |= differ << i;
    return differ & ~beside;
}

/* `best_stretch`, but most of those that begin with fewer matches than `short_run` are passed over. */
INLINE stretch_t stretch_with_runs(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int m, costs_t costs,
                                   int32_t least, int short_run)
{
    stretch_t best = {0, 0, 0};
    int behind = 0, begin = 0; /* `behind` the last mismatch */
    int32_t running = costs.bonus;
    for (int word = 0; word < m; word += 64) {
        const bases64_t x = bases_at(reference, diagonal + word), y = bases_at(reads, first + word);
        const uint64_t unknown = unknown_bases(x, y); /* a masked base costs less than a mismatch */
        uint64_t differ = differences(x, y) & first_bases(m - word);
        uint64_t ends = unknown ? differ : ends_of_runs(differ, short_run);
        while (differ) {
            const int at = word + LOWEST_BIT(differ);
            running += (at - behind) * costs.match;
            if (running > best.total && at > begin)
                best.total = running, best.begin = begin, best.end = at;
            running -= unknown >> (at - word) & 1 ? 1 : costs.mismatch;
            behind = at + 1;
            differ &= differ - 1;
            if (running < 0) {
                /* Up to the next end of a run, every mismatch leads here again. */
                ends &= differ;
                const uint64_t passed = ends ? differ & ((ends & (0 - ends)) - 1) : differ;
                if (passed) {
                    behind = word + HIGHEST_BIT(passed) + 1;
                    differ ^= passed;
                }
                running = 0, begin = behind;
            }
            const int32_t most = running + (m - behind) * costs.match + costs.bonus;
            if ((best.total > most ? best.total : most) < least)
                return best;
        }
    }
    running += (m - behind) * costs.match + costs.bonus;
    if (running >= best.total && m > begin)
        best.total = running, best.begin = begin, best.end = m;
    return best;
}

/* The stretch with the highest total; of equals one that reaches the end of the read, else the first. Where none has
 * `least`, any stretch. */
static stretch_t best_stretch(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int m, costs_t costs,
                              int32_t least)
{
    /* A stretch that begins with a short run is worth less than nothing behind it. It may be the best by itself only where
     * no other scores as much as a mismatch costs. */
    const stretch_t best = stretch_with_runs(reference, diagonal, reads, first, m, costs, least, costs.short_run);
    if (costs.short_run == 0 || best.total >= costs.mismatch || least >= costs.mismatch)
        return best;
    return stretch_with_runs(reference, diagonal, reads, first, m, costs, least, 0);
}

#endif
