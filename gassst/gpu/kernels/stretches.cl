/* Reads of which a part fits better than the whole (ext/align/stretches.pyx). */
#include "stretches.h"

/* The best stretch on the diagonal of every anchor, as `collect_anchors` has left them: stretches uint[2, n], totals, and
   where they begin and end in two halves. */
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
    stretch_t best = best_stretch(reference, columns[n + i], reads, first, length, costs, INT_MIN);
    stretches[i] = best.total, stretches[n + i] = best.begin << 16 | best.end;
}
