/* FASTQ and FASTA records to struct-of-arrays buffers.
 *
 * A record is checked from its first line to its last and counts only when it is there in full, so neither the records
 * nor the first error depend on where the caller cut the file into pieces. */
#ifndef GASSST_FASTX_H
#define GASSST_FASTX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FASTX_MAX_NAME = 254 }; /* the longest read name that a BAM record holds */

typedef enum {
    FASTX_OK,
    FASTX_FIRST_BYTE,     /* value: the byte */
    FASTX_CUT_SHORT,
    FASTX_NO_MARKER,
    FASTX_NO_NAME,
    FASTX_LONG_NAME,
    FASTX_LONG_SEQUENCE,
    FASTX_BAD_BASE,       /* value: the byte, its 1-based place */
    FASTX_NO_PLUS,
    FASTX_QUALITY_LENGTH, /* value: bases, qualities */
    FASTX_BAD_QUALITY,    /* value: the byte, its 1-based place */
    FASTX_MIXED
} fastx_error_t;

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
} fastx_t;

typedef struct {
    const uint8_t *start;
    size_t length;
    int open; /* ended by the end of the file, not by a newline */
} fastx_line_t;

static inline int fastx_full(const fastx_t *f)
{
    return f->n >= f->max_reads || f->offsets[f->n] >= f->max_bases;
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

/* The first word, less a "/1" or "/2" that is not all of it: mates have one name in SAM. */
static inline int fastx_take_name(fastx_t *f, const uint8_t *text, size_t available)
{
    uint32_t at = f->name_offsets[f->n];
    size_t length = 0;
    while (length < available && text[length] > ' ')
        length++;
    if (length > 2 && text[length - 2] == '/' && (text[length - 1] == '1' || text[length - 1] == '2'))
        length -= 2;
    if (!length)
        return fastx_fail(f, FASTX_NO_NAME, 0, 0);
    if (length > FASTX_MAX_NAME)
        return fastx_fail(f, FASTX_LONG_NAME, 0, 0);
    memcpy(f->names + at, text, length);
    f->name_offsets[f->n + 1] = at + (uint32_t)length;
    f->named = 1;
    return 1;
}

/* The two copying loops are bytes only and free of branches: the compiler makes vector code of them. */
static inline int fastx_copy_bases(uint8_t *restrict to, const uint8_t *restrict from, size_t n)
{
    uint8_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t base = from[i] == '.' ? 'N' : from[i];
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

static inline const uint8_t *fastx_incomplete(fastx_t *f, int eof)
{
    if (eof)
        fastx_fail(f, FASTX_CUT_SHORT, 0, 0);
    return NULL;
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
    if (!(next = fastx_line(p, end, eof, &line)))
        return NULL;
    if (!fastx_take_name(f, line.start + 1, line.length - 1))
        return NULL;
    p = next;
    if (!(next = fastx_line(p, end, eof, &line)))
        return fastx_open_sequence(f, 0, (size_t)(end - p), eof);
    if (!fastx_take_bases(f, 0, line.start, line.length))
        return NULL;
    p = next;
    if (!(next = fastx_line(p, end, eof, &line)) || p == end)
        return fastx_incomplete(f, eof);
    if (*p != '+') {
        fastx_fail(f, FASTX_NO_PLUS, 0, 0);
        return NULL;
    }
    if (!(next = fastx_line(next, end, eof, &line)))
        return fastx_incomplete(f, eof);
    if (line.open && line.length < f->offsets[f->n + 1] - f->offsets[f->n])
        return fastx_incomplete(f, eof);
    return fastx_take_quals(f, line.start, line.length) ? next : NULL;
}

static inline const uint8_t *fasta_record(fastx_t *f, const uint8_t *p, const uint8_t *end, int eof)
{
    fastx_line_t line;
    size_t length = 0;
    const uint8_t *next;
    if (!(next = fastx_line(p, end, eof, &line)))
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

static inline int fastx_detect(fastx_t *f, uint8_t first)
{
    if (first != '@' && first != '>')
        return fastx_fail(f, FASTX_FIRST_BYTE, first, 0);
    f->marker = first;
    return 1;
}

/* Appends the records that are complete in [p, end) until the batch is full; returns the first byte not used.
 * CR and LF before a record and at the end of the file are passed over. On an error f->error is set. */
static inline const uint8_t *fastx_parse(fastx_t *f, const uint8_t *p, const uint8_t *end, int eof)
{
    f->named = 0;
    if (!f->marker && (p == end || !fastx_detect(f, *p)))
        return p;
    while (!fastx_full(f)) {
        const uint8_t *next;
        while (p < end && (*p == '\n' || *p == '\r'))
            p++;
        f->named = 0;
        if (p == end)
            break;
        if (*p != f->marker) {
            fastx_fail(f, FASTX_NO_MARKER, 0, 0);
            break;
        }
        next = f->marker == '@' ? fastq_record(f, p, end, eof) : fasta_record(f, p, end, eof);
        if (!next)
            break;
        f->n++;
        p = next;
    }
    return p;
}

/* One record that is in memory already; quality NULL means none. The same rules as for files. */
static inline int fastx_add(fastx_t *f, const uint8_t *name, size_t name_length, const uint8_t *sequence,
                            size_t length, const uint8_t *quality, size_t quality_length)
{
    uint8_t marker = quality ? '@' : '>';
    f->named = 0;
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
    f->n++;
    return 1;
}

#endif
