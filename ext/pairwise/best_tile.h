/* One tile of the local alignment of two long sequences (best.h), included once for each width of its lanes.
 *
 * Recipe. A lane has `strip` neighbouring rows of the tile and is one column behind the lane above it. So all that a
 * lane needs of its upper neighbour, H and F at the foot of the neighbour's strip, was made one step ago, and one shift
 * across lanes per column hands it on. Nothing is guessed and corrected as in the striped layout (Farrar 2007).
 * The first and last LANES - 1 steps have lanes outside the tile, whose state a mask keeps as it is.
 *
 * KIND is I16 or I32, and numbers.h is included. */


typedef struct {
    int32_t strip;
    VEC *h, *gap, *letter, *mismatch, *score;
    REAL *backwards; /* the target's letters, the last first, LANES places in front and behind */
    int32_t *places; /* of these letters in the profile, where there is one */
    REAL *profile;   /* [letter of the target][row] */
} FORM(tile_state);

LANES_TARGET static void FORM(tile_open)(const best_tile *t, FORM(tile_state) *s, void *memory)
{
    const best_scoring *scoring = t->scoring;
    const int32_t strip = (t->rows + LANES - 1) / LANES, rows = strip * LANES;
    s->strip = strip;
    s->h = memory;
    s->gap = s->h + strip;
    s->letter = s->gap + strip;
    s->mismatch = s->letter + strip;
    s->score = s->mismatch + strip;
    s->places = (int32_t *)(s->score + strip);
    s->backwards = (REAL *)(s->places + t->columns + 2 * LANES);
    s->profile = s->backwards + t->columns + 2 * LANES;
    for (int32_t l = 0; l < LANES; l++)
        for (int32_t k = 0; k < strip; k++) {
            const int32_t row = l * strip + k, place = k * LANES + l, inside = row < t->rows;
            ((REAL *)s->h)[place] = inside ? t->left[row].h : 0;
            ((REAL *)s->gap)[place] = inside ? t->left[row].gap : 0;
            ((REAL *)s->letter)[place] = inside ? t->query[row] : 256;
            ((REAL *)s->mismatch)[place] = inside ? t->mismatch : LEAST;
        }
    for (int32_t c = 0; c < LANES; c++)
        s->backwards[c] = s->backwards[t->columns + LANES + c] = 0;
    for (int32_t c = 0; c < t->columns; c++)
        s->backwards[LANES + c] = t->target[t->columns - 1 - c];
    for (int32_t c = 0; c < t->columns + 2 * LANES; c++)
        s->places[c] = s->backwards[c] * rows;
    if (!t->is_simple)
        for (int32_t b = 0; b < scoring->letters; b++)
            for (int32_t row = 0; row < rows; row++)
                s->profile[b * rows + row] =
                    row < t->rows ? scoring->matrix[t->query[row] * scoring->letters + b] : LEAST;
}

/* The scores of one step: lane l takes those of the letter that it faces from the profile. */
LANES_TARGET static void FORM(tile_scores)(const FORM(tile_state) *s, const int32_t *places)
{
    REAL *to = (REAL *)s->score;
#if LANES_BYTES
    if (sizeof(REAL) == 2 && s->strip % 8 == 0) {
        for (int32_t k = 0; k < s->strip; k += 8)
            ISA_(transpose)((const int16_t *)s->profile + k, s->strip, places, (int16_t *)to + k * LANES);
        return;
    }
#endif
    for (int32_t l = 0; l < LANES; l++) {
        const REAL *from = s->profile + places[l] + l * s->strip;
        for (int32_t k = 0; k < s->strip; k++)
            to[k * LANES + l] = from[k];
    }
}

typedef struct {
    VEC before;           /* H at the foot of the strip above, one column back */
    VEC foot_h, foot_gap; /* of this strip, in the column of the last step */
    VEC best;
} FORM(tile_step);

LANES_ALWAYS LANES_TARGET void FORM(tile_advance)(const best_tile *t, const FORM(tile_state) *s, FORM(tile_step) *x, int32_t column,
                                            const int is_simple, const int masked)
{
    const int32_t first_column = column < t->columns ? column : t->columns - 1;
    const VEC first = SET(t->scoring->first), extend = SET(t->scoring->extend), match = SET(t->match);
    const int32_t at = t->columns - 1 - column + LANES;
    const VEC facing = LOAD(s->backwards + at);
    VEC active = SET(0), diagonal = x->before, h, gap, e, opened;
    if (masked)
        for (int32_t l = 0; l < LANES; l++)
            AT(active, l) = column >= l && column - l < t->columns ? -1 : 0;
    x->before = SHIFT(x->foot_h, t->top[first_column].h);
    gap = SHIFT(x->foot_gap, t->top[first_column].gap);
    if (!is_simple)
        FORM(tile_scores)(s, s->places + at);
    for (int32_t k = 0; k < s->strip; k++) {
        const VEC old = s->h[k], old_e = s->gap[k];
        const VEC score = is_simple ? CHOOSE(EQUAL(s->letter[k], facing), match, s->mismatch[k]) : s->score[k];
        /* A gap that follows upon another is never better than that one longer: extend <= first. */
        h = LARGER(LARGER(diagonal + score, SET(0)), old_e);
        opened = h - first;
        h = LARGER(h, gap);
        gap = LARGER(opened, gap - extend);
        e = LARGER(h - first, old_e - extend);
        if (masked) {
            x->best = LARGER(x->best, h & active);
            s->h[k] = (h & active) | (old & ~active);
            s->gap[k] = (e & active) | (old_e & ~active);
        } else {
            x->best = LARGER(x->best, h);
            s->h[k] = h;
            s->gap[k] = e;
        }
        diagonal = old;
    }
    x->foot_h = s->h[s->strip - 1];
    x->foot_gap = gap;
    if (column >= LANES - 1) {
        best_line *foot = t->bottom + (column - (LANES - 1));
        foot->h = AT(x->foot_h, LANES - 1);
        foot->gap = best_open_gap(AT(gap, LANES - 1));
    }
}

LANES_ALWAYS LANES_TARGET int32_t FORM(tile_run)(const best_tile *t, FORM(tile_state) *s, const int is_simple)
{
    const int32_t steps = t->columns + LANES - 1;
    int32_t column = 0, best = 0;
    FORM(tile_step) x;
    x.foot_h = s->h[s->strip - 1];
    x.foot_gap = x.best = SET(0);
    x.before = SHIFT(x.foot_h, t->corner);
    for (; column < steps && column < LANES - 1; column++)
        FORM(tile_advance)(t, s, &x, column, is_simple, 1);
    for (; column < t->columns; column++)
        FORM(tile_advance)(t, s, &x, column, is_simple, 0);
    for (; column < steps; column++)
        FORM(tile_advance)(t, s, &x, column, is_simple, 1);
    for (int32_t l = 0; l < LANES; l++)
        if (AT(x.best, l) > best)
            best = AT(x.best, l);
    for (int32_t row = 0; row < t->rows; row++) {
        const int32_t place = row % s->strip * LANES + row / s->strip;
        t->right[row].h = ((REAL *)s->h)[place];
        t->right[row].gap = best_open_gap(((REAL *)s->gap)[place]);
    }
    return best;
}

LANES_TARGET static int32_t FORM(best_tile)(const best_tile *t, void *memory)
{
    FORM(tile_state) s;
    FORM(tile_open)(t, &s, memory);
    return t->is_simple ? FORM(tile_run)(t, &s, 1) : FORM(tile_run)(t, &s, 0);
}
