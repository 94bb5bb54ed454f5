/* All structures of a sequence near the best. fold_wide.c includes this behind fold_lanes.h. */

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
        keep(b->found, b->text, w->length, b->limit - slack);
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
