/* One tile of the local alignment of two long sequences (best.h), included once for each width of its lanes.
 *
 * Recipe. A lane has `strip` neighbouring rows of the tile and is one column behind the lane above it. So all that a
 * lane needs of its upper neighbour, H and F at the foot of the neighbour's strip, was made one step ago, and one shift
 * across lanes per column hands it on. Nothing is guessed and corrected as in the striped layout (Farrar 2007).
 * The first and last LANES - 1 steps have lanes outside the tile, whose state a mask keeps as it is.
 *
 * KIND is I16 or I32, and numbers.h is included. */
#define TILE_NAME(x) LANES_JOIN(x, LANES_JOIN(KIND, ISA))
#define TILE_ANYWHERE TILE_NAME(tile_anywhere)
#define TILE_STATE TILE_NAME(tile_state)
#define TILE_STEP TILE_NAME(tile_step)
#define VEQUAL(a, b, yes, no) LANES_JOIN(EQUAL, KIND)(a, b, yes, no)
#define TILE_LEAST LANES_JOIN(LEAST, KIND) /* the score of a row behind the last */
#if LANES_BYTES
typedef REAL TILE_ANYWHERE __attribute__((vector_size(LANES_BYTES), aligned(2), may_alias));
#define VLOAD(p) ((VEC)(*(const TILE_ANYWHERE *)(p)))
#else
#define VLOAD(p) (*(p))
#endif

typedef struct {
    int32_t strip;
    VEC *h, *gap, *letter, *mismatch, *score;
    REAL *backwards; /* the target's letters, the last first, LANES places in front and behind */
    REAL *profile;   /* [letter of the target][row] */
} TILE_STATE;

LANES_TARGET static inline VEC TILE_NAME(tile_shift)(VEC v, REAL first)
{
#if !LANES_BYTES
    (void)v;
    return first;
#elif defined(__clang__) /* puts the moves together; GCC does not, but has a shuffle whose order is a vector */
    VEC shifted = v;
    for (int l = LANES - 1; l > 0; l--)
        shifted[l] = v[l - 1];
    shifted[0] = first;
    return shifted;
#else
    VEC from;
    for (int l = 0; l < LANES; l++)
        from[l] = l - 1 + (l == 0);
    v = __builtin_shuffle(v, from);
    v[0] = first;
    return v;
#endif
}

LANES_TARGET static void TILE_NAME(tile_open)(const best_tile *t, TILE_STATE *s, void *memory)
{
    const best_scoring *scoring = t->scoring;
    const int32_t strip = (t->rows + LANES - 1) / LANES, rows = strip * LANES;
    s->strip = strip;
    s->h = memory;
    s->gap = s->h + strip;
    s->letter = s->gap + strip;
    s->mismatch = s->letter + strip;
    s->score = s->mismatch + strip;
    s->backwards = (REAL *)(s->score + strip);
    s->profile = s->backwards + t->columns + 2 * LANES;
    for (int32_t l = 0; l < LANES; l++)
        for (int32_t k = 0; k < strip; k++) {
            const int32_t row = l * strip + k, place = k * LANES + l, inside = row < t->rows;
            ((REAL *)s->h)[place] = inside ? t->left[row].h : 0;
            ((REAL *)s->gap)[place] = inside ? t->left[row].gap : 0;
            ((REAL *)s->letter)[place] = inside ? t->query[row] : 256;
            ((REAL *)s->mismatch)[place] = inside ? t->mismatch : TILE_LEAST;
        }
    for (int32_t c = 0; c < LANES; c++)
        s->backwards[c] = s->backwards[t->columns + LANES + c] = 0;
    for (int32_t c = 0; c < t->columns; c++)
        s->backwards[LANES + c] = t->target[t->columns - 1 - c];
    if (!t->is_simple)
        for (int32_t b = 0; b < scoring->letters; b++)
            for (int32_t row = 0; row < rows; row++)
                s->profile[b * rows + row] =
                    row < t->rows ? scoring->matrix[t->query[row] * scoring->letters + b] : TILE_LEAST;
}

/* The scores of one step: lane l takes those of the letter that it faces from the profile. */
LANES_TARGET static void TILE_NAME(tile_scores)(const TILE_STATE *s, const REAL *letters)
{
    REAL *to = (REAL *)s->score;
    const int32_t rows = s->strip * LANES;
#if LANES_BYTES
    if (sizeof(REAL) == 2 && s->strip % 8 == 0) {
        for (int32_t l = 0; l < LANES; l += 8)
            for (int32_t k = 0; k < s->strip; k += 8)
                best_transpose((const int16_t *)s->profile + l * s->strip + k, (const int16_t *)letters + l, rows, s->strip, (int16_t *)to + k * LANES + l,
                               LANES);
        return;
    }
#endif
    for (int32_t l = 0; l < LANES; l++) {
        const REAL *from = s->profile + letters[l] * rows + l * s->strip;
        for (int32_t k = 0; k < s->strip; k++)
            to[k * LANES + l] = from[k];
    }
}

typedef struct {
    VEC before;           /* H at the foot of the strip above, one column back */
    VEC foot_h, foot_gap; /* of this strip, in the column of the last step */
    VEC best;
} TILE_STEP;

#if defined(__GNUC__)
__attribute__((always_inline))
#endif
LANES_TARGET static inline void TILE_NAME(tile_advance)(const best_tile *t, const TILE_STATE *s, TILE_STEP *x, int32_t column,
                                            const int is_simple, const int masked)
{
    const int32_t first_column = column < t->columns ? column : t->columns - 1;
    const VEC first = SET(t->scoring->first), extend = SET(t->scoring->extend), match = SET(t->match);
    const REAL *letters = s->backwards + (t->columns - 1 - column + LANES);
    const VEC facing = VLOAD(letters);
    VEC active = SET(0), diagonal = x->before, h, gap, e, opened;
    if (masked)
        for (int32_t l = 0; l < LANES; l++)
            AT(active, l) = column >= l && column - l < t->columns ? -1 : 0;
    x->before = TILE_NAME(tile_shift)(x->foot_h, t->top[first_column].h);
    gap = TILE_NAME(tile_shift)(x->foot_gap, t->top[first_column].gap);
    if (!is_simple)
        TILE_NAME(tile_scores)(s, letters);
    for (int32_t k = 0; k < s->strip; k++) {
        const VEC old = s->h[k], old_e = s->gap[k];
        const VEC score = is_simple ? VEQUAL(s->letter[k], facing, match, s->mismatch[k]) : s->score[k];
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

#if defined(__GNUC__)
__attribute__((always_inline))
#endif
LANES_TARGET static inline int32_t TILE_NAME(tile_run)(const best_tile *t, TILE_STATE *s, const int is_simple)
{
    const int32_t steps = t->columns + LANES - 1;
    int32_t column = 0, best = 0;
    TILE_STEP x;
    x.foot_h = s->h[s->strip - 1];
    x.foot_gap = x.best = SET(0);
    x.before = TILE_NAME(tile_shift)(x.foot_h, t->corner);
    for (; column < steps && column < LANES - 1; column++)
        TILE_NAME(tile_advance)(t, s, &x, column, is_simple, 1);
    for (; column < t->columns; column++)
        TILE_NAME(tile_advance)(t, s, &x, column, is_simple, 0);
    for (; column < steps; column++)
        TILE_NAME(tile_advance)(t, s, &x, column, is_simple, 1);
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

LANES_TARGET static int32_t TILE_NAME(best_tile)(const best_tile *t, void *memory)
{
    TILE_STATE s;
    TILE_NAME(tile_open)(t, &s, memory);
    return t->is_simple ? TILE_NAME(tile_run)(t, &s, 1) : TILE_NAME(tile_run)(t, &s, 0);
}

#undef TILE_LEAST
#undef TILE_NAME
#undef TILE_ANYWHERE
#undef TILE_STATE
#undef TILE_STEP
#undef VEQUAL
#undef VLOAD
