/* Reads that repeat bases of their own (ext/search/tandem.pyx, `repeats_itself`): others lie in no tandem repeat. */
#define WORD_BASES 8
#define NEAREST 11

/* All bits, but for one if there is such a bit. */
static ulong without(int at) { return 0 <= at && at < 64 ? ~((ulong)1 << at) : ~(ulong)0; }

/* Whether one of three words of a strand, the first, the middle and the last one, occurs in it once more. `first`: its
 * first base in the planes of the reads. */
static int repeats_itself(__global const ulong *reads, long rows, long first, int length)
{
    int last = length - WORD_BASES, at_word[3] = {0, last / 2, last};
    uint low_word[3], high_word[3];
    if (last < NEAREST)
        return 0;
    for (int w = 0; w < 3; w++) {
        low_word[w] = (uint)bits_at(reads, rows, first + at_word[w], 0);
        high_word[w] = (uint)bits_at(reads, rows, first + at_word[w], 1);
    }
    for (int at = 0; at <= last; at += 64) {
        ulong inside = last + 1 - at >= 64 ? ~(ulong)0 : ((ulong)1 << (last + 1 - at)) - 1, any = 0;
        ulong found[3];
        for (int w = 0; w < 3; w++)
            found[w] = without(at_word[w] - at);
        for (int j = 0; j < WORD_BASES; j++) {
            ulong low = bits_at(reads, rows, first + at + j, 0), high = bits_at(reads, rows, first + at + j, 1);
            for (int w = 0; w < 3; w++)
                found[w] &= ~((low ^ (0 - (ulong)(low_word[w] >> j & 1))) | (high ^ (0 - (ulong)(high_word[w] >> j & 1))));
        }
        for (int w = 0; w < 3; w++)
            any |= found[w];
        if (any & inside)
            return 1;
    }
    return 0;
}

/* Of every read 1 if its forward strand repeats itself, and 2 if the reverse one does: the middle word may be another. */
__kernel void note_repeats(READ_ARGS, ulong read_rows, uint n_reads, __global uchar *repeats)
{
    uint read = get_global_id(0);
    if (read >= n_reads)
        return;
    uint length = read_length[read], both = 0;
    for (uint reverse = 0; reverse < 2; reverse++)
        both |= repeats_itself(reads, read_rows, 64 * (long)row_of(read_row[read], length, reverse), length) << reverse;
    repeats[read] = (uchar)both;
}
