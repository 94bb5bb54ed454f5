/* Recipe: one work-item scores LOCAL_LANES pairs (local.h), or aligns them and walks back through the flags that it
 * kept in `trace`: bytes [tiles, rows, WIDTH, LOCAL_TILE], neighbours side by side. Appended to band.h, score.cl
 * and local.h. scoring: the fields of local_scoring; ends: ushort[3, n]; small: edits ushort[n], n_runs ushort[n]. */
#define LOCAL_SCORING {scoring[0], scoring[1], scoring[2], scoring[3], scoring[4], scoring[5], scoring[6]}

__kernel void local_scores(BATCH_ARGS, __global const short *scoring, __global ushort *ends)
{
    band_batch batch = BATCH;
    local_scoring costs = LOCAL_SCORING;
    local_ends out = {ends, ends + n, ends + 2 * (ulong)n};
    uint group = get_global_id(0);
    if (group * LOCAL_LANES < n)
        local_score(&batch, &costs, WIDTH, group, &out);
}

__kernel void local_alignments(BATCH_ARGS, __global const short *scoring, uint rows, __global const uint *slot_end,
                               __global uchar *trace, __global ushort *ends, __global uint *position,
                               __global ushort *small, __global uint *runs)
{
    band_batch batch = BATCH;
    local_scoring costs = LOCAL_SCORING;
    local_ends out = {ends, ends + n, ends + 2 * (ulong)n};
    local_paths paths = {slot_end, position, small, small + n, runs};
    uint group = get_global_id(0), pair = group * LOCAL_LANES;
    if (pair < n)
        local_align(&batch, &costs, WIDTH, group, &out, &paths,
                    trace + (ulong)(pair / LOCAL_TILE) * rows * (WIDTH * LOCAL_TILE) + pair % LOCAL_TILE);
}
