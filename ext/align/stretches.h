/* The best ungapped local alignment on a diagonal, from the positions of its mismatches. */
#ifndef GASSST_STRETCHES_H
#define GASSST_STRETCHES_H

#include "planes.h"

/* What scores or costs so much: params.Scoring. `bonus`: for each end of the read that is reached. */
typedef struct {
    int32_t match, mismatch, bonus;
    int32_t open_gap[3], extend_gap[3]; /* by CIGAR operation */
} costs_t;

typedef struct {
    int32_t total;
    int begin, end;
} stretch_t;

/* The stretch with the highest total; of equals the first, without what scores nothing. Where none has `least`, any
 * stretch. A masked base scores -1. */
static stretch_t best_stretch(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int m, costs_t costs,
                              int32_t least)
{
    stretch_t best = {0, 0, 0};
    int behind = 0, begin = 0; /* `behind` the last mismatch */
    int32_t running = costs.bonus;
    for (int word = 0; word < m; word += 64) {
        const bases64_t x = bases_at(reference, diagonal + word), y = bases_at(reads, first + word);
        const uint64_t unknown = unknown_bases(x, y);
        for (uint64_t differ = differences(x, y) & first_bases(m - word); differ; differ &= differ - 1) {
            const int at = word + LOWEST_BIT(differ);
            running += (at - behind) * costs.match;
            if (running > best.total && at > begin)
                best.total = running, best.begin = begin, best.end = at;
            running -= unknown >> (at - word) & 1 ? 1 : costs.mismatch;
            behind = at + 1;
            if (running <= 0)
                running = 0, begin = behind;
            const int32_t most = running + (m - behind) * costs.match + costs.bonus;
            if ((best.total > most ? best.total : most) < least)
                return best;
        }
    }
    running += (m - behind) * costs.match + costs.bonus;
    if (running > best.total && m > begin)
        best.total = running, best.begin = begin, best.end = m;
    return best;
}

#endif
