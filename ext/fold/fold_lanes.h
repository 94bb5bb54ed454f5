/* Folding for one kind of numbers: the matrices, by fold_cells.h. */
#undef ONE
#undef UNDONE
#undef SCALED
#undef TABLES
#undef FEW
#undef HAIRPIN
#if COUNTED
#define ONE 1
#define UNDONE(x) (1 / (x))
#define SCALED(x, bases) ((x) * s->scale[bases])
#define TABLES (s->weights)
#define FEW (&s->few)
#define HAIRPIN(u) (s->hairpin[u])
#else
#undef PLUS
#undef TIMES
#undef NOTHING
#define NOTHING INFINITE
#define FEW (&TABLES->few)
#endif
#define TYPE(a, b) LOOK(fold_types, 32, (a) << 2 | (b))
#define CODE(i) (s->code[i])
#define CELL(matrix, i, j) (s->matrix[(i) * s->stride + (j)])
#define MULTI(i, j) CELL(multi, i, j)
#if TWICE
#define START s->second
#define IS_GAP(i) ((i) < s->second && (i) >= s->second - FOLD_GAP)
#else
#define START 0
#define IS_GAP(i) 0
#endif

typedef struct {
    const fold_job *job;
    int64_t first, n, stride;
    VEC *internal, *one, *bulge, *multi, *exterior;
    BITS *code, length;
#if TWICE
    int64_t second; /* where the second copy of the sequence begins, or 0 */
    VEC *prefix;    /* all before a base of it, as `exterior` is all from one on */
#endif
#if COUNTED
    const fold_weights *weights;
    fold_few_weights few; /* multiplied by `scale` for each of their bases */
    VEC *hairpin, *scale;  /* by unpaired bases; by bases, what keeps weights in range */
    VEC *stems, *singles;  /* of a row: of multiloops, and parts of those with one stem */
#endif
} FORM(space);

#include "fold_cells.h"

/* All matrices of sequences of n bases at most, from `memory` on; j lies at most `stride` behind i. */
static FORM(space) FORM(space_of)(const fold_job *job, int64_t first, int64_t n, int64_t stride, void *memory)
{
    FORM(space) space = {job, first, n, stride, memory}, *s = &space;
    const int64_t size = n * (stride + 1);
    s->one = s->internal + size;
    s->bulge = s->one + size;
    s->multi = s->bulge + size;
    s->code = (BITS *)((FORM(around) *)(s->multi + size) + 2 * n);
    s->exterior = (VEC *)(s->code + n);
    return space;
}

#if TWICE
/* The same of a sequence that lies there twice, with what else that takes behind them. */
static FORM(space) FORM(twice)(const fold_job *job, int64_t number, void *memory)
{
    const int64_t n = job->lengths[number], size = 2 * n + FOLD_GAP;
    FORM(space) space = FORM(space_of)(job, number, size, n + FOLD_GAP - 1, memory), *s = &space;
    s->second = n + FOLD_GAP;
    s->length = size;
    s->prefix = s->exterior + size + 1;
#if COUNTED
    s->hairpin = s->prefix + size;
    s->scale = s->hairpin + size;
    s->stems = s->scale + size;
    s->singles = s->stems + size;
#endif
    return space;
}
#endif

/* The stem (i, j) outside of all loops. */
LANES_TARGET static VEC FORM(outer)(const FORM(space) *s, int64_t i, int64_t j)
{
    return TIMES(CELL(bulge, i, j), FORM(side)(s, (int)i, (int)j, i > START, s->length > (BITS){0} + (REAL)(j + 1)));
}

/* A cell where nothing pairs, and loops end. */
LANES_TARGET static void FORM(blank)(const FORM(space) *s, int64_t i, int64_t j, FORM(around) *a)
{
    CELL(internal, i, j) = CELL(one, i, j) = CELL(bulge, i, j) = MULTI(i, j) = a->parts = SET(NOTHING);
    for (int u = 0; u <= FOLD_LOOP; u++)
        a->loops[u] = SET(NOTHING);
#if COUNTED
    s->stems[j] = s->singles[j] = NOTHING;
#endif
}

#if TWICE
static void FORM(fill_prefix)(const FORM(space) *s)
{
    for (int64_t j = s->second; j <= s->n; j++) {
        VEC *const to = s->prefix + j - s->second;
        *to = j > s->second ? SCALED(to[-1], 1) : ONE;
        for (int64_t i = s->second; i + FOLD_HAIRPIN + 1 < j; i++)
            *to = PLUS(*to, TIMES(s->prefix[i - s->second], FORM(outer)(s, i, j - 1)));
    }
}
#endif

/* Returns the lowest number of each lane. */
LANES_TARGET static VEC FORM(filled)(FORM(space) *s, int64_t count)
{
    const fold_job *job = s->job;
    const int64_t n = s->n;
    FORM(around) *around = (FORM(around) *)(s->multi + n * (s->stride + 1));
    VEC low = SET(0);
    for (int l = 0; l < LANES; l++) {
        const int64_t number = s->first + (l < count ? l : count - 1), bases = job->lengths[number];
        if (!START)
            AT(s->length, l) = (REAL)bases;
        for (int64_t i = 0; i < n; i++) {
            const int64_t k = i < START ? i : i - START;
            AT(s->code[i], l) = (REAL)(k < bases ? job->codes[job->begins[number] + k] : 0);
        }
    }
    s->exterior[n] = SET(ONE);
    for (int64_t i = n - 1; i >= 0 && !*job->stop; i--) {
        VEC sum = SCALED(s->exterior[i + 1], 1);
        for (int64_t j = i; j < n && j <= i + s->stride; j++)
            if (j <= i + FOLD_HAIRPIN || IS_GAP(i) || IS_GAP(j)) {
                FORM(blank)(s, i, j, around + i + j);
            } else {
                const VEC lowest = FORM(cell)(s, (int)i, (int)j, around + i + j);
                low = SMALLER(low, lowest);
                sum = PLUS(sum, TIMES(FORM(outer)(s, i, j), s->exterior[j + 1]));
            }
        s->exterior[i] = sum;
#if TWICE
        if (i && i == s->second)
            FORM(fill_prefix)(s);
#endif
    }
    return low;
}
