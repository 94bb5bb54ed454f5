/* Sorts the entries of a k-mer's bucket: distinct 64-bit words, (16 following bases) << 32 | coordinate.
 *
 * Short runs by insertion; others by the most significant byte in which they differ, in place (American flag
 * sort), then each part by the bytes below. Every level is linear and there are at most eight, so poly-A and
 * satellite buckets of millions of equal keys cost what any others do. */
#ifndef GASSST_BUCKET_SORT_H
#define GASSST_BUCKET_SORT_H

#include "sorted_keys.h"

enum { SORT_INSERTION = 40, SORT_DIGITS = 256 };

/* Entries are equal above bit shift + 8. Moves each to the part of its digit; ends[d] is where part d ends. */
static inline void flag_partition(uint64_t *entries, const size_t *counts, size_t *ends, unsigned shift)
{
    size_t next[SORT_DIGITS], sum = 0;
    for (int d = 0; d < SORT_DIGITS; ++d) {
        next[d] = sum;
        ends[d] = sum += counts[d];
    }
    for (int d = 0; d < SORT_DIGITS; ++d)
        while (next[d] < ends[d]) {
            uint64_t entry = entries[next[d]];
            for (unsigned digit; (digit = entry >> shift & 255) != (unsigned)d;) {
                const uint64_t moved = entries[next[digit]];
                entries[next[digit]++] = entry;
                entry = moved;
            }
            entries[next[d]++] = entry;
        }
}

static void sort_bits(uint64_t *entries, size_t n, unsigned shift)
{
    if (n <= SORT_INSERTION) {
        insertion_sort_u64(entries, n);
        return;
    }
    size_t counts[SORT_DIGITS], ends[SORT_DIGITS];
    for (;; shift -= 8) {  /* ends: the words are distinct */
        for (int d = 0; d < SORT_DIGITS; ++d)
            counts[d] = 0;
        for (size_t i = 0; i < n; ++i)
            ++counts[entries[i] >> shift & 255];
        if (counts[entries[0] >> shift & 255] < n)
            break;
    }
    flag_partition(entries, counts, ends, shift);
    for (int d = 0; d < SORT_DIGITS; ++d)
        if (counts[d] > 1)
            sort_bits(entries + ends[d] - counts[d], counts[d], shift - 8);
}

static inline void sort_entries(uint64_t *entries, size_t n)
{
    sort_bits(entries, n, 56);
}

#endif
