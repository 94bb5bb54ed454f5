/* Recipe: one work-item scores LANES pairs (band.h) and finds the least errors and their leftmost diagonal
 * in the last row itself, so that four bytes a pair go back to the host. Appended to band.h; BATCH_ARGS
 * serves all kernels. */
#define BATCH_ARGS                                                                             \
    __global const ulong *reference, ulong reference_rows, __global const ulong *reads,        \
        __global const uint *read_row, __global const uint *read_length, __global const uint *pairs, uint n
#define BATCH {reference, reference_rows, reads, read_row, read_length, pairs, pairs + n, n}

/* pairs: read_strand uint[n], then band_start uint[n]. best_end: best ushort[n], then end ushort[n]: one
 * download. */
__kernel void score(BATCH_ARGS, __global ushort *best_end)
{
    band_batch batch = BATCH;
    uint group = get_global_id(0);
    if (group * LANES < n)
        band_score(&batch, group, best_end, best_end + n);
}
