/* The loops over groups of pairs for one instruction set: included by local_cpu.h with ISA, LOCAL_LANES, BAND_FN,
 * LOCAL_LOOP and the vector operations set, which are undefined again at the end. */
#if LOCAL_LANES == 1
#define LOCAL_SET(x) ((i16)(x))
#else
#define LOCAL_SET(x) ((local_vec){0} + (i16)(x))
#endif
#include "local.h"

LOCAL_LOOP void LOCAL_VARIANT(local_scores)(const band_batch *batch, const local_scoring *scoring, u32 width,
                                            const local_ends *ends)
{
    for (u32 group = 0; group * LOCAL_LANES < batch->n; group++)
        local_score(batch, scoring, width, group, ends);
}

/* rows: of the longest read. -1 when there is no memory for one group's traceback. */
LOCAL_LOOP int LOCAL_VARIANT(local_alignments)(const band_batch *batch, const local_scoring *scoring, u32 width,
                                               const local_ends *ends, const local_paths *paths, u32 rows)
{
    u8 *trace = malloc((size_t)rows * width * LOCAL_TILE + 1);
    if (!trace)
        return -1;
    for (u32 group = 0; group * LOCAL_LANES < batch->n; group++)
        local_align(batch, scoring, width, group, ends, paths, trace);
    free(trace);
    return 0;
}

#undef ISA
#undef LOCAL_LANES
#undef BAND_FN
#undef LOCAL_LOOP
#undef local_vec
#undef LOCAL_SET
#undef LOCAL_LOAD
#undef LOCAL_STORE
#undef LOCAL_STORE_BYTES
#undef LOCAL_MAX
#undef LOCAL_IF_
#undef LOCAL_IF_EQUAL
#undef LOCAL_IF_GREATER
#undef LOCAL_MARK_
#undef LOCAL_MARK_EQUAL
#undef LOCAL_MARK_GREATER
