/* Folding for one width of lanes: the matrices, by fold_cells.h, and the way back through them. */
#define TYPE(a, b) LOOK(FORM(types), 32, (a) << 2 | (b))
#define FEW (&s->job->parameters->few)
#define CODE(i) (s->code[i])
#define CELL(matrix, i, j) (s->matrix[(i) * s->n + (j)])
#define MULTI(i, j) CELL(multi, i, j)

static const int16_t FORM(types)[32] = {0, 0, 0, 5, 0, 0, 1, 0, 0, 2, 0, 3, 6, 0, 4, 0};

typedef struct {
    const fold_job *job;
    int64_t first, n;
    VEC *internal, *one, *bulge, *multi, *code, *exterior, length;
} FORM(space);

#include "fold_cells.h"

/* All matrices of sequences of n bases at most, from `memory` on. */
static FORM(space) FORM(space_of)(const fold_job *job, int64_t first, int64_t n, void *memory)
{
    FORM(space) space = {job, first, n, memory}, *s = &space;
    s->one = s->internal + n * n;
    s->bulge = s->one + n * n;
    s->multi = s->bulge + n * n;
    s->code = (VEC *)((FORM(around) *)(s->multi + n * n) + 2 * n);
    s->exterior = s->code + n;
    return space;
}

/* Returns the lowest number of each lane. */
LANES_TARGET static VEC FORM(filled)(FORM(space) *s, int64_t count)
{
    const fold_job *job = s->job;
    const int64_t n = s->n;
    FORM(around) *around = (FORM(around) *)(s->multi + n * n);
    VEC low = SET(0), outer;
    for (int l = 0; l < LANES; l++) {
        const int64_t *at = job->offsets + s->first + (l < count ? l : count - 1);
        AT(s->length, l) = (REAL)(at[1] - at[0]);
        for (int64_t i = 0; i < n; i++)
            AT(s->code[i], l) = (REAL)(i < at[1] - at[0] ? job->codes[at[0] + i] : 0);
    }
    for (int64_t i = 0; i < 2 * n; i++)
        around[i].parts = SET(INFINITE);
    s->exterior[n] = SET(0);
    for (int64_t i = n - 1; i >= 0 && !*job->stop; i--) {
        VEC least = s->exterior[i + 1];
        for (int64_t j = i; j < n && j <= i + FOLD_HAIRPIN; j++)
            MULTI(i, j) = SET(INFINITE);
        for (int64_t j = i + FOLD_HAIRPIN + 1; j < n; j++) {
            const VEC lowest = FORM(cell)(s, (int)i, (int)j, around + i + j, &outer);
            low = SMALLER(low, lowest);
            least = SMALLER(least, ADD(outer, s->exterior[j + 1]));
        }
        s->exterior[i] = least;
    }
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
    return type > 2 ? w->s->job->parameters->few.terminal : 0;
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
        return p->few.bulge[most] + (most == 1 ? p->stack[both] : FORM(terminal)(w, type) + FORM(terminal)(w, inner));
    if (most == 1)
        return p->int11[both << 4 | after << 2 | last];
    if (x == 1 && y == 2)
        return p->int21[both << 6 | after << 4 | behind << 2 | last];
    if (x == 2 && y == 1)
        return p->int21[(inner << 3 | type) << 6 | behind << 4 | after << 2 | first];
    if (most == 2)
        return p->int22[both << 8 | after << 6 | first << 4 | behind << 2 | last];
    return p->few.internal[x + y] + p->few.uneven[most - least] + FORM(mismatch)(w, table, type, i + 1, j - 1) +
           FORM(mismatch)(w, table, inner, l + 1, k - 1);
}

#define LANE(matrix, i, j) ((int)AT(CELL(matrix, i, j), w->lane))

static int FORM(pair)(const FORM(way) *w, int64_t i, int64_t j)
{
    const FORM(space) *s = w->s;
    return LANE(bulge, i, j) - FORM(terminal)(w, FORM(type)(w, i, j));
}

/* The stem (i, j) of a multiloop, or of what is outside of all loops. */
static int FORM(stem)(const FORM(way) *w, int64_t i, int64_t j, int is_multi)
{
    const FORM(space) *s = w->s;
    const fold_parameters *p = s->job->parameters;
    const int type = FORM(type)(w, i, j), energy = LANE(bulge, i, j);
    if (is_multi)
        return energy + p->few.branch + FORM(mismatch)(w, p->mismatch_multi, type, i - 1, j + 1);
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
    const int unpaired = s->job->parameters->few.unpaired;
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
        const int energy = FORM(pair)(w, i, j);
        int64_t k, l = -1;
        to[i] = '(';
        to[j] = ')';
        if (FORM(hairpin)(w, i, j) == energy)
            return;
        for (k = i + 1; k - i - 1 <= FOLD_LOOP && k + FOLD_HAIRPIN < j && l < 0; k++)
            for (int64_t x = j - 1; k - i - 1 + j - x - 1 <= FOLD_LOOP && x - k > FOLD_HAIRPIN && l < 0; x--)
                if (FORM(type)(w, k, x) && FORM(pair)(w, k, x) + FORM(loop)(w, i, j, k, x) == energy)
                    l = x;
        if (l < 0) {
            const int turned = FORM(type)(w, j, i);
            FORM(multi_back)(w, i + 1, j - 1, energy - p->few.closing - p->few.branch - FORM(terminal)(w, turned) -
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

LANES_TARGET static void FORM(fold)(const void *given, int64_t first, int64_t count, void *memory)
{
    const fold_job *const job = given;
    FORM(space) space = FORM(space_of)(job, first, fold_longest(job, first, first + count), memory), *s = &space;
    const VEC low = FORM(filled)(s, count);
    for (int l = 0; l < LANES && l < count && !*job->stop; l++) {
        const FORM(way) way = {s, l, (int64_t)AT(s->length, l)};
        const int is_narrow = sizeof(REAL) == 2 && AT(low, l) < FOLD_LOWEST;
        char *structure = job->structure ? job->structure + job->offsets[first + l] : NULL;
        job->energy[first + l] = is_narrow ? INT32_MIN : (int32_t)AT(s->exterior[0], l);
        if (structure && !is_narrow) {
            memset(structure, '.', (size_t)way.length);
            FORM(back)(&way, 0, structure);
        }
    }
}
