/* What the kernels of the search share: the reads and their state, the plan of a stage, anchors, places in a list.
 *
 * Recipe. A read is searched on its own, so nothing is sorted or counted across reads: the anchors of a read lie side by
 * side, and so do its bands. A work-group counts what its reads need and reserves it with one atomic addition. So the
 * order of reads in a list differs from run to run; the order within a read never does, and only that shows in a result.
 *
 * Passes that go from anchor to anchor have one work-item a read; those that look at each anchor alone, one an anchor.
 *
 * Wanted: WORDS, LANES 1, GROUP (work-items of a group), LENGTHS (rows of the plan), STEP, INDEX_PARTS and PART_BITS (of the index), and of
 * each column of the state, the plan and the counters its number (gassst/gpu/arrays.py). Appended to band.h. */
#include "anchor_bits.h"
#include "planes.h"

#define NOWHERE 0xFFFFFFFFu /* in place of a read strand: there is no band */
#define BAND_LEAD 16        /* diagonals of a narrow band before the candidate's own */

#define READ_ARGS                                                                                          \
    __global const ulong *read_planes, ulong read_rows, __global const uint *read_row,                    \
        __global const uint *read_length, __global const uchar *read_flip
#define READS {read_planes, read_rows}
#define REFERENCE_ARGS __global const ulong *reference_planes, ulong reference_rows
#define REFERENCE {reference_planes, reference_rows}
#define BANDS_OF_READS(pairs, room, n) \
    {reference_planes, reference_rows, read_planes, read_row, read_length, pairs, (pairs) + (room), n}
#define STATE(column, read) state[(column) * n_reads + (read)]
#define PLAN(column, length) ((int)plan[(column) * LENGTHS + (length)])

/* How many there are of something that has room for so many; none where they do not fit. */
static uint fitting(__global const uint *counters, uint count, uint room)
{
    return counters[count] <= room ? counters[count] : 0;
}

/* Where the places of each work-item of a group begin among those that `total` counts. All items must come here. A count
 * past 2^32 sets `overflow`. */
static uint reserve(uint wanted, __local uint *sums, __global uint *total, __global uint *overflow)
{
    uint item = get_local_id(0);
    sums[item] = wanted;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        uint sum = 0, first;
        for (uint i = 0; i < GROUP; i++)
            sum += sums[i];
        first = sum ? atomic_add(total, sum) : 0;
        if (first + sum < first)
            atomic_or(overflow, 1u);
        for (uint i = 0; i < GROUP; i++) {
            uint own = sums[i];
            sums[i] = first;
            first += own;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return sums[item];
}
