/* Where the seeds of a read lie, their bases, and which entries of an index begin with these: what one seed needs. Wanted
 * from whoever includes this: seed_index_t with `planes`, `rows`, `k`, `p` and `conversion`, and INDEX_TABLE(index, i),
 * INDEX_POSITION(index, i), INDEX_FOLLOWING(index, i, step). */
#ifndef GASSST_SEED_LOOKUP_H
#define GASSST_SEED_LOOKUP_H

#include "kmer_code.h"
#include "planes.h"

typedef struct {
    uint32_t lo, hi; /* positions[lo .. hi - 1] */
} seed_range_t;

/* Where seed j of `count` lies on the forward strand, of which the last one begins at base `last`. */
INLINE unsigned seed_offset(unsigned j, unsigned count, unsigned last)
{
    if (count - 1 == last) /* a division takes longer than all the rest */
        return j;
    return count > 1 ? j * last / (count - 1) : last / 2;
}

/* Up to 32 bases. */
typedef struct {
    uint64_t code; /* the first base most significant */
    uint32_t room; /* bases */
} seed_bases_t;

/* The bases of a strand from `at` on, `longest` at most, to the first masked one. */
INLINE seed_bases_t seed_bases(GLOBAL const uint64_t *planes, uint64_t at, unsigned longest, int conversion)
{
    const uint64_t low = plane_bits(planes, 0, at), high = plane_bits(planes, 1, at);
    const uint64_t unknown = plane_bits(planes, 2, at) & ~high;
    seed_bases_t found = {0, (uint32_t)LOWEST_BIT(unknown | (uint64_t)1 << longest)};
    if (found.room) /* a shift by 64 is undefined */
        found.code = interleave((uint32_t)low, (uint32_t)converted_high(low, high, conversion)) >> 2 * (32 - found.room);
    return found;
}

/* --- positions that their own bases choose (step 2) ---
 *
 * A position is kept where the least of the four neighbouring words at its first bases is the first or the last one: where
 * these bases are a closed syncmer (Edgar 2021). Of any three neighbours one at least is kept. Words are ordered by a hash,
 * so about half of all positions are; in repeats of few bases more. Where words would have no base, all are. */
enum {
    WORDS_OF_ONE = 4, /* words that decide on one position */
    MOST_BEFORE = 2,  /* bases before the first position of a seed that is kept */
};

/* Bases of a word: as many as leave seeds of k - 2 bases a position that is kept. */
INLINE unsigned kept_word(const unsigned k)
{
    const unsigned decide = WORDS_OF_ONE - 1 + MOST_BEFORE;
    return k > decide + 2 ? k - 2 - decide : 0;
}

/* The place of a word in the order of all. Its last base is `shift` bits above that of `bases`. */
INLINE uint32_t kept_rank(uint64_t bases, unsigned shift, unsigned word)
{
    return ((uint32_t)(bases >> shift) & ((1u << 2 * word) - 1)) * 0x9E3779B1u;
}

INLINE uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Bases of a seed before its first position that is kept: 0 to MOST_BEFORE. It has k - 2 bases at least. */
INLINE unsigned bases_before_kept(uint64_t seed, unsigned w, const unsigned k)
{
    const unsigned word = kept_word(k);
    uint32_t rank[WORDS_OF_ONE + MOST_BEFORE - 1];
    if (word == 0)
        return 0;
    for (unsigned i = 0; i < WORDS_OF_ONE + MOST_BEFORE - 1; ++i)
        rank[i] = kept_rank(seed, 2 * (w - word - i), word);
    for (unsigned i = 0; i < MOST_BEFORE; ++i)
        if (lesser(rank[i], rank[i + 3]) <= lesser(rank[i + 1], rank[i + 2]))
            return i;
    return MOST_BEFORE;
}

/* Whether the position of a window of 32 bases, the first most significant, is kept. */
INLINE int is_kept(uint64_t window, const unsigned k)
{
    return bases_before_kept(window, 32, k) == 0;
}

/* Bases after the k-mer in an element of `following`, and those before the position. */
INLINE unsigned lookup_inline(const unsigned step)
{
    return step == 1 ? 4 : step == 2 ? 2 : 5;
}

INLINE unsigned lookup_told_before(const unsigned step)
{
    return step == 1 ? 0 : step == 2 ? MOST_BEFORE : 3;
}

/* Bases from one coordinate that `positions` can tell to the next. */
INLINE unsigned lookup_unit(const unsigned step)
{
    return step == 4 ? 4 : 1;
}

/* First k-mer that begins with the seed, or the k-mer that the seed begins with. */
INLINE uint64_t lookup_kmer(const seed_index_t *index, uint64_t seed, unsigned w)
{
    return w <= index->k ? seed << 2 * (index->k - w) : seed >> 2 * (w - index->k);
}

/* The elements of `following` that begin with the bases of the seed behind its k-mer: from first to before end. */
typedef struct {
    uint32_t first, end;
} lookup_span_t;

INLINE lookup_span_t lookup_span(const seed_index_t *index, uint64_t seed, unsigned w, const unsigned step)
{
    const unsigned behind = w - index->k, before = 2 * lookup_told_before(step);
    const uint64_t rest = seed & (((uint64_t)1 << 2 * behind) - 1);
    const unsigned deep = behind > lookup_inline(step) ? 2 * (behind - lookup_inline(step)) : 0;
    const unsigned shift = behind > lookup_inline(step) ? before : 2 * (lookup_inline(step) - behind) + before;
    const lookup_span_t span = {(uint32_t)(rest >> deep << shift), (uint32_t)(((rest >> deep) + 1) << shift)};
    return span;
}

/* Entries of the k-mers that begin with the seed, or of the k-mer that the seed begins with. An index file may be damaged,
 * and is checked only while it is used: the range may then be wrong, but never lies outside the arrays. */
INLINE seed_range_t lookup_bucket(const seed_index_t *index, uint64_t seed, unsigned w)
{
    const uint64_t first = lookup_kmer(index, seed, w), behind = w <= index->k ? lookup_kmer(index, seed + 1, w) : first + 1;
    const uint32_t end = INDEX_TABLE(index, behind), begin = INDEX_TABLE(index, first);
    seed_range_t range;
    range.hi = end < index->p ? end : index->p;
    range.lo = begin < range.hi ? begin : range.hi;
    return range;
}

/* Where the bases begin that neither the k-mer nor `following` tells. */
INLINE uint64_t lookup_deep(const seed_index_t *index, uint32_t entry, const unsigned step)
{
    return (uint64_t)INDEX_POSITION(index, entry) * lookup_unit(step) + index->k + lookup_inline(step);
}

/* The first n (1 <= n <= 14) of these bases. The row behind is read only where they reach into it: it may lie in a
 * cache line that nobody has asked for. */
INLINE uint64_t lookup_deep_bases(const seed_index_t *index, uint32_t entry, unsigned n, const unsigned step)
{
    const uint64_t deep = lookup_deep(index, entry, step), last = 64 * (index->rows - 1) - 1;
    const uint64_t at = deep < last ? deep : last;
    const unsigned shift = at & 63;
    GLOBAL const uint64_t *row = index->planes + 3 * (at >> 6), *behind = shift + n > 64 ? row + 3 : row;
    const uint32_t low = (uint32_t)funnel_shift(row[0], behind[0], shift);
    const uint32_t high = (uint32_t)funnel_shift(row[1], behind[1], shift);
    return interleave(low, (uint32_t)converted_high(low, high, index->conversion)) >> (64 - 2 * n);
}

#endif
