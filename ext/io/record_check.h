/* Whether a record of BAM is what its own lengths say (SAM 4.2): checked once, where bytes come from a file. */
#ifndef GASSST_RECORD_CHECK_H
#define GASSST_RECORD_CHECK_H

#include <stdint.h>
#include <string.h>

#include "record_ends.h"
#include "sam_tags.h"

enum {
    RECORD_CORE = 36,       /* bytes before the name, with the size of the block */
    N_CIGAR_OPERATIONS = 9, /* MIDNSHP=X */
    MOST_QUALITY = 93,      /* that SAM can write */
    NO_QUALITIES = 0xff     /* the first of a record without any */
};

/* Whether the bytes of a tag of type A, Z or H are what SAM allows. */
static inline int tag_text_is_sound(uint8_t type, const uint8_t *text, size_t size)
{
    switch (type) {
    case 'A': return *text > ' ' && *text <= '~';
    case 'Z': return tag_is_printable(text, size - 1);
    case 'H': return tag_is_hex(text, size - 1);
    default: return 1;
    }
}

/* The tags from `p` to `end`: each whole, with a name, and as SAM can write it; the last one ends there. */
static inline int tags_are_sound(const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        if (end - p < 4 || !tag_is_letter(p[0]) || !(tag_is_letter(p[1]) || tag_is_digit(p[1]))) return 0;
        uint8_t type = p[2];
        size_t left, size = size_of_tag_type(type);
        p += 3;
        left = (size_t)(end - p);
        if (type == 'Z' || type == 'H') {
            const uint8_t *last = memchr(p, 0, left);
            if (last == NULL) return 0;
            size = (size_t)(last - p) + 1;
        } else if (type == 'B') {
            if (left < 5) return 0;
            size = size_of_tag_type(p[0]);
            if (size == 0 || p[0] == 'A' || p[0] == 'd' || little_u32(p + 1) > (left - 5) / size) return 0;
            size = 5 + size * (size_t)little_u32(p + 1);
        }
        if (size == 0 || size > left || !tag_text_is_sound(type, p, size)) return 0;
        p += size;
    }
    return 1;
}

/* Whether SAM can write the name, which ends with the only NUL of its bytes, the qualities and the tags of a record. */
static inline int texts_are_sound(const uint8_t *name, const uint8_t *quals, size_t length, const uint8_t *tags,
                                  const uint8_t *end)
{
    uint8_t bad = 0;
    if (length > 0 && quals[0] != NO_QUALITIES)
        for (size_t i = 0; i < length; i++) bad |= quals[i] > MOST_QUALITY;
    return !bad && *name && tag_is_printable(name, strlen((const char *)name)) && tags_are_sound(tags, end);
}

/* Whether `position` lies on the contig `tid`, or there is neither. */
static inline int is_on_contig(int32_t tid, int32_t position, const int64_t *lengths, int32_t n_references)
{
    if (tid == -1) return position == -1;
    return tid >= 0 && tid < n_references && position >= 0 && position < lengths[tid];
}

/* Whether the `size` bytes at `record` are one record: its block and all that it holds end where they say, it lies on one
 * of the `n_references` contigs of these `lengths`, or on none, and SAM can write its texts.
 */
static inline int record_is_sound(const uint8_t *record, size_t size, const int64_t *lengths, int32_t n_references)
{
    if (size < RECORD_CORE || (size_t)little_u32(record) != size - 4) return 0;
    const int32_t tid = (int32_t)little_u32(record + 4), position = (int32_t)little_u32(record + 8);
    const int32_t mate_tid = (int32_t)little_u32(record + 24), mate_position = (int32_t)little_u32(record + 28);
    const uint32_t length = little_u32(record + 20);
    const size_t name = record[12], runs = little_u32(record + 16) & 0xffff;
    const size_t rest = size - RECORD_CORE;
    if (!is_on_contig(tid, position, lengths, n_references)) return 0;
    if (!is_on_contig(mate_tid, mate_position, lengths, n_references)) return 0;
    if (name == 0 || length > INT32_MAX) return 0;
    const size_t fixed = name + 4 * runs + ((size_t)length + 1) / 2 + length;
    if (fixed > rest || memchr(record + RECORD_CORE, 0, name) != record + RECORD_CORE + name - 1) return 0;
    const uint8_t *cigar = record + RECORD_CORE + name;
    uint64_t span = 0, bases = 0;
    for (size_t i = 0; i < runs; i++) {
        uint32_t run = little_u32(cigar + 4 * i), operation = run & 15;
        if (operation >= N_CIGAR_OPERATIONS) return 0;
        if (0x18d >> operation & 1) span += run >> 4;  /* M, D, N, =, X */
        if (0x193 >> operation & 1) bases += run >> 4; /* M, I, S, =, X */
    }
    if (runs > 0 && (tid < 0 || (uint64_t)position + span > (uint64_t)lengths[tid])) return 0;
    if (runs > 0 && length > 0 && bases != length) return 0;
    /* As of a CIGAR that readers look for in a tag. */
    if (runs > 0 && (little_u32(cigar) & 15) == 4 && little_u32(cigar) >> 4 == length) return 0;
    const uint8_t *first = record + RECORD_CORE, *tags = first + fixed;
    return *first != '@' && texts_are_sound(first, tags - length, length, tags, record + size);
}

#endif
