/* Recipe: on a GPU one work-item scores one pair (local.h), or aligns it and walks back through the flags that it kept in
 * `trace`: bytes [tiles, rows, WIDTH, BAND_TILE], neighbours side by side. On a CPU there are a few work-items, and each
 * one does many groups of pairs in turn, with the same bytes [rows, width, 2 * LOCAL_SHORTS] of trace: they stay in the
 * cache. There one program serves all bands up to WIDTH. Goes behind band.h, score.cl and local_lanes.h. scoring: the
 * fields of local_scoring; ends: ushort[3, n]; small: edits ushort[n], n_runs ushort[n]. */
#define LOCAL_SCORING {scoring[0], scoring[1], scoring[2], scoring[3], scoring[4], scoring[5], scoring[6]}

__kernel void local_scores(BATCH_ARGS, uint width, __global const short *scoring, __global ushort *ends)
{
    band_batch batch = BATCH;
    local_scoring costs = LOCAL_SCORING;
    local_ends out = {ends, ends + n, ends + 2 * (ulong)n};
    uint item = get_global_id(0);
#if LANES == 1
    if (item < n)
        local_score_group_shorts(&batch, &costs, WIDTH, item, &out);
#else
    local_scores_shorts(&batch, &costs, width, item, get_global_size(0), &out);
#endif
}

__kernel void local_alignments(BATCH_ARGS, uint width, __global const short *scoring, uint rows,
                               __global const uint *slot_end, __global uchar *trace, __global ushort *ends,
                               __global uint *position, __global ushort *small, __global uint *runs)
{
    band_batch batch = BATCH;
    local_scoring costs = LOCAL_SCORING;
    local_ends out = {ends, ends + n, ends + 2 * (ulong)n};
    local_paths paths = {slot_end, position, small, small + n, runs};
    uint item = get_global_id(0);
#if LANES == 1
    if (item < n)
        local_align_group_shorts(&batch, &costs, WIDTH, item, &out, &paths,
                                 trace + (ulong)(item / BAND_TILE) * rows * (WIDTH * BAND_TILE) + item % BAND_TILE);
#else
    local_alignments_shorts(&batch, &costs, width, item, get_global_size(0), &out, &paths,
                            trace + (ulong)item * rows * width * (2 * LOCAL_SHORTS));
#endif
}
