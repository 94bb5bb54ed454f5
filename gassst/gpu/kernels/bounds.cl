/* Lower bounds on the errors of anchors, one anchor a work-item: flank_bounds.h, and the narrow band of
 * ext/isa/bound_band.h. They say the same of every anchor. */
#define FLANK 16 /* bases a side that the short filters look at */
#include "flank_bounds.h"

/* The bounds of one flank, whose first base is `base` of the read and `at` of the reference; n bases are left. */
static flank_bounds_t flank_bounds(planes_t reads, long base, planes_t reference, long at, int n, int mirrored)
{
    bases64_t a = bases_at(reads, base), b = bases_at(reference, at);
    flank_planes p = {a.low, a.high, b.low, b.high, n < FLANK ? (ushort)(0xFFFFu << n) : 0};
    if (mirrored)
        p = flank_mirrored(p);
    return flank_bounds_of(&p);
}

/* Lists the live anchors that the bounds of their flanks do not reject: listed uint[]. The others are dropped. Not looked at
 * are those with a limit above `most`. */
__kernel void bound_flanks(READ_ARGS, uint n_reads, __global const ushort *state, REFERENCE_ARGS, uint n_anchors,
                           __global const uint *owner, int most, __global ulong *anchors, __global uint *listed,
                           __global uint *counters)
{
    planes_t reads = READS, reference = REFERENCE;
    __local uint sums[GROUP], rejected[4];
    uint i = get_global_id(0), item = get_local_id(0);
    if (item < 4)
        rejected[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong anchor = i < n_anchors ? anchors[i] : ANCHOR_DROPPED;
    int is_live = anchor_fate(anchor) == ANCHOR_LIVE, passes = is_live;
    if (is_live) {
        uint read = owner[i], length = read_length[read];
        int offset = anchor_offset(anchor), end = offset + anchor_length(anchor), limit = STATE(LIMIT, read);
        atomic_inc(rejected);
        if (limit <= most && limit < min(FLANK, offset) + min(FLANK, (int)length - end)) {
            long own = first_base(read_row[read], anchor_strand(anchor) ^ read_flip[read], length);
            long at = anchor_diagonal(anchor);
            flank_bounds_t a = flank_bounds(reads, own + offset - FLANK, reference, at + offset - FLANK, offset, 1);
            flank_bounds_t b = flank_bounds(reads, own + end, reference, at + end, (int)length - end, 0);
            uint by = a.tnw4 + b.tnw4 > limit             ? 1
                      : a.frequency + b.frequency > limit ? 2
                      : a.square + b.square > limit       ? 3
                                                          : 0;
            if (by) {
                atomic_inc(rejected + by);
                passes = 0;
                anchors[i] = anchor | ANCHOR_DROPPED;
            }
        }
    }
    uint at = reserve(passes, sums, counters + LISTED, counters + OVERFLOW);
    if (passes)
        listed[at] = i;
    if (item < 4 && rejected[item])
        atomic_add(counters + FILTERED + item, rejected[item]);
}

/* Least errors of the read on the 32 diagonals around the anchor. */
static uint narrow_band(__global const ulong *read, uint length, __global const ulong *planes, ulong at)
{
    uint vp = 0, vn = 0, first = 0;
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
            uint sum = (vp & ~differ) + vp, d0 = vn | (sum ^ vp) | ~differ, next = d0 >> 1;
            uint hp = vn | ~(d0 | vp), hn = d0 & vp;
            first += ~d0 & 1;
            vp = hn | ~(next | hp);
            vn = next & hp;
        }
    }
    int errors = (int)first, least = errors;
    for (int i = 0; i < 31; i++) {
        errors += (int)(vp >> i & 1) - (int)(vn >> i & 1);
        least = min(least, errors);
    }
    return (uint)least;
}

/* The first diagonal of the narrow band of a read around a diagonal; -1 where not all of its bases can be read. */
static long narrow_first(uint diagonal, uint length, ulong reference_rows)
{
    long first = (long)diagonal - BAND_LEAD;
    return first >= 0 && ((first + ((length - 1) & ~63u)) >> 6) + 2 < (long)reference_rows ? first : -1;
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
        long first = narrow_first(anchor_diagonal(anchor), length, reference_rows);
        if (first < 0 || min(gaps, limit) >= BAND_LEAD)
            continue;
        ulong row = first_base(read_row[read], anchor_strand(anchor) ^ read_flip[read], length) >> 6;
        if (narrow_band(read_planes + 3 * row, length, reference_planes, first) > limit) {
            anchors[listed[j]] = anchor | ANCHOR_REJECTED;
            atomic_inc(&rejected);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && rejected)
        atomic_add(counters + REJECTED, rejected);
}
