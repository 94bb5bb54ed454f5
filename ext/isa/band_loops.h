/* The loops over groups of pairs, for one instruction set and one band width: what the OpenCL runtime does
 * there. */
#include "band.h"

/* Ask for the reference that the pairs of a group will read: they lie anywhere, and a load that has to wait for memory
 * holds up all lanes. */
BAND_FN void OF_WIDTH(nw_prefetch)(const band_batch *batch, u32 group)
{
    for (u32 pair = group * LANES; pair < batch->n && pair < (group + 1) * LANES; pair++) {
        const u64 first = batch->band_start[pair] >> 6;
        const u64 rows = WORDS + 1 + (batch->read_length[batch->read_strand[pair] >> 1] >> 6);
        for (u64 word = 3 * first; word < 3 * (first + rows) && word < 3 * (u64)batch->reference_rows; word += 8)
            __builtin_prefetch(batch->reference + word);
    }
}

/* Whether every lane has more errors than matter to it, on all diagonals: rows to come take none back. */
BAND_FN int OF_WIDTH(nw_all_above)(const BAND(state) *state, const u32 *limit)
{
    u64 key[LANES];
    int above = 1;
    VEC_STORE(BAND(best)(state), key);
    for (int l = 0; l < LANES; l++)
        above &= (u32)(key[l] >> 9) > limit[l];
    return above;
}

/* BAND(score) where errors above a read's limit do not matter. Such pairs get UINT16_MAX, and the group ends early where
 * all of its pairs do. Unrelated bases gain an error in every third row or so, on the best of 64 diagonals: so a look
 * is worth its price from three rows an error on. */
BAND_FN void OF_WIDTH(nw_score_within)(const band_batch *batch, u32 group, const u16 *limits, u16 *best, u16 *end)
{
    BAND(lanes) lanes;
    BAND(block) block;
    BAND(state) state;
    u64 key[LANES];
    u32 limit[LANES], most = 0;
    BAND(open_group)(batch, group, &lanes);
    BAND(reset)(&state);
    for (int l = 0; l < LANES; l++) {
        limit[l] = limits[batch->read_strand[lanes.pair[l]] >> 1];
        most = limit[l] > most ? limit[l] : most;
    }
    for (u32 row = 0; row < lanes.longest; row += 32) {
        if (row && 3 * most < row && OF_WIDTH(nw_all_above)(&state, limit)) {
            for (int l = 0; l < LANES; l++)
                best[lanes.pair[l]] = UINT16_MAX, end[lanes.pair[l]] = 0;
            return;
        }
        if (row % 64 == 0)
            BAND(load)(batch, &lanes, row, &block);
        BAND(run)(&lanes, &block, row, row + 32, &state);
    }
    VEC_STORE(BAND(best)(&state), key);
    for (int l = 0; l < LANES; l++) {
        const int above = (u32)(key[l] >> 9) > limit[l];
        best[lanes.pair[l]] = above ? UINT16_MAX : (u16)(key[l] >> 9);
        end[lanes.pair[l]] = above ? 0 : (u16)(key[l] & 511);
    }
}

/* limits: by read; NULL: all errors matter. */
BAND_FN void OF_WIDTH(nw_score)(const band_batch *batch, const u16 *limits, u16 *best, u16 *end)
{
    for (u32 group = 0; group < GROUPS(batch->n); group++) {
        OF_WIDTH(nw_prefetch)(batch, group + 1);
        if (limits)
            OF_WIDTH(nw_score_within)(batch, group, limits, best, end);
        else
            BAND(score)(batch, group, best, end);
    }
}

BAND_FN void OF_WIDTH(nw_profile)(const band_batch *batch, u64 *errors)
{
    for (u32 group = 0; group < GROUPS(batch->n); group++)
        BAND(profile)(batch, group, errors);
}
