/* Bases out of bit planes (docs/pipeline.md): 64 bases a row of three words, low bit, high bit, masked. */
#ifndef GASSST_PLANES_H
#define GASSST_PLANES_H

#include "portable.h"

/* Packed bases are read back with unaligned loads of whole words. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "gassst needs a little-endian machine"
#endif

typedef struct {
    GLOBAL const uint64_t *words;
    int64_t rows;
} planes_t;

typedef struct {
    uint64_t low, high, masked;
} bases64_t;

INLINE int64_t clamped(int64_t row, int64_t rows)
{
    return row < 0 ? 0 : row < rows ? row : rows - 1;
}

INLINE uint64_t funnel_shift(uint64_t first, uint64_t second, int shift)
{
    return first >> shift | second << 1 << (63 - shift);  /* two steps: a shift by 64 is undefined */
}

/* The 64 bases from any coordinate on, base 0 in bit 0. Off either end, where there are no bases, the
   result is arbitrary but the access is not: it stays inside the array. */
INLINE bases64_t bases_at(planes_t planes, int64_t coordinate)
{
    const int shift = (int)(coordinate & 63);
    const int64_t row = coordinate >> 6;
    GLOBAL const uint64_t *a = planes.words + 3 * clamped(row, planes.rows);
    GLOBAL const uint64_t *b = planes.words + 3 * clamped(row + 1, planes.rows);
    const bases64_t bases = {funnel_shift(a[0], b[0], shift), funnel_shift(a[1], b[1], shift),
                             funnel_shift(a[2], b[2], shift)};
    return bases;
}

/* Bisulfite turns C into T: a T of a converted read may be either, and so may an A of its reverse complement be A or G.
 * The planes of the read have such an ambiguous base masked with its high bit set. Its low bit alone is compared. A masked
 * base that matches nothing has no high bit, and the reference has no ambiguous bases. */
INLINE uint64_t ambiguous_bases(bases64_t a)
{
    return a.masked & a.high;
}

/* Masked bases that match nothing. */
INLINE uint64_t unknown_bases(bases64_t a, bases64_t b)
{
    return (a.masked & ~a.high) | (b.masked & ~b.high);
}

/* Bit j is set where base j differs; a masked base differs from everything, unless it is ambiguous. */
INLINE uint64_t differences(bases64_t a, bases64_t b)
{
    const uint64_t low = a.low ^ b.low, high = a.high ^ b.high;
    if (!(a.masked | b.masked))
        return low | high;
    return low | (high & ~(ambiguous_bases(a) | ambiguous_bases(b))) | unknown_bases(a, b);
}

/* What bisulfite does to a read strand, seen on the forward strand of the reference. */
enum { NOT_CONVERTED, C_TO_T, G_TO_A };

/* Of the reverse complement of a read that is converted so. */
INLINE int conversion_of_strand(int conversion, int strand)
{
    return conversion && strand ? C_TO_T + G_TO_A - conversion : conversion;
}

/* High bits of bases as a seed has them: C and T are one letter, T, or A and G are one, G. */
INLINE uint64_t converted_high(uint64_t low, uint64_t high, int conversion)
{
    return conversion == C_TO_T ? high | low : conversion == G_TO_A ? high | ~low : high;
}

/* The bits of the first n of 64 bases, n > 0: all of them for n >= 64. */
INLINE uint64_t first_bases(int64_t n)
{
    return n >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
}

/* Set bits. */
INLINE int count_bits(uint64_t x)
{
#ifdef __OPENCL_VERSION__
    return (int)popcount(x);
#else
    return __builtin_popcountll(x);
#endif
}

/* How many of n bases differ, or a number above `limit`, where the count ends early. */
INLINE int count_differences(planes_t a, int64_t a_first, planes_t b, int64_t b_first, int64_t n, int limit)
{
    int count = 0;
    for (int64_t i = 0; i < n && count <= limit; i += 64)
        count += count_bits(differences(bases_at(a, a_first + i), bases_at(b, b_first + i)) & first_bases(n - i));
    return count;
}

/* Where the m bases of a strand of a read begin in the planes of reads, of which each strand begins a row. */
INLINE int64_t first_base(uint32_t plane_start, uint32_t read_strand, int64_t m)
{
    return 64 * (plane_start + (int64_t)(read_strand & 1) * ((m + 63) >> 6));
}

#ifndef __OPENCL_VERSION__
/* Whether there is a masked base, or the end of the planes, in the rows of bases first .. last. */
INLINE int any_masked(planes_t planes, int64_t first, int64_t last)
{
    if (first < 0 || last >> 6 >= planes.rows)
        return 1;
    for (int64_t row = first >> 6; row <= last >> 6; row++)
        if (planes.words[3 * row + 2])
            return 1;
    return 0;
}

enum { MASKED_BASE = 4 };

/* A 0, C 1, G 2, T 3; MASKED_BASE also where there are no bases. */
INLINE int base_at(planes_t planes, int64_t coordinate)
{
    if (coordinate < 0 || coordinate >> 6 >= planes.rows)
        return MASKED_BASE;
    const uint64_t *row = planes.words + 3 * (coordinate >> 6);
    const int bit = (int)(coordinate & 63);
    return row[2] >> bit & 1 ? MASKED_BASE : (int)((row[0] >> bit & 1) | (row[1] >> bit & 1) << 1);
}

/* Reads, places or candidates from the prefetch of their bases to their use: a miss takes longer than a few of them. */
enum { AHEAD = 16 };

INLINE void prefetch_bases(planes_t planes, int64_t from, int64_t to)
{
    const uint64_t *end = planes.words + 3 * ((to >> 6) + 1);
    for (const uint64_t *line = planes.words + 3 * (from >> 6); line < end; line += 8)
        __builtin_prefetch(line);
    __builtin_prefetch(end - 1);
}

/* Three rows, in which the usual read lies from its first base on. */
INLINE void prefetch_read(planes_t planes, int64_t first)
{
    prefetch_bases(planes, first, first + 2 * 64);
}
#endif

#endif
