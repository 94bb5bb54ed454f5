/* Which contig an alignment belongs to, and which run of masked bases a base. */
#ifndef GASSST_CONTIGS_H
#define GASSST_CONTIGS_H

#include <stddef.h>
#include <stdint.h>

/* How many of `n` sorted starts are at or before a coordinate: contigs, or runs of masked bases. */
static inline size_t contigs_before(const int64_t *starts, size_t n, int64_t coordinate)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) >> 1;
        if (starts[middle] <= coordinate)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The contig, of `n` sorted ones, that holds a concatenated coordinate, or the nearest one when it lies between two. */
static inline size_t contig_near(const int64_t *starts, const int64_t *lengths, size_t n, int64_t coordinate)
{
    const size_t before = contigs_before(starts, n, coordinate);
    size_t low = before ? before - 1 : 0;
    if (low + 1 < n && starts[low + 1] - coordinate < coordinate - (starts[low] + lengths[low]))
        low += 1;
    return low;
}

#endif
