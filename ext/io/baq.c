/* The model is the glocal one of Li 2011 for Illumina reads. The window around an alignment, the states at the ends of a
 * read and the extension over runs of M follow what htslib (MIT) does in `samtools calmd -r -E`. */
#include "baq.h"

#include <htslib/sam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pair_hmm.h"

#define GAP_OPEN 0.001
#define GAP_EXTEND 0.1
#define INSERTED 0.25 /* of each base, where it is inserted */
enum { LEAST_BAND = 7, MORE_BAND = 3, LARGEST_QUALITY = 99, BQ_ZERO = 64 };

/* Half-open. */
typedef struct {
    int64_t read_begin, read_end, begin, end;
} aligned_part;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int is_paired(uint32_t run)
{
    const uint32_t op = bam_cigar_op(run);
    return op == BAM_CMATCH || op == BAM_CEQUAL || op == BAM_CDIFF;
}

/* From the first to the last paired base; read_end is 0 if there is none. */
static aligned_part find_aligned(const baq_read *r)
{
    aligned_part part = {-1, 0, 0, 0};
    int64_t x = r->position, y = 0;
    for (uint32_t i = 0; i < r->runs; i++) {
        const int type = bam_cigar_type(bam_cigar_op(r->cigar[i]));
        const int64_t length = bam_cigar_oplen(r->cigar[i]);
        if (is_paired(r->cigar[i])) {
            if (part.read_begin < 0)
                part.read_begin = y, part.begin = x;
            part.read_end = y + length, part.end = x + length;
        }
        y += type & 1 ? length : 0;
        x += type & 2 ? length : 0;
    }
    return part;
}

/* The window of the reference, with room for the clipped ends of the read and half of the band at each side. */
static int32_t choose_window(const baq_read *r, const aligned_part *part, int64_t *begin, int64_t *end)
{
    const int64_t gap = llabs((part->end - part->begin) - (part->read_end - part->read_begin));
    const int64_t band = gap > LEAST_BAND ? gap + MORE_BAND : LEAST_BAND;
    int64_t excess;
    *begin = part->begin - part->read_begin - band / 2;
    *begin = *begin < 0 ? 0 : *begin;
    *end = smaller(r->contig_length, part->end + (r->length - part->read_end) + band / 2);
    excess = *end - *begin - r->length - band;
    if (excess > 0)
        *begin += excess / 2, *end -= excess / 2;
    return (int32_t)band;
}

static void fill_steps(const baq_read *r, hmm_step *steps, uint8_t *quals)
{
    const double end = 1 / (2.0 * r->length + 2);
    for (uint32_t i = 0; i < r->length; i++) {
        const uint8_t quality = r->quals[r->reverse ? r->length - 1 - i : i] - 33;
        const double wrong = pow(10.0, -0.1 * quality);
        quals[i] = quality;
        steps[i] = (hmm_step){
            .match = 1 - wrong, .mismatch = wrong / 3,
            .mm = (1 - 2 * GAP_OPEN) * (1 - end), .mi = GAP_OPEN * (1 - end), .md = GAP_OPEN * (1 - end),
            .im = (1 - GAP_EXTEND) * (1 - end), .ii = GAP_EXTEND * (1 - end),
            .dm = 1 - GAP_EXTEND, .dd = GAP_EXTEND,
        };
    }
    steps[0].md = 0; /* no alignment has a deletion behind the first base of the read */
}

/* Phred quality of the most likely place of base i, if it is column `expected` (from 1), else 0. */
static uint8_t place_quality(const hmm_pair *p, const double *match, const double *insertion, int32_t i,
                             int64_t expected)
{
    const int32_t first = hmm_first(p, i), last = hmm_last(p, i);
    double largest = 0;
    int64_t best = -1;
    for (int32_t j = first; j <= last; j++) {
        if (match[j - first] > largest)
            largest = match[j - first], best = j;
        if (insertion[j - first] > largest)
            largest = insertion[j - first], best = -1;
    }
    if (best != expected)
        return 0;
    largest = largest < 1 ? -10 * log10(1 - largest) + 0.499 : LARGEST_QUALITY;
    return (uint8_t)(largest > LARGEST_QUALITY ? LARGEST_QUALITY : largest);
}

/* A base is as sure as the less sure of the surest bases of its run at its two sides, itself included. `sure` has room
 * for 2n. */
static void extend(uint8_t *sure, int64_t n)
{
    uint8_t *behind = sure + n, largest = 0;
    for (int64_t i = n - 1; i >= 0; i--)
        behind[i] = largest = sure[i] > largest ? sure[i] : largest;
    largest = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = sure[i] > largest ? sure[i] : largest;
        sure[i] = largest < behind[i] ? largest : behind[i];
    }
}

static void write_differences(const baq_read *r, const hmm_pair *p, const double *match, const double *insertion,
                              size_t stride, int64_t window, const uint8_t *quals, uint8_t *sure, uint8_t *to)
{
    int64_t x = r->position, y = 0;
    memset(to, BQ_ZERO, r->length);
    for (uint32_t run = 0; run < r->runs; run++) {
        const int type = bam_cigar_type(bam_cigar_op(r->cigar[run]));
        int64_t length = bam_cigar_oplen(r->cigar[run]);
        if (is_paired(r->cigar[run])) {
            while (run + 1 < r->runs && is_paired(r->cigar[run + 1])) /* = and X are one M */
                length += bam_cigar_oplen(r->cigar[++run]);
            for (int64_t i = 0; i < length; i++)
                sure[i] = place_quality(p, match + (y + i) * stride, insertion + (y + i) * stride,
                                        (int32_t)(y + i + 1), x + i - window + 1);
            extend(sure, length);
            for (int64_t i = 0; i < length; i++)
                to[y + i] = BQ_ZERO + (quals[y + i] > sure[i] ? quals[y + i] - sure[i] : 0);
        }
        y += type & 1 ? length : 0;
        x += type & 2 ? length : 0;
    }
}

int baq_string(const baq_read *r, uint8_t *to)
{
    const aligned_part part = find_aligned(r);
    int64_t begin, end;
    int32_t band, difference;
    size_t stride, table;
    char *memory;
    hmm_pair p;
    if (!part.read_end)
        return 0;
    band = choose_window(r, &part, &begin, &end);
    p.m = (int32_t)r->length, p.n = (int32_t)(end - begin);
    difference = abs(p.m - p.n);
    p.band = band < difference ? difference : band;
    p.begin_match = (1 - GAP_OPEN) / p.n, p.begin_insertion = GAP_OPEN / p.n, p.insertion = INSERTED;
    stride = (size_t)hmm_width(&p);
    table = stride * p.m * sizeof(double);
    memory = malloc(p.m * sizeof(hmm_step) + 2 * table + hmm_posterior_memory(&p) + 4 * (size_t)p.m + p.n);
    if (!memory)
        return -1;
    {
        hmm_step *steps = (hmm_step *)memory;
        double *match = (double *)(steps + p.m), *insertion = match + stride * p.m;
        char *work = (char *)(insertion + stride * p.m);
        uint8_t *bases = (uint8_t *)work + hmm_posterior_memory(&p), *quals = bases + p.m, *sure = quals + p.m;
        uint8_t *window = sure + 2 * (size_t)p.m;
        for (int32_t i = 0; i < p.m; i++)
            bases[i] = seq_nt16_table[r->letters[i]];
        for (int32_t j = 0; j < p.n; j++) {
            const int base = base_at(r->reference, r->contig_start + begin + j);
            window[j] = base == MASKED_BASE ? 15 : 1 << base;
        }
        fill_steps(r, steps, quals);
        p.read = bases, p.haplotype = window, p.steps = steps;
        p.is_sure_of_unknown = 1;
        hmm_posterior(&p, match, insertion, stride, work);
        write_differences(r, &p, match, insertion, stride, begin, quals, sure, to);
    }
    free(memory);
    return 1;
}
