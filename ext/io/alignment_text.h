/* Records of SAM, BAM and CRAM as FASTQ text with the tags in the comment, as `samtools fastq -T '*'` writes them. */
#ifndef GASSST_ALIGNMENT_TEXT_H
#define GASSST_ALIGNMENT_TEXT_H

#include <errno.h>

#include <htslib/kstring.h>
#include <htslib/sam.h>

typedef enum { APPENDED, BAD_TAG, NO_MEMORY } appended_t;

enum { NO_QUALITY = 'B' }; /* where a record has bases but no qualities, as from samtools */

/* Which read of its template a record is: 1 and 2 the mates, 0 any other. */
static inline int read_of_template(const bam1_t *record)
{
    int first = (record->core.flag & BAM_FREAD1) != 0, second = (record->core.flag & BAM_FREAD2) != 0;
    return first != second ? 1 + second : 0;
}

static inline int is_extra_record(const bam1_t *record)
{
    return (record->core.flag & (BAM_FSECONDARY | BAM_FSUPPLEMENTARY)) != 0;
}

static appended_t append_tags(kstring_t *text, const bam1_t *record)
{
    const uint8_t *tag = bam_get_aux(record), *end = record->data + record->l_data;
    while (end - tag >= 4) {
        if (kputc('\t', text) < 0) return NO_MEMORY;
        tag = sam_format_aux1(tag, tag[2], tag + 3, end, text);
        if (tag == NULL) return errno == EINVAL ? BAD_TAG : NO_MEMORY;
    }
    return APPENDED;
}

/* Bases and qualities as sequenced: those of an alignment to the reverse strand are turned back. */
static appended_t append_read(kstring_t *text, const bam1_t *record)
{
    static const char forward[] = "=ACMGRSVTWYHKDBN", complement[] = "=TGKCYSBAWRDMHVN";
    const int n = record->core.l_qseq, reverse = (record->core.flag & BAM_FREVERSE) != 0;
    const uint8_t *bases = bam_get_seq(record), *quals = bam_get_qual(record);
    const char *letters = reverse ? complement : forward;
    if (ks_resize(text, text->l + 2 * (size_t)n + 8) < 0) return NO_MEMORY;
    char *to = text->s + text->l;
    *to++ = '\n';
    for (int i = 0; i < n; i++) {
        char base = letters[bam_seqi(bases, reverse ? n - 1 - i : i)];
        *to++ = base == '=' ? 'N' : base;
    }
    memcpy(to, "\n+\n", 3);
    to += 3;
    for (int i = 0; i < n; i++) *to++ = quals[0] == 0xff ? NO_QUALITY : (char)(quals[reverse ? n - 1 - i : i] + 33);
    *to++ = '\n';
    text->l = (size_t)(to - text->s);
    return APPENDED;
}

/* Appends one read. */
static appended_t append_fastq(kstring_t *text, const bam1_t *record)
{
    const int which = read_of_template(record);
    int good = kputc('@', text) >= 0 && kputs(bam_get_qname(record), text) >= 0;
    if (which) good = good && kputc('/', text) >= 0 && kputc('0' + which, text) >= 0;
    const appended_t tags = good ? append_tags(text, record) : NO_MEMORY;
    return tags == APPENDED ? append_read(text, record) : tags;
}

#endif
