/* Reads that repeat bases of their own (ext/search/tandem.pyx): others lie in no tandem repeat. */
#include "repeats.h"

/* Of every read 1 if its forward strand repeats itself, and 2 if the reverse one does: the middle word may be another. */
__kernel void note_repeats(READ_ARGS, uint n_reads, __global uchar *repeats)
{
    uint read = get_global_id(0);
    if (read >= n_reads)
        return;
    planes_t reads = READS;
    uint length = read_length[read], both = 0;
    for (uint reverse = 0; reverse < 2; reverse++)
        both |= repeats_itself(reads, first_base(read_row[read], reverse, length), length, SAME_PLACE + 1) << reverse;
    repeats[read] = (uchar)both;
}
