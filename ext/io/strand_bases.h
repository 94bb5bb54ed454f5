/* A read as it lies on one strand of the reference, and how it differs from the reference there.
 *
 * Each base of the read becomes one entry byte: low nibble the 4-bit code of BAM, bits 4-5 the 2-bit base
 * code, bit 6 set where the base is masked (anything but A, C, G, T: it never matches). Eight bases at a time
 * they become the SEQ field and bit planes of the layout in docs/pipeline.md. Mismatches are then found 64 at once.
 */
#ifndef GASSST_STRAND_BASES_H
#define GASSST_STRAND_BASES_H

#include "contigs.h"
#include "planes.h"
#include <string.h>

enum { ENTRY_NT16 = 0x0f, ENTRY_CODE_SHIFT = 4, ENTRY_MASK_SHIFT = 6, ENTRY_MASKED = 0x40, ENTRY_UNKNOWN = 0x4f };

/* Reference planes and the true letters of its masked bases: runs sorted by start. */
typedef struct {
    planes_t planes;
    const uint32_t *exception_start;
    const uint32_t *exception_length;
    const uint8_t *exception_code;
    size_t n_exceptions;
} reference_bases;

static uint8_t base_entry[2][256]; /* [strand][ASCII letter]; strand 1 holds the complement */

static inline uint8_t nt16_entry(unsigned nt16)
{
    switch (nt16) {
    case 1: return 1;
    case 2: return 2 | 1 << ENTRY_CODE_SHIFT;
    case 4: return 4 | 2 << ENTRY_CODE_SHIFT;
    case 8: return 8 | 3 << ENTRY_CODE_SHIFT;
    default: return nt16 | ENTRY_MASKED;
    }
}

/* To be called once, before any other function here. */
static void fill_base_entries(void)
{
    static const char letters[] = "=ACMGRSVTWYHKDBN";
    memset(base_entry, ENTRY_UNKNOWN, sizeof base_entry);
    for (unsigned nt16 = 1; nt16 < 16; nt16++) {
        unsigned complement = nt16 >> 3 | (nt16 >> 1 & 2) | (nt16 << 1 & 4) | (nt16 << 3 & 8);
        unsigned upper = (unsigned char)letters[nt16], lower = upper | 0x20;
        base_entry[0][upper] = base_entry[0][lower] = nt16_entry(nt16);
        base_entry[1][upper] = base_entry[1][lower] = nt16_entry(complement);
    }
}

/* --- eight bases at once: byte i of a word is base i ------------------------------------------------------------- */

#define EACH_BYTE 0x0101010101010101u

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

/* Entries of unmasked bases by the bits of their codes. */
static inline uint64_t eight_entries(uint64_t low, uint64_t high)
{
    const uint64_t nt16 = (EACH_BYTE ^ (low | high)) | (low & ~high) << 1 | (high & ~low) << 2 | (low & high) << 3;
    return nt16 | (low | high << 1) << ENTRY_CODE_SHIFT;
}

/* Entries of the n bases from `at` on of the read on `strand`, n <= 8. */
static inline uint64_t looked_up_entries(const uint8_t *bases, uint32_t length, int strand, uint32_t at, uint32_t n)
{
    uint64_t eight = 0;
    for (uint32_t i = 0; i < n; i++)
        eight |= (uint64_t)base_entry[strand][bases[strand ? length - 1 - at - i : at + i]] << 8 * i;
    return eight;
}

static inline uint64_t next_entries(const uint8_t *bases, uint32_t length, int strand, uint32_t at)
{
    if (length - at < 8)
        return looked_up_entries(bases, length, strand, at, length - at);
    const uint64_t letters = strand ? __builtin_bswap64(load_eight(bases + length - 8 - at)) : load_eight(bases + at);
    /* Bits 1 and 2 of a letter tell A, C, T, G apart, in this order. */
    const uint64_t high = letters >> 2 & EACH_BYTE, low = (letters >> 1 & EACH_BYTE) ^ high;
    if (letters != eight_letters(low, high))
        return looked_up_entries(bases, length, strand, at, 8);
    const uint64_t turned = strand ? EACH_BYTE : 0; /* the complement of a code is 3 less the code */
    return eight_entries(low ^ turned, high ^ turned);
}

/* Entries of the read on `strand`, and its planes. `entries` has room for a multiple of 64 bases, `words` for a row per
 * 64 bases. Nothing that was just written is read again: a word read from single bytes waits for all of them. */
static planes_t orient(const uint8_t *bases, uint32_t length, int strand, uint8_t *entries, uint64_t *words)
{
    const uint32_t rows = (length + 63) / 64;
    for (uint32_t row = 0; row < rows; row++) {
        const uint32_t stop = 64 * row + 64 < length ? 64 * row + 64 : length;
        uint64_t low = 0, high = 0, masked = 0;
        for (uint32_t i = 64 * row; i < stop; i += 8) {
            const uint64_t eight = next_entries(bases, length, strand, i);
            store_eight(entries + i, eight);
            low |= gather_bits(eight >> ENTRY_CODE_SHIFT) << (i & 63);
            high |= gather_bits(eight >> (ENTRY_CODE_SHIFT + 1)) << (i & 63);
            masked |= gather_bits(eight >> ENTRY_MASK_SHIFT) << (i & 63);
        }
        words[3 * row] = low, words[3 * row + 1] = high, words[3 * row + 2] = masked;
    }
    return (planes_t){words, rows};
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
static uint8_t exception_letter(const reference_bases *reference, uint32_t coordinate)
{
    size_t before = runs_before(reference->exception_start, reference->n_exceptions, coordinate);
    if (before && coordinate - reference->exception_start[before - 1] < reference->exception_length[before - 1])
        return reference->exception_code[before - 1];
    return 'N';
}

static inline uint8_t reference_letter(const reference_bases *reference, uint32_t coordinate)
{
    int base = base_at(reference->planes, coordinate);
    return base == MASKED_BASE ? exception_letter(reference, coordinate) : (uint8_t)"ACGT"[base];
}

#endif
