/* Recipe: the rows again, now with two bit-vectors a row kept in `trace`, then the same work-item walks
 * back and writes BAM runs into the pair's slot. trace: ulong[tiles, rows, 2 * WORDS, BAND_TILE]:
 * neighbours write side by side. */
__kernel void align(BATCH_ARGS, uint rows, __global const ushort *end_edits, __global const uint *slot_end,
                    __global ulong *trace, __global ushort *start_runs, __global uint *runs)
{
    band_batch batch = BATCH;
    band_paths paths = {end_edits, end_edits + n, slot_end, start_runs, start_runs + n, runs};
    uint group = get_global_id(0), pair = group * LANES;
    if (pair < n)
        band_align(&batch, group, &paths,
                   trace + (ulong)(pair / BAND_TILE) * rows * (2 * WORDS * BAND_TILE) + pair % BAND_TILE);
}
