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
            NW_PREFETCH(batch->reference + word);
    }
}

BAND_FN void OF_WIDTH(nw_score)(const band_batch *batch, u16 *best, u16 *end)
{
    for (u32 group = 0; group < GROUPS(batch->n); group++) {
        OF_WIDTH(nw_prefetch)(batch, group + NW_AHEAD);
        band_score(batch, group, best, end);
    }
}

BAND_FN void OF_WIDTH(nw_profile)(const band_batch *batch, u64 *errors)
{
    for (u32 group = 0; group < GROUPS(batch->n); group++)
        band_profile(batch, group, errors);
}

/* rows: of the longest read. -1 when there is no memory for one group's traceback. */
BAND_FN int OF_WIDTH(nw_align)(const band_batch *batch, const band_paths *paths, u32 rows)
{
    u64 *trace = malloc(((size_t)rows * 2 * WORDS * BAND_TILE + 1) * sizeof(u64));
    if (!trace)
        return -1;
    for (u32 group = 0; group < GROUPS(batch->n); group++) {
        OF_WIDTH(nw_prefetch)(batch, group + NW_AHEAD);
        band_align(batch, group, paths, trace);
    }
    free(trace);
    return 0;
}
