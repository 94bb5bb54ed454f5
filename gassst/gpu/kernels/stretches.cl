/* Reads of which a part fits better than the whole (ext/align/stretches.pyx). */
#include "stretches.h"

/* Gives up the reads that a stretch on the diagonal of their longest anchor fits better, by the bonus of both ends, than the best band and
 * than the whole read on the diagonal of any anchor (stretches.pyx, `leave_to_local`). Their anchors are dropped. No read
 * with `sure` errors or fewer is given up, nor where the stretch has less than `least`. */
__kernel void leave_to_local(READ_ARGS, uint n_reads, uint n_active, __global const uint *active,
                           __global const short *plan, REFERENCE_ARGS, int match, int mismatch, int bonus, int sure,
                           int least, __global const uint2 *segment, __global ulong *anchors,
                           __global ushort *state)
{
    uint i = get_global_id(0);
    if (i >= n_active)
        return;
    planes_t reads = READS, reference = REFERENCE;
    costs_t costs = {match, mismatch, bonus};
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
    uint flip = read_flip[read], row = read_row[read];
    int total = best_stretch(reference, anchor_diagonal(anchors[chosen]), reads,
                             first_base(row, anchor_strand(anchors[chosen]) ^ flip, length), length, costs, INT_MIN).total;
    int fewest = best == NO_SCORE ? PLAN(ERRORS, length) + 1 : best;
    if (total < max(total_with(fewest, length, costs) + 2 * bonus, least))
        return;
    for (uint j = own.x; j < own.x + own.y; j++)
        if (anchor_fate(anchors[j]) == ANCHOR_LIVE)
            fewest = min(fewest, count_differences(reference, anchor_diagonal(anchors[j]), reads,
                                                   first_base(row, anchor_strand(anchors[j]) ^ flip, length), length, fewest));
    if (total < total_with(fewest, length, costs) + 2 * bonus)
        return;
    STATE(LEFT_TO_LOCAL, read) = 1;
    for (uint j = own.x; j < own.x + own.y; j++)
        if (anchor_fate(anchors[j]) == ANCHOR_LIVE)
            anchors[j] |= ANCHOR_DROPPED;
}

/* The total of the best stretch on the diagonal of every anchor, as `collect_anchors` has left them: stretches uint[n]. */
__kernel void score_stretches(READ_ARGS, uint n, REFERENCE_ARGS, int match, int mismatch, int bonus,
                              __global const uint *columns, __global uint *stretches)
{
    uint i = get_global_id(0);
    if (i >= n)
        return;
    planes_t reads = READS, reference = REFERENCE;
    costs_t costs = {match, mismatch, bonus};
    uint read = columns[i] >> 1, length = read_length[read];
    long first = first_base(read_row[read], columns[i] & 1, length);
    stretches[i] = best_stretch(reference, columns[n + i], reads, first, length, costs, INT_MIN).total;
}
