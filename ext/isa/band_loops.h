/* The loops over pairs, for one instruction set and one band width: what the OpenCL runtime does there. */
#include "band.h"

/* BAND(score) where errors above a read's limit do not matter. Such pairs get UINT16_MAX, and the group ends early where
 * all of its pairs do, as rows to come take no error back. Unrelated bases gain an error in every third row or so, on the
 * best of 64 diagonals: so a look is worth its price from three rows an error on. */
BAND_FN void OF_WIDTH(nw_score_within)(const band_batch *batch, const u32 *pairs, const u16 *limits, u16 *best, u16 *end)
{
    BAND(lanes) lanes;
    BAND(block) block;
    BAND(state) state;
    u64 key[LANES];
    u32 limit[LANES], most = 0, within = 1;
    BAND(open)(batch, pairs, &lanes);
    BAND(reset)(&state);
    for (int l = 0; l < LANES; l++) {
        limit[l] = limits[batch->read_strand[lanes.pair[l]] >> 1];
        most = limit[l] > most ? limit[l] : most;
    }
    for (u32 row = 0; row < lanes.longest && within; row += 32) {
        if (row % 64 == 0)
            BAND(load)(batch, &lanes, row, &block);
        BAND(run)(&lanes, &block, row, row + 32, &state);
        if (3 * most >= row + 32 && row + 32 < lanes.longest)
            continue;
        within = 0;
        VEC_STORE(BAND(best)(&state), key);
        for (int l = 0; l < LANES; l++) {
            const int above = (u32)(key[l] >> 9) > limit[l];
            best[pairs[l]] = above ? UINT16_MAX : (u16)(key[l] >> 9);
            end[pairs[l]] = above ? 0 : (u16)(key[l] & 511);
            within |= !above;
        }
    }
}

/* limits: by read; NULL: all errors matter, and many pairs have none. A pair is repeated in lanes that are left over. */
BAND_FN void OF_WIDTH(nw_score)(const band_batch *batch, const u16 *limits, u16 *best, u16 *end)
{
    u32 pairs[LANES], n = 0;
    for (u32 pair = 0; pair < batch->n; pair++) {
        prefetch_pairs(batch, pair + AHEAD, 1, 64 * WORDS);
        if (limits || !is_exact(batch, pair, 64 * WORDS, best, end))
            pairs[n++] = pair;
        if (n < LANES && (n == 0 || pair + 1 < batch->n))
            continue;
        for (; n < LANES; n++)
            pairs[n] = pairs[n - 1];
        if (limits)
            OF_WIDTH(nw_score_within)(batch, pairs, limits, best, end);
        else
            BAND(score)(batch, pairs, best, end);
        n = 0;
    }
}

BAND_FN void OF_WIDTH(nw_profile)(const band_batch *batch, u64 *errors)
{
    u32 pairs[LANES];
    for (u32 pair = 0; pair < batch->n; pair += LANES) {
        for (u32 l = 0; l < LANES; l++)
            pairs[l] = pair + l < batch->n ? pair + l : batch->n - 1;
        BAND(profile)(batch, pairs, errors);
    }
}
