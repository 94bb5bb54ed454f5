/* The pair HMM of a batch (pair_hmm.h): the one template of all instruction sets, precisions and semirings.
 *
 * Recipe. A lane has a pair. Rows are bases of the read; one row of M, I and D is kept along the haplotype and
 * overwritten. Where numbers are scaled, a row whose largest number gets small is multiplied by a power of two, lane by
 * lane, through the transitions that lead out of it; the exponents are kept. Nothing is rounded thereby.
 *
 * numbers.h says what PLUS, TIMES, NUMBER and NOTHING are; logarithms are not scaled. */

/* Rescaling: numbers of a row are kept such that the largest lies above SMALL, which leaves the range below it to lesser
 * ones. A row below it is multiplied by SCALE, 2^SCALE_BITS, which rounds nothing. */
#define SMALL LANES_JOIN(SMALL, KIND)
#define SMALL_F32 0x1p30f
#define SMALL_F64 0x1p400
#define SCALE LANES_JOIN(SCALE, KIND)
#define SCALE_F32 0x1p64f
#define SCALE_F64 0x1p512
#define SCALE_BITS LANES_JOIN(SCALE_BITS, KIND)
#define SCALE_BITS_F32 64
#define SCALE_BITS_F64 512

typedef struct {
    VEC *match, *insertion, *deletion; /* a row, [longest haplotype + 1] */
    BITS *haplotype;
    int32_t m[LANES], n[LANES], longest, widest;
    int64_t read[LANES];
} FORM(group);

/* Past the last pair it is repeated, which costs no special case. */
LANES_TARGET static void FORM(open)(const hmm_batch *batch, int64_t first, FORM(group) *g)
{
    g->longest = g->widest = 0;
    for (int l = 0; l < LANES; l++) {
        const int32_t *pair = batch->pairs + 2 * (first + l < batch->n ? first + l : batch->n - 1);
        const int64_t *h = batch->haplotype_offsets + pair[1];
        g->read[l] = batch->offsets[pair[0]];
        g->m[l] = (int32_t)(batch->offsets[pair[0] + 1] - g->read[l]);
        g->n[l] = (int32_t)(h[1] - h[0]);
        g->longest = g->m[l] > g->longest ? g->m[l] : g->longest;
        g->widest = g->n[l] > g->widest ? g->n[l] : g->widest;
        for (int32_t j = 0; j < g->n[l]; j++)
            AT(g->haplotype[j + 1], l) = batch->haplotypes[h[0] + j];
    }
    for (int l = 0; l < LANES; l++)
        for (int32_t j = g->n[l]; j < g->widest; j++)
            AT(g->haplotype[j + 1], l) = 0;
    for (int32_t j = 0; j <= g->widest; j++) {
        g->match[j] = g->insertion[j] = SET(NOTHING);
        for (int l = 0; l < LANES; l++)
            AT(g->deletion[j], l) = (REAL)NUMBER(1.0 / g->n[l]);
    }
}

typedef struct {
    VEC yes, no, mm, mi, md, gm, gg; /* of a row: match, mismatch, and transitions; gm out of gaps, gg within */
    BITS base;
} FORM(row);

LANES_TARGET static FORM(row) FORM(load)(const hmm_batch *batch, const FORM(group) *g, int32_t i)
{
    FORM(row) r;
    for (int l = 0; l < LANES; l++) {
        const int64_t at = g->read[l] + (i < g->m[l] ? i : g->m[l] - 1);
        const hmm_step *s = batch->steps + at;
        AT(r.base, l) = batch->bases[at];
        AT(r.yes, l) = (REAL)NUMBER(s->match);
        AT(r.no, l) = (REAL)NUMBER(s->mismatch);
        AT(r.mm, l) = (REAL)NUMBER(s->mm);
        AT(r.mi, l) = (REAL)NUMBER(s->mi);
        AT(r.md, l) = (REAL)NUMBER(s->md);
        AT(r.gm, l) = (REAL)NUMBER(s->im);
        AT(r.gg, l) = (REAL)NUMBER(s->ii);
    }
    return r;
}

LANES_TARGET static void FORM(run)(const hmm_batch *batch, int64_t first, FORM(group) *g, double *logs)
{
#if !LOGS
    int32_t exponent[LANES] = {0};
    VEC factor = SET(NUMBER(1.0));
#endif
    FORM(open)(batch, first, g);
    for (int32_t i = 0; i < g->longest && !*batch->stop; i++) {
        FORM(row) r = FORM(load)(batch, g, i);
        VEC gap = r.gg;
        VEC before = g->match[0], gaps_before = PLUS(g->insertion[0], g->deletion[0]);
        VEC match = SET(NOTHING), deletion = SET(NOTHING);
#if !LOGS
        VEC largest = SET(0);
        r.mm *= factor, r.mi *= factor, r.gm *= factor, gap *= factor;
#endif
        g->match[0] = g->insertion[0] = g->deletion[0] = SET(NOTHING);
        for (int32_t j = 1; j <= g->widest; j++) {
            const VEC emission = IF((r.base & g->haplotype[j]) != 0, r.yes, r.no);
            const VEC old = g->match[j], old_insertion = g->insertion[j], old_deletion = g->deletion[j];
            const VEC insertion = PLUS(TIMES(r.mi, old), TIMES(gap, old_insertion));
            deletion = PLUS(TIMES(r.md, match), TIMES(r.gg, deletion));
            match = TIMES(emission, PLUS(TIMES(r.mm, before), TIMES(r.gm, gaps_before)));
            before = old;
            gaps_before = PLUS(old_insertion, old_deletion);
            g->match[j] = match;
            g->insertion[j] = insertion;
            g->deletion[j] = deletion;
#if !LOGS
            largest = LARGER(largest, LARGER(match, insertion));
#endif
        }
        for (int l = 0; l < LANES && first + l < batch->n; l++) {
            REAL sum = NOTHING;
            if (g->m[l] != i + 1)
                continue;
            for (int32_t j = 1; j <= g->n[l]; j++)
                sum = PLUS_ONE(sum, PLUS_ONE(AT(g->match[j], l), AT(g->insertion[j], l)));
#if !LOGS
            logs[first + l] = log((double)sum) - exponent[l] * 0.69314718055994530942;
#else
            logs[first + l] = sum;
#endif
        }
#if !LOGS
        for (int l = 0; l < LANES; l++) {
            const int small = AT(largest, l) < (REAL)SMALL;
            AT(factor, l) = small ? (REAL)SCALE : (REAL)1;
            exponent[l] += small ? SCALE_BITS : 0;
        }
#endif
    }
}

LANES_TARGET static int FORM(logs)(const hmm_batch *batch, double *logs)
{
    FORM(group) g;
    int64_t widest = 0;
    char *memory;
    for (int64_t p = 0; p < batch->n; p++) {
        const int64_t *h = batch->haplotype_offsets + batch->pairs[2 * p + 1];
        widest = h[1] - h[0] > widest ? h[1] - h[0] : widest;
    }
    memory = malloc(64 + (size_t)(widest + 1) * (3 * sizeof(VEC) + sizeof(BITS)));
    if (!memory)
        return -1;
    g.match = (VEC *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    g.insertion = g.match + widest + 1;
    g.deletion = g.insertion + widest + 1;
    g.haplotype = (BITS *)(g.deletion + widest + 1);
    for (int64_t first = 0; first < batch->n && !*batch->stop; first += LANES)
        FORM(run)(batch, first, &g, logs);
    free(memory);
    return 0;
}
