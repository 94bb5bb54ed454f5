/* Few keys of 64 bits sorted, and one looked for among sorted ones. */
#ifndef GASSST_SORTED_KEYS_H
#define GASSST_SORTED_KEYS_H

#include "portable.h"

INLINE void insertion_sort_u64(GLOBAL uint64_t *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const uint64_t x = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

/* The first of n sorted keys that is not below `key`; n if there is none. */
INLINE size_t first_from(GLOBAL const uint64_t *keys, size_t n, uint64_t key)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) >> 1;
        if (keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
