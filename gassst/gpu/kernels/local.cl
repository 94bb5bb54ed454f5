/* One work-item scores one pair (local.h), or aligns it and walks back through the flags that it kept in `trace`: bytes
 * [tiles, rows, WIDTH, BAND_TILE], neighbours side by side. Goes behind band.h and bands.cl. scoring: the fields of
 * local_scoring; ends: ushort[3, n]; small: edits ushort[n], n_runs ushort[n]. */
typedef short i16;
typedef uchar u8;
typedef short local_int;
typedef short local_vec;
#define LOCAL_BYTES 0
#define LOCAL_LANES 1
#define LOCAL(name) local_##name
#define LOCAL_WIDTH WIDTH
#define LOCAL_ENTRY static
#define LOCAL_SET(x) ((local_vec)(x))
#define LOCAL_LOAD(p) (*(p))
#define LOCAL_STORE(v, p) (*(p) = (v))
#define LOCAL_STORE_BYTES(v, p) (*(p) = (uchar)(v))
#define LOCAL_MIN(a, b) LOCAL_IF_GREATER(a, b, b, a)
#define LOCAL_IF_EQUAL(a, b, yes, no) ((a) == (b) ? (yes) : (no))
#define LOCAL_IF_GREATER(a, b, yes, no) ((a) > (b) ? (yes) : (no))
#define LOCAL_MARK(test, a, b, flags, flag) ((flags) | LOCAL_IF_##test(a, b, flag, 0))
#include "local.h"
#define LOCAL_SCORING {scoring[0], scoring[1], scoring[2], scoring[3], scoring[4], scoring[5], scoring[6]}

__kernel void local_scores(BATCH_ARGS, __global const short *scoring, __global ushort *ends)
{
    band_batch batch = BATCH;
    local_scoring costs = LOCAL_SCORING;
    local_ends out = {ends, ends + n, ends + 2 * (ulong)n};
    uint pair = get_global_id(0);
    if (pair < n)
        local_score(&batch, &costs, WIDTH, pair, &out);
}

__kernel void local_alignments(BATCH_ARGS, __global const short *scoring, uint rows, __global const uint *slot_end,
                               __global uchar *trace, __global ushort *ends, __global uint *position,
                               __global ushort *small, __global uint *runs)
{
    band_batch batch = BATCH;
    local_scoring costs = LOCAL_SCORING;
    local_ends out = {ends, ends + n, ends + 2 * (ulong)n};
    local_paths paths = {slot_end, position, small, small + n, runs};
    uint pair = get_global_id(0);
    if (pair < n)
        local_align(&batch, &costs, WIDTH, pair, &out, &paths,
                    trace + (ulong)(pair / BAND_TILE) * rows * (WIDTH * BAND_TILE) + pair % BAND_TILE);
}
