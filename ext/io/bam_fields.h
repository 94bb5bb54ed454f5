/* The parts of a BAM record as bytes. Every put_* writes at `to` and returns the end of what it wrote; the
 * caller has made room (the bounds are stated here, next to what they bound).
 */
#ifndef GASSST_BAM_FIELDS_H
#define GASSST_BAM_FIELDS_H

#include "strand_bases.h"
#include <htslib/hts_endian.h>
#include <htslib/sam.h>
#include <stdlib.h>

enum {
    MAX_DECIMAL = 20,        /* digits of a 64-bit number and its sign */
    MAX_INT_TAG = 2 + 1 + 4, /* name, type, 32-bit value */
    N_INT_TAGS = 8           /* NM AS XS X0 X1 NH HI MQ */
};

/* Room for `size` bytes of data, doubled so that a tag growing hit by hit costs linear time; 0: no memory. */
static inline int grow_record(bam1_t *record, uint32_t size)
{
    if (size <= record->m_data) return 1;
    uint32_t room = size < record->m_data * (uint64_t)2 ? record->m_data * 2 : size;
    uint8_t *data = realloc(record->data, room);
    if (!data) return 0;
    record->data = data;
    record->m_data = room;
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

static inline uint8_t *put_tag(uint8_t *to, const char *name, char type)
{
    to[0] = name[0];
    to[1] = name[1];
    to[2] = type;
    return to + 3;
}

/* An integer tag in the smallest type that holds it, unsigned first, as bam_aux_update_int() chooses. */
static uint8_t *put_int_tag(uint8_t *to, const char *name, int64_t value)
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

static inline uint8_t *put_string_tag(uint8_t *to, const char *name, const char *value, size_t length)
{
    to = put_tag(to, name, 'Z');
    memcpy(to, value, length);
    to[length] = 0;
    return to + length + 1;
}

/* What SAM allows as QNAME: 1 to 254 characters of ! to ~, the first not @ (it would start a header line). */
static int is_valid_name(const uint8_t *name, uint32_t length)
{
    int valid = length >= 1 && length <= BAM_MAX_QNAME_LEN && name[0] != '@';
    for (uint32_t i = 0; valid && i < length; i++) valid = name[i] >= '!' && name[i] <= '~';
    return valid;
}

/* QNAME, closed and padded with zeros to a multiple of four: at most length + 4 bytes. */
static inline uint8_t *put_name(uint8_t *to, const uint8_t *name, uint32_t length)
{
    memcpy(to, name, length);
    memset(to + length, 0, 4 - (length & 3));
    return to + length + 4 - (length & 3);
}

static inline uint8_t *put_sequence(uint8_t *to, const uint8_t *entries, uint32_t length)
{
    for (uint32_t i = 0; i < length / 2; i++)
        to[i] = (uint8_t)(entries[2 * i] << 4) | (entries[2 * i + 1] & ENTRY_NT16);
    if (length & 1) to[length / 2] = (uint8_t)(entries[length - 1] << 4);
    return to + (length + 1) / 2;
}

static inline uint8_t *put_qualities(uint8_t *to, const uint8_t *quals, uint32_t length, int reverse)
{
    if (!quals) memset(to, 0xff, length);
    else if (reverse)
        for (uint32_t i = 0; i < length; i++) to[i] = quals[length - 1 - i] - 33;
    else
        for (uint32_t i = 0; i < length; i++) to[i] = quals[i] - 33;
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

/* Tag MC: at most 10 * runs + 4 bytes. */
static inline uint8_t *put_mate_cigar(uint8_t *to, const uint32_t *cigar, uint32_t runs)
{
    to = put_cigar_text(put_tag(to, "MC", 'Z'), cigar, runs);
    *to = 0;
    return to + 1;
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
    const char *contig;
    size_t contig_length;
    int64_t position; /* 0-based */
    int reverse;
    const uint32_t *cigar;
    uint32_t runs, mapq, edits;
} listed_hit;

/* In bwa's form `chr,+pos,CIGAR,NM;`: at most name + 2 * MAX_DECIMAL + 10 * runs + 5 bytes. */
static uint8_t *put_xa_hit(uint8_t *to, const listed_hit *hit)
{
    memcpy(to, hit->contig, hit->contig_length);
    to += hit->contig_length;
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
    memcpy(to, hit->contig, hit->contig_length);
    to += hit->contig_length;
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
