/* Least errors of anchors, one anchor a work-item, in the narrow band of ext/isa/bound_band.h. They say the same of every
 * anchor. */

typedef uint bound_vec;
#define ISA_INLINE static
#include "bound_row.h"

/* Lists the live ones of counters[count] anchors: listed uint[]. */
__kernel void list_anchors(uint count, uint room, __global const ulong *anchors, __global uint *listed, __global uint *counters)
{
    __local uint sums[GROUP];
    uint i = get_global_id(0);
    int is_live = i < fitting(counters, count, room) && anchor_fate(anchors[i]) == ANCHOR_LIVE;
    uint at = reserve(is_live, sums, counters + LISTED, counters + OVERFLOW);
    if (is_live)
        listed[at] = i;
}

/* Least errors of the read on the 32 diagonals around the anchor. */
static uint narrow_band(__global const ulong *read, uint length, __global const ulong *planes, ulong at)
{
    bound_state state = {0, 0, 0};
    for (uint base = 0; base < length; base += 64, read += 3, at += 64) {
        __global const ulong *row = planes + 3 * (at >> 6);
        uint shift = at & 63, rows = min(length - base, 64u);
        ulong low = row[0] >> shift | row[3] << 1 << (63 - shift), high = row[1] >> shift | row[4] << 1 << (63 - shift);
        uint low2 = (uint)(row[3] >> shift | row[6] << 1 << (63 - shift));
        uint high2 = (uint)(row[4] >> shift | row[7] << 1 << (63 - shift));
        ulong read_low = read[0], read_high = read[1];
        for (uint r = 0; r < rows; r++) {
            if (r == 32) { /* the window moves on by 32 bases */
                low = low >> 32 | (ulong)low2 << 32;
                high = high >> 32 | (ulong)high2 << 32;
            }
            uint differ = ((uint)(low >> (r & 31)) ^ (0 - (uint)(read_low >> r & 1))) |
                          ((uint)(high >> (r & 31)) ^ (0 - (uint)(read_high >> r & 1)));
            bound_row(differ, &state);
        }
    }
    int errors = (int)state.first, least = errors;
    for (int i = 0; i < 31; i++) {
        errors += (int)(state.vp >> i & 1) - (int)(state.vn >> i & 1);
        least = min(least, errors);
    }
    return (uint)least;
}

/* Whether an alignment within the limit may lie on a diagonal: its narrow band has one, or cannot tell. `row`: of the strand
 * in the planes of reads. */
static int may_align(__global const ulong *read_planes, ulong row, uint length, REFERENCE_ARGS, uint gaps, uint limit, uint diagonal)
{
    long first = (long)diagonal - BAND_LEAD;
    int is_read = first >= 0 && ((first + ((length - 1) & ~63u)) >> 6) + 2 < (long)reference_rows;
    return !is_read || min(gaps, limit) >= BAND_LEAD || narrow_band(read_planes + 3 * row, length, reference_planes, first) <= limit;
}

/* Rejects the listed anchors without an alignment within the limit in their narrow band, where that decides. */
__kernel void bound_bands(READ_ARGS, uint n_reads, __global const ushort *state, REFERENCE_ARGS, uint gaps, __global const uint *owner, __global const uint *listed, __global ulong *anchors,
                          __global uint *counters)
{
    __local uint rejected;
    if (get_local_id(0) == 0)
        rejected = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = get_global_id(0); j < counters[LISTED]; j += get_global_size(0)) {
        ulong anchor = anchors[listed[j]];
        uint read = owner[listed[j]], length = read_length[read], limit = STATE(LIMIT, read);
        ulong row = first_base(read_row[read], anchor_strand(anchor) ^ read_flip[read], length) >> 6;
        if (!may_align(read_planes, row, length, reference_planes, reference_rows, gaps, limit, anchor_diagonal(anchor))) {
            anchors[listed[j]] = anchor | ANCHOR_DROPPED;
            atomic_inc(&rejected);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && rejected)
        atomic_add(counters + REJECTED, rejected);
}
