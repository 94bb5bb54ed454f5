/* The cell (i, j) of folding: for one width of lanes, a sequence in each (fold_lanes.h), or for a work-item (fold.cl). The
 * including file sets VEC, SET, IF, SMALLER, ADD(a, b), LOOK(table, size, i), TYPE(a, b), ANY(type), INFINITE, and where
 * things lie: FEW, CODE(i), CELL(matrix, i, j) of internal, one and bulge, MULTI(i, j). Shorter sequences end with bases that
 * do not pair. */

/* What cells around one centre hand outwards: loops by their bases, but for what depends on the pair around them, and two
 * or more stems side by side. */
typedef struct {
    VEC loops[FOLD_LOOP + 1], parts;
} FORM(around);

/* Energy of the hairpin of a lane, if its bases have one of their own. */
static int FORM(special)(const FORM(space) *s, int64_t i, int64_t j, int l)
{
    FOLD_SHARED const fold_parameters *p = s->job->parameters;
    int64_t index = 0;
    if (j - i != 4 && j - i != 5 && j - i != 7)
        return FOLD_NONE;
    for (int64_t k = i; k <= j; k++)
        index = index << 2 | (int64_t)AT(CODE(k), l);
    return j - i == 4 ? p->triloops[index] : j - i == 5 ? p->tetraloops[index] : p->hexaloops[index];
}

/* Loops of six to FOLD_LOOP bases, two at least on either side, but for the mismatch of (i, j): each has two on one side, or
 * is one around (i + 1, j - 1) with a base more on both. */
LANES_TARGET static VEC FORM(wide_loops)(const FORM(space) *s, int i, int j, FORM(around) *a)
{
    VEC best = SET(INFINITE);
    for (int u = FOLD_LOOP; u >= 4; u--) {
        if (u > j - i - 6)
            continue;
        VEC least = ADD(SMALLER(CELL(internal, i + 3, j + 1 - u), CELL(internal, i - 1 + u, j - 3)), SET(FEW->uneven[u - 4]));
        if (u > 5) {
            least = SMALLER(least, a->loops[u - 2]);
            best = SMALLER(best, ADD(least, SET(FEW->internal[u])));
        }
        a->loops[u] = least;
    }
    return best;
}

/* The least energy of what (i, j) closes but for wide and multiple loops, where lanes that have no pair do not matter. `in` is
 * the type with both bases within. */
LANES_TARGET static VEC FORM(pairs)(const FORM(space) *s, int i, int j, VEC type, VEC in, VEC terminal)
{
    FOLD_SHARED const fold_parameters *p = s->job->parameters;
    const int u = j - i - 1;
    const VEC types = type << 3, after = CODE(i + 1), before = CODE(j - 1);
    VEC best = ADD(SET(s->job->hairpin[u]), u == 3 ? terminal : LOOK(p->mismatch_hairpin, 128, in));
    VEC bulges = SET(INFINITE), ones = bulges;
    if (u == 3 || u == 4 || u == 6)
        for (int l = 0; l < LANES; l++) {
            const int energy = FORM(special)(s, i, j, l);
            if (energy != FOLD_NONE)
                AT(best, l) = (REAL)energy;
        }
    for (int q = 0; q < 9; q++) { /* from stacks to loops of 2 x 3 */
        const int x = q / 3 + (q % 3 == 2), y = q / 3 + (q % 3 == 1), k = i + 1 + x, l = j - 1 - y;
        if (x + y > j - i - 6)
            continue;
        const VEC inner = TYPE(CODE(l), CODE(k)), both = types | inner, first = CODE(k - 1), last = CODE(l + 1);
        const VEC pair = ADD(CELL(bulge, k, l), IF(inner > SET(2), SET(-FEW->terminal), SET(0)));
        const VEC energy =
            q == 0   ? LOOK(p->stack, 64, both)
            : q < 3  ? ADD(LOOK(p->stack, 64, both), SET(FEW->bulge[1]))
            : q == 3 ? LOOK(p->int11, 1024, both << 4 | after << 2 | before)
            : q == 4 ? LOOK(p->int21, 4096, both << 6 | after << 4 | last << 2 | before)
            : q == 5 ? LOOK(p->int21, 4096, (inner << 3 | type) << 6 | last << 4 | after << 2 | first)
            : q == 6 ? LOOK(p->int22, 16384, both << 8 | after << 6 | first << 4 | last << 2 | before)
                     : ADD(ADD(LOOK(p->mismatch_internal_23, 128, in), SET(FEW->internal[5] + FEW->uneven[1])),
                           LOOK(p->mismatch_internal_23, 128, inner << 4 | last << 2 | first));
        best = SMALLER(best, ADD(pair, energy));
    }
    for (int v = FOLD_LOOP; v > 1; v--) { /* with v bases on one side, or one and v - 1 */
        if (v > j - i - 6)
            continue;
        const VEC bulge = SMALLER(CELL(bulge, i + 1 + v, j - 1), CELL(bulge, i + 1, j - 1 - v));
        bulges = SMALLER(bulges, ADD(bulge, SET(FEW->bulge[v])));
        if (v < 4)
            continue;
        const VEC one = SMALLER(CELL(one, i + v, j - 2), CELL(one, i + 2, j - v));
        ones = SMALLER(ones, ADD(one, SET(FEW->internal[v] + FEW->uneven[v - 2])));
    }
    best = SMALLER(best, ADD(bulges, terminal));
    return SMALLER(best, ADD(ones, LOOK(p->mismatch_internal_1n, 128, in)));
}

/* The cell (i, j), given those within; returns the lower energy of a pair and of a part of a multiloop. `outer` becomes that of
 * the pair outside of all loops. */
LANES_TARGET static VEC FORM(cell)(const FORM(space) *s, int i, int j, FORM(around) *a, VEC *outer)
{
    FOLD_SHARED const fold_parameters *p = s->job->parameters;
    const int is_last = j + 1 == s->n;
    const VEC infinite = SET(INFINITE), zero = SET(0), code = CODE(i), end = CODE(j), after = CODE(i + 1), last = CODE(j - 1);
    const VEC before = i ? CODE(i - 1) : zero, next = is_last ? zero : CODE(j + 1);
    const VEC type = IF(s->length > SET(j), TYPE(code, end), zero), turned = TYPE(end, code);
    const VEC terminal = IF(type > SET(2), SET(FEW->terminal), zero);
    const VEC in = type << 4 | after << 2 | last, out = turned << 4 | next << 2 | before, stem = type << 4 | before << 2 | next;
    const VEC wide = FORM(wide_loops)(s, i, j, a);
    VEC best = infinite, sum = infinite;
    if (ANY(type)) {
        const VEC ends = ADD(terminal, LOOK(p->mismatch_multi, 128, turned << 4 | last << 2 | after));
        best = SMALLER(FORM(pairs)(s, i, j, type, in, terminal), ADD(wide, LOOK(p->mismatch_internal, 128, in)));
        best = SMALLER(best, ADD(a->parts, ADD(ends, SET(FEW->closing + FEW->branch))));
        best = IF(type == zero, infinite, best);
    }
    CELL(internal, i, j) = ADD(best, LOOK(p->mismatch_internal, 128, out));
    CELL(one, i, j) = ADD(best, LOOK(p->mismatch_internal_1n, 128, out));
    CELL(bulge, i, j) = ADD(best, terminal);
    const VEC lone = i ? LOOK(p->dangle5, 32, type << 2 | before) : zero;
    const VEC side = i ? LOOK(p->mismatch_exterior, 128, stem) : LOOK(p->dangle3, 32, type << 2 | next);
    *outer = ADD(best, ADD(terminal, IF(s->length > SET(j + 1), side, lone)));
    for (int k = 4; k + 5 <= j - i; k++)
        sum = SMALLER(sum, ADD(MULTI(i, i + k), MULTI(i + k + 1, j)));
    a->parts = sum;
    sum = SMALLER(sum, ADD(SMALLER(MULTI(i + 1, j), MULTI(i, j - 1)), SET(FEW->unpaired)));
    sum = SMALLER(sum, ADD(best, ADD(ADD(terminal, LOOK(p->mismatch_multi, 128, stem)), SET(FEW->branch))));
    MULTI(i, j) = sum;
    return SMALLER(best, sum);
}
