/* Where a seed occurs: the half-open range of `positions` whose bases begin with it.
 *
 * A seed of w bases, 1 <= w <= k + 16, is its code (first base most significant, bits above 2w zero).
 * Up to k bases the table alone answers; up to k + 4, a search of `following`; beyond, the entries that are
 * still equal are told apart by bases read from the planes. All three orders are one: positions are sorted
 * by k-mer, then the 16 bases behind it.
 *
 * An index of step 2 or 4 has the positions of every second or fourth base. A seed of the read then becomes `step`
 * seeds, one without its first base, one without its first two, and so on: of any place just one begins on a
 * position that the index has. So that those left out can be compared, the step - 1 bases before a position lie in
 * the least significant bits of its element of `following`, below fewer or more bases after its k-mer.
 *
 * Each step reads memory that is probably not in the cache. lookup_group takes each step for a whole group of
 * seeds, and each step asks for what the next one reads. */
#ifndef GASSST_LOOKUP_H
#define GASSST_LOOKUP_H

#include <stdint.h>

#include "kmer_code.h"

enum {
    LOOKUP_LINEAR = 32,      /* buckets up to this size are counted through: half a cache line, no branch to miss */
    LOOKUP_GROUP = 128,      /* of 64, 128 and 512 the fastest */
    LOOKUP_DEEP_LINEAR = 8   /* the same for entries read from the planes: their cache misses overlap */
};

typedef struct {
    const uint32_t *table;      /* [4^k + 1] */
    const uint32_t *positions;  /* [p] concatenated coordinates */
    const void *following;      /* [p] bases after the k-mer, bases before it: bytes, at step 4 words of 16 bits */
    const uint64_t *planes;     /* [rows][3], at least two rows */
    unsigned k;
    uint32_t p;
    uint64_t rows;
    unsigned step;              /* 1, 2 or 4 */
} seed_index_t;

typedef struct {
    uint32_t lo, hi;            /* positions[lo .. hi - 1] */
} seed_range_t;

/* The functions below are compiled once for each step: in those for step 1 nothing is left of the others. */
#define LOOKUP_OF_STEP static inline __attribute__((always_inline))

/* Bases after the k-mer in an element of `following`. */
LOOKUP_OF_STEP unsigned lookup_inline(const unsigned step)
{
    return step == 1 ? 4 : step == 2 ? 3 : 5;
}

/* Bases behind the k-mer that positions are sorted by. Step 4 has a table of shorter k-mers, and sorts by one more. */
LOOKUP_OF_STEP unsigned lookup_sorted(const unsigned step)
{
    return step == 4 ? 17 : 16;
}

LOOKUP_OF_STEP uint32_t lookup_element(const seed_index_t *index, uint32_t entry, const unsigned step)
{
    return step == 4 ? ((const uint16_t *)index->following)[entry] : ((const uint8_t *)index->following)[entry];
}

LOOKUP_OF_STEP void lookup_prefetch_element(const seed_index_t *index, uint32_t entry, const unsigned step)
{
    __builtin_prefetch((const uint8_t *)index->following + (step == 4 ? 2 : 1) * (uint64_t)entry);
}

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

LOOKUP_OF_STEP lookup_span_t lookup_span(const seed_index_t *index, uint64_t seed, unsigned w, const unsigned step)
{
    const unsigned behind = w - index->k, before = 2 * (step - 1);
    const uint64_t rest = seed & ((1ULL << 2 * behind) - 1);
    if (behind > lookup_inline(step)) {
        const uint32_t inlined = (uint32_t)(rest >> 2 * (behind - lookup_inline(step)));
        return (lookup_span_t){inlined << before, (inlined + 1) << before};
    }
    const unsigned shift = 2 * (lookup_inline(step) - behind) + before;
    return (lookup_span_t){(uint32_t)(rest << shift), (uint32_t)((rest + 1) << shift)};
}

LOOKUP_OF_STEP void lookup_prefetch_following(const seed_index_t *index, seed_range_t range, const unsigned step)
{
    if (range.hi - range.lo > LOOKUP_LINEAR) {
        lookup_prefetch_element(index, range.lo + (range.hi - range.lo) / 2, step);
    } else if (range.lo < range.hi) {
        lookup_prefetch_element(index, range.lo, step);
        lookup_prefetch_element(index, range.hi - 1, step);
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
LOOKUP_OF_STEP seed_range_t lookup_bucket(const seed_index_t *index, uint64_t seed, unsigned w, const unsigned step)
{
    const unsigned k = index->k;
    if (w <= k)
        return lookup_entries(index, seed << 2 * (k - w), (seed + 1) << 2 * (k - w));
    const uint64_t kmer = lookup_kmer(index, seed, w);
    const seed_range_t range = lookup_entries(index, kmer, kmer + 1);
    lookup_prefetch_following(index, range, step);
    return range;
}

/* Halve the range of a seed longer than k; 0 when lookup_near can take over. */
LOOKUP_OF_STEP int lookup_narrow(const seed_index_t *index, uint64_t seed, unsigned w, seed_range_t *range,
                                 const unsigned step)
{
    if (w <= index->k || range->hi - range->lo <= LOOKUP_LINEAR)
        return 0;
    const lookup_span_t span = lookup_span(index, seed, w, step);
    const uint32_t middle = range->lo + (range->hi - range->lo) / 2, here = lookup_element(index, middle, step);
    if (here < span.first)
        range->lo = middle + 1;
    else if (here >= span.end)
        range->hi = middle;
    else
        return 0;
    lookup_prefetch_following(index, *range, step);
    return 1;
}

/* The part of [lo, hi) whose `following` lies in [first, end); end may be one more than fits an element. */
LOOKUP_OF_STEP seed_range_t lookup_following(const seed_index_t *index, seed_range_t range, uint32_t first,
                                             uint32_t end, const unsigned step)
{
    uint32_t lo = range.lo, hi = range.hi;
    while (hi - lo > LOOKUP_LINEAR) {
        const uint32_t middle = lo + (hi - lo) / 2, here = lookup_element(index, middle, step);
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
            before += lookup_element(index, i, step) < first;
            within += lookup_element(index, i, step) < end;
        }
        return (seed_range_t){lo + before, lo + within};
    }
    /* The seed fills a good part of a large bucket: search its two ends apart. */
    uint32_t left = lo, left_end = lo + (hi - lo) / 2;
    while (left < left_end) {
        const uint32_t middle = left + (left_end - left) / 2;
        if (lookup_element(index, middle, step) < first)
            left = middle + 1;
        else
            left_end = middle;
    }
    uint32_t right = lo + (hi - lo) / 2, right_end = hi;
    while (right < right_end) {
        const uint32_t middle = right + (right_end - right) / 2;
        if (lookup_element(index, middle, step) < end)
            right = middle + 1;
        else
            right_end = middle;
    }
    return (seed_range_t){left, right};
}

/* Where the bases begin that neither the k-mer nor `following` tells. */
LOOKUP_OF_STEP uint64_t lookup_deep(const seed_index_t *index, uint32_t entry, const unsigned step)
{
    return (uint64_t)index->positions[entry] + index->k + lookup_inline(step);
}

/* The first n (1 <= n <= 13) of these bases. */
LOOKUP_OF_STEP uint64_t lookup_deep_bases(const seed_index_t *index, uint32_t entry, unsigned n, const unsigned step)
{
    const uint64_t at = lookup_deep(index, entry, step), last = 64 * (index->rows - 1) - 1;
    return plane_bases(index->planes, at < last ? at : last, n);
}

/* Of a range that holds all of them, the entries that agree with the seed as far as `table` and `following` tell:
 * all there is to do for a seed no longer than that. For longer seeds, prefetches the first position that the next step reads. */
LOOKUP_OF_STEP seed_range_t lookup_near(const seed_index_t *index, uint64_t seed, unsigned w, seed_range_t range,
                                        const unsigned step)
{
    if (w <= index->k)
        return range;
    const lookup_span_t span = lookup_span(index, seed, w, step);
    range = lookup_following(index, range, span.first, span.end, step);
    if (w > index->k + lookup_inline(step) && range.lo < range.hi)
        __builtin_prefetch(index->positions + range.lo + (range.hi - range.lo) / 2);
    return range;
}

/* Whether the seed is longer than lookup_near can tell, and how many entries that leaves to read from the planes. */
LOOKUP_OF_STEP uint32_t lookup_is_deep(const seed_index_t *index, unsigned w, seed_range_t range, const unsigned step)
{
    return w > index->k + lookup_inline(step) ? range.hi - range.lo : 0;
}

/* Prefetches the bases of all of a few entries. */
LOOKUP_OF_STEP void lookup_prefetch_deep(const seed_index_t *index, seed_range_t range, const unsigned step)
{
    for (uint32_t i = range.lo; i < range.hi; ++i)
        __builtin_prefetch(index->planes + 3 * (lookup_deep(index, i, step) >> 6));
}

/* Of a few entries that lookup_near returned the part that agrees with all of the seed. */
LOOKUP_OF_STEP seed_range_t lookup_far(const seed_index_t *index, uint64_t seed, unsigned w, seed_range_t range,
                                       const unsigned step)
{
    const unsigned deep = w - index->k - lookup_inline(step);
    const uint64_t bound = seed & ((1ULL << 2 * deep) - 1);
    uint32_t before = 0, within = 0;
    for (uint32_t i = range.lo; i < range.hi; ++i) {
        const uint64_t bases = lookup_deep_bases(index, i, deep, step);
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
LOOKUP_OF_STEP void lookup_far_group(const seed_index_t *index, const uint64_t *seeds, const uint8_t *widths,
                                     const uint16_t *wide, unsigned n_wide, seed_range_t *found,
                                     const unsigned step)
{
    lookup_search_t searches[2 * LOOKUP_GROUP];
    unsigned n = 0;
    for (unsigned j = 0; j < n_wide; ++j)
        for (unsigned is_end = 0; is_end < 2; ++is_end) {
            const unsigned i = wide[j], deep = widths[i] - index->k - lookup_inline(step);
            const uint64_t bound = (seeds[i] & ((1ULL << 2 * deep) - 1)) + is_end;
            searches[n++] = (lookup_search_t){bound, found[i].lo, found[i].hi, wide[j], (uint8_t)deep, (uint8_t)is_end};
        }
    while (n) {
        unsigned left = 0;
        for (unsigned j = 0; j < n; ++j)
            __builtin_prefetch(index->positions + lookup_middle(&searches[j]));
        for (unsigned j = 0; j < n; ++j)
            __builtin_prefetch(index->planes + 3 * (lookup_deep(index, lookup_middle(&searches[j]), step) >> 6));
        for (unsigned j = 0; j < n; ++j) {
            lookup_search_t search = searches[j];
            const uint32_t middle = lookup_middle(&search);
            if (lookup_deep_bases(index, middle, search.deep, step) < search.bound)
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

LOOKUP_OF_STEP void lookup_group_of_step(const seed_index_t *index, const uint64_t *seeds, const uint8_t *widths,
                                         seed_range_t *found, unsigned n, const unsigned step)
{
    uint16_t wide[LOOKUP_GROUP], few[LOOKUP_GROUP];
    unsigned n_wide = n;
    for (unsigned i = 0; i < n; ++i) {
        wide[i] = (uint16_t)i;
        lookup_prefetch_table(index, seeds[i], widths[i]);
    }
    for (unsigned i = 0; i < n; ++i)
        found[i] = lookup_bucket(index, seeds[i], widths[i], step);
    while (n_wide) {
        unsigned left = 0;
        for (unsigned j = 0; j < n_wide; ++j) {
            const unsigned i = wide[j];
            wide[left] = (uint16_t)i;
            left += lookup_narrow(index, seeds[i], widths[i], &found[i], step);
        }
        n_wide = left;
    }
    for (unsigned i = 0; i < n; ++i)
        found[i] = lookup_near(index, seeds[i], widths[i], found[i], step);
    unsigned n_few = 0;
    for (unsigned i = 0; i < n; ++i) {
        const uint32_t entries = lookup_is_deep(index, widths[i], found[i], step);
        if (entries > LOOKUP_DEEP_LINEAR) {
            wide[n_wide++] = (uint16_t)i;
        } else if (entries) {
            few[n_few++] = (uint16_t)i;
            lookup_prefetch_deep(index, found[i], step);
        }
    }
    for (unsigned j = 0; j < n_few; ++j)
        found[few[j]] = lookup_far(index, seeds[few[j]], widths[few[j]], found[few[j]], step);
    lookup_far_group(index, seeds, widths, wide, n_wide, found, step);
}

/* The ranges of up to LOOKUP_GROUP seeds, of widths[i] bases each, 1 to k + lookup_sorted(). */
static inline void lookup_group(const seed_index_t *index, const uint64_t *seeds, const uint8_t *widths,
                                seed_range_t *found, unsigned n)
{
    if (index->step == 1)
        lookup_group_of_step(index, seeds, widths, found, n, 1);
    else if (index->step == 2)
        lookup_group_of_step(index, seeds, widths, found, n, 2);
    else
        lookup_group_of_step(index, seeds, widths, found, n, 4);
}

/* --- step 2 and 4 --- */

/* Entries that begin with a seed without its first bases, and how many of them have those before them. */
typedef struct {
    uint32_t lo, size, count;
} step_range_t;

/* Whether the n bases before an entry are those of the code. */
LOOKUP_OF_STEP int lookup_has_before(const seed_index_t *index, uint32_t entry, uint32_t before, unsigned n,
                                     const unsigned step)
{
    return (lookup_element(index, entry, step) & ((1u << 2 * n) - 1)) == before;
}

LOOKUP_OF_STEP step_range_t lookup_count_of_step(const seed_index_t *index, seed_range_t range, uint32_t before,
                                                 unsigned n, const unsigned step)
{
    uint32_t count = 0;
    for (uint32_t i = range.lo; i < range.hi; ++i)
        count += lookup_has_before(index, i, before, n, step);
    if (count == 0)
        return (step_range_t){range.lo, 0, 0};
    /* The file may be overwritten meanwhile, so that nothing is found now. */
    while (range.lo < range.hi && !lookup_has_before(index, range.lo, before, n, step))
        ++range.lo;
    while (range.lo < range.hi && !lookup_has_before(index, range.hi - 1, before, n, step))
        --range.hi;
    return (step_range_t){range.lo, range.hi - range.lo, count};
}

/* The part of a range from the first entry to the last with the n bases of the code `before`, 0 <= n < step, before
 * them. So of one entry nothing is left to compare when it is copied. */
static inline step_range_t lookup_count_before(const seed_index_t *index, seed_range_t range, uint32_t before, unsigned n)
{
    if (n == 0)
        return (step_range_t){range.lo, range.hi - range.lo, range.hi - range.lo};
    return index->step == 2 ? lookup_count_of_step(index, range, before, n, 2)
                            : lookup_count_of_step(index, range, before, n, 4);
}

/* Writes where the seed begins at the first `most` of the entries that lookup_count_before counted. */
static inline void lookup_copy_before(const seed_index_t *index, step_range_t range, uint32_t before, unsigned n,
                                      uint32_t most, uint32_t *places)
{
    const uint32_t *positions = index->positions + range.lo;
    if (range.count == range.size) {
        for (uint32_t i = 0; i < most; ++i)
            places[i] = positions[i] - n;
        return;
    }
    for (uint32_t i = 0; most && i < range.size; ++i)
        if (lookup_has_before(index, range.lo + i, before, n, index->step)) {
            *places++ = positions[i] - n;
            --most;
        }
}

#endif
