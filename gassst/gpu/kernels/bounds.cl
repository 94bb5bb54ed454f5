/* Lower bounds on the errors of anchors: ext/isa/bound_flanks.h and bound_band.h, one anchor a work-item. They say the same
 * of every anchor. */

typedef struct {
    int tnw4, frequency, square;
} flank_bounds;

typedef struct {
    ushort low, high;
} flank_bases;

/* 16 bases from a coordinate on. */
static flank_bases flank_at(__global const ulong *planes, long rows, long base)
{
    flank_bases bases = {(ushort)bits_at(planes, rows, base, 0), (ushort)bits_at(planes, rows, base, 1)};
    return bases;
}

static ushort mirror16(ushort v)
{
    v = (v >> 8) | (v << 8);
    v = (v >> 4 & 0x0F0F) | (v & 0x0F0F) << 4;
    v = (v >> 2 & 0x3333) | (v & 0x3333) << 2;
    return (v >> 1 & 0x5555) | (v & 0x5555) << 1;
}

/* Sum of what stretches of as many bases have more of, over the four bases. */
static int frequency_distance(flank_bases read, flank_bases reference, ushort among)
{
    int c = (int)popcount((ushort)(read.low & ~read.high & among)) -
            (int)popcount((ushort)(reference.low & ~reference.high & among));
    int g = (int)popcount((ushort)(read.high & ~read.low & among)) -
            (int)popcount((ushort)(reference.high & ~reference.low & among));
    int t = (int)popcount((ushort)(read.low & read.high & among)) -
            (int)popcount((ushort)(reference.low & reference.high & among));
    return max(-(c + g + t), 0) + max(c, 0) + max(g, 0) + max(t, 0);
}

/* The square goes column by column (Myers 1999), a bit-vector of 16 rows. Rows behind the end of the read match
 * everything. */
static flank_bounds bounds_of_flank(flank_bases read, flank_bases reference, int n, int mirrored)
{
    ushort over = n < FLANK ? (ushort)(0xFFFFu << n) : 0, vp = 0xFFFF, vn = 0;
    int row4 = 4, least4 = 4, row16 = FLANK, least = FLANK;
    flank_bounds bounds;
    if (mirrored) {
        read.low = mirror16(read.low), read.high = mirror16(read.high);
        reference.low = mirror16(reference.low), reference.high = mirror16(reference.high);
    }
    bounds.tnw4 = 0;
    bounds.frequency = frequency_distance(read, reference, ~over);
    for (int j = 0; j < FLANK; j++) {
        ushort low = 0 - (reference.low >> j & 1), high = 0 - (reference.high >> j & 1);
        ushort match = over | ~((read.low ^ low) | (read.high ^ high));
        ushort d0 = match | vn | ((ushort)((match & vp) + vp) ^ vp), hp = vn | ~(d0 | vp), hn = d0 & vp;
        if (j < 4) {
            row4 += (hp >> 3 & 1) - (hn >> 3 & 1);
            least4 = min(least4, row4);
        }
        row16 += (hp >> 15) - (hn >> 15);
        least = min(least, row16);
        ushort down = hp << 1 | 1;
        vp = hn << 1 | (ushort)~(d0 | down);
        vn = down & d0;
        if (j == 3) {
            for (int i = 3; i >= 0; i--) {
                row4 += (vn >> i & 1) - (vp >> i & 1);
                least4 = min(least4, row4);
            }
            bounds.tnw4 = least4;
        }
    }
    int row = FLANK;
    for (int i = 0; i < FLANK; i++) {
        least = min(least, row);
        row += (vp >> i & 1) - (vn >> i & 1);
    }
    bounds.square = least;
    return bounds;
}

/* Lists the live anchors that the bounds of their flanks do not reject: listed uint[]. The others are dropped. Not looked at
 * are those with a limit above `most`. */
__kernel void bound_flanks(READ_ARGS, ulong read_rows, uint n_reads, __global const ushort *state,
                           __global const ulong *planes, ulong rows, uint n_anchors, __global const uint *owner,
                           int most, __global ulong *anchors, __global uint *listed,
                           __global uint *counters)
{
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
            long own = 64 * (long)row_of(read_row[read], length, anchor_strand(anchor) ^ read_flip[read]);
            long at = anchor_diagonal(anchor);
            flank_bounds a = bounds_of_flank(flank_at(reads, read_rows, own + offset - FLANK),
                                             flank_at(planes, rows, at + offset - FLANK), offset, 1);
            flank_bounds b = bounds_of_flank(flank_at(reads, read_rows, own + end), flank_at(planes, rows, at + end),
                                             (int)length - end, 0);
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

/* Rejects the listed anchors without an alignment within the limit in their narrow band, where that decides. */
__kernel void bound_bands(READ_ARGS, uint n_reads, __global const ushort *state, __global const ulong *planes, ulong rows,
                          uint gaps, __global const uint *owner, __global const uint *listed, __global ulong *anchors,
                          __global uint *counters)
{
    __local uint rejected;
    if (get_local_id(0) == 0)
        rejected = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = get_global_id(0); j < counters[LISTED]; j += get_global_size(0)) {
        ulong anchor = anchors[listed[j]];
        uint read = owner[listed[j]], length = read_length[read], limit = STATE(LIMIT, read);
        long first = (long)anchor_diagonal(anchor) - BAND_LEAD;
        if (first < 0 || ((first + ((length - 1) & ~63u)) >> 6) + 2 >= (long)rows || min(gaps, limit) >= BAND_LEAD)
            continue;
        uint row = row_of(read_row[read], length, anchor_strand(anchor) ^ read_flip[read]);
        if (narrow_band(reads + 3 * (ulong)row, length, planes, first) > limit) {
            anchors[listed[j]] = anchor | ANCHOR_REJECTED;
            atomic_inc(&rejected);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && rejected)
        atomic_add(counters + REJECTED, rejected);
}

/* The same least errors of every anchor, as `collect_anchors` has left them; 0 where they decide nothing. */
__kernel void bound_anchors(READ_ARGS, uint n, __global const ulong *planes, ulong rows, __global const uint *columns,
                            __global ushort *bounds)
{
    uint i = get_global_id(0);
    if (i >= n)
        return;
    uint read = columns[i] >> 1, length = read_length[read], row = row_of(read_row[read], length, columns[i] & 1);
    long first = (long)columns[n + i] - BAND_LEAD;
    int is_inside = first >= 0 && ((first + ((length - 1) & ~63u)) >> 6) + 2 < (long)rows;
    bounds[i] = is_inside ? (ushort)narrow_band(reads + 3 * (ulong)row, length, planes, first) : 0;
}
