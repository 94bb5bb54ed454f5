/* Base alignment quality (Li 2011, Bioinformatics 27:1157): how sure it is that a base is aligned where its record says.
 * What goes into tag BQ is what it takes off the base's quality, plus 64. htslib computes it, on a record of its own. */
#ifndef GASSST_BAQ_H
#define GASSST_BAQ_H
#include <htslib/sam.h>
#include <stdlib.h>
#include <string.h>

#include "planes.h"

enum { NO_MEMORY_OF_HTSLIB = -4 };

typedef struct {
    const uint8_t *letters;    /* of SEQ */
    const uint8_t *quals;      /* as in FASTQ, in the order of the read */
    uint32_t length;
    int reverse;               /* of `quals` */
    const uint32_t *cigar;     /* as written */
    uint32_t runs;
    planes_t reference;
    int64_t contig_start, contig_length; /* in the concatenated reference */
    int64_t position;          /* on the contig */
} baq_read;

/* Writes `length` bytes. Returns 1, or 0 if no base is aligned; -1 when there is no memory. */
static int baq_string(const baq_read *r, uint8_t *to)
{
    /* htslib looks beyond an alignment by what is clipped and half of its band. */
    const int64_t span = bam_cigar2rlen((int)r->runs, r->cigar), margin = 2 * (int64_t)r->length + span + 16;
    const int64_t begin = r->position > margin ? r->position - margin : 0;
    const int64_t right = r->position + span + margin, end = right < r->contig_length ? right : r->contig_length;
    char *window = malloc((size_t)(end - begin) + 1 + r->length), *quals = window + (end - begin) + 1;
    bam1_t *record = bam_init1();
    const uint8_t *found = NULL;
    int status = NO_MEMORY_OF_HTSLIB;
    if (window && record) {
        for (int64_t i = begin; i < end; i++) {
            const int base = base_at(r->reference, r->contig_start + i);
            window[i - begin] = base == MASKED_BASE ? 'N' : "ACGT"[base];
        }
        window[end - begin] = 0;
        for (uint32_t i = 0; i < r->length; i++)
            quals[i] = (char)(r->quals[r->reverse ? r->length - 1 - i : i] - 33);
        if (bam_set1(record, 1, "r", 0, 0, r->position - begin, 0, r->runs, r->cigar, -1, -1, 0, r->length,
                     (const char *)r->letters, quals, r->length + 4) >= 0)
            status = sam_prob_realn(record, window, end - begin, BAQ_EXTEND);
        if (!status)
            found = bam_aux_get(record, "BQ");
        if (found)
            memcpy(to, found + 1, r->length);
    }
    bam_destroy1(record);
    free(window);
    return found ? 1 : status == NO_MEMORY_OF_HTSLIB ? -1 : 0;
}
#endif
