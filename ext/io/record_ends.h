/* What a record of BAM says of its template, for finding duplicates: where its ends lie without clips, how good its
 * qualities are, its tags, and the spot on the flow cell in its name. Records are sound: made here, or
 * checked by record_check.h.
 */
#ifndef GASSST_RECORD_ENDS_H
#define GASSST_RECORD_ENDS_H

#include <stdint.h>
#include <string.h>

enum {
    LEAST_QUALITY = 15 /* bases of less count nothing for the score of a record, as in samtools and Picard */
};

static inline uint32_t little_u32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

typedef struct {
    const uint8_t *start, *name, *cigar, *quals, *tags, *end;
    int32_t tid, position;
    uint32_t flag, runs, length;
} bam_record;

static inline bam_record open_record(const uint8_t *start)
{
    bam_record r;
    r.start = start;
    r.end = start + 4 + little_u32(start);
    r.tid = (int32_t)little_u32(start + 4);
    r.position = (int32_t)little_u32(start + 8);
    r.runs = little_u32(start + 16) & 0xffff;
    r.flag = little_u32(start + 16) >> 16;
    r.length = little_u32(start + 20);
    r.name = start + 36;
    r.cigar = r.name + start[12];
    r.quals = r.cigar + 4 * (size_t)r.runs + (r.length + 1) / 2;
    r.tags = r.quals + r.length;
    return r;
}

static inline int is_clip(uint32_t run)
{
    return (run & 15) == 4 || (run & 15) == 5;
}

/* The first and the last base on the contig, counted from 1, if the clipped bases were aligned, too. */
static inline void unclipped_ends(const bam_record *r, int64_t *first, int64_t *last)
{
    int64_t lead = 0, span = 0, trail = 0;
    for (uint32_t i = 0; i < r->runs; i++) {
        uint32_t run = little_u32(r->cigar + 4 * (size_t)i);
        if (is_clip(run)) {
            *(span ? &trail : &lead) += run >> 4;
        } else if (0x18d >> (run & 15) & 1) { /* M, D, N, =, X */
            span += run >> 4;
        }
    }
    *first = r->position + 1 - lead;
    *last = r->position + span + trail;
}

static inline uint32_t sum_of_qualities(const bam_record *r)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < r->length; i++)
        sum += r->quals[i] >= LEAST_QUALITY ? r->quals[i] : 0;
    return sum;
}

static inline size_t size_of_tag_type(uint8_t type)
{
    switch (type) {
    case 'A': case 'c': case 'C': return 1;
    case 's': case 'S': return 2;
    case 'i': case 'I': case 'f': return 4;
    case 'd': return 8;
    default: return 0;
    }
}

/* The text of a tag of type Z, and its length; NULL if the record has none. */
static inline const uint8_t *text_of_tag(const bam_record *r, const uint8_t *name, size_t *length)
{
    const uint8_t *p = r->tags;
    while (p + 3 < r->end) {
        const uint8_t *value = p + 3;
        uint8_t type = p[2];
        size_t size = size_of_tag_type(type);
        if (type == 'Z' || type == 'H')
            size = strlen((const char *)value) + 1;
        else if (type == 'B')
            size = 5 + size_of_tag_type(value[0]) * (size_t)little_u32(value + 1);
        if (type == 'Z' && p[0] == name[0] && p[1] == name[1]) {
            *length = size - 1;
            return value;
        }
        p = value + size;
    }
    return NULL;
}

/* FNV-1a. */
static inline uint64_t hash_of(const uint8_t *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ text[i]) * 0x100000001b3u;
    return hash;
}

/* Digits at `p` as a number, up to `stop` or what is no digit; 0 if there are none, or too many for a coordinate. */
static inline int read_coordinate(const uint8_t *p, const uint8_t *stop, uint32_t *value)
{
    const uint8_t *first = p;
    uint64_t n = 0;
    while (p < stop && *p >= '0' && *p <= '9' && p - first < 10)
        n = 10 * n + (*p++ - '0');
    *value = (uint32_t)n;
    return p > first && n <= INT32_MAX;
}

/* The spot on a flow cell in a name of Illumina, whose fields are parted by colons: machine:run:flowcell:lane:tile:x:y
 * and maybe one field more, or the older machine:lane:tile:x:y and lane:tile:x:y. `surface` is a hash of what precedes
 * x. 0: there is no spot in it.
 */
static inline int read_spot(const uint8_t *name, size_t length, uint64_t *surface, uint32_t *x, uint32_t *y)
{
    const uint8_t *field[8], *stop = name + length;
    size_t colons = 0, before_x;
    for (const uint8_t *p = name; p < stop; p++)
        if (*p == ':') {
            if (colons == 8) return 0;
            field[colons++] = p + 1;
        }
    switch (colons) {
    case 3: before_x = 2; break;
    case 4: before_x = 3; break;
    case 6: case 7: before_x = 5; break;
    default: return 0;
    }
    if (!read_coordinate(field[before_x - 1], stop, x) || !read_coordinate(field[before_x], stop, y)) return 0;
    *surface = hash_of(name, field[before_x - 1] - name);
    return 1;
}

#endif
