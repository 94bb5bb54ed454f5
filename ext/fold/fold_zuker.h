/* For each pair a best structure that has it. fold_wide.c includes this behind fold_ensemble.h for the largest sum, whose
 * numbers are whole: what a number was made of is found by computing it again. */

#define OF(matrix, i, j) (e->matrix[(i) * (e->n + 1) + (j)])
/* What lies around a pair, and before a base. */
#define AROUND(i, j) (OF(by_pair, i, j) - OF(pair, i, j))
#define BEFORE(i) (e->by_exterior[i] - e->exterior[i])

typedef struct {
    int32_t above, i, j;
} zuker_pair;

static int in_order(const void *first, const void *second)
{
    const zuker_pair *a = first, *b = second;
    return a->above != b->above ? (a->above > b->above) - (a->above < b->above)
                                : a->i != b->i ? (a->i > b->i) - (a->i < b->i) : (a->j > b->j) - (a->j < b->j);
}

static void keep(fold_found *f, const char *text, int64_t n, int32_t energy)
{
    if (f->count == f->room) {
        const int64_t room = f->count ? 2 * f->count : 16;
        char *texts = realloc(f->texts, (size_t)(room * n));
        int32_t *energies = texts ? realloc(f->energies, (size_t)room * sizeof *energies) : NULL;
        f->texts = texts ? texts : f->texts;
        f->energies = energies ? energies : f->energies;
        f->is_full = !energies;
        if (f->is_full)
            return;
        f->room = room;
    }
    memcpy(f->texts + f->count * n, text, (size_t)n);
    f->energies[f->count++] = energy;
}

/* The pair around (i, j) in an inner loop. */
static int loop_around(const ensemble_best *e, int64_t i, int64_t j, int64_t *p, int64_t *q)
{
    for (*p = i - 1; *p >= 0 && i - *p - 1 <= FOLD_LOOP; --*p)
        for (*q = j + 1; *q < e->n && i - *p - 1 + *q - j - 1 <= FOLD_LOOP; ++*q)
            if (OF(pair, *p, *q) > -INFINITY &&
                AROUND(*p, *q) + weight_best(e, FORM(loop)(e->way, *p, *q, i, j)) == AROUND(i, j))
                return 1;
    return 0;
}

/* The pair around the stem (i, j) of a multiloop; what lies between them is written. A part `at` begins with base i and ends
 * with base h. */
static int multi_around(const ensemble_best *e, int64_t i, int64_t j, int64_t *p, int64_t *q, char *to)
{
    const double *const by[2] = {e->by_multi, e->by_parts}, *const of[2] = {e->multi, e->parts}, u = e->unpaired;
    double wanted = AROUND(i, j) - stem_weight_best(e, i, j, 1);
    int64_t h = j - 1, k;
    int at = -1;
#define PART(at, i, j) (by[at][(i) * (e->n + 1) + (j)] - of[at][(i) * (e->n + 1) + (j)])
    while (at < 0 && ++h < e->n) {
        if (PART(0, i, h) + (double)(h - j) * u == wanted)
            at = 0;
        for (int several = 0; several < 2 && at < 0 && h > j; several++)
            if (PART(several, i, h) + OF(multi, j + 1, h) == wanted) {
                FORM(multi_back)(e->way, j + 1, h, (int)-OF(multi, j + 1, h), 0, to);
                at = several;
            }
    }
    for (; at >= 0 && i > 0; i = k) {
        wanted = PART(at, i, h), k = i - 1;
        if (at && OF(pair, k, h + 1) > -INFINITY && AROUND(k, h + 1) + end_weight_best(e, k, h + 1) == wanted) {
            *p = k, *q = h + 1;
            return 1;
        }
        if (PART(at, k, h) + u == wanted)
            continue;
        for (at = -1; at < 0 && --k >= 0;) {
            const double stem = k + FOLD_HAIRPIN < i - 1 && k ? OF(pair, k, i - 1) + stem_weight_best(e, k, i - 1, 1) : -INFINITY;
            at = PART(0, k, h) + stem == wanted ? 0 : PART(1, k, h) + stem == wanted ? 1 : -1;
        }
        if (at >= 0)
            FORM(pair_back)(e->way, k, i - 1, to);
    }
    return 0;
#undef PART
}

static void with_pair(const ensemble_best *e, int64_t i, int64_t j, char *to)
{
    int64_t p, q, h;
    memset(to, '.', (size_t)e->n);
    FORM(pair_back)(e->way, i, j, to);
    while (AROUND(i, j) != BEFORE(i) + stem_weight_best(e, i, j, 0) + e->exterior[j + 1]) {
        if (!loop_around(e, i, j, &p, &q) && !multi_around(e, i, j, &p, &q, to))
            return;
        to[i = p] = '(';
        to[j = q] = ')';
    }
    FORM(back)(e->way, j + 1, to);
    for (; i > 0; i = h) {
        h = i - 1;
        if (BEFORE(i) == BEFORE(h))
            continue;
        while (BEFORE(i) != BEFORE(h) + OF(pair, h, i - 1) + stem_weight_best(e, h, i - 1, 0))
            h--;
        FORM(pair_back)(e->way, h, i - 1, to);
    }
}

/* See fold.h. */
void fold_zuker(const fold_job *job, int64_t number, int32_t range, const fold_weights *weights, void *memory, char *text,
                fold_found *found)
{
    const int64_t n = job->offsets[number + 1] - job->offsets[number];
    FORM(space) space = {job, number, n, (VEC *)((char *)memory + fold_ensemble_memory(n))};
    const FORM(way) way = {&space, 0, n};
    FORM(filled)(&space, 1);
    const ensemble_best whole = whole_best(&way, 0, weights, memory), *e = &whole;
    /* Matrices that are done with have room for the pairs in order, whether they were seen, and brackets. */
    zuker_pair *order = (zuker_pair *)space.internal;
    char *seen = (char *)space.bulge - n * n;
    int64_t *stack = (int64_t *)e->stems, count = 0, depth = 0;
    memset(seen, 0, (size_t)(n * n));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++)
            if (-OF(by_pair, i, j) <= range)
                order[count++] = (zuker_pair){(int32_t)-OF(by_pair, i, j), (int32_t)i, (int32_t)j};
    qsort(order, (size_t)count, sizeof *order, in_order);
    for (int64_t k = 0; k < count && !found->is_full && !*job->stop; k++) {
        if (seen[order[k].i * n + order[k].j])
            continue;
        with_pair(e, order[k].i, order[k].j, text);
        for (int64_t j = 0; j < n; j++)
            if (text[j] == '(')
                stack[depth++] = j;
            else if (text[j] == ')')
                seen[stack[--depth] * n + j] = 1;
        keep(found, text, n, (int32_t)-e->exterior[0] + order[k].above);
    }
}
