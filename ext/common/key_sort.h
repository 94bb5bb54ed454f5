/* Sorting of the anchors of one read: 64-bit keys, mostly a few dozen, at times many thousands. */
#ifndef GASSST_KEY_SORT_H
#define GASSST_KEY_SORT_H

#include <stdlib.h>
#include <string.h>

#include "sorted_keys.h"

enum {
    INSERTION_LIMIT = 16, /* keys: up to here insertion sort is the fastest, and in one interval chance seldom brings more */
    SPREAD_MOST = 2048,   /* keys: behind that the counters of intervals leave too little of the first cache */
};

/* Least significant digit radix sort of the digits that differ at all; `scratch` has room for n keys. */
static inline void radix_sort_u64(uint64_t *a, uint64_t *scratch, size_t n)
{
    uint64_t all_or = 0, all_and = ~(uint64_t)0;
    for (size_t i = 0; i < n; i++) {
        all_or |= a[i];
        all_and &= a[i];
    }
    uint64_t differs = all_or ^ all_and;
    uint64_t *from = a, *to = scratch;
    for (int shift = 0; shift < 64; shift += 8) {
        if (!((differs >> shift) & 0xff))
            continue;
        size_t start[257] = {0};
        for (size_t i = 0; i < n; i++)
            start[((from[i] >> shift) & 0xff) + 1]++;
        for (int d = 0; d < 256; d++)
            start[d + 1] += start[d];
        for (size_t i = 0; i < n; i++)
            to[start[(from[i] >> shift) & 0xff]++] = from[i];
        uint64_t *t = from;
        from = to;
        to = t;
    }
    if (from != a)
        memcpy(a, from, n * sizeof *a);
}

/* Sorts by one scatter into about as many equal intervals as there are keys, then by insertion. Places drawn from all
 * of a genome fill the intervals evenly. Keys that crowd some, as those of tandem repeats do, are sorted by digits. */
static inline void spread_sort_u64(uint64_t *a, uint64_t *scratch, size_t n)
{
    uint16_t start[SPREAD_MOST + 1], largest = 0;
    uint64_t least = a[0], most = a[0];
    for (size_t i = 1; i < n; i++) {
        least = a[i] < least ? a[i] : least;
        most = a[i] > most ? a[i] : most;
    }
    const int digits = 64 - __builtin_clzll((uint64_t)n - 1), span = 64 - __builtin_clzll((most - least) | 1);
    const int shift = span > digits ? span - digits : 0;
    const size_t intervals = (size_t)((most - least) >> shift) + 1;
    memset(start, 0, (intervals + 1) * sizeof *start);
    for (size_t i = 0; i < n; i++)
        start[((a[i] - least) >> shift) + 1]++;
    for (size_t d = 1; d <= intervals; d++) {
        largest = start[d] > largest ? start[d] : largest;
        start[d] = (uint16_t)(start[d] + start[d - 1]);
    }
    if (largest > INSERTION_LIMIT) {
        radix_sort_u64(a, scratch, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        scratch[start[(a[i] - least) >> shift]++] = a[i];
    for (size_t i = 0; i < n; i++) {
        size_t j = i;
        for (; j > 0 && a[j - 1] > scratch[i]; j--)
            a[j] = a[j - 1];
        a[j] = scratch[i];
    }
}

/* `scratch` has room for n keys. */
static inline void sort_keys(uint64_t *a, uint64_t *scratch, size_t n)
{
    if (n <= INSERTION_LIMIT) {
        insertion_sort_u64(a, n);
        return;
    }
    size_t sorted = 1; /* all of them, if they are the places of one seed */
    while (sorted < n && a[sorted - 1] <= a[sorted])
        sorted++;
    if (sorted == n)
        return;
    if (n > SPREAD_MOST)
        radix_sort_u64(a, scratch, n);
    else
        spread_sort_u64(a, scratch, n);
}

#endif
