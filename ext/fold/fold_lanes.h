/* Folding, a sequence in each lane, for one width of lanes (numbers.h). The including file sets ADD(a, b), LOOK(table, i)
 * and INFINITE. Shorter sequences end with bases that do not pair. */
typedef struct {
    const fold_job *job;
    int64_t first, n;
    VEC *pair, *internal, *one, *three, *bulge, *multi, *parts, *code, *exterior, length;
} FORM(space);

#define CELL(matrix, i, j) (s->matrix[(i) * s->n + (j)])

static const int16_t FORM(types)[32] = {0, 0, 0, 5, 0, 0, 1, 0, 0, 2, 0, 3, 6, 0, 4, 0};
static const int16_t FORM(turned)[32] = {0, 0, 0, 6, 0, 0, 2, 0, 0, 1, 0, 4, 5, 0, 3, 0};

/* Energy of the hairpin of a lane, if its bases have one of their own. */
static int FORM(special)(const FORM(space) *s, int64_t i, int64_t j, int l)
{
    const fold_parameters *p = s->job->parameters;
    int64_t index = 0;
    if (j - i != 4 && j - i != 5 && j - i != 7)
        return FOLD_NONE;
    for (int64_t k = i; k <= j; k++)
        index = index << 2 | (int64_t)AT(s->code[k], l);
    return j - i == 4 ? p->triloops[index] : j - i == 5 ? p->tetraloops[index] : p->hexaloops[index];
}

/* The least energy of C(i, j), where lanes that have no pair do not matter. `in` is the type with both bases within. */
LANES_TARGET static VEC FORM(pairs)(const FORM(space) *s, int64_t i, int64_t j, VEC type, VEC in, VEC terminal)
{
    const fold_parameters *p = s->job->parameters;
    const int64_t u = j - i - 1;
    const VEC types = type << 3, after = s->code[i + 1], before = s->code[j - 1];
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
        const VEC inner = LOOK(FORM(turned), 32, s->code[k] << 2 | s->code[l]);
        const VEC energy = ADD(LOOK(p->stack, 64, types | inner), SET(q ? p->bulge[1] : 0));
        best = SMALLER(best, ADD(CELL(pair, k, l), energy));
    }
    for (int q = 0; q < 4; q++) { /* 1 x 1, 1 x 2, 2 x 1, 2 x 2 */
        const int64_t k = i + 2 + (q > 1), l = j - 2 - (q & 1);
        if (l - k <= FOLD_HAIRPIN)
            continue;
        const VEC inner = LOOK(FORM(turned), 32, s->code[k] << 2 | s->code[l]), first = s->code[k - 1];
        const VEC last = s->code[l + 1];
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
        const VEC *row = &CELL(internal, i + 1 + x, j - 1);
        for (int64_t y = x == 2 ? 4 : x == 3 ? 3 : 2; x + y <= room; y++) { /* two chains of minima need not wait */
            const VEC sum = ADD(row[-y], SET(p->internal[x + y] + fold_ninio(p, x - y)));
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
    const fold_parameters *p = s->job->parameters;
    const int64_t n = s->n;
    const VEC infinite = SET(INFINITE), zero = SET(0), code = s->code[i];
    const VEC before = i ? s->code[i - 1] : zero, after = i + 1 < n ? s->code[i + 1] : zero;
    VEC *parts = s->parts + (i & 1) * n, *inner = s->parts + (~i & 1) * n, f = s->exterior[i + 1], low = zero;
    for (int64_t j = i; j < n && j <= i + FOLD_HAIRPIN; j++)
        parts[j] = CELL(pair, i, j) = CELL(internal, i, j) = CELL(one, i, j) = CELL(three, i, j) = CELL(bulge, i, j) =
            CELL(multi, i, j) = infinite;
    for (int64_t j = i + FOLD_HAIRPIN + 1; j < n; j++) {
        const VEC last = s->code[j - 1], next = j + 1 < n ? s->code[j + 1] : zero, both = code << 2 | s->code[j];
        const VEC type = IF(s->length > SET(j), LOOK(FORM(types), 32, both), zero);
        const VEC turned = LOOK(FORM(turned), 32, both), terminal = IF(type > SET(2), SET(p->terminal), zero);
        const VEC in = type << 4 | after << 2 | last, out = turned << 4 | next << 2 | before;
        const VEC stem = type << 4 | before << 2 | next;
        VEC best = infinite, ends, sum = infinite;
        if (ANY(type)) {
            best = FORM(pairs)(s, i, j, type, in, terminal);
            ends = ADD(terminal, LOOK(p->mismatch_multi, 128, turned << 4 | last << 2 | after));
            best = SMALLER(best, ADD(inner[j - 1], ADD(ends, SET(p->closing + p->branch))));
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
        f = SMALLER(f, ADD(ADD(best, ends), s->exterior[j + 1]));
        for (int64_t k = i + 4; k + 5 <= j; k++)
            sum = SMALLER(sum, ADD(CELL(multi, i, k), CELL(multi, k + 1, j)));
        parts[j] = sum;
        sum = SMALLER(sum, ADD(SMALLER(CELL(multi, i + 1, j), CELL(multi, i, j - 1)), SET(p->unpaired)));
        ends = ADD(terminal, LOOK(p->mismatch_multi, 128, stem));
        CELL(multi, i, j) = sum = SMALLER(sum, ADD(best, ADD(ends, SET(p->branch))));
        low = SMALLER(low, SMALLER(best, sum));
    }
    s->exterior[i] = f;
    return low;
}

/* Energies of one lane, for the way back. */
typedef struct {
    const FORM(space) *s;
    int lane;
    int64_t length;
} FORM(way);

static int FORM(base)(const FORM(way) *w, int64_t i)
{
    return (int)AT(w->s->code[i], w->lane);
}

static int FORM(type)(const FORM(way) *w, int64_t i, int64_t j)
{
    return FORM(types)[FORM(base)(w, i) << 2 | FORM(base)(w, j)];
}

static int FORM(terminal)(const FORM(way) *w, int type)
{
    return type > 2 ? w->s->job->parameters->terminal : 0;
}

static int FORM(mismatch)(const FORM(way) *w, const int16_t *table, int type, int64_t five, int64_t three)
{
    return table[type << 4 | FORM(base)(w, five) << 2 | FORM(base)(w, three)];
}

static int FORM(hairpin)(const FORM(way) *w, int64_t i, int64_t j)
{
    const fold_job *job = w->s->job;
    const int special = FORM(special)(w->s, i, j, w->lane), type = FORM(type)(w, i, j);
    if (special != FOLD_NONE)
        return special;
    return job->hairpin[j - i - 1] + (j - i == 4 ? FORM(terminal)(w, type)
                                                 : FORM(mismatch)(w, job->parameters->mismatch_hairpin, type, i + 1, j - 1));
}

static int FORM(loop)(const FORM(way) *w, int64_t i, int64_t j, int64_t k, int64_t l)
{
    const fold_parameters *p = w->s->job->parameters;
    const int64_t x = k - i - 1, y = j - l - 1, least = x < y ? x : y, most = x < y ? y : x;
    const int type = FORM(type)(w, i, j), inner = FORM(type)(w, l, k), both = type << 3 | inner;
    const int after = FORM(base)(w, i + 1), last = FORM(base)(w, j - 1);
    const int first = FORM(base)(w, k - 1), behind = FORM(base)(w, l + 1);
    const int16_t *table = least == 1 ? p->mismatch_internal_1n : most == 3 && least == 2 ? p->mismatch_internal_23
                                                                                          : p->mismatch_internal;
    if (!most)
        return p->stack[both];
    if (!least)
        return p->bulge[most] + (most == 1 ? p->stack[both] : FORM(terminal)(w, type) + FORM(terminal)(w, inner));
    if (most == 1)
        return p->int11[both << 4 | after << 2 | last];
    if (x == 1 && y == 2)
        return p->int21[both << 6 | after << 4 | behind << 2 | last];
    if (x == 2 && y == 1)
        return p->int21[(inner << 3 | type) << 6 | behind << 4 | after << 2 | first];
    if (most == 2)
        return p->int22[both << 8 | after << 6 | first << 4 | behind << 2 | last];
    return p->internal[x + y] + fold_ninio(p, x - y) + FORM(mismatch)(w, table, type, i + 1, j - 1) +
           FORM(mismatch)(w, table, inner, l + 1, k - 1);
}

#define LANE(matrix, i, j) ((int)AT(s->matrix[(i) * s->n + (j)], w->lane))

/* The stem (i, j) of a multiloop, or of what is outside of all loops. */
static int FORM(stem)(const FORM(way) *w, int64_t i, int64_t j, int is_multi)
{
    const FORM(space) *s = w->s;
    const fold_parameters *p = s->job->parameters;
    const int type = FORM(type)(w, i, j), energy = LANE(pair, i, j) + FORM(terminal)(w, type);
    if (is_multi)
        return energy + p->branch + FORM(mismatch)(w, p->mismatch_multi, type, i - 1, j + 1);
    if (i && j + 1 < w->length)
        return energy + FORM(mismatch)(w, p->mismatch_exterior, type, i - 1, j + 1);
    return energy + (i ? p->dangle5[type << 2 | FORM(base)(w, i - 1)]
                       : j + 1 < w->length ? p->dangle3[type << 2 | FORM(base)(w, j + 1)] : 0);
}

static void FORM(pair_back)(const FORM(way) *w, int64_t i, int64_t j, char *to);

/* Splits M's parts, or what a multiloop closes, whose energy is known. */
static void FORM(multi_back)(const FORM(way) *w, int64_t i, int64_t j, int energy, int is_closed, char *to)
{
    const FORM(space) *s = w->s;
    const int unpaired = s->job->parameters->unpaired;
    while (!is_closed) {
        if (LANE(multi, i + 1, j) + unpaired == energy)
            i++;
        else if (LANE(multi, i, j - 1) + unpaired == energy)
            j--;
        else
            break;
        energy -= unpaired;
    }
    if (!is_closed && FORM(type)(w, i, j) && FORM(stem)(w, i, j, 1) == energy) {
        FORM(pair_back)(w, i, j, to);
        return;
    }
    for (int64_t k = i + 4; k + 5 <= j; k++)
        if (LANE(multi, i, k) + LANE(multi, k + 1, j) == energy) {
            FORM(multi_back)(w, i, k, LANE(multi, i, k), 0, to);
            FORM(multi_back)(w, k + 1, j, LANE(multi, k + 1, j), 0, to);
            return;
        }
}

static void FORM(pair_back)(const FORM(way) *w, int64_t i, int64_t j, char *to)
{
    const FORM(space) *s = w->s;
    const fold_parameters *p = s->job->parameters;
    for (;;) {
        const int energy = LANE(pair, i, j);
        int64_t k, l = -1;
        to[i] = '(';
        to[j] = ')';
        if (FORM(hairpin)(w, i, j) == energy)
            return;
        for (k = i + 1; k - i - 1 <= FOLD_LOOP && k + FOLD_HAIRPIN < j && l < 0; k++)
            for (int64_t x = j - 1; k - i - 1 + j - x - 1 <= FOLD_LOOP && x - k > FOLD_HAIRPIN && l < 0; x--)
                if (FORM(type)(w, k, x) && LANE(pair, k, x) + FORM(loop)(w, i, j, k, x) == energy)
                    l = x;
        if (l < 0) {
            const int turned = FORM(type)(w, j, i);
            FORM(multi_back)(w, i + 1, j - 1, energy - p->closing - p->branch - FORM(terminal)(w, turned) -
                             FORM(mismatch)(w, p->mismatch_multi, turned, j - 1, i + 1), 1, to);
            return;
        }
        i = k - 1;
        j = l;
    }
}

/* All from i on. */
static void FORM(back)(const FORM(way) *w, int64_t i, char *to)
{
    const FORM(space) *s = w->s;
    for (; i < w->length; i++) {
        const int energy = (int)AT(s->exterior[i], w->lane);
        if ((int)AT(s->exterior[i + 1], w->lane) == energy)
            continue;
        for (int64_t j = i + 4; j < w->length; j++)
            if (FORM(type)(w, i, j) && FORM(stem)(w, i, j, 0) + (int)AT(s->exterior[j + 1], w->lane) == energy) {
                FORM(pair_back)(w, i, j, to);
                i = j;
                break;
            }
    }
}

/* All matrices; returns the lowest number of each lane. */
LANES_TARGET static VEC FORM(filled)(FORM(space) *s, int64_t count)
{
    const fold_job *job = s->job;
    const int64_t n = s->n, size = n * n;
    VEC low = SET(0);
    s->internal = s->pair + size;
    s->one = s->internal + size;
    s->three = s->one + size;
    s->bulge = s->three + size;
    s->multi = s->bulge + size;
    s->parts = s->multi + size;
    s->code = s->parts + 2 * n;
    s->exterior = s->code + n;
    for (int l = 0; l < LANES; l++) {
        const int64_t *at = job->offsets + s->first + (l < count ? l : count - 1);
        AT(s->length, l) = (REAL)(at[1] - at[0]);
        for (int64_t i = 0; i < n; i++)
            AT(s->code[i], l) = (REAL)(i < at[1] - at[0] ? job->codes[at[0] + i] : 0);
    }
    for (int64_t i = n; i >= 0 && i >= n - 1; i--)
        s->exterior[i] = SET(0);
    for (int64_t j = 0; j < 2 * n; j++)
        s->parts[j] = SET(INFINITE);
    for (int64_t i = n - 1; i >= 0 && !*job->stop; i--) {
        const VEC lowest = FORM(fill)(s, i);
        low = SMALLER(low, lowest);
    }
    return low;
}

LANES_TARGET static void FORM(fold)(const fold_job *job, int64_t first, int64_t count, int64_t n, void *memory,
                                    int32_t *energy, char *structure)
{
    FORM(space) space = {job, first, n, memory}, *s = &space;
    const VEC low = FORM(filled)(s, count);
    for (int l = 0; l < LANES && l < count && !*job->stop; l++) {
        const FORM(way) way = {s, l, (int64_t)AT(s->length, l)};
        const int is_narrow = sizeof(REAL) == 2 && AT(low, l) < FOLD_LOWEST;
        energy[l] = is_narrow ? INT32_MIN : (int32_t)AT(s->exterior[0], l);
        if (structure && !is_narrow) {
            memset(structure + job->offsets[first + l], '.', (size_t)way.length);
            FORM(back)(&way, 0, structure + job->offsets[first + l]);
        }
    }
}
