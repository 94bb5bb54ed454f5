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
    for (u32 group = 0; group < GROUPS(batch->n); group++)
        band_align(batch, group, paths, trace);
    free(trace);
    return 0;
}

/* The filter works on NW_CHUNK pairs at a time, NW_STAGE rows of all of them, then goes on with those that
 * still may stay within their limit: the least errors of a row never fall from row to row, so the exact
 * minimum of any row is a bound. Survivors are moved together, state and all, so that lanes stay full. */
#ifndef NW_CHUNK
#define NW_CHUNK 256
#define NW_STAGE 32
#endif

typedef struct {
    u32 pair[NW_CHUNK + 8];
    u64 words[2 * WORDS + 1][NW_CHUNK + 8]; /* vp, vn, first */
} OF_WIDTH(nw_front);

BAND_FN void OF_WIDTH(nw_resume)(const OF_WIDTH(nw_front) *front, u32 at, band_state *state)
{
    BAND_UNROLL
    for (int w = 0; w < WORDS; w++) {
        state->vp[w] = VEC_LOAD(&front->words[w][at]);
        state->vn[w] = VEC_LOAD(&front->words[WORDS + w][at]);
    }
    state->first = VEC_LOAD(&front->words[2 * WORDS][at]);
}

/* State of lane `l` of the group at `from` becomes the one at `to` <= from + l. */
BAND_FN void OF_WIDTH(nw_move)(OF_WIDTH(nw_front) *front, u32 to, u32 pair, int l,
                              u64 words[2 * WORDS + 1][LANES])
{
    front->pair[to] = pair;
    BAND_UNROLL
    for (int w = 0; w < 2 * WORDS + 1; w++)
        front->words[w][to] = words[w][l];
}

/* Rows row..row+NW_STAGE-1 of the `n` pairs of the front; those decided get their verdict, the rest is
 * returned. */
BAND_FN u32 OF_WIDTH(nw_stage)(const band_batch *batch, OF_WIDTH(nw_front) *front, u32 n, u32 row,
                              const u16 *limit, uint8_t *keep)
{
    u32 left = 0;
    for (u32 at = 0; at < n; at += LANES) {
        band_lanes lanes;
        band_block block;
        band_state state;
        u64 least[LANES], words[2 * WORDS + 1][LANES];
        for (u32 l = n; l < at + LANES; l++) /* past the end: the last pair, in any state; not looked at */
            front->pair[l] = front->pair[n - 1];
        band_open(batch, front->pair + at, &lanes);
        band_load(batch, &lanes, row & ~(u32)63, &block);
        OF_WIDTH(nw_resume)(front, at, &state);
        if (row < lanes.longest)
            band_run(&lanes, &block, row, row + NW_STAGE, &state);
        VEC_STORE(band_best(&state) >> 9, least);
        for (int w = 0; w < WORDS; w++) {
            VEC_STORE(state.vp[w], words[w]);
            VEC_STORE(state.vn[w], words[WORDS + w]);
        }
        VEC_STORE(state.first, words[2 * WORDS]);
        for (int l = 0; l < LANES && at + l < n; l++) {
            u32 pair = lanes.pair[l];
            int within = least[l] <= limit[pair];
            keep[pair] = (uint8_t)within;
            if (within && lanes.length[l] > row + NW_STAGE)
                OF_WIDTH(nw_move)(front, left++, pair, l, words);
        }
    }
    return left;
}

/* keep[n]: are the least errors of the band at most the pair's limit? -1 when there is no memory. */
BAND_FN int OF_WIDTH(nw_within)(const band_batch *batch, const u16 *limit, uint8_t *keep)
{
    OF_WIDTH(nw_front) *front = malloc(sizeof *front);
    if (!front)
        return -1;
    for (u32 first = 0; first < batch->n; first += NW_CHUNK) {
        u32 n = batch->n - first < NW_CHUNK ? batch->n - first : NW_CHUNK;
        memset(front, 0, sizeof *front);
        for (u32 i = 0; i < n; i++)
            front->pair[i] = first + i;
        for (u32 row = 0; n; row += NW_STAGE)
            n = OF_WIDTH(nw_stage)(batch, front, n, row, limit, keep);
    }
    free(front);
    return 0;
}
