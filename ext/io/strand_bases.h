/* A read as it lies on one strand of the reference, and how it differs from the reference there.
 *
 * Each base of the read becomes one entry byte: low nibble the 4-bit code of BAM, bits 4-5 the 2-bit base
 * code, bit 6 set where the base is masked (anything but A, C, G, T: it never matches). From the entries come
 * the SEQ field and, eight bases at a time, bit planes of the layout in docs/pipeline.md. Mismatches are then
 * found 64 at once.
 */
#ifndef GASSST_STRAND_BASES_H
#define GASSST_STRAND_BASES_H

#include "contigs.h"
#include "planes.h"
#include <string.h>

enum { ENTRY_NT16 = 0x0f, ENTRY_CODE_SHIFT = 4, ENTRY_MASKED = 0x40, ENTRY_UNKNOWN = 0x4f };

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

/* Entries of the read on `strand`, then zeros up to a multiple of 64. */
static void orient(const uint8_t *bases, uint32_t length, int strand, uint8_t *entries)
{
    const uint8_t *table = base_entry[strand];
    if (strand)
        for (uint32_t i = 0; i < length; i++) entries[i] = table[bases[length - 1 - i]];
    else
        for (uint32_t i = 0; i < length; i++) entries[i] = table[bases[i]];
    memset(entries + length, 0, -length & 63);
}

/* Bit 0 of each of eight bytes; byte 0 gives bit 0. */
static inline uint64_t gather_bits(uint64_t eight)
{
    return ((eight & 0x0101010101010101u) * 0x0102040810204080u) >> 56;
}

static inline uint64_t load_eight(const uint8_t *bytes)
{
    uint64_t eight;
    memcpy(&eight, bytes, 8);
    return eight;
}

/* Planes of oriented entries; `words` has room for a row per 64 bases. */
static planes_t entries_to_planes(const uint8_t *entries, uint32_t length, uint64_t *words)
{
    uint32_t rows = (length + 63) / 64;
    memset(words, 0, rows * 3 * sizeof *words);
    for (uint32_t i = 0; i < rows * 64; i += 8) {
        uint64_t eight = load_eight(entries + i), *row = words + 3 * (i / 64);
        row[0] |= gather_bits(eight >> 4) << (i & 63);
        row[1] |= gather_bits(eight >> 5) << (i & 63);
        row[2] |= gather_bits(eight >> 6) << (i & 63);
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
