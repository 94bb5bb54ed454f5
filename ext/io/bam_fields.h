/* The parts of a record as bytes: binary as in BAM, or text as in SAM where a function takes `text` and that is not 0.
 * Every put_* writes at `to` and returns the end of what it wrote; the caller has made room (the bounds are stated
 * here, next to what they bound).
 */
#ifndef GASSST_BAM_FIELDS_H
#define GASSST_BAM_FIELDS_H

#include "own_tags.h"
#include "sam_tags.h"
#include "strand_bases.h"
#include <htslib/hts_endian.h>
#include <htslib/sam.h>
#include <stdlib.h>

#ifndef BAM_MAX_QNAME_LEN /* as htslib before 1.22 does not say */
#define BAM_MAX_QNAME_LEN 254
#endif

enum {
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

static const char two_digits[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
                                 "4950515253545556575859606162636465666768697071727374757677787980818283848586878889909192939495969798"
                                 "99";

/* Ten digits at most, two at once from the last ones on. */
static inline uint8_t *put_decimal32(uint8_t *to, uint32_t value)
{
    uint32_t n = 1;
    for (uint64_t bound = 10; n < 10 && value >= bound; bound *= 10) n++;
    uint8_t *end = to + n, *at = end;
    for (; value >= 100; value /= 100) {
        at -= 2;
        memcpy(at, two_digits + 2 * (value % 100), 2);
    }
    if (value >= 10)
        memcpy(to, two_digits + 2 * value, 2);
    else
        *to = (uint8_t)('0' + value);
    return end;
}

static inline uint8_t *put_decimal(uint8_t *to, uint64_t value)
{
    if (value < 10) {
        *to = (uint8_t)('0' + value);
        return to + 1;
    }
    if (value < 100) {
        memcpy(to, two_digits + 2 * value, 2);
        return to + 2;
    }
    if (value <= UINT32_MAX) return put_decimal32(to, (uint32_t)value);
    to = put_decimal(to, value / 1000000000);
    for (uint32_t rest = (uint32_t)(value % 1000000000), unit = 100000000; unit; rest %= unit, unit /= 10)
        *to++ = (uint8_t)('0' + rest / unit);
    return to;
}

static inline uint8_t *put_signed(uint8_t *to, int64_t value)
{
    if (value >= 0) return put_decimal(to, (uint64_t)value);
    *to = '-';
    return put_decimal(to + 1, (uint64_t)-value);
}

/* Copies without a call: names are too short for one. Nothing beyond either end is read or written. */
INLINE uint8_t *put_text(uint8_t *to, const char *text, size_t length)
{
    if (length >= 16) {
        for (size_t i = 0; i + 16 < length; i += 16) memcpy(to + i, text + i, 16);
        memcpy(to + length - 16, text + length - 16, 16);
    } else if (length >= 8) {
        memcpy(to, text, 8);
        memcpy(to + length - 8, text + length - 8, 8);
    } else if (length >= 4) {
        memcpy(to, text, 4);
        memcpy(to + length - 4, text + length - 4, 4);
    } else if (length) {
        to[0] = (uint8_t)text[0];
        to[length / 2] = (uint8_t)text[length / 2];
        to[length - 1] = (uint8_t)text[length - 1];
    }
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
    memcpy(to, (const char[6]){'\t', name[0], name[1], ':', 'Z', ':'}, 6);
    return to + 6;
}

static inline uint8_t *close_string(uint8_t *to, int text)
{
    if (!text) *to++ = 0;
    return to;
}

static inline uint8_t *put_int_tag(uint8_t *to, const char *name, int64_t value, int text)
{
    if (!text) return put_int_bytes(to, name, value);
    memcpy(to, (const char[6]){'\t', name[0], name[1], ':', 'i', ':'}, 6);
    return put_signed(to + 6, value);
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
    to = put_text(to, (const char *)name, length);
    memcpy(to, (const char[4]){0}, 4);
    return to + zeros;
}

/* Letters of SAM as the 4-bit codes of BAM. */
static inline uint8_t *put_sequence(uint8_t *to, const uint8_t *letters, uint32_t length)
{
    uint8_t *end = to + (length + 1) / 2;
    uint32_t i = 0;
#if defined(__SSE2__)
    for (; length - i >= 16; i += 16, to += 8) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(letters + i));
        const __m128i a = _mm_cmpeq_epi8(x, _mm_set1_epi8('A')), c = _mm_cmpeq_epi8(x, _mm_set1_epi8('C'));
        const __m128i g = _mm_cmpeq_epi8(x, _mm_set1_epi8('G')), t = _mm_cmpeq_epi8(x, _mm_set1_epi8('T'));
        const __m128i weak = _mm_or_si128(_mm_and_si128(a, _mm_set1_epi8(1)), _mm_and_si128(t, _mm_set1_epi8(8)));
        const __m128i strong = _mm_or_si128(_mm_and_si128(c, _mm_set1_epi8(2)), _mm_and_si128(g, _mm_set1_epi8(4)));
        const __m128i nt16 = _mm_or_si128(weak, strong);
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(nt16, _mm_setzero_si128()))) break;
        const __m128i both = _mm_or_si128(_mm_slli_epi16(nt16, 4), _mm_srli_epi16(nt16, 8));
        _mm_storel_epi64((__m128i *)to, _mm_packus_epi16(_mm_and_si128(both, _mm_set1_epi16(0xff)), both));
    }
#endif
    for (; length - i >= 2; i += 2) *to++ = (uint8_t)(seq_nt16_table[letters[i]] << 4) | seq_nt16_table[letters[i + 1]];
    if (i < length) *to = (uint8_t)(seq_nt16_table[letters[i]] << 4);
    return end;
}

/* Eight phred values of qualities in ASCII; no byte borrows from another. */
static inline uint64_t eight_phred(uint64_t ascii)
{
    const uint64_t tops = 0x8080808080808080u, zeros = 33 * 0x0101010101010101u;
    return ((ascii | tops) - zeros) ^ (~(ascii ^ zeros) & tops);
}

/* The phred values of qualities in ASCII, or as text these characters as they are. */
static inline uint8_t *put_qualities(uint8_t *restrict to, const uint8_t *restrict quals, uint32_t length, int reverse,
                                     int text)
{
    const uint8_t zero = text ? 0 : 33;
    if (!reverse && text) return put_text(to, (const char *)quals, length);
    if (!reverse || length < 8) {
        for (uint32_t i = 0; i < length; i++) to[i] = quals[reverse ? length - 1 - i : i] - zero;
        return to + length;
    }
    for (uint32_t i = 0; i < length; i += 8) {
        const uint32_t at = length - i >= 8 ? i : length - 8; /* the last eight end with the read */
        const uint64_t eight = __builtin_bswap64(load_eight(quals + length - 8 - at));
        store_eight(to + at, text ? eight : eight_phred(eight));
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
                       const reference_bases *reference, coordinate_t position)
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

static inline uint8_t *put_lower(uint8_t *to, uint8_t letter)
{
    *to = letter | 0x20;
    return to + 1;
}

/* The string of tag cs, of the letters of the read on the strand of the alignment. A base of the read or of the reference
 * adds at most 3 bytes (":1" or "*ac"), a run at most 11. */
static uint8_t *put_cs(uint8_t *to, const uint32_t *cigar, uint32_t runs, const uint64_t *mismatch,
                       const reference_bases *reference, coordinate_t position, const uint8_t *letters)
{
    uint32_t equal = 0;
    for (uint32_t run = 0, q = 0; run < runs; run++) {
        uint32_t length = bam_cigar_oplen(cigar[run]), op = bam_cigar_op(cigar[run]);
        if (op == BAM_CSOFT_CLIP) {
            q += length;
            continue;
        }
        for (uint32_t i = 0; i < length; i++) {
            int is_equal = op == BAM_CMATCH && next_bit(mismatch, q, q + 1, 1) > q;
            if (is_equal) {
                equal++, q++, position++;
                continue;
            }
            if (equal) {
                *to++ = ':';
                to = put_decimal(to, equal);
                equal = 0;
            }
            if (op == BAM_CMATCH)
                *to++ = '*';
            else if (!i)
                *to++ = op == BAM_CINS ? '+' : '-';
            if (op != BAM_CINS) to = put_lower(to, reference_letter(reference, position++));
            if (op != BAM_CDEL) to = put_lower(to, letters[q++]);
        }
    }
    if (equal) {
        *to++ = ':';
        to = put_decimal(to, equal);
    }
    return to;
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
    return close_string(put_cigar_text(open_string(to, TAG_MC, text), cigar, runs), text);
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
    to = put_tag(to, TAG_CG, 'B');
    *to++ = 'I';
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

/* The twelve columns of PAF, without a tab at their end, of the part of the read between two clips. */
typedef struct {
    const uint8_t *name;
    uint32_t name_length, read_length, first, last; /* clips in the order of the reference */
    int mate, reverse;
    contig_name contig;
    int64_t contig_length, position, span;
    uint32_t equal, columns, mapq;
} paf_line;

static uint8_t *put_paf_number(uint8_t *to, uint64_t value)
{
    *to++ = '\t';
    return put_decimal(to, value);
}

static uint8_t *put_paf_core(uint8_t *to, const paf_line *p)
{
    to = put_text(to, (const char *)p->name, p->name_length);
    if (p->mate) {
        *to++ = '/';
        *to++ = '0' + p->mate;
    }
    to = put_paf_number(to, p->read_length);
    to = put_paf_number(to, p->reverse ? p->last : p->first);
    to = put_paf_number(to, p->read_length - (p->reverse ? p->first : p->last));
    *to++ = '\t';
    *to++ = p->reverse ? '-' : '+';
    *to++ = '\t';
    to = put_text(to, p->contig.text, p->contig.length);
    to = put_paf_number(to, p->contig_length);
    to = put_paf_number(to, p->position);
    to = put_paf_number(to, p->position + p->span);
    to = put_paf_number(to, p->equal);
    to = put_paf_number(to, p->columns);
    return put_paf_number(to, p->mapq);
}

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
