/* The loops over one group of pairs for one kind of lanes: included by the files of instruction sets with ISA,
 * LOCAL_BYTES, LOCAL_LANES, BAND_FN, LOCAL_LOOP and the vector operations set, of which those of one kind of lanes are
 * undefined at the end. */
#include "local.h"

/* Both return whether the group is done with. */
LOCAL_LOOP int LOCAL_VARIANT(local_score_group)(const band_batch *batch, const local_scoring *scoring, u32 width,
                                                u32 group, const local_ends *ends)
{
    return local_score(batch, scoring, width, group, ends);
}

LOCAL_LOOP int LOCAL_VARIANT(local_align_group)(const band_batch *batch, const local_scoring *scoring, u32 width,
                                                u32 group, const local_ends *ends, const local_paths *paths,
                                                BAND_GLOBAL u8 *trace)
{
    return local_align(batch, scoring, width, group, ends, paths, trace);
}

#undef ISA
#undef LOCAL_BYTES
#undef LOCAL_LANES
#undef LOCAL_STORE_BYTES
#undef LOCAL_ADD
#undef LOCAL_MIN
#undef LOCAL_IF_GREATER
#undef LOCAL_MARK_GREATER
#undef LOCAL_EQUALS
#undef LOCAL_GREATER
