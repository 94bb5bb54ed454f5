/* All structures of a sequence together, and those with each pair, or the best of them: fold_wide.c includes this behind
 * fold_lanes.h for each of the two sums, whose energies of loops it takes. The including file sets OWN(name), ADD2(a,
 * b), TIMES2(a, b), OVER(a, b), NONE, ONE and WEIGHT(energy, kt); numbers are weights, or energies whose sign is turned.
 *
 * Parts of multiloops are divided in one way only, by the first stem of (i, l): M(i, j) has a stem at least, P(i, j) two.
 *
 *     M(i, j) = u M(i+1, j) + sum of S(i, l) (u^(j-l) + M(l+1, j)),  P(i, j) = u P(i+1, j) + sum of S(i, l) M(l+1, j) */

/* Weights of all structures of a part, and what of the whole goes by way of it. Both are multiplied by a power of the
 * number of bases that keeps them in range. */
typedef struct {
    const FORM(way) *way;
    const ensemble_job *job;
    const double *scale; /* its powers */
    double *pair, *multi, *parts, *by_pair, *by_multi, *by_parts, *exterior, *by_exterior, *stems, *singles;
    int64_t n;
    double unpaired, closing;
} OWN(ensemble);

#define OF(matrix, i, j) (e->matrix[(i) * (e->n + 1) + (j)])
#define MORE(to, x) ((to) = ADD2(to, x))
#define TIMES3(a, b, c) TIMES2(TIMES2(a, b), c)

static double OWN(weight)(const OWN(ensemble) *e, double energy)
{
    return energy >= FOLD_INFINITE ? NONE : WEIGHT(energy, e->job->kt);
}

/* The stem (i, j) in a multiloop, or outside of all loops. */
static double OWN(stem_weight)(const OWN(ensemble) *e, int64_t i, int64_t j, int is_multi)
{
    const fold_beside *w = e->job->beside;
    const FORM(way) *way = e->way;
    const fold_parameters *p = way->s->job->parameters;
    const int type = FORM(type)(way, i, j), has_next = j + 1 < e->n;
    const double end = OWN(weight)(e, FORM(terminal)(way, type) + (is_multi ? p->few.branch : 0));
    if (i && has_next)
        return TIMES2(end, (is_multi ? w->mismatch_multi : w->mismatch_exterior)[type << 4 | FORM(base)(way, i - 1) << 2 |
                                                                                 FORM(base)(way, j + 1)]);
    return TIMES2(end, i          ? w->dangle5[type << 2 | FORM(base)(way, i - 1)]
                       : has_next ? w->dangle3[type << 2 | FORM(base)(way, j + 1)]
                                  : ONE);
}

/* The end of a multiloop that (i, j) closes. */
static double OWN(end_weight)(const OWN(ensemble) *e, int64_t i, int64_t j)
{
    const int turned = FORM(type)(e->way, j, i);
    return TIMES3(e->closing, OWN(weight)(e, FORM(terminal)(e->way, turned)),
                  e->job->beside->mismatch_multi[turned << 4 | FORM(base)(e->way, j - 1) << 2 | FORM(base)(e->way, i + 1)]);
}

/* The weights of what the pair (i, j) closes, added; of each, its share is handed on. */
static double OWN(closed)(const OWN(ensemble) *e, int64_t i, int64_t j, double share)
{
    const FORM(way) *way = e->way;
    const int special = FORM(special)(way->s, i, j, 0);
    double energy = FORM(hairpin)(way, i, j), sum, part;
    if (special == FOLD_NONE && j - i > 4)
        energy += e->job->hairpin[j - i - 1] - way->s->job->hairpin[j - i - 1];
    sum = TIMES2(OWN(weight)(e, energy), e->scale[j - i + 1]);
    for (int64_t k = i + 1; k - i - 1 <= FOLD_LOOP && k + FOLD_HAIRPIN < j; k++)
        for (int64_t l = j - 1; k - i - 1 + j - l - 1 <= FOLD_LOOP && l - k > FOLD_HAIRPIN; l--) {
            if (OF(pair, k, l) == NONE)
                continue;
            part = TIMES3(OWN(weight)(e, FORM(loop)(way, i, j, k, l)), e->scale[k - i + j - l], OF(pair, k, l));
            MORE(sum, part);
            MORE(OF(by_pair, k, l), TIMES2(share, part));
        }
    part = TIMES2(OWN(end_weight)(e, i, j), OF(parts, i + 1, j - 1));
    MORE(OF(by_parts, i + 1, j - 1), TIMES2(share, part));
    return ADD2(sum, part);
}

/* The stems that begin with base i, and the parts of multiloops of one. */
static void OWN(stems_of)(const OWN(ensemble) *e, int64_t i)
{
    for (int64_t j = i; j < e->n; j++) {
        e->stems[j] = NONE;
        if (i && j + 1 < e->n && OF(pair, i, j) > NONE)
            e->stems[j] = TIMES2(OF(pair, i, j), OWN(stem_weight)(e, i, j, 1));
        e->singles[j] = j > i ? ADD2(e->stems[j], TIMES2(e->unpaired, e->singles[j - 1])) : e->stems[j];
    }
}

static void OWN(inside)(const OWN(ensemble) *e, int64_t i)
{
    for (int64_t j = i + FOLD_HAIRPIN + 1; j < e->n; j++)
        OF(pair, i, j) = FORM(type)(e->way, i, j) ? OWN(closed)(e, i, j, NONE) : NONE;
    OWN(stems_of)(e, i);
    e->exterior[i] = TIMES2(e->scale[1], e->exterior[i + 1]);
    for (int64_t j = i + FOLD_HAIRPIN + 1; j < e->n; j++) {
        double several = NONE;
        for (int64_t l = i + FOLD_HAIRPIN + 1; l < j; l++)
            MORE(several, TIMES2(e->stems[l], OF(multi, l + 1, j)));
        OF(multi, i, j) = ADD2(TIMES2(e->unpaired, OF(multi, i + 1, j)), ADD2(e->singles[j], several));
        OF(parts, i, j) = ADD2(TIMES2(e->unpaired, OF(parts, i + 1, j)), several);
        if (OF(pair, i, j) > NONE)
            MORE(e->exterior[i], TIMES3(OF(pair, i, j), OWN(stem_weight)(e, i, j, 0), e->exterior[j + 1]));
    }
}

/* Hands on what goes by way of row i, to rows behind it. */
static void OWN(outside)(const OWN(ensemble) *e, int64_t i)
{
    const double whole = OVER(e->by_exterior[i], e->exterior[i]);
    double single = NONE;
    MORE(e->by_exterior[i + 1], TIMES3(whole, e->scale[1], e->exterior[i + 1]));
    OWN(stems_of)(e, i);
    for (int64_t j = e->n - 1; j > i + FOLD_HAIRPIN; j--) {
        const double multi = OF(multi, i, j) > NONE ? OVER(OF(by_multi, i, j), OF(multi, i, j)) : NONE;
        const double parts = OF(parts, i, j) > NONE ? OVER(OF(by_parts, i, j), OF(parts, i, j)) : NONE;
        const double both = ADD2(multi, parts);
        MORE(OF(by_multi, i + 1, j), TIMES3(multi, e->unpaired, OF(multi, i + 1, j)));
        MORE(OF(by_parts, i + 1, j), TIMES3(parts, e->unpaired, OF(parts, i + 1, j)));
        for (int64_t l = i + FOLD_HAIRPIN + 1; l < j && both > NONE; l++) {
            const double share = TIMES3(both, e->stems[l], OF(multi, l + 1, j));
            MORE(OF(by_pair, i, l), share);
            MORE(OF(by_multi, l + 1, j), share);
        }
        single = ADD2(TIMES2(single, e->unpaired), multi);
        MORE(OF(by_pair, i, j), TIMES2(single, e->stems[j]));
        if (OF(pair, i, j) > NONE) {
            const double stem = TIMES2(OF(pair, i, j), OWN(stem_weight)(e, i, j, 0));
            const double share = TIMES3(whole, stem, e->exterior[j + 1]);
            MORE(OF(by_pair, i, j), share);
            MORE(e->by_exterior[j + 1], share);
        }
    }
    for (int64_t j = i + FOLD_HAIRPIN + 1; j < e->n; j++)
        if (OF(by_pair, i, j) > NONE)
            OWN(closed)(e, i, j, OVER(OF(by_pair, i, j), OF(pair, i, j)));
}

/* All matrices within `memory`, of fold_ensemble_memory(n) bytes. */
static OWN(ensemble) OWN(of)(const FORM(way) *way, double least, const ensemble_job *job, double *memory)
{
    const fold_few *few = &job->fold.parameters->few;
    const int64_t n = way->length, size = (n + 1) * (n + 1);
    double *room = memory + 6 * size, *scale = room + 4 * (n + 2);
    OWN(ensemble) ensemble = {way, job, scale, .n = n}, *e = &ensemble;
    for (int64_t i = 0; i <= n + 1; i++)
        scale[i] = WEIGHT(-least * i / n, job->kt);
    e->pair = memory, e->multi = e->pair + size, e->parts = e->multi + size;
    e->by_pair = e->parts + size, e->by_multi = e->by_pair + size, e->by_parts = e->by_multi + size;
    e->exterior = room, e->by_exterior = room + (n + 2), e->stems = room + 2 * (n + 2), e->singles = room + 3 * (n + 2);
    e->unpaired = TIMES2(OWN(weight)(e, few->unpaired), scale[1]);
    e->closing = TIMES2(OWN(weight)(e, few->closing + few->branch), scale[2]);
    return ensemble;
}

/* What the whole has by way of each part. */
static void OWN(fill)(const OWN(ensemble) *e)
{
    const volatile int32_t *stop = e->job->fold.stop;
    for (double *at = e->pair; at < e->scale; at++)
        *at = NONE;
    e->exterior[e->n] = ONE;
    for (int64_t i = e->n - 1; i >= 0 && !*stop; i--)
        OWN(inside)(e, i);
    e->by_exterior[0] = ONE;
    for (int64_t i = 0; i < e->n && !*stop; i++)
        OWN(outside)(e, i);
}
#undef OF
#undef MORE
#undef TIMES3
#undef OWN
#undef ADD2
#undef TIMES2
#undef OVER
#undef NONE
#undef ONE
#undef WEIGHT
