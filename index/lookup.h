/* Where a seed occurs: the half-open range of `positions` whose bases begin with it.
 *
 * A seed of w bases, 1 <= w <= k + 16, is its code (first base most significant, bits above 2w zero).
 * Up to k bases the table alone answers; up to k + 4, a search of `following`; beyond, the entries that are
 * still equal are told apart by bases read from the planes. All three orders are one: positions are sorted
 * by k-mer, then the 16 bases behind it.
 *
 * An index of step 2 has about half of all positions: those that the bases there choose (seed_lookup.h). So a seed
 * is looked up without its bases before the first that is kept. An index of step 4 has the positions of every fourth base.
 * A seed is looked up four times there, without none, one, two and three first bases: of any place just one begins on a
 * position that the index has. So that those left out can be compared, the 2 or 3 bases before a position lie in
 * the least significant bits of its element of `following`, below fewer or more bases after its k-mer.
 *
 * Each step reads memory that is probably not in the cache. lookup_group takes each step for a whole group of
 * seeds, and each step asks for what the next one reads. */
#ifndef GASSST_LOOKUP_H
#define GASSST_LOOKUP_H

#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "coordinates.h"

enum {
    LOOKUP_LINEAR = 48,      /* elements that are compared all at once: they lie in four lines of 16 bytes */
    LOOKUP_GROUP = 128,      /* of 64, 128 and 512 the fastest */
};

typedef struct {
    const uint32_t *table;      /* [4^k + 1] */
    const uint32_t *positions;  /* [p] concatenated coordinates, at step 4 divided by 4 */
    const void *following;      /* [p] bases after the k-mer, bases before it: bytes, at step 4 words of 16 bits */
    const uint64_t *planes;     /* [rows][3], at least two rows */
    unsigned k;
    uint32_t p;
    uint64_t rows;
    unsigned step;              /* 1, 2 or 4 */
    int conversion;             /* of the bases that positions are sorted by (planes.h), with step 1 */
} seed_index_t;

#define INDEX_TABLE(index, i) ((index)->table[i])
#define INDEX_POSITION(index, i) ((index)->positions[i])
#define INDEX_FOLLOWING(index, i, step) \
    ((step) == 4 ? ((const uint16_t *)(index)->following)[i] : ((const uint8_t *)(index)->following)[i])
#include "seed_lookup.h"

/* A seed that is looked up without its first bases. */
typedef struct {
    uint64_t code;   /* of the `width` bases that are looked up */
    uint32_t before; /* the code of the `front` bases before them */
    uint8_t width, front;
} lookup_seed_t;

/* The functions below are compiled once for each step: in those for step 1 nothing is left of the others. */
#define LOOKUP_OF_STEP static inline __attribute__((always_inline))

LOOKUP_OF_STEP void lookup_prefetch_element(const seed_index_t *index, uint32_t entry, const unsigned step)
{
    __builtin_prefetch((const uint8_t *)index->following + (step == 4 ? 2 : 1) * (uint64_t)entry);
}

static inline void lookup_prefetch_table(const seed_index_t *index, uint64_t seed, unsigned w)
{
    __builtin_prefetch(index->table + lookup_kmer(index, seed, w));
}

LOOKUP_OF_STEP void lookup_prefetch_following(const seed_index_t *index, seed_range_t range, const unsigned step)
{
    const uint32_t n = range.hi - range.lo, middle = range.lo + n / 2;
    lookup_prefetch_element(index, n > LOOKUP_LINEAR ? middle : range.lo, step);
    lookup_prefetch_element(index, n > LOOKUP_LINEAR ? middle : range.hi - (n > 0), step);
}

/* Halve the range of a seed longer than k; 0 when lookup_near can take over. */
LOOKUP_OF_STEP int lookup_narrow(const seed_index_t *index, uint64_t seed, unsigned w, seed_range_t *range,
                                 const unsigned step)
{
    if (w <= index->k || range->hi - range->lo <= LOOKUP_LINEAR)
        return 0;
    const lookup_span_t span = lookup_span(index, seed, w, step);
    const uint32_t middle = range->lo + (range->hi - range->lo) / 2, here = INDEX_FOLLOWING(index, middle, step);
    if (here < span.first)
        range->lo = middle + 1;
    else if (here >= span.end)
        range->hi = middle;
    else
        return 0;
    lookup_prefetch_following(index, *range, step);
    return 1;
}

#ifdef __SSE2__
/* lookup_linear for bytes. Whole lines of 16 are compared, without a branch that depends on how many there are.
 * None lies in two cache lines or reaches into another page, though one may begin before the array or end behind it. */
__attribute__((no_sanitize_address)) static inline seed_range_t
lookup_lines(const uint8_t *following, seed_range_t range, uint32_t first, uint32_t end)
{
    const uint8_t *bytes = following + range.lo, *stop = following + range.hi;
    const unsigned skip = (uintptr_t)bytes & 15;
    const __m128i *line = (const __m128i *)(bytes - skip), *here = line;
    const __m128i least = _mm_set1_epi8((char)first), most = _mm_set1_epi8((char)(end - 1));
    const uint64_t behind = 1ULL << (range.hi - range.lo);
    uint64_t from = 0, within = 0;
    for (unsigned i = 0; i < 64; i += 16) {
        const __m128i some = _mm_load_si128(here);
        from |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(some, least), some)) << i;
        within |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(some, most), some)) << i;
        here = (const uint8_t *)(here + 1) < stop ? here + 1 : line; /* not a line that nobody has asked for */
    }
    return (seed_range_t){range.lo + (uint32_t)__builtin_ctzll(from >> skip | behind),
                          range.lo + (uint32_t)__builtin_ctzll(~(within >> skip) | behind)};
}
#endif

/* Of at most LOOKUP_LINEAR ascending elements those from `first` to before `end`, which may be one more than fits. */
LOOKUP_OF_STEP seed_range_t lookup_linear(const seed_index_t *index, seed_range_t range, uint32_t first, uint32_t end,
                                          const unsigned step)
{
    if (range.lo >= range.hi)
        return range;
#ifdef __SSE2__
    if (step < 4)
        return lookup_lines((const uint8_t *)index->following, range, first, end);
#endif
    uint32_t before = 0, within = 0;
    for (uint32_t i = range.lo; i < range.hi; ++i) {
        before += INDEX_FOLLOWING(index, i, step) < first;
        within += INDEX_FOLLOWING(index, i, step) < end;
    }
    return (seed_range_t){range.lo + before, range.lo + within};
}

/* The first of ascending elements that is not below `bound` lies in the range returned, or behind it. */
LOOKUP_OF_STEP seed_range_t lookup_halve(const seed_index_t *index, seed_range_t range, uint32_t bound,
                                         const unsigned step)
{
    while (range.hi - range.lo > LOOKUP_LINEAR) {
        const uint32_t middle = range.lo + (range.hi - range.lo) / 2;
        const int below = INDEX_FOLLOWING(index, middle, step) < bound;
        range.lo = below ? middle + 1 : range.lo;
        range.hi = below ? range.hi : middle;
    }
    return range;
}

/* The part of a range whose `following` lies in [first, end); end may be one more than fits an element. */
LOOKUP_OF_STEP seed_range_t lookup_following(const seed_index_t *index, seed_range_t range, uint32_t first,
                                             uint32_t end, const unsigned step)
{
    if (range.hi - range.lo <= LOOKUP_LINEAR)
        return lookup_linear(index, range, first, end, step);
    /* lookup_narrow has found that the one in the middle is among them: search the two ends apart. */
    const uint32_t middle = range.lo + (range.hi - range.lo) / 2;
    const seed_range_t left = lookup_halve(index, (seed_range_t){range.lo, middle}, first, step);
    const seed_range_t right = lookup_halve(index, (seed_range_t){middle, range.hi}, end, step);
    return (seed_range_t){lookup_linear(index, left, first, end, step).lo,
                          lookup_linear(index, right, first, end, step).hi};
}

/* Of a range that holds all of them, the entries that agree with the seed as far as `table` and `following` tell:
 * all there is to do for a seed no longer than that. */
LOOKUP_OF_STEP seed_range_t lookup_near(const seed_index_t *index, uint64_t seed, unsigned w, seed_range_t range,
                                        const unsigned step)
{
    if (w <= index->k)
        return range;
    const lookup_span_t span = lookup_span(index, seed, w, step);
    return lookup_following(index, range, span.first, span.end, step);
}

/* Which entries from `at` to before `end` have those n bases before them: bit i is entry at + i. `next` was not looked at. */
__attribute__((no_sanitize_address)) static inline uint32_t
lookup_with_before(const seed_index_t *index, uint32_t at, uint32_t end, uint32_t before, unsigned n, uint32_t *next)
{
    const uint32_t bases = (1u << 2 * n) - 1;
#ifdef __SSE2__
    if (index->step == 2) { /* a whole line of 16, as in lookup_lines */
        const uint8_t *first = (const uint8_t *)index->following + at;
        const unsigned skip = (uintptr_t)first & 15;
        const __m128i line = _mm_and_si128(_mm_load_si128((const __m128i *)(first - skip)), _mm_set1_epi8((char)bases));
        const uint32_t found = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(line, _mm_set1_epi8((char)before))) >> skip;
        const uint32_t compared = 16 - skip;
        *next = at + compared;
        return end - at < compared ? found & ((1u << (end - at)) - 1) : found;
    }
#endif
    *next = at + 1;
    return (INDEX_FOLLOWING(index, at, index->step) & bases) == before;
}

/* Of a range of entries as many as have those n bases before them. The range begins where it did. */
static inline seed_range_t lookup_before(const seed_index_t *index, seed_range_t range, uint32_t before, unsigned n)
{
    uint32_t count = 0, at = range.lo, next;
    for (; at < range.hi; at = next) {
        count += (uint32_t)__builtin_popcount(lookup_with_before(index, at, range.hi, before, n, &next));
#ifdef __SSE2__
        const __m128i bases = _mm_set1_epi8((char)((1u << 2 * n) - 1)), wanted = _mm_set1_epi8((char)before);
        __m128i sum = _mm_setzero_si128();
        for (; index->step == 2 && (int64_t)range.hi - next >= 16; next += 16) /* whole lines: popcounts take longer */
            sum = _mm_add_epi64(sum, _mm_sad_epu8(_mm_sub_epi8(_mm_setzero_si128(), _mm_cmpeq_epi8(_mm_and_si128(
                _mm_load_si128((const __m128i *)((const uint8_t *)index->following + next)), bases), wanted)), bases ^ bases));
        count += (uint32_t)(_mm_cvtsi128_si32(sum) + _mm_cvtsi128_si32(_mm_unpackhi_epi64(sum, sum)));
#endif
    }
    return (seed_range_t){range.lo, range.lo + count};
}

/* Whether the seed is longer than lookup_near can tell, and how many entries that leaves to read from the planes. */
LOOKUP_OF_STEP uint32_t lookup_is_deep(const seed_index_t *index, unsigned w, seed_range_t range, const unsigned step)
{
    return w > index->k + lookup_inline(step) ? range.hi - range.lo : 0;
}

/* Whether an entry has the seed's front before it. */
LOOKUP_OF_STEP int lookup_has_front(const seed_index_t *index, const lookup_seed_t *seed, uint32_t entry,
                                    const unsigned step)
{
    return step == 1 || (INDEX_FOLLOWING(index, entry, step) & ((1u << 2 * seed->front) - 1)) == seed->before;
}

/* Prefetches the bases of a few entries that have the seed's front. */
LOOKUP_OF_STEP void lookup_prefetch_deep(const seed_index_t *index, const lookup_seed_t *seed, seed_range_t range,
                                         const unsigned step)
{
    for (uint32_t i = range.lo; i < range.hi; ++i)
        if (lookup_has_front(index, seed, i, step))
            __builtin_prefetch(index->planes + 3 * (lookup_deep(index, i, step) >> 6));
}

/* Of a few entries that lookup_near returned those that agree with all of the seed and its front. */
LOOKUP_OF_STEP seed_range_t lookup_far(const seed_index_t *index, const lookup_seed_t *seed, seed_range_t range,
                                       const unsigned step)
{
    const unsigned deep = seed->width - index->k - lookup_inline(step);
    const uint64_t bound = seed->code & ((1ULL << 2 * deep) - 1);
    uint32_t count = 0, first = range.lo;
    for (uint32_t i = range.hi; i-- > range.lo;) {
        const int agrees = lookup_has_front(index, seed, i, step) && lookup_deep_bases(index, i, deep, step) == bound;
        count += agrees;
        first = agrees ? i : first;
    }
    return (seed_range_t){first, first + count};
}

/* One end of the range of a seed among many entries, which are halved in lock-step: a step reads a position, then bases. */
typedef struct {
    uint64_t bound;
    uint32_t lo, hi;
    uint16_t seed;
    uint8_t deep, is_end;
} lookup_search_t;

static inline uint32_t lookup_middle(const lookup_search_t *search)
{
    return search->lo + (search->hi - search->lo) / 2;
}

/* The range of each of these seeds. In a damaged index its ends may cross: then it is empty. */
LOOKUP_OF_STEP void lookup_far_group(const seed_index_t *index, const lookup_seed_t *seeds, const uint16_t *wide,
                                     unsigned n_wide, seed_range_t *found, const unsigned step)
{
    lookup_search_t searches[2 * LOOKUP_GROUP];
    for (unsigned j = 0; j < 2 * n_wide; ++j) {
        const unsigned i = wide[j / 2], deep = seeds[i].width - index->k - lookup_inline(step);
        const uint64_t bound = (seeds[i].code & ((1ULL << 2 * deep) - 1)) + j % 2;
        searches[j] = (lookup_search_t){bound, found[i].lo, found[i].hi, wide[j / 2], (uint8_t)deep, j % 2};
    }
    for (unsigned n = 2 * n_wide, left; n; n = left) {
        for (unsigned j = 0; j < n; ++j)
            __builtin_prefetch(index->positions + lookup_middle(&searches[j]));
        for (unsigned j = 0; j < n; ++j)
            __builtin_prefetch(index->planes + 3 * (lookup_deep(index, lookup_middle(&searches[j]), step) >> 6));
        left = 0;
        for (unsigned j = 0; j < n; ++j) {
            lookup_search_t search = searches[j];
            const uint32_t middle = lookup_middle(&search);
            const int below = lookup_deep_bases(index, middle, search.deep, step) < search.bound;
            search.lo = below ? middle + 1 : search.lo;
            search.hi = below ? search.hi : middle;
            *(search.is_end ? &found[search.seed].hi : &found[search.seed].lo) = search.lo;
            searches[left] = search;
            left += search.lo < search.hi;
        }
    }
    for (unsigned j = 0; j < n_wide; ++j)
        found[wide[j]].hi = found[wide[j]].hi > found[wide[j]].lo ? found[wide[j]].hi : found[wide[j]].lo;
}

LOOKUP_OF_STEP void lookup_group_of_step(const seed_index_t *index, const lookup_seed_t *seeds, seed_range_t *found,
                                         unsigned n, const unsigned step)
{
    uint16_t wide[LOOKUP_GROUP], few[LOOKUP_GROUP];
    unsigned n_wide = 0, n_few = 0;
    for (unsigned i = 0; i < n; ++i)
        lookup_prefetch_table(index, seeds[i].code, seeds[i].width);
    for (unsigned i = 0; i < n; ++i) {
        found[i] = lookup_bucket(index, seeds[i].code, seeds[i].width);
        if (seeds[i].width > index->k || (step > 1 && seeds[i].front))
            lookup_prefetch_following(index, found[i], step);
        wide[n_wide] = (uint16_t)i;
        n_wide += (found[i].hi - found[i].lo > LOOKUP_LINEAR) & (seeds[i].width > index->k);
    }
    while (n_wide) {
        unsigned left = 0;
        for (unsigned j = 0; j < n_wide; ++j) {
            const unsigned i = wide[j];
            wide[left] = (uint16_t)i;
            left += lookup_narrow(index, seeds[i].code, seeds[i].width, &found[i], step);
        }
        n_wide = left;
    }
    for (unsigned i = 0; i < n; ++i) {
        found[i] = lookup_near(index, seeds[i].code, seeds[i].width, found[i], step);
        const uint32_t entries = lookup_is_deep(index, seeds[i].width, found[i], step);
        wide[n_wide] = few[n_few] = (uint16_t)i;
        n_wide += entries > AHEAD;
        n_few += (entries > 0) & (entries <= AHEAD);
        if (step > 1 && entries == 0 && seeds[i].front)
            found[i] = lookup_before(index, found[i], seeds[i].before, seeds[i].front);
    }
    for (unsigned j = 0; j < n_few; ++j)
        __builtin_prefetch(index->positions + found[few[j]].lo);
    for (unsigned j = 0; j < n_few; ++j)
        lookup_prefetch_deep(index, &seeds[few[j]], found[few[j]], step);
    for (unsigned j = 0; j < n_few; ++j)
        found[few[j]] = lookup_far(index, &seeds[few[j]], found[few[j]], step);
    lookup_far_group(index, seeds, wide, n_wide, found, step);
    for (unsigned j = 0; step > 1 && j < n_wide; ++j)
        found[wide[j]] = lookup_before(index, found[wide[j]], seeds[wide[j]].before, seeds[wide[j]].front);
}

/* The ranges of up to LOOKUP_GROUP seeds, of one base at least, and no more than positions are sorted by. Of an index that
 * does not have all positions a range begins at or before the first entry with a seed's front, and is as long as these. */
static inline void lookup_group(const seed_index_t *index, const lookup_seed_t *seeds, seed_range_t *found, unsigned n)
{
    if (index->step == 1)
        lookup_group_of_step(index, seeds, found, n, 1);
    else if (index->step == 2)
        lookup_group_of_step(index, seeds, found, n, 2);
    else
        lookup_group_of_step(index, seeds, found, n, 4);
}

#endif
