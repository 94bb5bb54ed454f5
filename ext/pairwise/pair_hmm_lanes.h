/* The pair HMM of a batch (pair_hmm.h): the one template of all instruction sets, precisions and semirings.
 *
 * Recipe. A lane has a pair. Rows are bases of the read; one row of M, I and D is kept along the haplotype and
 * overwritten. Where numbers are scaled, a row whose largest number gets small is multiplied by a power of two, lane by
 * lane, through the transitions that lead out of it; the exponents are kept. Nothing is rounded thereby.
 *
 * Wanted from whoever includes this: HMM_FN (its name), HMM_SCOPE, REAL, INT (of the same size), HMM_LANES, HMM_TARGET, PLUS(a, b)
 * and TIMES(a, b) of the semiring, NUMBER(p) (what stands for probability p), NOTHING (for probability 0), and where
 * numbers are scaled, HMM_SCALED, with SMALL, and SCALE_BITS. */
#if HMM_LANES > 1
typedef REAL HMM_NAME(vec) __attribute__((vector_size(sizeof(REAL) * HMM_LANES)));
typedef INT HMM_NAME(bits) __attribute__((vector_size(sizeof(INT) * HMM_LANES)));
#define HMM_AT(v, l) ((v)[l])
#define HMM_SET(x) ((HMM_NAME(vec)){0} + (REAL)(x))
#define HMM_IF(test, yes, no) ((HMM_NAME(vec))(((HMM_NAME(bits))(test) & (HMM_NAME(bits))(yes)) | \
                                               (~(HMM_NAME(bits))(test) & (HMM_NAME(bits))(no))))
#else
typedef REAL HMM_NAME(vec);
typedef INT HMM_NAME(bits);
#define HMM_AT(v, l) (v)
#define HMM_SET(x) ((REAL)(x))
#define HMM_IF(test, yes, no) ((test) ? (yes) : (no))
#endif
#define VEC HMM_NAME(vec)
#define BITS HMM_NAME(bits)
#define HMM_LARGER(a, b) HMM_IF((a) > (b), a, b)

typedef struct {
    VEC *match, *insertion, *deletion; /* a row, [longest haplotype + 1] */
    BITS *haplotype;
    int32_t m[HMM_LANES], n[HMM_LANES], longest, widest;
    int64_t read[HMM_LANES];
} HMM_NAME(group);

/* Past the last pair it is repeated, which costs no special case. */
HMM_TARGET static void HMM_NAME(open)(const hmm_batch *batch, int64_t first, HMM_NAME(group) *g)
{
    g->longest = g->widest = 0;
    for (int l = 0; l < HMM_LANES; l++) {
        const int32_t *pair = batch->pairs + 2 * (first + l < batch->n ? first + l : batch->n - 1);
        const int64_t *h = batch->haplotype_offsets + pair[1];
        g->read[l] = batch->offsets[pair[0]];
        g->m[l] = (int32_t)(batch->offsets[pair[0] + 1] - g->read[l]);
        g->n[l] = (int32_t)(h[1] - h[0]);
        g->longest = g->m[l] > g->longest ? g->m[l] : g->longest;
        g->widest = g->n[l] > g->widest ? g->n[l] : g->widest;
        for (int32_t j = 0; j < g->n[l]; j++)
            HMM_AT(g->haplotype[j + 1], l) = batch->haplotypes[h[0] + j];
    }
    for (int l = 0; l < HMM_LANES; l++)
        for (int32_t j = g->n[l]; j < g->widest; j++)
            HMM_AT(g->haplotype[j + 1], l) = 0;
    for (int32_t j = 0; j <= g->widest; j++) {
        g->match[j] = g->insertion[j] = HMM_SET(NOTHING);
        for (int l = 0; l < HMM_LANES; l++)
            HMM_AT(g->deletion[j], l) = (REAL)NUMBER(1.0 / g->n[l]);
    }
}

typedef struct {
    VEC yes, no, mm, mi, md, gm, gg; /* of a row: match, mismatch, and transitions; gm out of gaps, gg within */
    BITS base;
} HMM_NAME(row);

HMM_TARGET static HMM_NAME(row) HMM_NAME(load)(const hmm_batch *batch, const HMM_NAME(group) *g, int32_t i)
{
    HMM_NAME(row) r;
    for (int l = 0; l < HMM_LANES; l++) {
        const int64_t at = g->read[l] + (i < g->m[l] ? i : g->m[l] - 1);
        const hmm_step *s = batch->steps + at;
        HMM_AT(r.base, l) = batch->bases[at];
        HMM_AT(r.yes, l) = (REAL)NUMBER(s->match);
        HMM_AT(r.no, l) = (REAL)NUMBER(s->mismatch);
        HMM_AT(r.mm, l) = (REAL)NUMBER(s->mm);
        HMM_AT(r.mi, l) = (REAL)NUMBER(s->mi);
        HMM_AT(r.md, l) = (REAL)NUMBER(s->md);
        HMM_AT(r.gm, l) = (REAL)NUMBER(s->im);
        HMM_AT(r.gg, l) = (REAL)NUMBER(s->ii);
    }
    return r;
}

HMM_TARGET static void HMM_NAME(run)(const hmm_batch *batch, int64_t first, HMM_NAME(group) *g, double *logs)
{
#ifdef HMM_SCALED
    int32_t exponent[HMM_LANES] = {0};
    VEC factor = HMM_SET(NUMBER(1.0));
#endif
    HMM_NAME(open)(batch, first, g);
    for (int32_t i = 0; i < g->longest && !*batch->stop; i++) {
        HMM_NAME(row) r = HMM_NAME(load)(batch, g, i);
        VEC gap = r.gg;
        VEC before = g->match[0], gaps_before = PLUS(g->insertion[0], g->deletion[0]);
        VEC match = HMM_SET(NOTHING), deletion = HMM_SET(NOTHING);
#ifdef HMM_SCALED
        VEC largest = HMM_SET(0);
        r.mm *= factor, r.mi *= factor, r.gm *= factor, gap *= factor;
#endif
        g->match[0] = g->insertion[0] = g->deletion[0] = HMM_SET(NOTHING);
        for (int32_t j = 1; j <= g->widest; j++) {
            const VEC emission = HMM_IF((r.base & g->haplotype[j]) != 0, r.yes, r.no);
            const VEC old = g->match[j], old_insertion = g->insertion[j], old_deletion = g->deletion[j];
            const VEC insertion = PLUS(TIMES(r.mi, old), TIMES(gap, old_insertion));
            deletion = PLUS(TIMES(r.md, match), TIMES(r.gg, deletion));
            match = TIMES(emission, PLUS(TIMES(r.mm, before), TIMES(r.gm, gaps_before)));
            before = old;
            gaps_before = PLUS(old_insertion, old_deletion);
            g->match[j] = match;
            g->insertion[j] = insertion;
            g->deletion[j] = deletion;
#ifdef HMM_SCALED
            largest = HMM_LARGER(largest, HMM_LARGER(match, insertion));
#endif
        }
        for (int l = 0; l < HMM_LANES && first + l < batch->n; l++) {
            REAL sum = NOTHING;
            if (g->m[l] != i + 1)
                continue;
            for (int32_t j = 1; j <= g->n[l]; j++)
                sum = HMM_PLUS_ONE(sum, HMM_PLUS_ONE(HMM_AT(g->match[j], l), HMM_AT(g->insertion[j], l)));
#ifdef HMM_SCALED
            logs[first + l] = log((double)sum) - exponent[l] * 0.69314718055994530942;
#else
            logs[first + l] = sum;
#endif
        }
#ifdef HMM_SCALED
        for (int l = 0; l < HMM_LANES; l++) {
            const int small = HMM_AT(largest, l) < (REAL)SMALL;
            HMM_AT(factor, l) = small ? (REAL)SCALE : (REAL)1;
            exponent[l] += small ? SCALE_BITS : 0;
        }
#endif
    }
}

HMM_TARGET HMM_SCOPE int HMM_FN(const hmm_batch *batch, double *logs)
{
    HMM_NAME(group) g;
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
    for (int64_t first = 0; first < batch->n && !*batch->stop; first += HMM_LANES)
        HMM_NAME(run)(batch, first, &g, logs);
    free(memory);
    return 0;
}

#undef HMM_FN
#undef HMM_NAME
#undef REAL
#undef INT
#undef HMM_LANES
#undef PLUS
#undef HMM_PLUS_ONE
#undef TIMES
#undef NUMBER
#undef NOTHING
#undef HMM_SCALED
#undef SMALL
#undef SCALE
#undef SCALE_BITS
#undef HMM_AT
#undef HMM_SET
#undef HMM_IF
#undef VEC
#undef BITS
#undef HMM_LARGER
