/* Folding, a sequence in each lane, for one width of lanes (numbers.h), or to a work-item (fold.cl). The including file sets
 * ADD(a, b), LOOK(table, size, i), INFINITE, and FOLD_STRIDE, the distance of cells. Shorter sequences end with bases that
 * do not pair. */
#ifdef __OPENCL_VERSION__
#define FOLD_TABLE __constant
#define FOLD_GOES_ON(job) 1
#else
#define FOLD_TABLE static const
#define FOLD_GOES_ON(job) (!*(job)->stop)
#endif
typedef struct {
    const fold_job *job;
    int64_t first, n;
    FOLD_SHARED VEC *pair, *internal, *one, *three, *bulge, *multi, *parts, *code, *exterior;
    VEC length;
} FORM(space);

#define ITEM(array, i) ((array)[(i) * FOLD_STRIDE])
#define CELL(matrix, i, j) ITEM(s->matrix, (i) * s->n + (j))

FOLD_TABLE int16_t FORM(types)[32] = {0, 0, 0, 5, 0, 0, 1, 0, 0, 2, 0, 3, 6, 0, 4, 0};
FOLD_TABLE int16_t FORM(turned)[32] = {0, 0, 0, 6, 0, 0, 2, 0, 0, 1, 0, 4, 5, 0, 3, 0};

/* Energy of the hairpin of a lane, if its bases have one of their own. */
static int FORM(special)(const FORM(space) *s, int64_t i, int64_t j, int l)
{
    FOLD_SHARED const fold_parameters *p = s->job->parameters;
    int64_t index = 0;
    if (j - i != 4 && j - i != 5 && j - i != 7)
        return FOLD_NONE;
    for (int64_t k = i; k <= j; k++)
        index = index << 2 | (int64_t)AT(ITEM(s->code, k), l);
    return j - i == 4 ? p->triloops[index] : j - i == 5 ? p->tetraloops[index] : p->hexaloops[index];
}

/* The least energy of C(i, j), where lanes that have no pair do not matter. `in` is the type with both bases within. */
LANES_TARGET static VEC FORM(pairs)(const FORM(space) *s, int64_t i, int64_t j, VEC type, VEC in, VEC terminal)
{
    FOLD_SHARED const fold_parameters *p = s->job->parameters;
    const int64_t u = j - i - 1;
    const VEC types = type << 3, after = ITEM(s->code, i + 1), before = ITEM(s->code, j - 1);
    VEC best = ADD(SET(s->job->hairpin[u]), u == 3 ? terminal : LOOK(p->mismatch_hairpin, 128, in));
    if (u == 3 || u == 4 || u == 6)
        for (int l = 0; l < LANES; l++) {
            const int energy = FORM(special)(s, i, j, l);
            if (energy != FOLD_NONE)
                AT(best, l) = (REAL)energy;
        }
    for (int q = 0; q < 3; q++) { /* a stack, and bulges of one base */
        const int64_t k = i + 1 + (q == 1), l = j - 1 - (q == 2);
        if (l - k <= FOLD_HAIRPIN)
            continue;
        const VEC inner = LOOK(FORM(turned), 32, ITEM(s->code, k) << 2 | ITEM(s->code, l));
        const VEC energy = ADD(LOOK(p->stack, 64, types | inner), SET(q ? p->bulge[1] : 0));
        best = SMALLER(best, ADD(CELL(pair, k, l), energy));
    }
    for (int q = 0; q < 4; q++) { /* 1 x 1, 1 x 2, 2 x 1, 2 x 2 */
        const int64_t k = i + 2 + (q > 1), l = j - 2 - (q & 1);
        if (l - k <= FOLD_HAIRPIN)
            continue;
        const VEC inner = LOOK(FORM(turned), 32, ITEM(s->code, k) << 2 | ITEM(s->code, l)), first = ITEM(s->code, k - 1);
        const VEC last = ITEM(s->code, l + 1);
        const VEC energy = q == 0   ? LOOK(p->int11, 1024, (types | inner) << 4 | after << 2 | before)
                           : q == 1 ? LOOK(p->int21, 4096, (types | inner) << 6 | after << 4 | last << 2 | before)
                           : q == 2 ? LOOK(p->int21, 4096, (inner << 3 | type) << 6 | last << 4 | after << 2 | first)
                                    : LOOK(p->int22, 16384,
                                           (types | inner) << 8 | after << 6 | first << 4 | last << 2 | before);
        best = SMALLER(best, ADD(CELL(pair, k, l), energy));
    }
    const int64_t room = j - i - 2 - 4 < FOLD_LOOP ? j - i - 2 - 4 : FOLD_LOOP;
    VEC bulges = SET(INFINITE), ones = bulges, threes = bulges, even = bulges, odd = bulges;
    for (int64_t x = 2; x <= room; x++)
        bulges = SMALLER(bulges, ADD(SET(p->bulge[x]),
                                     SMALLER(CELL(bulge, i + 1 + x, j - 1), CELL(bulge, i + 1, j - 1 - x))));
    for (int64_t x = 3; x + 1 <= room; x++)
        ones = SMALLER(ones, ADD(SET(p->internal[x + 1] + fold_ninio(p, x - 1)),
                                 SMALLER(CELL(one, i + 1 + x, j - 2), CELL(one, i + 2, j - 1 - x))));
    if (room >= 5)
        threes = ADD(SET(p->internal[5] + fold_ninio(p, 1)), SMALLER(CELL(three, i + 3, j - 4), CELL(three, i + 4, j - 3)));
    for (int64_t x = 2; x <= room - 2; x++) {
        FOLD_SHARED const VEC *row = &CELL(internal, i + 1 + x, j - 1);
        for (int64_t y = x == 2 ? 4 : x == 3 ? 3 : 2; x + y <= room; y++) { /* two chains of minima need not wait */
            const VEC sum = ADD(ITEM(row, -y), SET(p->internal[x + y] + fold_ninio(p, x - y)));
            if (y & 1)
                odd = SMALLER(odd, sum);
            else
                even = SMALLER(even, sum);
        }
    }
    best = SMALLER(best, ADD(bulges, terminal));
    best = SMALLER(best, ADD(ones, LOOK(p->mismatch_internal_1n, 128, in)));
    best = SMALLER(best, ADD(threes, LOOK(p->mismatch_internal_23, 128, in)));
    return SMALLER(best, ADD(SMALLER(even, odd), LOOK(p->mismatch_internal, 128, in)));
}

/* All cells of row i, given the rows behind it; returns the lowest of them. */
LANES_TARGET static VEC FORM(fill)(const FORM(space) *s, int64_t i)
{
    FOLD_SHARED const fold_parameters *p = s->job->parameters;
    const int64_t n = s->n;
    const VEC infinite = SET(INFINITE), zero = SET(0), code = ITEM(s->code, i);
    const VEC before = i ? ITEM(s->code, i - 1) : zero, after = i + 1 < n ? ITEM(s->code, i + 1) : zero;
    FOLD_SHARED VEC *parts = &ITEM(s->parts, (i & 1) * n), *inner = &ITEM(s->parts, (~i & 1) * n);
    VEC f = ITEM(s->exterior, i + 1), low = zero;
    for (int64_t j = i; j < n && j <= i + FOLD_HAIRPIN; j++)
        ITEM(parts, j) = CELL(pair, i, j) = CELL(internal, i, j) = CELL(one, i, j) = CELL(three, i, j) = CELL(bulge, i, j) =
            CELL(multi, i, j) = infinite;
    for (int64_t j = i + FOLD_HAIRPIN + 1; j < n; j++) {
        const VEC last = ITEM(s->code, j - 1), next = j + 1 < n ? ITEM(s->code, j + 1) : zero, both = code << 2 | ITEM(s->code, j);
        const VEC type = IF(s->length > SET(j), LOOK(FORM(types), 32, both), zero);
        const VEC turned = LOOK(FORM(turned), 32, both), terminal = IF(type > SET(2), SET(p->terminal), zero);
        const VEC in = type << 4 | after << 2 | last, out = turned << 4 | next << 2 | before;
        const VEC stem = type << 4 | before << 2 | next;
        VEC best = infinite, ends, sum = infinite;
        if (ANY(type)) {
            best = FORM(pairs)(s, i, j, type, in, terminal);
            ends = ADD(terminal, LOOK(p->mismatch_multi, 128, turned << 4 | last << 2 | after));
            best = SMALLER(best, ADD(ITEM(inner, j - 1), ADD(ends, SET(p->closing + p->branch))));
            best = IF(type == zero, infinite, best);
        }
        CELL(pair, i, j) = best;
        CELL(internal, i, j) = ADD(best, LOOK(p->mismatch_internal, 128, out));
        CELL(one, i, j) = ADD(best, LOOK(p->mismatch_internal_1n, 128, out));
        CELL(three, i, j) = ADD(best, LOOK(p->mismatch_internal_23, 128, out));
        CELL(bulge, i, j) = ADD(best, terminal);
        const VEC lone = i ? LOOK(p->dangle5, 32, type << 2 | before) : zero;
        const VEC side = i ? LOOK(p->mismatch_exterior, 128, stem) : LOOK(p->dangle3, 32, type << 2 | next);
        ends = ADD(terminal, IF(s->length > SET(j + 1), side, lone));
        f = SMALLER(f, ADD(ADD(best, ends), ITEM(s->exterior, j + 1)));
        for (int64_t k = i + 4; k + 5 <= j; k++)
            sum = SMALLER(sum, ADD(CELL(multi, i, k), CELL(multi, k + 1, j)));
        ITEM(parts, j) = sum;
        sum = SMALLER(sum, ADD(SMALLER(CELL(multi, i + 1, j), CELL(multi, i, j - 1)), SET(p->unpaired)));
        ends = ADD(terminal, LOOK(p->mismatch_multi, 128, stem));
        CELL(multi, i, j) = sum = SMALLER(sum, ADD(best, ADD(ends, SET(p->branch))));
        low = SMALLER(low, SMALLER(best, sum));
    }
    ITEM(s->exterior, i) = f;
    return low;
}

/* All matrices; returns the lowest number of each lane. */
LANES_TARGET static VEC FORM(filled)(FORM(space) *s, int64_t count)
{
    const fold_job *job = s->job;
    const int64_t n = s->n, size = n * n * FOLD_STRIDE;
    VEC low = SET(0);
    s->internal = s->pair + size;
    s->one = s->internal + size;
    s->three = s->one + size;
    s->bulge = s->three + size;
    s->multi = s->bulge + size;
    s->parts = s->multi + size;
    s->code = &ITEM(s->parts, 2 * n);
    s->exterior = &ITEM(s->code, n);
    for (int l = 0; l < LANES; l++) {
        FOLD_SHARED const int64_t *at = job->offsets + s->first + (l < count ? l : count - 1);
        AT(s->length, l) = (REAL)(at[1] - at[0]);
        for (int64_t i = 0; i < n; i++)
            AT(ITEM(s->code, i), l) = (REAL)(i < at[1] - at[0] ? job->codes[at[0] + i] : 0);
    }
    for (int64_t i = n; i >= 0 && i >= n - 1; i--)
        ITEM(s->exterior, i) = SET(0);
    for (int64_t j = 0; j < 2 * n; j++)
        ITEM(s->parts, j) = SET(INFINITE);
    for (int64_t i = n - 1; i >= 0 && FOLD_GOES_ON(job); i--) {
        const VEC lowest = FORM(fill)(s, i);
        low = SMALLER(low, lowest);
    }
    return low;
}
#undef FOLD_TABLE
#undef FOLD_GOES_ON
