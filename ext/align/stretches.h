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

/* The stretch with the highest total; of equals the first, without what scores nothing. Where none has `least`, or
 * more than a mismatch costs, any stretch. A masked base scores -1. */
static stretch_t best_stretch(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int m, costs_t costs,
                              int32_t least)
{
    stretch_t best = {0, 0, 0};
    const int worth = costs.mismatch / costs.match + 1; /* matches in a row: fewer lose all to the mismatch behind them */
    int behind = 0, begin = 0; /* `behind` the last mismatch */
    int32_t running = costs.bonus;
    for (int word = 0; word < m; word += 64) {
        const bases64_t x = bases_at(reference, diagonal + word), y = bases_at(reads, first + word);
        const uint64_t unknown = unknown_bases(x, y);
        uint64_t differ = differences(x, y) & first_bases(m - word), runs = ~differ | unknown;
        for (int i = 1; i < worth && i < 8; i++) /* where so many may begin, or as many as no seed has less */
            runs &= runs >> 1 | (uint64_t)1 << 63;
        for (; differ; differ &= differ - 1) {
            if (running == 0 && behind >= word) {
                const uint64_t next = runs >> (behind - word) << (behind - word);
                begin = behind = word + (next ? LOWEST_BIT(next) : HIGHEST_BIT(differ) + 1);
                differ = next ? differ >> (behind - word) << (behind - word) : 0;
                if (!differ)
                    break;
            }
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
