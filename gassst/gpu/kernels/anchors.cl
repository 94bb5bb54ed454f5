/* The occurrences of seeds become anchors, sorted and merged by diagonal (index/anchors.pxi). */
#include "sorted_keys.h"

/* The occurrences of each seed into the segment of its read; `owner` uint[c], the read of each place. */
__kernel void gather_anchors(__global const uint *read_length, __global const uchar *read_flip,
                             __global const uint *counters, __global const uint *active, __global const short *plan, PART_ARGS(uint, positions),
                             PART_ARGS(uchar, following), __global const uint *lo, __global const uint *count, __global const uchar *looked,
                             __global const uint *at, __global const uint2 *segment, __global ulong *anchors,
                             __global uint *owner)
{
    seed_index_t index;
    TAKE_PARTS(index, positions);
    TAKE_PARTS(index, following);
    uint i = get_global_id(0), number = get_global_id(1), n_active = counters[ACTIVE];
    if (i >= n_active || segment[active[i]].y == 0)
        return;
    uint read = active[i];
    seed_plan seeds = plan_of(plan, read_length[read], read_flip[read]);
    if (number >= seeds.number)
        return;
    ulong own = (ulong)number * n_active + i;
    uint n = count[own], w = width_of(looked[own]), to = segment[read].x + at[own];
    seed_place place = place_of(&seeds, number);
    if (n == 0)
        return;
    occurrences_t occurrences = first_occurrence(&index, lo[own], front_of(looked[own]), place.offset);
    for (uint j = 0; j < n; j++) {
        anchors[to + j] = anchor_of(place.reverse ^ seeds.flip, next_diagonal(&index, &occurrences), place.offset, w);
        owner[to + j] = read;
    }
}

/* Sorts a segment by one work-group: a bitonic network whose comparisons all go one way, so that any number can be sorted.
 * Comparisons with what is not there are left out. */
static void sort_segment(__global ulong *far, uint n, __local ulong *near)
{
    uint item = get_local_id(0), size = get_local_size(0);
    int is_near = n <= NEAR;
    if (is_near)
        for (uint i = item; i < n; i += size)
            near[i] = far[i];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (uint block = 2; block >> 1 < n; block <<= 1)
        for (uint step = block >> 1; step; step >>= 1) {
            for (uint t = item; 2 * (t & ~(step - 1)) < n; t += size) {
                uint within = t & (step - 1), a = 2 * (t - within) + within;
                uint b = step == block >> 1 ? a - within + 2 * step - 1 - within : a + step;
                if (b < n) {
                    ulong x = is_near ? near[a] : far[a], y = is_near ? near[b] : far[b];
                    if (y < x && is_near) {
                        near[a] = y;
                        near[b] = x;
                    } else if (y < x) {
                        far[a] = y;
                        far[b] = x;
                    }
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
    if (is_near)
        for (uint i = item; i < n; i += size)
            far[i] = near[i];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

/* The segments of the reads with many anchors, of which there are counters[count]. */
__kernel void sort_many(__global const uint *counters, uint count, __global const uint *many,
                        __global const uint2 *segment, __global ulong *anchors)
{
    __local ulong near[NEAR];
    for (uint i = get_group_id(0); i < counters[count]; i += get_num_groups(0)) {
        uint2 own = segment[many[i]];
        sort_segment(anchors + own.x, own.y, near);
    }
}

/* Seeds that touch or overlap on one diagonal become one anchor (`merge_anchors`). Sorts few anchors first. What is left
 * over of a segment is marked as dropped. */
__kernel void merge_anchors(__global const uint *counters, __global const uint *active, __global uint2 *segment, __global ulong *anchors)
{
    uint i = get_global_id(0);
    if (i >= counters[ACTIVE])
        return;
    uint read = active[i], n = segment[read].y, m = 0;
    __global ulong *own = anchors + segment[read].x;
    if (n <= FEW)
        insertion_sort_u64(own, n);
    ulong last = 0;
    for (uint j = 0; j < n; j++) {
        ulong next = own[j];
        uint first = anchor_offset(last), end = first + anchor_length(last);
        if (m && next >> 31 == last >> 31 && anchor_offset(next) <= end) {
            end = max(end, anchor_offset(next) + anchor_length(next));
            own[m - 1] = last = anchor_of(anchor_strand(last), anchor_diagonal(last), first, end - first);
        } else
            own[m++] = last = next;
    }
    segment[read].y = m;
    for (uint j = m; j < n; j++)
        own[j] = ANCHOR_DROPPED;
}

/* Drop the anchors in buckets that had an anchor in an earlier stage. What was known of a read is forgotten where a stage left
 * it out: `since` has the bits of the stages from that one on. */
__kernel void drop_known(__global const uint *counters, uint room, uint shift, uint n_reads, __global const ushort *state, uint since,
                         __global const uint *owner, __global ulong *anchors, __global const uint2 *known_segment,
                         __global const ulong *known_anchors)
{
    uint i = get_global_id(0);
    if (i >= fitting(counters, ANCHORS, room) || anchor_fate(anchors[i]) != ANCHOR_LIVE)
        return;
    ulong anchor = anchors[i];
    uint read = owner[i], bucket = anchor_diagonal(anchor) >> shift;
    uint2 segment = known_segment[read];
    if (segment.y == 0 || (STATE(LOOKED, read) & since) != since)
        return;
    ulong from = anchor_of(anchor_strand(anchor), bucket << shift, 0, 0);
    uint first = (uint)first_from(known_anchors + segment.x, segment.y, from);
    if (first < segment.y && known_anchors[segment.x + first] >> 31 >> shift == anchor >> 31 >> shift)
        anchors[i] = anchor | ANCHOR_DROPPED;
}

/* Bands begin so many diagonals before their bucket. */
static uint lead_of(uint words, uint shift)
{
    return 32 * words - (1u << shift >> 1);
}

/* Of every read the bucket whose anchors cover most bases (`best_supported`), and its band: pairs uint[2, room], read strand
 * and first diagonal. No filter looks at its anchors, as they are dropped. */
__kernel void choose_top_buckets(__global const uint *read_length, __global const uchar *read_flip, uint room,
                            __global const uint *active, __global const short *plan, uint shift,
                            __global const uint2 *segment, __global ulong *anchors, __global uint2 *top_bucket,
                            __global uint *pairs, __global uint *counters)
{
    __local uint sums[GROUP];
    uint i = get_global_id(0), live = 0;
    uint2 best = (uint2)(NOWHERE, 0);
    if (i < counters[ACTIVE]) {
        uint read = active[i], most = 0, support = 0;
        uint2 own = segment[read];
        ulong here = ~(ulong)0, top = here;
        for (uint j = own.x; j < own.x + own.y; j++) {
            ulong anchor = anchors[j];
            if (anchor_fate(anchor) != ANCHOR_LIVE)
                continue;
            live++;
            ulong bucket = anchor >> 31 >> shift;
            support = bucket == here ? support : 0;
            here = bucket;
            support += anchor_length(anchor);
            if (support > most) {
                most = support;
                top = bucket;
                best = (uint2)(read << 1 | (anchor_strand(anchor) ^ read_flip[read]), anchor_diagonal(anchor) >> shift);
            }
        }
        for (uint j = own.x; j < own.x + own.y; j++)
            if (anchors[j] >> 31 >> shift == top)
                anchors[j] |= ANCHOR_DROPPED;
        top_bucket[read] = best;
        pairs[i] = best.x;
        pairs[room + i] = (best.y << shift) - lead_of(PLAN(BAND_WORDS, read_length[read]), shift);
    }
    reserve(live, sums, counters + CANDIDATES, counters + OVERFLOW);
    reserve(best.x != NOWHERE, sums, counters + TOP_BUCKETS, counters + OVERFLOW);
}

