/* The cell (i, j) of folding: for one width of lanes, a sequence in each (fold_lanes.h), or for a work-item (fold.cl). PLUS
 * chooses between structures and TIMES puts their parts together: the smaller of two energies and their sum; or the sum of two
 * weights and their product, where COUNTED says that each structure must count once.
 *
 * The including file sets VEC, BITS, SET, IF, NOTHING, LOOK(table, size, i), TYPE(a, b), ANY(type), TWICE (fold_wide.c), ADD
 * and SMALLER of energies, or of weights PLUS, TIMES, ONE, UNDONE(x) of TIMES, SCALED(x, bases), TABLES and HAIRPIN(u). It says
 * where things lie: FEW, CODE(i), CELL(matrix, i, j) of internal, one and bulge, MULTI(i, j). Shorter sequences end with bases
 * that do not pair. */

#if !COUNTED
#define PLUS(a, b) SMALLER(a, b)
#define TIMES(a, b) ADD(a, b)
#define ONE 0
#define UNDONE(x) (-(x))
#define SCALED(x, bases) (x)
#define TABLES (s->job->parameters)
#define HAIRPIN(u) SET(s->job->hairpin[u])
#endif

/* What cells around one centre hand outwards: loops by their bases, but for what depends on the pair around them, and two
 * or more stems side by side. */
typedef struct {
    VEC loops[FOLD_LOOP + 1], parts;
} FORM(around);

/* Loops of six to FOLD_LOOP bases, two at least on either side, but for the mismatch of (i, j): each has two on one side, or
 * is one around (i + 1, j - 1) with a base more on both. */
LANES_TARGET static VEC FORM(wide_loops)(const FORM(space) *s, int i, int j, FORM(around) *a)
{
    VEC best = SET(NOTHING);
    for (int u = FOLD_LOOP; u >= 4; u--) {
        if (u > j - i - 6)
            continue;
        VEC sum = CELL(internal, i + 3, j + 1 - u);
        if (u > 4)
            sum = PLUS(sum, CELL(internal, i - 1 + u, j - 3));
        sum = TIMES(sum, SET(FEW->uneven[u - 4]));
        if (u > 5) {
            sum = PLUS(sum, a->loops[u - 2]);
            best = PLUS(best, TIMES(sum, SET(FEW->internal[u])));
        }
        a->loops[u] = sum;
    }
    return best;
}

LANES_TARGET static VEC FORM(terminal)(const FORM(space) *s, BITS type)
{
    return IF(type > 2, SET(FEW->terminal), SET(ONE));
}

/* What the bases beside the stem (i, j) add outside of all loops. */
LANES_TARGET static VEC FORM(side)(const FORM(space) *s, int i, int j, int has_before, BITS has_next)
{
    const BITS type = TYPE(CODE(i), CODE(j)), none = {0};
    const BITS before = has_before ? CODE(i - 1) : none, next = j + 1 < s->n ? CODE(j + 1) : none;
    if (has_before)
        return IF(has_next, LOOK(TABLES->mismatch_exterior, 128, type << 4 | before << 2 | next),
                  LOOK(TABLES->dangle5, 32, type << 2 | before));
    return IF(has_next, LOOK(TABLES->dangle3, 32, type << 2 | next), SET(ONE));
}

#if TWICE
/* All that lies outside of the pair (j, i), in a sequence whose second copy holds j and whose first holds i. */
static VEC FORM(open)(const FORM(space) *s, int i, int j)
{
    const VEC around = TIMES(s->prefix[j - s->second], s->exterior[s->second + i + 1]);
    return SCALED(TIMES(FORM(side)(s, j, i, j > s->second, i + 1 < s->second - FOLD_GAP), around), 2);
}
#endif

/* The hairpin of a lane, if its bases have an energy of their own. */
static REAL FORM(special)(const FORM(space) *s, int64_t i, int64_t j, int l)
{
    int64_t index = 0;
    if (j - i != 4 && j - i != 5 && j - i != 7)
        return FOLD_NONE;
    for (int64_t k = i; k <= j; k++)
        index = index << 2 | (int64_t)AT(CODE(k), l);
    return j - i == 4 ? TABLES->triloops[index] : j - i == 5 ? TABLES->tetraloops[index] : TABLES->hexaloops[index];
}

/* The hairpin (i, j), or what stands for one around the gap between two copies. */
LANES_TARGET static VEC FORM(ends)(const FORM(space) *s, int i, int j, BITS type, BITS in)
{
    const int u = j - i - 1;
#if TWICE
    if (i < s->second && j >= s->second)
        return TIMES(FORM(terminal)(s, type), FORM(open)(s, i, j));
#endif
    VEC end = TIMES(HAIRPIN(u), u == 3 ? FORM(terminal)(s, type) : LOOK(TABLES->mismatch_hairpin, 128, in));
    if (u == 3 || u == 4 || u == 6)
        for (int l = 0; l < LANES; l++) {
            const REAL own = FORM(special)(s, i, j, l);
            if (own != FOLD_NONE)
                AT(end, l) = SCALED(own, u + 2);
        }
    return end;
}

/* The loop q of (i, j), from stacks to loops of 2 x 3 bases: q / 3 on either side, one more on the right where q % 3 is 1, on the
 * left where it is 2. */
LANES_TARGET static VEC FORM(small)(const FORM(space) *s, int i, int j, int q, BITS type, BITS in)
{
    const int k = i + 1 + q / 3 + (q % 3 == 2), l = j - 1 - q / 3 - (q % 3 == 1);
    const BITS inner = TYPE(CODE(l), CODE(k)), both = type << 3 | inner, first = CODE(k - 1), last = CODE(l + 1);
    const BITS after = CODE(i + 1), before = CODE(j - 1);
    const VEC pair = TIMES(CELL(bulge, k, l), IF(inner > 2, SET(UNDONE(FEW->terminal)), SET(ONE)));
    return TIMES(
        pair, q == 0   ? SCALED(LOOK(TABLES->stack, 64, both), 2)
              : q < 3  ? TIMES(LOOK(TABLES->stack, 64, both), SET(FEW->bulge[1]))
              : q == 3 ? SCALED(LOOK(TABLES->int11, 1024, both << 4 | after << 2 | before), 4)
              : q == 4 ? SCALED(LOOK(TABLES->int21, 4096, both << 6 | after << 4 | last << 2 | before), 5)
              : q == 5 ? SCALED(LOOK(TABLES->int21, 4096, (inner << 3 | type) << 6 | last << 4 | after << 2 | first), 5)
              : q == 6 ? SCALED(LOOK(TABLES->int22, 16384, both << 8 | after << 6 | first << 4 | last << 2 | before), 6)
                       : TIMES(TIMES(LOOK(TABLES->mismatch_internal_23, 128, in), SET(FEW->internal[5])),
                               TIMES(LOOK(TABLES->mismatch_internal_23, 128, inner << 4 | last << 2 | first), SET(FEW->uneven[1]))));
}

/* What (i, j) closes but for wide and multiple loops, where lanes that have no pair do not matter. `in` is the type with both
 * bases within. */
LANES_TARGET static VEC FORM(pairs)(const FORM(space) *s, int i, int j, BITS type, BITS in)
{
    VEC best = FORM(ends)(s, i, j, type, in), bulges = SET(NOTHING), ones = bulges;
    for (int q = 0; q < 9; q++)
        if (q / 3 * 2 + (q % 3 > 0) <= j - i - 6)
            best = PLUS(best, FORM(small)(s, i, j, q, type, in));
    for (int v = FOLD_LOOP; v > 1; v--) { /* with v bases on one side, or one and v - 1 */
        if (v > j - i - 6)
            continue;
        const VEC bulge = PLUS(CELL(bulge, i + 1 + v, j - 1), CELL(bulge, i + 1, j - 1 - v));
        bulges = PLUS(bulges, TIMES(bulge, SET(FEW->bulge[v])));
        if (v < 4)
            continue;
        const VEC one = PLUS(CELL(one, i + v, j - 2), CELL(one, i + 2, j - v));
        ones = PLUS(ones, TIMES(one, TIMES(SET(FEW->internal[v]), SET(FEW->uneven[v - 2]))));
    }
    best = PLUS(best, TIMES(bulges, FORM(terminal)(s, type)));
    return PLUS(best, TIMES(ones, LOOK(TABLES->mismatch_internal_1n, 128, in)));
}

/* The stem (i, j) of a multiloop, given its cell; and what (i, j) takes that closes one. */
LANES_TARGET static VEC FORM(branch)(const FORM(space) *s, int i, int j)
{
    const BITS none = {0}, before = i ? CODE(i - 1) : none, next = j + 1 == s->n ? none : CODE(j + 1);
    const VEC beside = LOOK(TABLES->mismatch_multi, 128, TYPE(CODE(i), CODE(j)) << 4 | before << 2 | next);
    return TIMES(CELL(bulge, i, j), TIMES(beside, SET(FEW->branch)));
}

LANES_TARGET static VEC FORM(closing)(const FORM(space) *s, int i, int j)
{
    const BITS turned = TYPE(CODE(j), CODE(i));
    const VEC beside = LOOK(TABLES->mismatch_multi, 128, turned << 4 | CODE(j - 1) << 2 | CODE(i + 1));
    return TIMES(TIMES(FORM(terminal)(s, turned), beside), TIMES(SET(FEW->closing), SET(FEW->branch)));
}

/* The cell (i, j), given those within; returns the sum of a pair and of a part of a multiloop. */
LANES_TARGET static VEC FORM(cell)(const FORM(space) *s, int i, int j, FORM(around) *a)
{
    const VEC nothing = SET(NOTHING);
    const BITS none = {0}, before = i ? CODE(i - 1) : none, next = j + 1 == s->n ? none : CODE(j + 1);
    const BITS type = IF(s->length > none + (REAL)j, TYPE(CODE(i), CODE(j)), none);
    const BITS in = type << 4 | CODE(i + 1) << 2 | CODE(j - 1), out = TYPE(CODE(j), CODE(i)) << 4 | next << 2 | before;
    const VEC wide = FORM(wide_loops)(s, i, j, a);
    VEC best = nothing, sum = nothing;
    if (ANY(type)) {
        best = PLUS(FORM(pairs)(s, i, j, type, in), TIMES(wide, LOOK(TABLES->mismatch_internal, 128, in)));
        best = PLUS(best, TIMES(a->parts, FORM(closing)(s, i, j)));
        best = IF(type == none, nothing, best);
    }
    CELL(internal, i, j) = TIMES(best, LOOK(TABLES->mismatch_internal, 128, out));
    CELL(one, i, j) = TIMES(best, LOOK(TABLES->mismatch_internal_1n, 128, out));
    CELL(bulge, i, j) = TIMES(best, FORM(terminal)(s, type));
    const VEC branch = FORM(branch)(s, i, j);
#if COUNTED /* by the first stem, which begins with base i, or behind it */
    s->stems[j] = branch;
    s->singles[j] = PLUS(branch, TIMES(s->singles[j - 1], SET(FEW->unpaired)));
    for (int k = i + 4; k + 5 <= j; k++)
        sum = PLUS(sum, TIMES(s->stems[k], MULTI(k + 1, j)));
    a->parts = PLUS(sum, TIMES((a + 1)->parts, SET(FEW->unpaired)));
    MULTI(i, j) = PLUS(PLUS(sum, s->singles[j]), TIMES(MULTI(i + 1, j), SET(FEW->unpaired)));
#else
    for (int k = 4; k + 5 <= j - i; k++)
        sum = PLUS(sum, TIMES(MULTI(i, i + k), MULTI(i + k + 1, j)));
    a->parts = sum;
    sum = PLUS(sum, TIMES(PLUS(MULTI(i + 1, j), MULTI(i, j - 1)), SET(FEW->unpaired)));
    MULTI(i, j) = PLUS(sum, branch);
#endif
    return PLUS(best, MULTI(i, j));
}
