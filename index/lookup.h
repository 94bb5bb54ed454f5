/* Where a seed occurs: the half-open range of `positions` whose bases begin with it.
 *
 * A seed of w bases, 1 <= w <= k + 16, is its code (first base most significant, bits above 2w zero).
 * Up to k bases the table alone answers; up to k + 4, a search of `following`; beyond, the entries that are
 * still equal are told apart by bases read from the planes. All three orders are one: positions are sorted
 * by k-mer, then the 16 bases behind it.
 *
 * Each step reads memory that is probably not in the cache. lookup_group takes each step for a whole group of
 * seeds, and each step asks for what the next one reads. */
#ifndef GASSST_LOOKUP_H
#define GASSST_LOOKUP_H

#include <stdint.h>

#include "kmer_code.h"

enum {
    LOOKUP_INLINE = 4,       /* bases in an element of `following` */
    LOOKUP_SORTED = 16,      /* bases behind the k-mer that positions are sorted by */
    LOOKUP_LINEAR = 32,      /* buckets up to this size are counted through: half a cache line, no branch to miss */
    LOOKUP_GROUP = 128,      /* of 64, 128 and 512 the fastest */
    LOOKUP_DEEP_LINEAR = 8   /* the same for entries read from the planes: their cache misses overlap */
};

typedef struct {
    const uint32_t *table;      /* [4^k + 1] */
    const uint32_t *positions;  /* [p] concatenated coordinates */
    const uint8_t *following;   /* [p] the 4 bases after the k-mer */
    const uint64_t *planes;     /* [rows][3], at least two rows */
    unsigned k;
    uint32_t p;
    uint64_t rows;
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

/* The elements of `following` that begin with the bases of the seed behind its k-mer: from first to before end. */
typedef struct {
    uint32_t first, end;
} lookup_span_t;

static inline lookup_span_t lookup_span(const seed_index_t *index, uint64_t seed, unsigned w)
{
    const unsigned behind = w - index->k;
    const uint64_t rest = seed & ((1ULL << 2 * behind) - 1);
    if (behind > LOOKUP_INLINE) {
        const uint32_t inlined = (uint32_t)(rest >> 2 * (behind - LOOKUP_INLINE));
        return (lookup_span_t){inlined, inlined + 1};
    }
    const unsigned shift = 2 * (LOOKUP_INLINE - behind);
    return (lookup_span_t){(uint32_t)(rest << shift), (uint32_t)((rest + 1) << shift)};
}

static inline void lookup_prefetch_following(const seed_index_t *index, seed_range_t range)
{
    if (range.hi - range.lo > LOOKUP_LINEAR) {
        __builtin_prefetch(index->following + range.lo + (range.hi - range.lo) / 2);
    } else if (range.lo < range.hi) {
        __builtin_prefetch(index->following + range.lo);
        __builtin_prefetch(index->following + range.hi - 1);
    }
}

/* Entries of the k-mers from one to before another. An index file may be damaged, and is checked only while it is used:
 * the range may then be wrong, but never lies outside the arrays. */
static inline seed_range_t lookup_entries(const seed_index_t *index, uint64_t kmer, uint64_t end)
{
    const uint32_t hi = index->table[end] < index->p ? index->table[end] : index->p;
    const uint32_t lo = index->table[kmer] < hi ? index->table[kmer] : hi;
    return (seed_range_t){lo, hi};
}

/* Entries of the k-mers that begin with the seed, or of the k-mer that the seed begins with. */
static inline seed_range_t lookup_bucket(const seed_index_t *index, uint64_t seed, unsigned w)
{
    const unsigned k = index->k;
    if (w <= k)
        return lookup_entries(index, seed << 2 * (k - w), (seed + 1) << 2 * (k - w));
    const uint64_t kmer = lookup_kmer(index, seed, w);
    const seed_range_t range = lookup_entries(index, kmer, kmer + 1);
    lookup_prefetch_following(index, range);
    return range;
}

/* Halve the range of a seed longer than k; 0 when lookup_near can take over. */
static inline int lookup_narrow(const seed_index_t *index, uint64_t seed, unsigned w, seed_range_t *range)
{
    if (w <= index->k || range->hi - range->lo <= LOOKUP_LINEAR)
        return 0;
    const lookup_span_t span = lookup_span(index, seed, w);
    const uint32_t middle = range->lo + (range->hi - range->lo) / 2, here = index->following[middle];
    if (here < span.first)
        range->lo = middle + 1;
    else if (here >= span.end)
        range->hi = middle;
    else
        return 0;
    lookup_prefetch_following(index, *range);
    return 1;
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
    const uint64_t at = (uint64_t)index->positions[entry] + index->k + LOOKUP_INLINE, last = 64 * (index->rows - 1) - 1;
    return plane_bases(index->planes, at < last ? at : last, n);
}

/* Of a range that holds all of them, the entries that agree with the seed as far as `table` and `following` tell:
 * all there is to do up to k + 4 bases. For longer seeds, prefetches the first position that the next step reads. */
static inline seed_range_t lookup_near(const seed_index_t *index, uint64_t seed, unsigned w, seed_range_t range)
{
    if (w <= index->k)
        return range;
    const lookup_span_t span = lookup_span(index, seed, w);
    range = lookup_following(index->following, range, span.first, span.end);
    if (w > index->k + LOOKUP_INLINE && range.lo < range.hi)
        __builtin_prefetch(index->positions + range.lo + (range.hi - range.lo) / 2);
    return range;
}

/* Whether the seed is longer than lookup_near can tell, and how many entries that leaves to read from the planes. */
static inline uint32_t lookup_is_deep(const seed_index_t *index, unsigned w, seed_range_t range)
{
    return w > index->k + LOOKUP_INLINE ? range.hi - range.lo : 0;
}

/* Prefetches the bases of all of a few entries. */
static inline void lookup_prefetch_deep(const seed_index_t *index, seed_range_t range)
{
    for (uint32_t i = range.lo; i < range.hi; ++i)
        __builtin_prefetch(index->planes + 3 * ((index->positions[i] + index->k + LOOKUP_INLINE) >> 6));
}

/* Of a few entries that lookup_near returned the part that agrees with all of the seed. */
static inline seed_range_t lookup_far(const seed_index_t *index, uint64_t seed, unsigned w, seed_range_t range)
{
    const unsigned deep = w - index->k - LOOKUP_INLINE;
    const uint64_t bound = seed & ((1ULL << 2 * deep) - 1);
    uint32_t before = 0, within = 0;
    for (uint32_t i = range.lo; i < range.hi; ++i) {
        const uint64_t bases = lookup_deep_bases(index, i, deep);
        before += bases < bound;
        within += bases <= bound;
    }
    return (seed_range_t){range.lo + before, range.lo + within};
}

/* A search among many entries for the first whose deep bases are not below `bound`. */
typedef struct {
    uint64_t bound;
    uint32_t lo, hi;
    uint16_t seed;
    uint8_t deep, is_end; /* of the seed's range it looks for the end, not the start */
} lookup_search_t;

static inline uint32_t lookup_middle(const lookup_search_t *search)
{
    return search->lo + (search->hi - search->lo) / 2;
}

/* Both ends of the range of each of these seeds, halved in lock-step: a step reads a position, then bases there. */
static inline void lookup_far_group(const seed_index_t *index, const uint64_t *seeds, const uint8_t *widths,
                                    const uint16_t *wide, unsigned n_wide, seed_range_t *found)
{
    lookup_search_t searches[2 * LOOKUP_GROUP];
    unsigned n = 0;
    for (unsigned j = 0; j < n_wide; ++j)
        for (unsigned is_end = 0; is_end < 2; ++is_end) {
            const unsigned i = wide[j], deep = widths[i] - index->k - LOOKUP_INLINE;
            const uint64_t bound = (seeds[i] & ((1ULL << 2 * deep) - 1)) + is_end;
            searches[n++] = (lookup_search_t){bound, found[i].lo, found[i].hi, wide[j], (uint8_t)deep, (uint8_t)is_end};
        }
    while (n) {
        unsigned left = 0;
        for (unsigned j = 0; j < n; ++j)
            __builtin_prefetch(index->positions + lookup_middle(&searches[j]));
        for (unsigned j = 0; j < n; ++j)
            __builtin_prefetch(index->planes +
                               3 * ((index->positions[lookup_middle(&searches[j])] + index->k + LOOKUP_INLINE) >> 6));
        for (unsigned j = 0; j < n; ++j) {
            lookup_search_t search = searches[j];
            const uint32_t middle = lookup_middle(&search);
            if (lookup_deep_bases(index, middle, search.deep) < search.bound)
                search.lo = middle + 1;
            else
                search.hi = middle;
            if (search.lo < search.hi)
                searches[left++] = search;
            else if (search.is_end)
                found[search.seed].hi = search.lo;
            else
                found[search.seed].lo = search.lo;
        }
        n = left;
    }
}

/* The ranges of up to LOOKUP_GROUP seeds, of widths[i] bases each. */
static inline void lookup_group(const seed_index_t *index, const uint64_t *seeds, const uint8_t *widths,
                                seed_range_t *found, unsigned n)
{
    uint16_t wide[LOOKUP_GROUP], few[LOOKUP_GROUP];
    unsigned n_wide = n;
    for (unsigned i = 0; i < n; ++i) {
        wide[i] = (uint16_t)i;
        lookup_prefetch_table(index, seeds[i], widths[i]);
    }
    for (unsigned i = 0; i < n; ++i)
        found[i] = lookup_bucket(index, seeds[i], widths[i]);
    while (n_wide) {
        unsigned left = 0;
        for (unsigned j = 0; j < n_wide; ++j) {
            const unsigned i = wide[j];
            wide[left] = (uint16_t)i;
            left += lookup_narrow(index, seeds[i], widths[i], &found[i]);
        }
        n_wide = left;
    }
    for (unsigned i = 0; i < n; ++i)
        found[i] = lookup_near(index, seeds[i], widths[i], found[i]);
    unsigned n_few = 0;
    for (unsigned i = 0; i < n; ++i) {
        const uint32_t entries = lookup_is_deep(index, widths[i], found[i]);
        if (entries > LOOKUP_DEEP_LINEAR) {
            wide[n_wide++] = (uint16_t)i;
        } else if (entries) {
            few[n_few++] = (uint16_t)i;
            lookup_prefetch_deep(index, found[i]);
        }
    }
    for (unsigned j = 0; j < n_few; ++j)
        found[few[j]] = lookup_far(index, seeds[few[j]], widths[few[j]], found[few[j]]);
    lookup_far_group(index, seeds, widths, wide, n_wide, found);
}

#endif
