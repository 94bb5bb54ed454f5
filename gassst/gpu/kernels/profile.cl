/* Recipe: as score.cl, but the errors of every end diagonal go back: ushort[n, 64 * WORDS], written as
 * words of four. */
__kernel void profile(BATCH_ARGS, __global ulong *errors)
{
    band_batch batch = BATCH;
    uint group = get_global_id(0);
    if (group * LANES < n)
        band_profile(&batch, group, errors);
}
