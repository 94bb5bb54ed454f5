/* FASTQ and FASTA records to struct-of-arrays buffers.
 *
 * A record is checked from its first line to its last and counts only when it is there in full, so neither the records
 * nor the first error depend on where the caller cut the file into pieces. */
#ifndef GASSST_FASTX_H
#define GASSST_FASTX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "own_tags.h"
#include "sam_tags.h"

enum { FASTX_MAX_NAME = 254 }; /* the longest read name that a BAM record holds */
enum { FASTX_SHOWN = 60 };     /* bytes of a comment in a message */
enum { FASTX_ENOUGH_TAGS = 1 << 30 }; /* bytes of tags from which a batch is full: offsets are uint32 */
enum { FASTX_MAX_LINE = 1 << 24 };    /* bytes of a line, besides those of the bases */

typedef enum {
    FASTX_OK,
    FASTX_FIRST_BYTE,     /* value: the byte */
    FASTX_CUT_SHORT,
    FASTX_NO_MARKER,
    FASTX_NO_NAME,
    FASTX_LONG_SEQUENCE,
    FASTX_BAD_BASE,       /* value: the byte, its 1-based place */
    FASTX_NO_PLUS,
    FASTX_QUALITY_LENGTH, /* value: bases, qualities */
    FASTX_BAD_QUALITY,    /* value: the byte, its 1-based place */
    FASTX_MIXED,
    FASTX_FORMATS,        /* of two files; value: the byte */
    FASTX_NAMES,          /* of two mates differ */
    FASTX_NUMBERS,        /* of two mates are not 1, 2; value: both, in the order of the mates */
    FASTX_ENDS_EARLY,     /* one of two files */
    FASTX_BAD_TAG,        /* a field of the comment is no tag, or one that came before; it is in `shown` */
    FASTX_NO_UMI,         /* the name does not end in one */
    FASTX_LONG_LINE       /* value: the limit in bytes */
} fastx_error_t;

typedef enum { FASTX_SINGLE, FASTX_TWO_FILES, FASTX_INTERLEAVED } fastx_pairing_t;

/* What is known of one file. */
typedef struct {
    const uint8_t *p, *end; /* bytes not used yet */
    int eof;                /* none come after them */
    int begun;              /* its first byte has been seen */
} fastx_input_t;

typedef enum { FASTX_ADDED, FASTX_WAITS, FASTX_ENDED, FASTX_FAILED } fastx_step_t;

typedef struct {
    uint8_t *names, *bases, *quals; /* room for every byte that is parsed in one call; quals unused in FASTA */
    uint32_t *name_offsets, *offsets; /* [0 .. n], [0] = 0 */
    uint32_t n;
    uint32_t max_reads, max_length;
    uint32_t max_bases; /* a batch is full as soon as it holds as many */
    uint8_t marker;     /* '@' FASTQ, '>' FASTA, 0 before the first byte was seen */
    uint8_t named;      /* name of the record under way is at names + name_offsets[n] .. name_offsets[n + 1] */
    fastx_error_t error;
    size_t value[2];
    fastx_pairing_t pairing;
    uint8_t *mate;      /* [n]: 0 single, 1 and 2 of a pair; unused for FASTX_SINGLE */
    uint8_t pending;    /* row n - 1 has no mate yet, and (of interleaved reads) may get one */
    uint8_t input;      /* of two files, that of the record under way, or the one that more bytes are needed of */
    uint32_t renamed;   /* rows whose names were changed */
    uint8_t renamed_last; /* whether that of the last row was */
    uint8_t numbers[2]; /* by parity of the row: 1 or 2 as the header says, else 0 */
    uint8_t *tags;          /* each of a read with a tab before it; NULL: none are wanted */
    uint32_t *tag_offsets;  /* [0 .. n], [0] = 0 */
    uint8_t copies;         /* tags of the comment are wanted */
    uint8_t barcodes;       /* BC of a Casava comment is */
    uint8_t separator;      /* RX of what follows its last one in the name is; 0: not */
    uint8_t dropped;        /* which are dropped of these, as in own_tags.h */
    uint8_t lenient;        /* what is no tag is left out */
    uint32_t left_out, left_out_last; /* such fields, in all rows and in the last */
    char shown[FASTX_SHOWN + 1];
} fastx_t;

typedef struct {
    const uint8_t *start;
    size_t length;
    int open; /* ended by the end of the file, not by a newline */
} fastx_line_t;

static inline int fastx_reached(const fastx_t *f, uint32_t n)
{
    return n >= f->max_reads || f->offsets[n] >= f->max_bases || (f->tags && f->tag_offsets[n] >= FASTX_ENOUGH_TAGS);
}

/* A batch never ends between two mates. */
static inline int fastx_full(const fastx_t *f)
{
    return !f->pending && fastx_reached(f, f->n);
}

static inline int fastx_fail(fastx_t *f, fastx_error_t error, size_t value0, size_t value1)
{
    f->error = error;
    f->value[0] = value0;
    f->value[1] = value1;
    return 0;
}

/* The line at p without its LF or CRLF; returns where the next begins, NULL if the line is not there in full.
 * At the end of the file an empty line exists only after a newline. */
static inline const uint8_t *fastx_line(const uint8_t *p, const uint8_t *end, int eof, fastx_line_t *line)
{
    const uint8_t *stop = memchr(p, '\n', (size_t)(end - p));
    line->open = !stop;
    if (!stop) {
        if (!eof || (p == end && p[-1] != '\n'))
            return NULL;
        stop = end;
    }
    line->start = p;
    line->length = (size_t)(stop - p) - (stop > p && stop[-1] == '\r');
    return line->open ? stop : stop + 1;
}

/* 1 or 2 of a Casava comment, "1:N:0:ACGT" or "2:Y:...", else 0. */
static inline uint8_t fastx_casava(const uint8_t *text, size_t available)
{
    int is_one = available > 3 && (text[0] == '1' || text[0] == '2') && text[1] == ':' &&
                 (text[2] == 'N' || text[2] == 'Y') && text[3] == ':';
    return is_one ? (uint8_t)(text[0] - '0') : 0;
}

/* Puts '_' for what SAM does not allow in a name: bytes that are not printable ASCII, and '@' at the beginning. */
static inline uint8_t fastx_make_printable(uint8_t *name, size_t length)
{
    uint8_t bad = name[0] == '@';
    for (size_t i = 0; i < length; i++)
        bad |= (uint8_t)(name[i] - '!') > '~' - '!';
    for (size_t i = 0; bad && i < length; i++)
        if ((uint8_t)(name[i] - '!') > '~' - '!' || (!i && name[i] == '@'))
            name[i] = '_';
    return bad;
}

/* What is no tag is left out, or an error. */
static inline int fastx_refuse_tag(fastx_t *f, fastx_error_t error, const uint8_t *field, size_t length)
{
    if (f->lenient) {
        f->left_out_last++;
        return 1;
    }
    length = length < FASTX_SHOWN ? length : FASTX_SHOWN;
    memcpy(f->shown, field, length);
    f->shown[length] = 0;
    return fastx_fail(f, error, 0, 0);
}

/* The tag "XX:Z:" that begins at the end of the row's tags; returns where its value goes. */
static inline uint8_t *fastx_open_tag(fastx_t *f, const char *name)
{
    uint8_t *to = f->tags + f->tag_offsets[f->n + 1];
    *to++ = '\t';
    memcpy(to, name, 2);
    memcpy(to + 2, ":Z:", 3);
    return to + TAG_HEAD;
}

/* Letters of a barcode or UMI; what separates two of them is '-' in SAM. Returns 0 where there is anything else. */
static inline int fastx_take_barcode(fastx_t *f, const char *name, const uint8_t *text, size_t length)
{
    uint8_t *to = fastx_open_tag(f, name);
    for (size_t i = 0; i < length; i++) {
        uint8_t between = text[i] == '+' || text[i] == '-';
        if (!tag_is_letter(text[i]) && (!between || !i || i == length - 1))
            return 0;
        to[i] = between ? '-' : text[i];
    }
    if (length)
        f->tag_offsets[f->n + 1] = (uint32_t)(to + length - f->tags);
    return length > 0;
}

/* Whether the row has a tag of this name. */
static inline int fastx_has_tag(const fastx_t *f, const uint8_t *tag)
{
    const uint8_t *at = f->tags + f->tag_offsets[f->n], *end = f->tags + f->tag_offsets[f->n + 1];
    while (at && at < end) { /* at a tab */
        if (at[1] == tag[0] && at[2] == tag[1])
            return 1;
        at = memchr(at + 1, '\t', (size_t)(end - at - 1));
    }
    return 0;
}

/* One field of a comment. Tags that the record gets anyway are dropped. */
static inline int fastx_take_field(fastx_t *f, const uint8_t *field, size_t length)
{
    uint8_t *to = f->tags + f->tag_offsets[f->n + 1];
    if (!tag_is_valid(field, length) || fastx_has_tag(f, field))
        return fastx_refuse_tag(f, FASTX_BAD_TAG, field, length);
    if (tag_is_dropped(field, f->dropped))
        return 1;
    *to = '\t';
    memcpy(to + 1, field, length);
    f->tag_offsets[f->n + 1] += (uint32_t)length + 1;
    return 1;
}

/* What a read's header says besides the name, as tags. A Casava comment is no tag, but none is expected in its place:
 * it is passed over. */
static inline int fastx_take_comment(fastx_t *f, const uint8_t *text, size_t length)
{
    if (fastx_casava(text, length)) {
        size_t word = 0, index = 4;
        while (word < length && text[word] > ' ') word++;
        while (index < word && text[index] != ':') index++;
        if (f->barcodes && index < word)
            fastx_take_barcode(f, "BC", text + index + 1, word - index - 1);
        text += word + (word < length);
        length -= word + (word < length);
    }
    while (f->copies && length) {
        const uint8_t *tab = memchr(text, '\t', length);
        size_t field = tab ? (size_t)(tab - text) : length;
        if (field && !fastx_take_field(f, text, field))
            return 0;
        text += field + (tab != NULL);
        length -= field + (tab != NULL);
    }
    return 1;
}

static inline int fastx_take_umi(fastx_t *f, const uint8_t *name, size_t length)
{
    size_t at = length;
    while (at && name[at - 1] != f->separator) at--;
    if (fastx_has_tag(f, (const uint8_t *)"RX"))
        return 1;
    return (at && fastx_take_barcode(f, "RX", name + at, length - at)) ||
           fastx_refuse_tag(f, FASTX_NO_UMI, name, length);
}

/* The tags of the row: its header is `text`, of which the name, without "/1" or "/2", takes `name` bytes and with
 * it `word`. */
static inline int fastx_take_tags(fastx_t *f, const uint8_t *text, size_t available, size_t name, size_t word)
{
    f->tag_offsets[f->n + 1] = f->tag_offsets[f->n];
    f->left_out_last = 0;
    if (word < available && !fastx_take_comment(f, text + word + 1, available - word - 1))
        return 0;
    if (f->separator && !fastx_take_umi(f, text, name))
        return 0;
    return 1;
}

/* The first word, less a "/1" or "/2" that is not all of it: mates have one name in SAM. A name
 * that SAM cannot hold is changed, and counted: one odd record does not end a run. */
static inline int fastx_take_name(fastx_t *f, const uint8_t *text, size_t available)
{
    uint32_t at = f->name_offsets[f->n];
    size_t length = 0;
    while (length < available && text[length] > ' ')
        length++;
    size_t word = length;
    if (length > 2 && text[length - 2] == '/' && (text[length - 1] == '1' || text[length - 1] == '2')) {
        length -= 2;
        f->numbers[f->n & 1] = (uint8_t)(text[length + 1] - '0');
    } else {
        f->numbers[f->n & 1] = length < available ? fastx_casava(text + length + 1, available - length - 1) : 0;
    }
    if (!length)
        return fastx_fail(f, FASTX_NO_NAME, 0, 0);
    size_t whole = length;
    f->renamed_last = length > FASTX_MAX_NAME;
    if (length > FASTX_MAX_NAME)
        length = FASTX_MAX_NAME;
    memcpy(f->names + at, text, length);
    f->renamed_last |= fastx_make_printable(f->names + at, length);
    f->name_offsets[f->n + 1] = at + (uint32_t)length;
    f->named = 1;
    return !f->tags || fastx_take_tags(f, text, available, whole, word);
}

/* The two copying loops are bytes only and free of branches: the compiler makes vector code of them. */
static inline int fastx_copy_bases(uint8_t *restrict to, const uint8_t *restrict from, size_t n)
{
    uint8_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t base = from[i] == '.' ? 'N' : from[i];
        base -= (base & 0xDF) == 'U'; /* RNA: the letter before U, in either case, is T */
        to[i] = base;
        bad |= (uint8_t)((base | 0x20) - 'a') > 25;
    }
    return bad;
}

static inline int fastx_copy_quals(uint8_t *restrict to, const uint8_t *restrict from, size_t n)
{
    uint8_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        to[i] = from[i];
        bad |= (uint8_t)(from[i] - 33) > 93;
    }
    return bad;
}

/* Appends to the sequence of record n, of which `length` bases have been taken already. */
static inline int fastx_take_bases(fastx_t *f, size_t length, const uint8_t *text, size_t n)
{
    uint8_t *to = f->bases + f->offsets[f->n] + length;
    if (n > f->max_length - length)
        return fastx_fail(f, FASTX_LONG_SEQUENCE, 0, 0);
    if (fastx_copy_bases(to, text, n)) {
        size_t i = 0;
        while ((uint8_t)((to[i] | 0x20) - 'a') <= 25)
            i++;
        return fastx_fail(f, FASTX_BAD_BASE, to[i], length + i + 1);
    }
    f->offsets[f->n + 1] = f->offsets[f->n] + (uint32_t)(length + n);
    return 1;
}

static inline int fastx_take_quals(fastx_t *f, const uint8_t *text, size_t n)
{
    size_t length = f->offsets[f->n + 1] - f->offsets[f->n];
    if (n != length)
        return fastx_fail(f, FASTX_QUALITY_LENGTH, length, n);
    if (fastx_copy_quals(f->quals + f->offsets[f->n], text, n)) {
        size_t i = 0;
        while ((uint8_t)(text[i] - 33) <= 93)
            i++;
        return fastx_fail(f, FASTX_BAD_QUALITY, text[i], i + 1);
    }
    return 1;
}

/* The row under way is there in full. */
static inline void fastx_count_row(fastx_t *f)
{
    f->n++;
    f->renamed += f->renamed_last;
    f->left_out += f->left_out_last;
}

static inline const uint8_t *fastx_incomplete(fastx_t *f, int eof)
{
    if (eof)
        fastx_fail(f, FASTX_CUT_SHORT, 0, 0);
    return NULL;
}

/* As fastx_line, but a line without an end in sight is refused before it fills the memory. It may hold `bases`. */
static inline const uint8_t *fastx_bounded_line(fastx_t *f, size_t bases, const uint8_t *p, const uint8_t *end, int eof,
                                                fastx_line_t *line)
{
    const uint8_t *next = fastx_line(p, end, eof, line);
    size_t limit = FASTX_MAX_LINE + bases;
    if ((size_t)((next ? next : end) - p) > limit) {
        fastx_fail(f, FASTX_LONG_LINE, limit, 0);
        return NULL;
    }
    return next;
}

/* A sequence line without an end in sight is refused once it is too long, before it fills the memory. */
static inline const uint8_t *fastx_open_sequence(fastx_t *f, size_t length, size_t seen, int eof)
{
    if (length + seen > (size_t)f->max_length + 1) {
        fastx_fail(f, FASTX_LONG_SEQUENCE, 0, 0);
        return NULL;
    }
    return fastx_incomplete(f, eof);
}

/* Both: the record at p; returns where the next begins, NULL if this one is not there in full or has an error. */
static inline const uint8_t *fastq_record(fastx_t *f, const uint8_t *p, const uint8_t *end, int eof)
{
    fastx_line_t line;
    const uint8_t *next;
    if (!(next = fastx_bounded_line(f, 0, p, end, eof, &line)))
        return NULL;
    if (!fastx_take_name(f, line.start + 1, line.length - 1))
        return NULL;
    p = next;
    if (!(next = fastx_line(p, end, eof, &line)))
        return fastx_open_sequence(f, 0, (size_t)(end - p), eof);
    if (!fastx_take_bases(f, 0, line.start, line.length))
        return NULL;
    p = next;
    if (!(next = fastx_bounded_line(f, 0, p, end, eof, &line)) || p == end)
        return f->error ? NULL : fastx_incomplete(f, eof);
    if (*p != '+') {
        fastx_fail(f, FASTX_NO_PLUS, 0, 0);
        return NULL;
    }
    if (!(next = fastx_bounded_line(f, f->max_length, next, end, eof, &line)))
        return f->error ? NULL : fastx_incomplete(f, eof);
    if (line.open && line.length < f->offsets[f->n + 1] - f->offsets[f->n])
        return fastx_incomplete(f, eof);
    return fastx_take_quals(f, line.start, line.length) ? next : NULL;
}

static inline const uint8_t *fasta_record(fastx_t *f, const uint8_t *p, const uint8_t *end, int eof)
{
    fastx_line_t line;
    size_t length = 0;
    const uint8_t *next;
    if (!(next = fastx_bounded_line(f, 0, p, end, eof, &line)))
        return NULL;
    if (!fastx_take_name(f, line.start + 1, line.length - 1))
        return NULL;
    f->offsets[f->n + 1] = f->offsets[f->n];
    for (p = next; p < end && *p != '>'; p = next) {
        if (!(next = fastx_line(p, end, eof, &line)))
            return fastx_open_sequence(f, length, (size_t)(end - p), eof);
        if (!fastx_take_bases(f, length, line.start, line.length))
            return NULL;
        length += line.length;
    }
    return p < end || eof ? p : NULL;
}

/* The first byte of a file tells its format; two files have one. */
static inline int fastx_begin(fastx_t *f, fastx_input_t *in)
{
    uint8_t first = *in->p;
    if (first != '@' && first != '>')
        return fastx_fail(f, FASTX_FIRST_BYTE, first, 0);
    if (f->marker && f->marker != first)
        return fastx_fail(f, FASTX_FORMATS, first, 0);
    f->marker = first;
    in->begun = 1;
    return 1;
}

/* Passes over CR and LF before a record and at the end of the file; 0 where no byte is left. */
static inline int fastx_skip_empty(fastx_input_t *in)
{
    while (in->begun && in->p < in->end && (*in->p == '\n' || *in->p == '\r'))
        in->p++;
    return in->p < in->end;
}

/* Appends the next record of a file if it is there in full. */
static inline fastx_step_t fastx_next(fastx_t *f, fastx_input_t *in)
{
    const uint8_t *next;
    f->named = 0;
    if (!fastx_skip_empty(in))
        return in->eof ? FASTX_ENDED : FASTX_WAITS;
    if (!in->begun && !fastx_begin(f, in))
        return FASTX_FAILED;
    if (*in->p != f->marker) {
        fastx_fail(f, FASTX_NO_MARKER, 0, 0);
        return FASTX_FAILED;
    }
    next = f->marker == '@' ? fastq_record(f, in->p, in->end, in->eof) : fasta_record(f, in->p, in->end, in->eof);
    if (!next)
        return f->error ? FASTX_FAILED : FASTX_WAITS;
    fastx_count_row(f);
    in->p = next;
    return FASTX_ADDED;
}

/* The last two rows. */
static inline int fastx_same_name(const fastx_t *f)
{
    const uint32_t *at = f->name_offsets + f->n - 2;
    uint32_t length = at[1] - at[0];
    return at[2] - at[1] == length && !memcmp(f->names + at[0], f->names + at[1], length);
}

/* Whether the last two rows may be mates. If not, the last is "under way" again, for the message. */
static inline int fastx_check_mates(fastx_t *f)
{
    uint8_t last = f->numbers[(f->n - 1) & 1], before = f->numbers[f->n & 1];
    if (!fastx_same_name(f))
        fastx_fail(f, FASTX_NAMES, 0, 0);
    else if (before && last && (before != 1 || last != 2))
        fastx_fail(f, FASTX_NUMBERS, before, last);
    else
        return 1;
    f->n--;
    return 0;
}

static inline int fastx_close_pair(fastx_t *f)
{
    f->pending = 0;
    f->mate[f->n - 2] = 1;
    f->mate[f->n - 1] = 2;
    return fastx_check_mates(f);
}

/* Interleaved reads: the last row is the mate of the one before, or may become that of the next. Returns 0 on an
 * error, and when the batch was full without this row, which is then no part of it. */
static inline int fastx_interleave(fastx_t *f)
{
    if (f->pending && fastx_same_name(f))
        return fastx_close_pair(f);
    if (f->pending && fastx_reached(f, f->n - 1)) {
        f->n--;
        f->renamed -= f->renamed_last;
        f->left_out -= f->left_out_last;
        f->pending = 0;
        return 0;
    }
    f->pending = 1;
    f->mate[f->n - 1] = 0;
    return 1;
}

/* What a row just appended is to the one before; returns as `fastx_interleave`. */
static inline int fastx_place(fastx_t *f)
{
    if (f->pairing == FASTX_SINGLE)
        return 1;
    if (f->pairing == FASTX_INTERLEAVED)
        return fastx_interleave(f);
    if (f->pending)
        return fastx_close_pair(f);
    f->pending = 1;
    return 1;
}

/* Appends the records that are complete until the batch is full. On an error f->error is set. */
static inline void fastx_parse(fastx_t *f, fastx_input_t *in)
{
    while (!fastx_full(f)) {
        const uint8_t *start = in->p;
        if (fastx_next(f, in) != FASTX_ADDED)
            return;
        if (!fastx_place(f)) {
            in->p = start;
            return;
        }
    }
}

/* One of two files has ended: is the other at its end, too? */
static inline fastx_step_t fastx_end_both(fastx_t *f, fastx_input_t in[2])
{
    uint8_t other = !f->input;
    if (f->pending || fastx_skip_empty(&in[other])) {
        fastx_fail(f, FASTX_ENDS_EARLY, 0, 0);
        return FASTX_FAILED;
    }
    if (in[other].eof)
        return FASTX_ENDED;
    f->input = other;
    return FASTX_WAITS;
}

/* The same for two files, a record of either in turn. FASTX_WAITS: for more bytes of f->input. */
static inline fastx_step_t fastx_parse_pairs(fastx_t *f, fastx_input_t in[2])
{
    fastx_step_t step = FASTX_ADDED;
    while (!fastx_full(f)) {
        f->input = f->pending;
        step = fastx_next(f, &in[f->input]);
        if (step == FASTX_ENDED)
            return fastx_end_both(f, in);
        if (step == FASTX_ADDED && !fastx_place(f))
            return FASTX_FAILED;
        if (step != FASTX_ADDED)
            return step;
    }
    return step;
}

/* Passes over the next records of FASTQ that are there in full, without a look into them; returns how many. It ends
 * after `most` records, or after the one that takes it to `enough` bytes. `stray`: what follows them does not begin as a
 * record does. */
static inline uint32_t fastq_cut(fastx_input_t *in, uint32_t most, size_t enough, int *stray)
{
    const uint8_t *start = in->p;
    uint32_t n = 0;
    *stray = 0;
    for (; n < most && (size_t)(in->p - start) < enough && fastx_skip_empty(in) && !*stray; n++) {
        const uint8_t *p = in->p;
        *stray = *p != '@';
        for (int line = 0; line < 4 && p; line++) {
            p = memchr(p, '\n', (size_t)(in->end - p));
            p = p ? p + 1 : NULL;
        }
        if (*stray || !p)
            break;
        in->p = p;
    }
    return n;
}

/* One record that is in memory already; quality NULL means none. The same rules as for files: 0 as `fastx_place`. */
static inline int fastx_add(fastx_t *f, const uint8_t *name, size_t name_length, const uint8_t *sequence,
                            size_t length, const uint8_t *quality, size_t quality_length)
{
    uint8_t marker = quality ? '@' : '>';
    f->named = 0;
    f->input = f->pairing == FASTX_TWO_FILES && f->pending;
    if (!f->marker)
        f->marker = marker;
    if (!fastx_take_name(f, name, name_length))
        return 0;
    if (f->marker != marker)
        return fastx_fail(f, FASTX_MIXED, 0, 0);
    if (!fastx_take_bases(f, 0, sequence, length))
        return 0;
    if (quality && !fastx_take_quals(f, quality, quality_length))
        return 0;
    fastx_count_row(f);
    return fastx_place(f);
}

#endif
