/* Where a seed occurs: the half-open range of `positions` whose bases begin with it.
 *
 * A seed of w bases, 1 <= w <= k + 16, is its code (first base most significant, bits above 2w zero).
 * Up to k bases the table alone answers; up to k + 4, a search of `following`; beyond, the entries that are
 * still equal are told apart by bases read from the planes. All three orders are one: positions are sorted
 * by k-mer, then the 16 bases behind it.
 *
 * Each step reads memory that is probably not in the cache. Callers that hold many seeds go over them
 * three times: lookup_prefetch_table for all, lookup_prefetch_bucket for all, lookup for all; 32 to 128
 * seeds a round keep the prefetched lines alive. Where seeds are longer than k + 4, the third time is better
 * split: lookup_near for all, lookup_far for all. */
#ifndef GASSST_LOOKUP_H
#define GASSST_LOOKUP_H

#include <stdint.h>

#include "kmer_code.h"

enum {
    LOOKUP_INLINE = 4,       /* bases in an element of `following` */
    LOOKUP_SORTED = 16,      /* bases behind the k-mer that positions are sorted by */
    LOOKUP_LINEAR = 32,      /* buckets up to this size are counted through: half a cache line, no branch to miss */
    LOOKUP_DEEP_LINEAR = 8   /* the same for entries read from the planes: their cache misses overlap */
};

typedef struct {
    const uint32_t *table;      /* [4^k + 1] */
    const uint32_t *positions;  /* [p] concatenated coordinates */
    const uint8_t *following;   /* [p] the 4 bases after the k-mer */
    const uint64_t *planes;     /* [n][3] */
    unsigned k;
} seed_index_t;

typedef struct {
    uint32_t lo, hi;            /* positions[lo .. hi - 1] */
} seed_range_t;

/* First k-mer that begins with the seed, or the k-mer that the seed begins with. */
static inline uint64_t lookup_kmer(const seed_index_t *index, uint64_t seed, unsigned w)
{
    return w <= index->k ? seed << 2 * (index->k - w) : seed >> 2 * (w - index->k);
}

static inline void lookup_prefetch_table(const seed_index_t *index, uint64_t seed, unsigned w)
{
    __builtin_prefetch(index->table + lookup_kmer(index, seed, w));
}

static inline void lookup_prefetch_bucket(const seed_index_t *index, uint64_t seed, unsigned w)
{
    if (w <= index->k)
        return;
    const uint64_t kmer = lookup_kmer(index, seed, w);
    const uint32_t lo = index->table[kmer], hi = index->table[kmer + 1];
    __builtin_prefetch(index->following + lo + (hi - lo > LOOKUP_LINEAR ? (hi - lo) / 2 : 0));
    if (w > index->k + LOOKUP_INLINE)
        __builtin_prefetch(index->positions + lo + (hi - lo) / 2);
}

/* The part of [lo, hi) whose `following` lies in [first, end); end may be 256. */
static inline seed_range_t lookup_following(const uint8_t *following, seed_range_t range, uint32_t first,
                                            uint32_t end)
{
    uint32_t lo = range.lo, hi = range.hi;
    while (hi - lo > LOOKUP_LINEAR) {
        const uint32_t middle = lo + (hi - lo) / 2, here = following[middle];
        if (here < first)
            lo = middle + 1;
        else if (here >= end)
            hi = middle;
        else
            break;
    }
    if (hi - lo <= LOOKUP_LINEAR) {
        uint32_t before = 0, within = 0;
        for (uint32_t i = lo; i < hi; ++i) {
            before += following[i] < first;
            within += following[i] < end;
        }
        return (seed_range_t){lo + before, lo + within};
    }
    /* The seed fills a good part of a large bucket: search its two ends apart. */
    uint32_t left = lo, left_end = lo + (hi - lo) / 2;
    while (left < left_end) {
        const uint32_t middle = left + (left_end - left) / 2;
        if (following[middle] < first)
            left = middle + 1;
        else
            left_end = middle;
    }
    uint32_t right = lo + (hi - lo) / 2, right_end = hi;
    while (right < right_end) {
        const uint32_t middle = right + (right_end - right) / 2;
        if (following[middle] < end)
            right = middle + 1;
        else
            right_end = middle;
    }
    return (seed_range_t){left, right};
}

/* The n bases (1 <= n <= 12) behind the k-mer of an entry and its 4 following ones. */
static inline uint64_t lookup_deep_bases(const seed_index_t *index, uint32_t entry, unsigned n)
{
    return plane_bases(index->planes, (uint64_t)index->positions[entry] + index->k + LOOKUP_INLINE, n);
}

/* First entry of [lo, hi) whose n deep bases are not below `bound`. */
static inline uint32_t lookup_deep_bound(const seed_index_t *index, uint32_t lo, uint32_t hi, unsigned n,
                                         uint64_t bound)
{
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (lookup_deep_bases(index, middle, n) < bound)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* Entries that agree with the seed as far as `table` and `following` tell: all there is to do up to k + 4 bases.
 * For longer seeds, prefetches what lookup_far reads first. */
static inline seed_range_t lookup_near(const seed_index_t *index, uint64_t seed, unsigned w)
{
    const unsigned k = index->k;
    const uint64_t kmer = lookup_kmer(index, seed, w);
    seed_range_t range = {index->table[kmer], 0};
    if (w <= k) {
        range.hi = index->table[(seed + 1) << 2 * (k - w)];
        return range;
    }
    range.hi = index->table[kmer + 1];
    const unsigned behind = w - k;  /* bases of the seed behind its k-mer */
    const uint64_t rest = seed & ((1ULL << 2 * behind) - 1);
    if (behind <= LOOKUP_INLINE) {
        const unsigned shift = 2 * (LOOKUP_INLINE - behind);
        return lookup_following(index->following, range, (uint32_t)(rest << shift), (uint32_t)((rest + 1) << shift));
    }
    const uint32_t inlined = (uint32_t)(rest >> 2 * (behind - LOOKUP_INLINE));
    range = lookup_following(index->following, range, inlined, inlined + 1);
    if (range.lo < range.hi) {
        const uint32_t position = index->positions[range.lo + (range.hi - range.lo) / 2];
        __builtin_prefetch(index->planes + 3 * ((position + k + LOOKUP_INLINE) >> 6));
    }
    return range;
}

/* The part of what lookup_near returned that agrees with all of the seed. */
static inline seed_range_t lookup_far(const seed_index_t *index, uint64_t seed, unsigned w, seed_range_t range)
{
    if (w <= index->k + LOOKUP_INLINE)
        return range;
    const unsigned deep = w - index->k - LOOKUP_INLINE;
    const uint64_t bound = seed & ((1ULL << 2 * deep) - 1);
    if (range.hi - range.lo <= LOOKUP_DEEP_LINEAR) {
        uint32_t before = 0, within = 0;
        for (uint32_t i = range.lo; i < range.hi; ++i) {
            const uint64_t bases = lookup_deep_bases(index, i, deep);
            before += bases < bound;
            within += bases <= bound;
        }
        return (seed_range_t){range.lo + before, range.lo + within};
    }
    range.lo = lookup_deep_bound(index, range.lo, range.hi, deep, bound);
    range.hi = lookup_deep_bound(index, range.lo, range.hi, deep, bound + 1);
    return range;
}

static inline seed_range_t lookup(const seed_index_t *index, uint64_t seed, unsigned w)
{
    return lookup_far(index, seed, w, lookup_near(index, seed, w));
}

#endif
