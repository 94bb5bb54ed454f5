/* For each pair a best structure that has it. fold_wide.c includes this behind fold_ensemble.h for the largest sum, whose
 * numbers are whole: what a number was made of is found by computing it again. */

#define OF(matrix, i, j) (e->matrix[(i) * (e->n + 1) + (j)])
/* What lies around a pair, and before a base. */
#define AROUND(i, j) (OF(by_pair, i, j) - OF(pair, i, j))
#define BEFORE(i) (e->by_exterior[i] - e->exterior[i])

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

/* Both kinds of matrices, in the memory of a job. */
static ensemble_best zuker_of(const zuker_job *job, FORM(space) *space, FORM(way) *way)
{
    const fold_job *const fold = &job->ensemble.fold;
    const int64_t n = fold->offsets[1];
    *space = FORM(space_of)(fold, 0, n, job->memory + fold_ensemble_memory(n));
    *way = (FORM(way)){space, 0, n};
    return of_best(way, 0, &job->ensemble, (double *)job->memory);
}
