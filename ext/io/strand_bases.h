/* A read as it lies on one strand of the reference, and how it differs from the reference there.
 *
 * The read becomes letters of SAM and bit planes of the layout in docs/pipeline.md, a block of bases at once. Letters are
 * those of the 4-bit codes of BAM, in upper case; anything but A, C, G, T is masked, and never matches. Mismatches are
 * then found 64 at once.
 */
#ifndef GASSST_STRAND_BASES_H
#define GASSST_STRAND_BASES_H

#include "contigs.h"
#include "planes.h"
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Reference planes and the true letters of its masked bases: runs sorted by start. */
typedef struct {
    planes_t planes;
    const coordinate_t *exception_start;
    const uint32_t *exception_length;
    const uint8_t *exception_code;
    size_t n_exceptions;
} reference_bases;

static uint8_t strand_letter[2][256]; /* [strand][ASCII letter]; strand 1 holds the complement */

/* To be called once, before any other function here. */
static void fill_letters(void)
{
    static const char letters[] = "=ACMGRSVTWYHKDBN"; /* by the 4-bit code of BAM */
    memset(strand_letter, 'N', sizeof strand_letter);
    for (unsigned nt16 = 1; nt16 < 16; nt16++) {
        unsigned complement = nt16 >> 3 | (nt16 >> 1 & 2) | (nt16 << 1 & 4) | (nt16 << 3 & 8);
        unsigned upper = (unsigned char)letters[nt16], lower = upper | 0x20;
        strand_letter[0][upper] = strand_letter[0][lower] = (uint8_t)letters[nt16];
        strand_letter[1][upper] = strand_letter[1][lower] = (uint8_t)letters[complement];
    }
}

static inline uint64_t load_eight(const uint8_t *bytes)
{
    uint64_t eight;
    memcpy(&eight, bytes, 8);
    return eight;
}

static inline void store_eight(uint8_t *bytes, uint64_t eight)
{
    memcpy(bytes, &eight, 8);
}

/* --- a block of bases at once -------------------------------------------------------------------------------------
 *
 * Bits 1 and 2 of a letter tell A, C, T, G apart, in this order: the high bit of the code is bit 2, the low bit is bit 1
 * but for G and T. Bit 1 also tells which letter complements another: C and G differ in bit 2, A and T in bits 0, 2 and 4.
 */

#if defined(__SSE2__)

enum { BLOCK = 16 };

/* Takes the bases from `at` on of the read on `strand`, a whole block, if they are A, C, G and T alone: letters go to `to`,
 * the bits of their codes into `low` and `high`. 0: there is another one. */
static inline int take_block(const uint8_t *bases, uint32_t length, int strand, uint32_t at, uint8_t *to, uint64_t *low,
                             uint64_t *high)
{
    __m128i x;
    if (strand) {
        const uint8_t *p = bases + length - BLOCK - at;
        x = _mm_set_epi64x((int64_t)__builtin_bswap64(load_eight(p)), (int64_t)__builtin_bswap64(load_eight(p + 8)));
        const __m128i two = _mm_set1_epi8(2), is_strong = _mm_cmpeq_epi8(_mm_and_si128(x, two), two);
        x = _mm_xor_si128(x, _mm_or_si128(_mm_andnot_si128(is_strong, _mm_set1_epi8(0x11)), _mm_set1_epi8(4)));
    } else {
        x = _mm_loadu_si128((const __m128i *)(bases + at));
    }
    const __m128i a_or_c = _mm_cmpeq_epi8(_mm_andnot_si128(_mm_set1_epi8(2), x), _mm_set1_epi8('A'));
    const __m128i g_or_t = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('G')), _mm_cmpeq_epi8(x, _mm_set1_epi8('T')));
    const __m128i second = _mm_slli_epi16(x, 5);
    _mm_storeu_si128((__m128i *)to, x);
    *high = (uint64_t)(uint32_t)_mm_movemask_epi8(second);
    *low = (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_xor_si128(_mm_slli_epi16(x, 6), second));
    return _mm_movemask_epi8(_mm_or_si128(a_or_c, g_or_t)) == 0xffff;
}

#else

enum { BLOCK = 8 };

#define EACH_BYTE 0x0101010101010101u

/* Bit 0 of each of eight bytes; byte 0 gives bit 0. */
static inline uint64_t gather_bits(uint64_t eight)
{
    return ((eight & EACH_BYTE) * 0x0102040810204080u) >> 56;
}

/* A, C, G or T by the low and the high bit of their codes, in bit 0 of each byte. */
static inline uint64_t eight_letters(uint64_t low, uint64_t high)
{
    const uint64_t t = low & high;
    return (EACH_BYTE * 'A' | (low | high) << 1 | high << 2) ^ (t | t << 1 | t << 4);
}

static inline int take_block(const uint8_t *bases, uint32_t length, int strand, uint32_t at, uint8_t *to, uint64_t *low,
                             uint64_t *high)
{
    const uint64_t x = strand ? __builtin_bswap64(load_eight(bases + length - BLOCK - at)) : load_eight(bases + at);
    const uint64_t second = x >> 2 & EACH_BYTE, first = (x >> 1 & EACH_BYTE) ^ second;
    const uint64_t turned = strand ? EACH_BYTE : 0; /* the complement of a code is 3 less the code */
    store_eight(to, eight_letters(first ^ turned, second ^ turned));
    *low = gather_bits(first ^ turned);
    *high = gather_bits(second ^ turned);
    return x == eight_letters(first, second);
}

#endif

/* Any read, base by base. */
static void orient_any(const uint8_t *bases, uint32_t length, int strand, uint8_t *letters, uint64_t *words)
{
    memset(words, 0, (size_t)(length + 63) / 64 * 3 * sizeof *words);
    for (uint32_t i = 0; i < length; i++) {
        const uint8_t letter = strand_letter[strand][bases[strand ? length - 1 - i : i]];
        const uint64_t low = letter == 'C' || letter == 'T', high = letter == 'G' || letter == 'T';
        const uint64_t masked = letter != 'A' && !low && !high;
        uint64_t *row = words + 3 * (size_t)(i / 64);
        letters[i] = letter;
        row[0] |= low << (i & 63);
        row[1] |= high << (i & 63);
        row[2] |= masked << (i & 63);
    }
}

/* Letters of the read on `strand`, and its planes. `letters` has room for a multiple of 64 bases, `words` for a row per
 * 64 bases. The last block ends with the read, and takes some bases once more. */
static planes_t orient(const uint8_t *bases, uint32_t length, int strand, uint8_t *letters, uint64_t *words)
{
    int is_plain = length >= BLOCK;
    for (uint32_t start = 0; start < length && is_plain; start += 64) {
        const uint32_t stop = start + 64 < length ? start + 64 : length;
        uint64_t row_low = 0, row_high = 0, *row = words + 3 * (size_t)(start / 64);
        for (uint32_t i = start; i < stop && is_plain; i += BLOCK) {
            const uint32_t beyond = i + BLOCK > length ? i + BLOCK - length : 0;
            uint64_t low, high;
            is_plain = take_block(bases, length, strand, i - beyond, letters + i - beyond, &low, &high);
            row_low |= low >> beyond << (i - start);
            row_high |= high >> beyond << (i - start);
        }
        row[0] = row_low, row[1] = row_high, row[2] = 0;
    }
    if (!is_plain) orient_any(bases, length, strand, letters, words);
    return (planes_t){words, (length + 63) / 64};
}

/* Sets bit q + i of `mismatch` where read base q + i differs from reference base p + i, 0 <= i < length. */
static void mark_mismatches(planes_t read, uint32_t q, planes_t reference, int64_t p, uint32_t length,
                            uint64_t *mismatch)
{
    for (uint32_t done = 0; done < length; done += 64, q += 64, p += 64) {
        uint64_t differ = differences(bases_at(read, q), bases_at(reference, p)) & first_bases(length - done);
        mismatch[q / 64] |= differ << (q & 63);
        if (q & 63) mismatch[q / 64 + 1] |= differ >> (64 - (q & 63));
    }
}

/* First index in from..to-1 whose bit is `wanted`, or `to`. */
static inline uint32_t next_bit(const uint64_t *bits, uint32_t from, uint32_t to, int wanted)
{
    uint64_t flip = wanted ? 0 : ~(uint64_t)0;
    while (from < to) {
        uint64_t word = (bits[from / 64] ^ flip) >> (from & 63);
        if (word) {
            from += __builtin_ctzll(word);
            return from < to ? from : to;
        }
        from = (from | 63) + 1;
    }
    return to;
}

/* Letter of a masked reference base: that of the last run that starts no later, if it reaches that far. */
static uint8_t exception_letter(const reference_bases *reference, coordinate_t coordinate)
{
    size_t before = contigs_before(reference->exception_start, reference->n_exceptions, coordinate);
    if (before && coordinate - reference->exception_start[before - 1] < reference->exception_length[before - 1])
        return reference->exception_code[before - 1];
    return 'N';
}

static inline uint8_t reference_letter(const reference_bases *reference, coordinate_t coordinate)
{
    int base = base_at(reference->planes, coordinate);
    return base == MASKED_BASE ? exception_letter(reference, coordinate) : (uint8_t)"ACGT"[base];
}

#endif
