/* One pair of a read and a band a work-item. `pairs`: read_strand uint[n], then band_start uint[n]. Goes behind band.h. */
#define BATCH_ARGS                                                                             \
    __global const ulong *reference, ulong reference_rows, __global const ulong *reads,        \
        __global const uint *read_row, __global const uint *read_length, __global const uint *pairs, uint n
#define BATCH {reference, reference_rows, reads, read_row, read_length, pairs, pairs + n, n}

/* The least errors and their leftmost diagonal in the last row. best_end: best ushort[n], then end ushort[n]. */
__kernel void score(BATCH_ARGS, __global ushort *best_end)
{
    band_batch batch = BATCH;
    uint pair = get_global_id(0);
    if (pair < n)
        band_score(&batch, pair, best_end, best_end + n);
}

/* The errors of every end diagonal: ushort[n, 64 * WORDS], written as words of four. */
__kernel void profile(BATCH_ARGS, __global ulong *errors)
{
    band_batch batch = BATCH;
    uint pair = get_global_id(0);
    if (pair < n)
        band_profile(&batch, pair, errors);
}

/* The rows again, now with two bit-vectors a row kept in `trace`, then the same work-item walks back and writes BAM runs
 * into the pair's slot. trace: ulong[tiles, rows, 2 * WORDS, BAND_TILE]: neighbours write side by side. */
__kernel void align(BATCH_ARGS, uint rows, __global const ushort *end_edits, __global const uint *slot_end,
                    __global ulong *trace, __global ushort *start_runs, __global uint *runs)
{
    band_batch batch = BATCH;
    band_paths paths = {end_edits, end_edits + n, slot_end, start_runs, start_runs + n, runs};
    uint pair = get_global_id(0);
    if (pair < n)
        band_align(&batch, pair, &paths,
                   trace + (ulong)(pair / BAND_TILE) * rows * (2 * WORDS * BAND_TILE) + pair % BAND_TILE);
}
