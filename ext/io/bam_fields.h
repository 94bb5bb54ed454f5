/* The parts of a record as bytes: binary as in BAM, or text as in SAM where a function takes `text` and that is not 0.
 * Every put_* writes at `to` and returns the end of what it wrote; the caller has made room (the bounds are stated
 * here, next to what they bound).
 */
#ifndef GASSST_BAM_FIELDS_H
#define GASSST_BAM_FIELDS_H

#include "sam_tags.h"
#include "strand_bases.h"
#include <htslib/hts_endian.h>
#include <htslib/sam.h>
#include <stdlib.h>

#ifndef BAM_MAX_QNAME_LEN /* as htslib before 1.22 does not say */
#define BAM_MAX_QNAME_LEN 254
#endif

enum {
    MAX_DECIMAL = 20,                 /* digits of a 64-bit number and its sign */
    MAX_INT_TAG = 6 + MAX_DECIMAL,    /* text: tab, name, type, colons, value */
    N_INT_TAGS = 8,                   /* NM AS XS X0 X1 NH HI MQ */
    MAX_BAM_CIGAR = 0xffff,           /* runs; a longer CIGAR goes into tag CG */
    BAM_CORE = 36,                    /* block size and the eight words that follow */
    MOST_TAG_GROWTH = 2               /* times the text that a tag takes in BAM at the most: B:i,1,2,3 */
};

/* Bytes that grow at their end. */
typedef struct {
    uint8_t *data;
    size_t size, room;
} byte_buffer;

/* Room for `more` bytes behind those there are; 0: no memory. */
static inline int grow_buffer(byte_buffer *buffer, size_t more)
{
    if (more <= buffer->room - buffer->size) return 1;
    size_t room = buffer->size + more, larger = buffer->room + buffer->room / 2;
    if (room < larger) room = larger;
    uint8_t *data = realloc(buffer->data, room);
    if (!data) return 0;
    buffer->data = data;
    buffer->room = room;
    return 1;
}

/* Copies `size` bytes into the data of a record; 0: no memory. */
static inline int set_record_data(bam1_t *record, const uint8_t *bytes, uint32_t size)
{
    if (size > record->m_data) {
        uint8_t *data = realloc(record->data, size);
        if (!data) return 0;
        record->data = data;
        record->m_data = size;
    }
    memcpy(record->data, bytes, size);
    record->l_data = (int)size;
    return 1;
}

static inline uint8_t *put_decimal(uint8_t *to, uint64_t value)
{
    uint8_t digits[MAX_DECIMAL], *first = digits + MAX_DECIMAL;
    do *--first = '0' + value % 10;
    while (value /= 10);
    size_t n = digits + MAX_DECIMAL - first;
    memcpy(to, first, n);
    return to + n;
}

static inline uint8_t *put_signed(uint8_t *to, int64_t value)
{
    if (value >= 0) return put_decimal(to, (uint64_t)value);
    *to = '-';
    return put_decimal(to + 1, (uint64_t)-value);
}

static inline uint8_t *put_text(uint8_t *to, const char *text, size_t length)
{
    memcpy(to, text, length);
    return to + length;
}

static inline uint8_t *put_tag(uint8_t *to, const char *name, char type)
{
    to[0] = name[0];
    to[1] = name[1];
    to[2] = type;
    return to + 3;
}

/* An integer tag in the smallest type that holds it, unsigned first, as bam_aux_update_int() chooses. */
static uint8_t *put_int_bytes(uint8_t *to, const char *name, int64_t value)
{
    int negative = value < 0;
    if (negative ? value >= INT8_MIN : value <= UINT8_MAX) {
        to = put_tag(to, name, negative ? 'c' : 'C');
        *to = (uint8_t)value;
        return to + 1;
    }
    if (negative ? value >= INT16_MIN : value <= UINT16_MAX) {
        to = put_tag(to, name, negative ? 's' : 'S');
        u16_to_le((uint16_t)value, to);
        return to + 2;
    }
    to = put_tag(to, name, negative ? 'i' : 'I');
    u32_to_le((uint32_t)value, to);
    return to + 4;
}

/* The beginning of a string tag, which `close_string` ends: tab, name and ":Z:", or name and type. */
static inline uint8_t *open_string(uint8_t *to, const char *name, int text)
{
    if (!text) return put_tag(to, name, 'Z');
    *to++ = '\t';
    to = put_text(to, name, 2);
    return put_text(to, ":Z:", 3);
}

static inline uint8_t *close_string(uint8_t *to, int text)
{
    if (!text) *to++ = 0;
    return to;
}

static inline uint8_t *put_int_tag(uint8_t *to, const char *name, int64_t value, int text)
{
    if (!text) return put_int_bytes(to, name, value);
    *to++ = '\t';
    to = put_text(to, name, 2);
    to = put_text(to, ":i:", 3);
    return put_signed(to, value);
}

/* At most length + 6 bytes. */
static inline uint8_t *put_string_tag(uint8_t *to, const char *name, const char *value, size_t length, int text)
{
    return close_string(put_text(open_string(to, name, text), value, length), text);
}

/* The items of an array, "i,1,2,3", behind its name and type. */
static uint8_t *put_array_bytes(uint8_t *to, const uint8_t *text, size_t length)
{
    int64_t low, high;
    int size = tag_array_item(text[0], &low, &high);
    uint8_t *count = to + 1;
    uint32_t n = 0;
    *to = text[0];
    to += 5;
    for (size_t i = 2, item; i < length; i += item + 1, to += size, n++) {
        item = tag_until_comma(text + i, length - i);
        if (text[0] == 'f')
            float_to_le((float)tag_float(text + i, item), to);
        else if (size == 1)
            *to = (uint8_t)tag_integer(text + i, item);
        else if (size == 2)
            u16_to_le((uint16_t)tag_integer(text + i, item), to);
        else
            u32_to_le((uint32_t)tag_integer(text + i, item), to);
    }
    u32_to_le(n, count);
    return to;
}

/* One tag "XX:T:value" that `tag_is_valid` has passed. */
static uint8_t *put_tag_bytes(uint8_t *to, const uint8_t *tag, size_t length)
{
    const char name[2] = {(char)tag[0], (char)tag[1]};
    const uint8_t *value = tag + TAG_HEAD;
    size_t size = length - TAG_HEAD;
    if (tag[3] == 'i')
        return put_int_bytes(to, name, tag_integer(value, size));
    to = put_tag(to, name, (char)tag[3]);
    if (tag[3] == 'B')
        return put_array_bytes(to, value, size);
    if (tag[3] == 'f') {
        float_to_le((float)tag_float(value, size), to);
        return to + 4;
    }
    to = put_text(to, (const char *)value, size);
    if (tag[3] != 'A') *to++ = 0;
    return to;
}

/* The tags that come with a read, a tab before each: at most MOST_TAG_GROWTH times their length. */
static uint8_t *put_read_tags(uint8_t *to, const uint8_t *tags, size_t length, int text)
{
    if (text) return put_text(to, (const char *)tags, length);
    for (const uint8_t *end = tags + length; tags < end;) {
        const uint8_t *next = memchr(tags + 1, '\t', (size_t)(end - tags - 1));
        next = next ? next : end;
        to = put_tag_bytes(to, tags + 1, (size_t)(next - tags - 1));
        tags = next;
    }
    return to;
}

/* What SAM allows as QNAME: 1 to 254 characters of ! to ~, the first not @ (it would start a header line). */
static int is_valid_name(const uint8_t *name, uint32_t length)
{
    if (length < 1 || length > BAM_MAX_QNAME_LEN || name[0] == '@') return 0;
    uint8_t odd = 0; /* no way out before the end, which would keep the compiler from taking 16 at once */
    for (uint32_t i = 0; i < length; i++) odd |= name[i] < '!' || name[i] > '~';
    return !odd;
}

/* QNAME and the zero behind it; for htslib's own record padded with zeros to a multiple of four: at most length + 4
 * bytes. */
static inline uint8_t *put_name(uint8_t *to, const uint8_t *name, uint32_t length, int padded)
{
    uint32_t zeros = padded ? 4 - (length & 3) : 1;
    memcpy(to, name, length);
    memset(to + length, 0, zeros);
    return to + length + zeros;
}

static inline uint8_t *put_sequence(uint8_t *to, const uint8_t *entries, uint32_t length)
{
    for (uint32_t i = 0; i < length / 2; i++)
        to[i] = (uint8_t)(entries[2 * i] << 4) | (entries[2 * i + 1] & ENTRY_NT16);
    if (length & 1) to[length / 2] = (uint8_t)(entries[length - 1] << 4);
    return to + (length + 1) / 2;
}

static inline uint8_t *put_letters(uint8_t *to, const uint8_t *entries, uint32_t length)
{
    for (uint32_t i = 0; i < length;) {
        const uint64_t eight = load_eight(entries + i); /* behind the read, too, there is room */
        if (length - i >= 8 && !(eight & EACH_BYTE * ENTRY_MASKED)) {
            const uint64_t low = eight >> ENTRY_CODE_SHIFT, high = low >> 1;
            store_eight(to + i, eight_letters(low & EACH_BYTE, high & EACH_BYTE));
            i += 8;
        } else {
            to[i] = "=ACMGRSVTWYHKDBN"[entries[i] & ENTRY_NT16];
            i++;
        }
    }
    return to + length;
}

/* The phred values of qualities in ASCII, or as text these characters as they are. */
static inline uint8_t *put_qualities(uint8_t *restrict to, const uint8_t *restrict quals, uint32_t length, int reverse,
                                     int text)
{
    uint8_t zero = text ? 0 : 33;
    uint32_t i = 0;
    if (reverse) {
        if (text)
            for (; length - i >= 8; i += 8) store_eight(to + i, __builtin_bswap64(load_eight(quals + length - 8 - i)));
        for (; i < length; i++) to[i] = quals[length - 1 - i] - zero;
    } else {
        for (; i < length; i++) to[i] = quals[i] - zero;
    }
    return to + length;
}

/* CIGAR with M split into = and X by the bits of `mismatch`: at most runs + read length runs. */
static uint32_t *put_cigar_eqx(uint32_t *to, const uint32_t *cigar, uint32_t runs, const uint64_t *mismatch)
{
    for (uint32_t run = 0, q = 0; run < runs; run++) {
        uint32_t length = bam_cigar_oplen(cigar[run]), op = bam_cigar_op(cigar[run]), end = q + length;
        if (op != BAM_CMATCH) {
            *to++ = cigar[run];
            if (op != BAM_CDEL) q = end;
            continue;
        }
        while (q < end) {
            int differs = mismatch[q / 64] >> (q & 63) & 1;
            uint32_t stop = next_bit(mismatch, q, end, !differs);
            *to++ = bam_cigar_gen(stop - q, differs ? BAM_CDIFF : BAM_CEQUAL);
            q = stop;
        }
    }
    return to;
}

/* The MD string without its closing zero. A matching base adds at most one digit, a mismatch or deleted base
 * its letter and a 0, a deletion a caret and a 0: at most 2 * reference span + 2 * runs + 1 bytes. */
static uint8_t *put_md(uint8_t *to, const uint32_t *cigar, uint32_t runs, const uint64_t *mismatch,
                       const reference_bases *reference, uint32_t position)
{
    uint32_t equal = 0;
    for (uint32_t run = 0, q = 0; run < runs; run++) {
        uint32_t length = bam_cigar_oplen(cigar[run]), op = bam_cigar_op(cigar[run]), end = q + length;
        if (op == BAM_CDEL) {
            to = put_decimal(to, equal);
            *to++ = '^';
            for (uint32_t i = 0; i < length; i++) *to++ = reference_letter(reference, position++);
            equal = 0;
            continue;
        }
        if (op == BAM_CMATCH) {
            for (uint32_t next; (next = next_bit(mismatch, q, end, 1)) < end; q = next + 1, equal = 0) {
                to = put_decimal(to, equal + next - q);
                *to++ = reference_letter(reference, position + length - (end - next));
            }
            equal += end - q;
            position += length;
        }
        q = end;
    }
    return put_decimal(to, equal);
}

/* CIGAR as text: at most 10 * runs bytes, a length being less than 2^28. */
static inline uint8_t *put_cigar_text(uint8_t *to, const uint32_t *cigar, uint32_t runs)
{
    for (uint32_t run = 0; run < runs; run++) {
        to = put_decimal(to, bam_cigar_oplen(cigar[run]));
        *to++ = bam_cigar_opchr(cigar[run]);
    }
    return to;
}

/* Tag MC: at most 10 * runs + 6 bytes. */
static inline uint8_t *put_mate_cigar(uint8_t *to, const uint32_t *cigar, uint32_t runs, int text)
{
    return close_string(put_cigar_text(open_string(to, "MC", text), cigar, runs), text);
}

static inline uint8_t *put_cigar(uint8_t *to, const uint32_t *cigar, uint32_t runs)
{
    for (uint32_t run = 0; run < runs; run++) u32_to_le(cigar[run], to + 4 * (size_t)run);
    return to + 4 * (size_t)runs;
}

/* What BAM has in place of a CIGAR that is too long: all bases clipped, and the span of the alignment skipped. */
static inline uint8_t *put_cigar_stand_in(uint8_t *to, uint32_t length, uint32_t span)
{
    u32_to_le(bam_cigar_gen(length, BAM_CSOFT_CLIP), to);
    u32_to_le(bam_cigar_gen(span, BAM_CREF_SKIP), to + 4);
    return to + 8;
}

/* The long CIGAR itself, in tag CG: 8 + 4 * runs bytes. */
static inline uint8_t *put_long_cigar(uint8_t *to, const uint32_t *cigar, uint32_t runs)
{
    to = put_text(to, "CGBI", 4);
    u32_to_le(runs, to);
    return put_cigar(to + 4, cigar, runs);
}

/* The fixed part of a record. */
typedef struct {
    int32_t tid, mate_tid;
    int64_t position, mate_position, template_length; /* 0-based; -1 without a contig */
    uint16_t flag, bin;
    uint8_t mapq;
    uint32_t name_length, runs, length; /* of SEQ */
} record_core;

/* BAM_CORE bytes; the block size is still to come, by `close_bam`. */
static inline uint8_t *put_bam_core(uint8_t *to, const record_core *core)
{
    uint32_t runs = core->runs > MAX_BAM_CIGAR ? 2 : core->runs;
    u32_to_le((uint32_t)core->tid, to + 4);
    u32_to_le((uint32_t)core->position, to + 8);
    u32_to_le((uint32_t)core->bin << 16 | (uint32_t)core->mapq << 8 | (core->name_length + 1), to + 12);
    u32_to_le((uint32_t)core->flag << 16 | runs, to + 16);
    u32_to_le(core->length, to + 20);
    u32_to_le((uint32_t)core->mate_tid, to + 24);
    u32_to_le((uint32_t)core->mate_position, to + 28);
    u32_to_le((uint32_t)core->template_length, to + 32);
    return to + BAM_CORE;
}

static inline void close_bam(uint8_t *record, size_t size)
{
    u32_to_le((uint32_t)(size - 4), record);
}

/* A contig's name, and its length in bytes. */
typedef struct {
    const char *text;
    size_t length;
} contig_name;

/* The first nine fields of SAM, and the tab behind: at most the three names, 10 * runs and 7 * MAX_DECIMAL bytes. */
static uint8_t *put_sam_core(uint8_t *to, const record_core *core, const uint8_t *name, const contig_name *contigs,
                             const uint32_t *cigar)
{
    to = put_text(to, (const char *)name, core->name_length);
    *to++ = '\t';
    to = put_decimal(to, core->flag);
    *to++ = '\t';
    to = core->tid < 0 ? put_text(to, "*", 1) : put_text(to, contigs[core->tid].text, contigs[core->tid].length);
    *to++ = '\t';
    to = put_signed(to, core->position + 1);
    *to++ = '\t';
    to = put_decimal(to, core->mapq);
    *to++ = '\t';
    to = core->runs ? put_cigar_text(to, cigar, core->runs) : put_text(to, "*", 1);
    *to++ = '\t';
    if (core->mate_tid < 0) *to++ = '*';
    else if (core->mate_tid == core->tid) *to++ = '=';
    else to = put_text(to, contigs[core->mate_tid].text, contigs[core->mate_tid].length);
    *to++ = '\t';
    to = put_signed(to, core->mate_position + 1);
    *to++ = '\t';
    to = put_signed(to, core->template_length);
    *to++ = '\t';
    return to;
}

/* Clips as hard clips; a CIGAR has them at its ends only. */
static inline void harden_clips(uint32_t *cigar, uint32_t runs)
{
    for (uint32_t run = 0; run < runs; run += runs > 1 ? runs - 1 : 1)
        if (bam_cigar_op(cigar[run]) == BAM_CSOFT_CLIP)
            cigar[run] = bam_cigar_gen(bam_cigar_oplen(cigar[run]), BAM_CHARD_CLIP);
}

/* One alignment as the tags XA and SA list it. */
typedef struct {
    contig_name contig;
    int64_t position; /* 0-based */
    int reverse;
    const uint32_t *cigar;
    uint32_t runs, mapq, edits;
} listed_hit;

/* In bwa's form `chr,+pos,CIGAR,NM;`: at most name + 2 * MAX_DECIMAL + 10 * runs + 5 bytes. */
static uint8_t *put_xa_hit(uint8_t *to, const listed_hit *hit)
{
    to = put_text(to, hit->contig.text, hit->contig.length);
    *to++ = ',';
    *to++ = hit->reverse ? '-' : '+';
    to = put_decimal(to, hit->position + 1);
    *to++ = ',';
    to = put_cigar_text(to, hit->cigar, hit->runs);
    *to++ = ',';
    to = put_decimal(to, hit->edits);
    *to++ = ';';
    return to;
}

/* In the form of SAM `chr,pos,strand,CIGAR,MAPQ,NM;`: at most name + 3 * MAX_DECIMAL + 10 * runs + 7 bytes. */
static uint8_t *put_sa_hit(uint8_t *to, const listed_hit *hit)
{
    to = put_text(to, hit->contig.text, hit->contig.length);
    *to++ = ',';
    to = put_decimal(to, hit->position + 1);
    *to++ = ',';
    *to++ = hit->reverse ? '-' : '+';
    *to++ = ',';
    to = put_cigar_text(to, hit->cigar, hit->runs);
    *to++ = ',';
    to = put_decimal(to, hit->mapq);
    *to++ = ',';
    to = put_decimal(to, hit->edits);
    *to++ = ';';
    return to;
}

#endif
