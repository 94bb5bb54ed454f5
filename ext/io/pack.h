/* ASCII bases to bit planes, forward and reverse complement, by way of codes: A 0, C 1, G 2, T 3, masked 4.
 *
 * Bits 1 and 2 of the letters are A 00, C 01, G 11, T 10, in either case, so code = bits ^ (bits >> 1); the code then
 * holds its three plane bits: a 4 sets the masked plane and neither of the others. */
#ifndef GASSST_PACK_H
#define GASSST_PACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "planes.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { PACK_WORD = 64, PACK_PLANES = 3 };

/* Masking out the bit in which they differ (and that of the case) makes one comparison of A and C, and one of T and U. */
static inline uint8_t pack_code(uint8_t base)
{
    uint8_t bits = (base >> 1) & 3;
    uint8_t known = ((base & 0xDD) == 'A') | ((base & 0xDE) == 'T') | ((base & 0xDF) == 'G');
    return known ? (uint8_t)(bits ^ (bits >> 1)) : 4;
}

static inline uint64_t pack_load8(const uint8_t *p)
{
    uint64_t x = 0;
    for (int i = 0; i < 8; i++)
        x |= (uint64_t)p[i] << (8 * i);
    return x;
}

/* Three planes of 64 bases: eight at a time, the lowest bits of eight bytes being gathered by one multiplication. */
static inline void pack_word_portable(const uint8_t *bases, uint64_t row[PACK_PLANES])
{
    const uint64_t ones = 0x0101010101010101u, gather = 0x0102040810204080u;
    row[0] = row[1] = row[2] = 0;
    for (int i = 0; i < PACK_WORD; i += 8) {
        uint8_t codes[8];
        for (int j = 0; j < 8; j++)
            codes[j] = pack_code(bases[i + j]);
        uint64_t x = pack_load8(codes);
        for (int plane = 0; plane < PACK_PLANES; plane++)
            row[plane] |= ((((x >> plane) & ones) * gather) >> 56) << i;
    }
}

#if defined(__SSE2__)
static inline __m128i pack_equal(__m128i bases, int mask, char letter)
{
    return _mm_cmpeq_epi8(_mm_and_si128(bases, _mm_set1_epi8((char)mask)), _mm_set1_epi8(letter));
}

/* The same straight from the bits of the letters, sixteen at a time. */
static inline void pack_word_simd(const uint8_t *bases, uint64_t row[PACK_PLANES])
{
    uint64_t low = 0, high = 0, known = 0;
    for (int i = 0; i < PACK_WORD; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(bases + i));
        __m128i is_base = _mm_or_si128(pack_equal(x, 0xDD, 'A'), pack_equal(x, 0xDE, 'T'));
        __m128i second = _mm_slli_epi16(x, 5);
        is_base = _mm_or_si128(is_base, pack_equal(x, 0xDF, 'G'));
        low |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_xor_si128(_mm_slli_epi16(x, 6), second)) << i;
        high |= (uint64_t)(uint32_t)_mm_movemask_epi8(second) << i;
        known |= (uint64_t)(uint32_t)_mm_movemask_epi8(is_base) << i;
    }
    row[0] = low & known;
    row[1] = high & known;
    row[2] = ~known;
}
#else
#define pack_word_simd pack_word_portable
#endif

static inline uint64_t pack_reverse64(uint64_t x)
{
    x = ((x >> 1) & 0x5555555555555555u) | ((x & 0x5555555555555555u) << 1);
    x = ((x >> 2) & 0x3333333333333333u) | ((x & 0x3333333333333333u) << 2);
    x = ((x >> 4) & 0x0F0F0F0F0F0F0F0Fu) | ((x & 0x0F0F0F0F0F0F0F0Fu) << 4);
    return __builtin_bswap64(x);
}

/* Reverses the `words` rows as one string of bits, shifted down by the `spare` bits that lay past the read's end.
 * `<< 1 << (63 - spare)` moves by 64 - spare, and leaves nothing of a word when spare is 0. */
static inline void pack_reverse_complement(const uint64_t *forward, uint64_t *reverse, uint32_t words, uint32_t spare)
{
    uint64_t before[PACK_PLANES] = {0, 0, 0}, row[PACK_PLANES], valid = ~UINT64_C(0) >> spare;
    reverse += PACK_PLANES * (size_t)words;
    for (uint32_t i = 0; i < words; i++, forward += PACK_PLANES) {
        for (int plane = 0; plane < PACK_PLANES; plane++) {
            uint64_t here = pack_reverse64(forward[plane]);
            row[plane] = here >> spare | before[plane] << 1 << (PACK_WORD - 1 - spare);
            before[plane] = here;
        }
        reverse -= PACK_PLANES;
        const uint64_t ambiguous = row[1] & row[2], unknown = row[2] & ~row[1]; /* planes.h */
        reverse[0] = ~(row[0] | unknown) & valid;
        reverse[1] = (~(row[1] | unknown) & valid) | ambiguous;
        reverse[2] = row[2];
        valid = ~UINT64_C(0);
    }
}

static inline void pack_word(const uint8_t *bases, uint64_t row[PACK_PLANES], int portable)
{
    if (portable)
        pack_word_portable(bases, row);
    else
        pack_word_simd(bases, row);
}

static inline void pack_last_word(const uint8_t *bases, size_t n, uint64_t row[PACK_PLANES], int portable)
{
    uint8_t copy[PACK_WORD] = {0};
    memcpy(copy, bases, n);
    pack_word(copy, row, portable);
}

/* The bases that may have been others before a conversion: T where C became T, or A where G became A. */
static inline void pack_ambiguous(uint64_t row[PACK_PLANES], uint64_t valid, int conversion)
{
    const uint64_t known = valid & ~row[2];
    const uint64_t ambiguous = known & (conversion == C_TO_T ? row[0] & row[1] : ~(row[0] | row[1]));
    row[1] |= ambiguous;
    row[2] |= ambiguous;
}

/* Whole words, beyond the end of the read where there are bases; `end` is where those of the last read end. `conversion`
 * is one of planes.h. */
static inline void pack_read(const uint8_t *bases, const uint8_t *end, uint32_t length, uint64_t *rows, int portable,
                             int conversion)
{
    const uint32_t words = (length + PACK_WORD - 1) / PACK_WORD;
    const uint32_t spare = PACK_WORD * words - length;
    if (!words)
        return;
    for (uint32_t i = 0; i < words; i++, bases += PACK_WORD) {
        if (end - bases >= PACK_WORD)
            pack_word(bases, rows + PACK_PLANES * (size_t)i, portable);
        else
            pack_last_word(bases, (size_t)(end - bases), rows + PACK_PLANES * (size_t)i, portable);
    }
    for (int plane = 0; plane < PACK_PLANES; plane++)
        rows[PACK_PLANES * (size_t)(words - 1) + plane] &= ~UINT64_C(0) >> spare;
    for (uint32_t i = 0; conversion && i < words; i++)
        pack_ambiguous(rows + PACK_PLANES * (size_t)i, ~UINT64_C(0) >> (i + 1 < words ? 0 : spare), conversion);
    pack_reverse_complement(rows, rows + PACK_PLANES * (size_t)words, words, spare);
}

/* Read i has `lengths[i]` bases from `offsets[i]` on. `conversions`: by read, or NULL where none is converted. */
static inline void pack_reads(const uint8_t *bases, const uint32_t *offsets, const uint32_t *lengths,
                              const uint32_t *plane_start, const uint8_t *conversions, size_t n, uint64_t *planes,
                              int portable)
{
    for (size_t i = 0; i < n; i++)
        pack_read(bases + offsets[i], bases + offsets[n], lengths[i],
                  planes + PACK_PLANES * (size_t)plane_start[i], portable, conversions ? conversions[i] : 0);
}

#endif
