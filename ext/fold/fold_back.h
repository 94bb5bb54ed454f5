/* The way back through the matrices of fold_lanes.h, to a structure. */

/* Energies of one lane, for the way back. */
typedef struct {
    const FORM(space) *s;
    int lane;
    int64_t length;
} FORM(way);

#define LANE(matrix, i, j) ((int)AT(CELL(matrix, i, j), w->lane))

static int FORM(type)(const FORM(way) *w, int64_t i, int64_t j)
{
    return fold_types[(int)AT(w->s->code[i], w->lane) << 2 | (int)AT(w->s->code[j], w->lane)];
}

static int FORM(pair)(const FORM(way) *w, int64_t i, int64_t j)
{
    const FORM(space) *s = w->s;
    return LANE(bulge, i, j) - (FORM(type)(w, i, j) > 2 ? FEW->terminal : 0);
}

/* What (i, j) closes by a loop with the pair (k, l), or by a hairpin where k is 0. */
LANES_TARGET static int FORM(closed)(const FORM(way) *w, int i, int j, int k, int l)
{
    const FORM(space) *s = w->s;
    const BITS type = TYPE(CODE(i), CODE(j)), in = type << 4 | CODE(i + 1) << 2 | CODE(j - 1);
    const int x = k - i - 1, y = j - l - 1, least = x < y ? x : y, most = x < y ? y : x;
    VEC found;
    if (!k)
        found = FORM(ends)(s, i, j, type, in);
    else if (!least && most > 1)
        found = TIMES(CELL(bulge, k, l), TIMES(SET(FEW->bulge[most]), FORM(terminal)(s, type)));
    else if (x + y < 4 || (least == 2 && most < 4))
        found = FORM(small)(s, i, j, 3 * least + (y > x) + 2 * (x > y), type, in);
    else {
        found = least > 1 ? TIMES(CELL(internal, k, l), LOOK(TABLES->mismatch_internal, 128, in))
                          : TIMES(CELL(one, k, l), LOOK(TABLES->mismatch_internal_1n, 128, in));
        found = TIMES(found, TIMES(SET(FEW->internal[x + y]), SET(FEW->uneven[most - least])));
    }
    return (int)AT(found, w->lane);
}

/* The stem (i, j) of a multiloop, or outside of all loops. */
LANES_TARGET static int FORM(stem)(const FORM(way) *w, int64_t i, int64_t j, int is_multi)
{
    const VEC found = is_multi ? FORM(branch)(w->s, (int)i, (int)j) : FORM(outer)(w->s, i, j);
    return FORM(type)(w, i, j) ? (int)AT(found, w->lane) : INFINITE;
}

LANES_TARGET static void FORM(pair_back)(const FORM(way) *w, int64_t i, int64_t j, char *to);

/* All from i on. */
LANES_TARGET static void FORM(back)(const FORM(way) *w, int64_t i, char *to)
{
    const FORM(space) *s = w->s;
    for (; i < w->length; i++) {
        const int energy = (int)AT(s->exterior[i], w->lane);
        if ((int)AT(s->exterior[i + 1], w->lane) == energy)
            continue;
        for (int64_t j = i + 4; j < w->length; j++)
            if (FORM(stem)(w, i, j, 0) + (int)AT(s->exterior[j + 1], w->lane) == energy) {
                FORM(pair_back)(w, i, j, to);
                i = j;
                break;
            }
    }
}

#if TWICE
/* All before j. */
static void FORM(front)(const FORM(way) *w, int64_t j, char *to)
{
    const FORM(space) *s = w->s;
    for (int64_t i; j > START; j = i) {
        const int energy = s->prefix[j - START];
        for (i = j - 1; i > START && s->prefix[j - 1 - START] != energy; i--)
            if (s->prefix[i - START] + (int)FORM(outer)(s, i, j - 1) == energy)
                break;
        if (s->prefix[j - 1 - START] != energy)
            FORM(pair_back)(w, i, j - 1, to);
    }
}
#endif

/* Splits M's parts, or what a multiloop closes, whose energy is known. */
LANES_TARGET static void FORM(multi_back)(const FORM(way) *w, int64_t i, int64_t j, int energy, int is_closed, char *to)
{
    const FORM(space) *s = w->s;
    const int unpaired = FEW->unpaired;
    while (!is_closed) {
        if (LANE(multi, i + 1, j) + unpaired == energy)
            i++;
        else if (LANE(multi, i, j - 1) + unpaired == energy)
            j--;
        else
            break;
        energy -= unpaired;
    }
    if (!is_closed && FORM(stem)(w, i, j, 1) == energy) {
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

LANES_TARGET static void FORM(pair_back)(const FORM(way) *w, int64_t i, int64_t j, char *to)
{
    const FORM(space) *s = w->s;
    for (;;) {
        const int energy = FORM(pair)(w, i, j), is_open = i < START && j >= START;
        int64_t k, l = -1;
        to[i < START ? i : i - START] = is_open ? ')' : '(';
        to[j < START ? j : j - START] = is_open ? '(' : ')';
        if (FORM(closed)(w, (int)i, (int)j, 0, 0) == energy) {
#if TWICE
            if (is_open) {
                FORM(back)(w, i + 1 + START, to);
                FORM(front)(w, j, to);
            }
#endif
            return;
        }
        for (k = i + 1; k - i - 1 <= FOLD_LOOP && k + FOLD_HAIRPIN < j && l < 0; k++)
            for (int64_t x = j - 1; k - i - 1 + j - x - 1 <= FOLD_LOOP && x - k > FOLD_HAIRPIN && l < 0; x--)
                if (FORM(type)(w, k, x) && FORM(closed)(w, (int)i, (int)j, (int)k, (int)x) == energy)
                    l = x;
        if (l < 0) {
            const VEC closing = FORM(closing)(s, (int)i, (int)j);
            FORM(multi_back)(w, i + 1, j - 1, energy - (int)AT(closing, w->lane), 1, to);
            return;
        }
        i = k - 1;
        j = l;
    }
}

LANES_TARGET static void FORM(fold)(const void *given, int64_t first, int64_t count, void *memory)
{
    const fold_job *const job = given;
    const int64_t n = fold_longest(job, first, first + count);
    FORM(space) space = FORM(space_of)(job, first, n, n, memory), *s = &space;
    const VEC low = FORM(filled)(s, count);
    for (int l = 0; l < LANES && l < count && !*job->stop; l++) {
        const FORM(way) way = {s, l, (int64_t)AT(s->length, l)};
        const int is_narrow = sizeof(REAL) == 2 && AT(low, l) < FOLD_LOWEST;
        char *structure = job->structure ? job->structure + job->begins[first + l] : NULL;
        job->energy[first + l] = is_narrow ? INT32_MIN : (int32_t)AT(s->exterior[0], l);
        if (structure && !is_narrow) {
            memset(structure, '.', (size_t)way.length);
            FORM(back)(&way, 0, structure);
        }
    }
}
