/* Reads of which a part fits better than the whole (ext/align/stretches.pyx). */

typedef struct {
    int match, mismatch, bonus;
} stretch_costs;

/* Where bases differ, 64 of them; `masked`: those that nobody knows. */
static ulong differing(__global const ulong *planes, ulong rows, long at, __global const ulong *reads, ulong read_rows,
                       long own, ulong *masked)
{
    *masked = bits_at(planes, rows, at, 2) | bits_at(reads, read_rows, own, 2);
    return (bits_at(planes, rows, at, 0) ^ bits_at(reads, read_rows, own, 0)) |
           (bits_at(planes, rows, at, 1) ^ bits_at(reads, read_rows, own, 1)) | *masked;
}

/* The highest total of a stretch on a diagonal. */
static int best_stretch(__global const ulong *planes, ulong rows, long at, __global const ulong *reads, ulong read_rows,
                        long own, int length, stretch_costs costs)
{
    int best = 0, behind = 0, begin = 0, running = costs.bonus;
    for (int word = 0; word < length; word += 64) {
        ulong masked, differ = differing(planes, rows, at + word, reads, read_rows, own + word, &masked);
        if (length - word < 64)
            differ &= ((ulong)1 << (length - word)) - 1;
        for (; differ; differ &= differ - 1) {
            int bit = 63 - (int)clz(differ & (0 - differ)), here = word + bit;
            running += (here - behind) * costs.match;
            if (here > begin)
                best = max(best, running);
            running -= masked >> bit & 1 ? 1 : costs.mismatch;
            behind = here + 1;
            if (running < 0) {
                running = 0;
                begin = behind;
            }
        }
    }
    running += (length - behind) * costs.match + costs.bonus;
    return length > begin ? max(best, running) : best;
}

/* How many bases of a read differ on a diagonal, or a number above `limit`. */
static int count_differing(__global const ulong *planes, ulong rows, long at, __global const ulong *reads,
                           ulong read_rows, long own, int length, int limit)
{
    int count = 0;
    for (int word = 0; word < length && count <= limit; word += 64) {
        ulong masked, differ = differing(planes, rows, at + word, reads, read_rows, own + word, &masked);
        count += (int)popcount(length - word < 64 ? differ & (((ulong)1 << (length - word)) - 1) : differ);
    }
    return count;
}

static int total_of(int mismatches, int length, stretch_costs costs)
{
    return length * costs.match + 2 * costs.bonus - mismatches * (costs.match + costs.mismatch);
}

/* Gives up the reads that a stretch on the diagonal of their longest anchor fits better, by `gain`, than the best band and
 * than the whole read on the diagonal of any anchor (stretches.pyx, `leave_to_local`). Their anchors are dropped. No read
 * with `sure` errors or fewer is given up, nor where the stretch has less than `least`. */
__kernel void leave_to_local(READ_ARGS, ulong read_rows, uint n_reads, uint n_active, __global const uint *active,
                           __global const short *plan, __global const ulong *planes, ulong rows, int match,
                           int mismatch, int bonus, int sure, int gain, int least, __global const uint2 *segment,
                           __global ulong *anchors, __global ushort *state)
{
    uint i = get_global_id(0);
    if (i >= n_active)
        return;
    stretch_costs costs = {match, mismatch, bonus};
    uint read = active[i], chosen = NOWHERE, longest = 0;
    int length = read_length[read], best = STATE(BEST, read);
    uint2 own = segment[read];
    if (best <= sure)
        return;
    for (uint j = own.x; j < own.x + own.y; j++)
        if (anchor_fate(anchors[j]) == ANCHOR_LIVE && anchor_length(anchors[j]) > longest) {
            longest = anchor_length(anchors[j]);
            chosen = j;
        }
    if (chosen == NOWHERE)
        return;
    long forward = 64 * (long)row_of(read_row[read], length, 0), reverse = 64 * (long)row_of(read_row[read], length, 1);
    uint flip = read_flip[read];
    int total = best_stretch(planes, rows, anchor_diagonal(anchors[chosen]), reads, read_rows,
                             anchor_strand(anchors[chosen]) ^ flip ? reverse : forward, length, costs);
    STATE(EVIDENCE, read) = max(STATE(EVIDENCE, read), (ushort)total);
    int fewest = best == NO_SCORE ? PLAN(ERRORS, length) + 1 : best;
    if (total < max(total_of(fewest, length, costs) + gain, least))
        return;
    for (uint j = own.x; j < own.x + own.y; j++)
        if (anchor_fate(anchors[j]) == ANCHOR_LIVE)
            fewest = min(fewest, count_differing(planes, rows, anchor_diagonal(anchors[j]), reads, read_rows,
                                                 anchor_strand(anchors[j]) ^ flip ? reverse : forward, length, fewest));
    if (total < total_of(fewest, length, costs) + gain)
        return;
    STATE(LEFT_TO_LOCAL, read) = 1;
    for (uint j = own.x; j < own.x + own.y; j++)
        if (anchor_fate(anchors[j]) == ANCHOR_LIVE)
            anchors[j] |= ANCHOR_DROPPED;
}

/* The total of the best stretch on the diagonal of every anchor, as `collect_anchors` has left them: stretches uint[n]. */
__kernel void score_stretches(READ_ARGS, ulong read_rows, uint n, __global const ulong *planes, ulong rows, int match,
                              int mismatch, int bonus, __global const uint *columns, __global uint *stretches)
{
    uint i = get_global_id(0);
    if (i >= n)
        return;
    stretch_costs costs = {match, mismatch, bonus};
    uint read = columns[i] >> 1, reverse = columns[i] & 1;
    int length = read_length[read];
    stretches[i] = best_stretch(planes, rows, columns[n + i], reads, read_rows,
                                64 * (long)row_of(read_row[read], length, reverse), length, costs);
}
