/* More than one structure of a sequence: probabilities of pairs, and all structures near the best. fold_wide.c includes
 * this behind fold_lanes.h, whose energies of loops it takes.
 *
 * Parts of multiloops are divided in one way only, by the first stem of (i, l): M(i, j) has a stem at least, P(i, j) two.
 *
 *     M(i, j) = u M(i+1, j) + sum of S(i, l) (u^(j-l) + M(l+1, j)),  P(i, j) = u P(i+1, j) + sum of S(i, l) M(l+1, j) */

/* Weights of all structures of a part, and what of the whole goes by way of it. Both are multiplied by a power of the
 * number of bases that keeps them in range. */
typedef struct {
    const FORM(way) *way;
    const fold_weights *weights;
    const double *scale; /* its powers */
    double *pair, *multi, *parts, *by_pair, *by_multi, *by_parts, *exterior, *by_exterior, *stems, *singles, *by_stems;
    int64_t n;
    double unpaired, closing;
} ensemble_t;

#define OF(matrix, i, j) (e->matrix[(i) * (e->n + 1) + (j)])

static double weight(const ensemble_t *e, double energy)
{
    return energy >= FOLD_INFINITE ? 0 : exp(-energy / e->weights->kt);
}

/* The stem (i, j) in a multiloop, or outside of all loops. */
static double stem_weight(const ensemble_t *e, int64_t i, int64_t j, int is_multi)
{
    const fold_weights *w = e->weights;
    const FORM(way) *way = e->way;
    const fold_parameters *p = way->s->job->parameters;
    const int type = FORM(type)(way, i, j), has_next = j + 1 < e->n;
    const double end = weight(e, FORM(terminal)(way, type) + (is_multi ? p->branch : 0));
    if (i && has_next)
        return end * (is_multi ? w->mismatch_multi : w->mismatch_exterior)[type << 4 | FORM(base)(way, i - 1) << 2 |
                                                                           FORM(base)(way, j + 1)];
    return end * (i          ? w->dangle5[type << 2 | FORM(base)(way, i - 1)]
                  : has_next ? w->dangle3[type << 2 | FORM(base)(way, j + 1)]
                             : 1);
}

/* The weights of what the pair (i, j) closes, added; of each, its share is handed on. */
static double closed(const ensemble_t *e, int64_t i, int64_t j, double share)
{
    const FORM(way) *way = e->way;
    const int turned = FORM(type)(way, j, i);
    const int special = FORM(special)(way->s, i, j, 0);
    double sum, part;
    if (special != FOLD_NONE || j - i == 4)
        sum = weight(e, FORM(hairpin)(way, i, j));
    else
        sum = weight(e, FORM(hairpin)(way, i, j) - way->s->job->hairpin[j - i - 1] + e->weights->hairpin[j - i - 1]);
    sum *= e->scale[j - i + 1];
    for (int64_t k = i + 1; k - i - 1 <= FOLD_LOOP && k + FOLD_HAIRPIN < j; k++)
        for (int64_t l = j - 1; k - i - 1 + j - l - 1 <= FOLD_LOOP && l - k > FOLD_HAIRPIN; l--) {
            if (OF(pair, k, l) == 0)
                continue;
            part = weight(e, FORM(loop)(way, i, j, k, l)) * e->scale[k - i + j - l] * OF(pair, k, l);
            sum += part;
            OF(by_pair, k, l) += share * part;
        }
    part = e->closing * weight(e, FORM(terminal)(way, turned)) * OF(parts, i + 1, j - 1) *
           e->weights->mismatch_multi[turned << 4 | FORM(base)(way, j - 1) << 2 | FORM(base)(way, i + 1)];
    OF(by_parts, i + 1, j - 1) += share * part;
    return sum + part;
}

/* The stems that begin with base i, and the parts of multiloops of one. */
static void stems_of(const ensemble_t *e, int64_t i)
{
    for (int64_t j = i; j < e->n; j++) {
        e->stems[j] = i && j + 1 < e->n && OF(pair, i, j) > 0 ? OF(pair, i, j) * stem_weight(e, i, j, 1) : 0;
        e->singles[j] = e->stems[j] + (j > i ? e->unpaired * e->singles[j - 1] : 0);
    }
}

static void inside(const ensemble_t *e, int64_t i)
{
    for (int64_t j = i + FOLD_HAIRPIN + 1; j < e->n; j++)
        OF(pair, i, j) = FORM(type)(e->way, i, j) ? closed(e, i, j, 0) : 0;
    stems_of(e, i);
    e->exterior[i] = e->scale[1] * e->exterior[i + 1];
    for (int64_t j = i + FOLD_HAIRPIN + 1; j < e->n; j++) {
        double several = 0;
        for (int64_t l = i + FOLD_HAIRPIN + 1; l < j; l++)
            several += e->stems[l] * OF(multi, l + 1, j);
        OF(multi, i, j) = e->unpaired * OF(multi, i + 1, j) + e->singles[j] + several;
        OF(parts, i, j) = e->unpaired * OF(parts, i + 1, j) + several;
        if (OF(pair, i, j) > 0)
            e->exterior[i] += OF(pair, i, j) * stem_weight(e, i, j, 0) * e->exterior[j + 1];
    }
}

/* Hands on what goes by way of row i, to rows behind it. */
static void outside(const ensemble_t *e, int64_t i)
{
    const double whole = e->by_exterior[i] / e->exterior[i];
    double single = 0;
    e->by_exterior[i + 1] += whole * e->scale[1] * e->exterior[i + 1];
    stems_of(e, i);
    for (int64_t j = e->n - 1; j > i + FOLD_HAIRPIN; j--) {
        const double multi = OF(multi, i, j) > 0 ? OF(by_multi, i, j) / OF(multi, i, j) : 0;
        const double parts = OF(parts, i, j) > 0 ? OF(by_parts, i, j) / OF(parts, i, j) : 0;
        OF(by_multi, i + 1, j) += multi * e->unpaired * OF(multi, i + 1, j);
        OF(by_parts, i + 1, j) += parts * e->unpaired * OF(parts, i + 1, j);
        for (int64_t l = i + FOLD_HAIRPIN + 1; l < j && multi + parts > 0; l++) {
            const double share = (multi + parts) * e->stems[l] * OF(multi, l + 1, j);
            OF(by_pair, i, l) += share;
            OF(by_multi, l + 1, j) += share;
        }
        single = single * e->unpaired + multi;
        OF(by_pair, i, j) += single * e->stems[j];
        if (OF(pair, i, j) > 0) {
            const double share = whole * OF(pair, i, j) * stem_weight(e, i, j, 0) * e->exterior[j + 1];
            OF(by_pair, i, j) += share;
            e->by_exterior[j + 1] += share;
        }
    }
    for (int64_t j = i + FOLD_HAIRPIN + 1; j < e->n; j++)
        if (OF(by_pair, i, j) > 0)
            closed(e, i, j, OF(by_pair, i, j) / OF(pair, i, j));
}

/* See fold.h. */
double fold_probabilities(const fold_job *job, int64_t number, double least, const fold_weights *weights, double *memory,
                          double *probabilities)
{
    const int64_t n = job->offsets[number + 1] - job->offsets[number], size = (n + 1) * (n + 1);
    double *room = memory + 6 * size, *scale = room + 5 * (n + 2);
    int32_t *codes = (int32_t *)(scale + n + 2);
    FORM(space) space = {.job = job, .n = n, .code = codes};
    const FORM(way) way = {&space, 0, n};
    ensemble_t ensemble = {&way, weights, scale}, *e = &ensemble;
    memset(memory, 0, fold_ensemble_memory(n));
    for (int64_t i = 0; i < n; i++)
        codes[i] = job->codes[job->offsets[number] + i];
    for (int64_t i = 0; i <= n + 1; i++)
        scale[i] = exp(least / weights->kt * i / n);
    e->n = n;
    e->pair = memory, e->multi = e->pair + size, e->parts = e->multi + size;
    e->by_pair = e->parts + size, e->by_multi = e->by_pair + size, e->by_parts = e->by_multi + size;
    e->exterior = room, e->by_exterior = room + (n + 2), e->stems = room + 2 * (n + 2), e->singles = room + 3 * (n + 2);
    e->unpaired = weight(e, job->parameters->unpaired) * scale[1];
    e->closing = weight(e, job->parameters->closing + job->parameters->branch) * scale[2];
    e->exterior[n] = 1;
    for (int64_t i = n - 1; i >= 0 && !*job->stop; i--)
        inside(e, i);
    e->by_exterior[0] = 1;
    for (int64_t i = 0; i < n && !*job->stop; i++)
        outside(e, i);
    for (int64_t i = 0; i < n; i++)
        memcpy(probabilities + i * n, &OF(by_pair, i, 0), (size_t)n * sizeof(double));
    return least - weights->kt * log(e->exterior[0]);
}
#undef OF

/* What is still to be divided of a structure: all from i on, a pair, parts of a multiloop with a stem or two at least. */
typedef struct todo {
    enum { WHOLE, PAIR, ONE_STEM, TWO_STEMS } kind;
    int64_t i, j;
    const struct todo *next;
} todo_t;

typedef struct {
    const FORM(way) *way;
    fold_found *found;
    char *text;
    int limit;
} search_t;

static void divide(const search_t *b, const todo_t *todo, int slack);

/* Goes on if what costs so much more than the best is within the limit; of PAIR, its marks are set meanwhile. */
static void go_on(const search_t *b, todo_t first, int slack, int more)
{
    const int is_pair = first.kind == PAIR;
    if (more > slack)
        return;
    if (is_pair)
        b->text[first.i] = '(', b->text[first.j] = ')';
    divide(b, &first, slack - more);
    if (is_pair)
        b->text[first.i] = b->text[first.j] = '.';
}

static void keep(const search_t *b, int slack)
{
    fold_found *f = b->found;
    const int64_t n = b->way->length;
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
    memcpy(f->texts + f->count * n, b->text, (size_t)n);
    f->energies[f->count++] = b->limit - slack;
    f->is_full = f->count > f->most;
}

static void divide(const search_t *b, const todo_t *todo, int slack)
{
    const FORM(way) *w = b->way;
    const FORM(space) *s = w->s;
    const fold_parameters *p = s->job->parameters;
    if (b->found->is_full || *s->job->stop)
        return;
    if (!todo || (todo->kind == WHOLE && todo->i >= w->length)) {
        keep(b, slack);
        return;
    }
    const int64_t i = todo->i, j = todo->j;
    const todo_t *next = todo->next;
    if (todo->kind == WHOLE) {
        const int best = (int)s->exterior[i];
        go_on(b, (todo_t){WHOLE, i + 1, 0, NULL}, slack, (int)s->exterior[i + 1] - best);
        for (int64_t l = i + 4; l < w->length; l++)
            if (FORM(type)(w, i, l))
                go_on(b, (todo_t){PAIR, i, l, &(todo_t){WHOLE, l + 1, 0, NULL}}, slack,
                      FORM(stem)(w, i, l, 0) + (int)s->exterior[l + 1] - best);
    } else if (todo->kind == PAIR) {
        const int best = LANE(pair, i, j), turned = FORM(type)(w, j, i);
        const int hairpin = FORM(hairpin)(w, i, j) - best;
        if (hairpin <= slack)
            divide(b, next, slack - hairpin);
        for (int64_t k = i + 1; k - i - 1 <= FOLD_LOOP && k + FOLD_HAIRPIN < j; k++)
            for (int64_t l = j - 1; k - i - 1 + j - l - 1 <= FOLD_LOOP && l - k > FOLD_HAIRPIN; l--)
                if (FORM(type)(w, k, l))
                    go_on(b, (todo_t){PAIR, k, l, next}, slack, FORM(loop)(w, i, j, k, l) + LANE(pair, k, l) - best);
        go_on(b, (todo_t){TWO_STEMS, i + 1, j - 1, next}, slack,
              p->closing + p->branch + FORM(terminal)(w, turned) +
                  FORM(mismatch)(w, p->mismatch_multi, turned, j - 1, i + 1) + LANE(multi, i + 1, j - 1) - best);
    } else { /* that of TWO_STEMS is a bound */
        const int best = LANE(multi, i, j);
        go_on(b, (todo_t){todo->kind, i + 1, j, next}, slack, LANE(multi, i + 1, j) + p->unpaired - best);
        for (int64_t l = i + 4; l <= j; l++) {
            if (!FORM(type)(w, i, l))
                continue;
            const int stem = FORM(stem)(w, i, l, 1) - best;
            if (todo->kind == ONE_STEM)
                go_on(b, (todo_t){PAIR, i, l, next}, slack, stem + (int)(j - l) * p->unpaired);
            if (l < j)
                go_on(b, (todo_t){PAIR, i, l, &(todo_t){ONE_STEM, l + 1, j, next}}, slack, stem + LANE(multi, l + 1, j));
        }
    }
}

/* See fold.h. */
void fold_suboptimal(const fold_job *job, int64_t number, int32_t range, void *memory, char *text, fold_found *found)
{
    const int64_t n = job->offsets[number + 1] - job->offsets[number];
    FORM(space) space = {job, number, n, memory};
    const FORM(way) way = {&space, 0, n};
    FORM(filled)(&space, 1);
    const search_t search = {&way, found, text, (int)space.exterior[0] + range};
    memset(text, '.', (size_t)n);
    divide(&search, &(todo_t){WHOLE, 0, 0, NULL}, range);
}
