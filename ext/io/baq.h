/* Base alignment quality (Li 2011, Bioinformatics 27:1157): how sure it is that a base is aligned where its record says.
 * What goes into tag BQ is what it takes off the base's quality, plus 64. */
#ifndef GASSST_BAQ_H
#define GASSST_BAQ_H
#include "planes.h"

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

#if defined(__GNUC__)
__attribute__((visibility("hidden")))
#endif
/* Writes `length` bytes. Returns 1, or 0 if no base is aligned; -1 when there is no memory. */
int baq_string(const baq_read *read, uint8_t *to);
#endif
