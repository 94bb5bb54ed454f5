/* One tile of the local alignment of two long sequences (best.h), included once for each width of its lanes.
 *
 * Recipe. A lane has `strip` neighbouring rows of the tile and is one column behind the lane above it. So all that a
 * lane needs of its upper neighbour, H and F at the foot of the neighbour's strip, was made one step ago, and one shift
 * across lanes per column hands it on. Nothing is guessed and corrected as in the striped layout (Farrar 2007).
 * The first and last LANES - 1 steps have lanes outside the tile, whose state a mask keeps as it is.
 *
 * Wanted from whoever includes this: TILE_BITS (16 or 32), TILE_LANES, TILE_TARGET, VMAX(a, b), and
 * VCHOOSE_EQUAL(a, b, yes, no). It defines best_tile_16 or best_tile_32. */
#if TILE_BITS == 16
#define TILE_INT int16_t
#define TILE_LEAST (-32768) /* the score of a row behind the last */
#define TILE_NAME(x) x##_16
#else
#define TILE_INT int32_t
#define TILE_LEAST (-(1 << 30))
#define TILE_NAME(x) x##_32
#endif
#define TILE_VEC TILE_NAME(tile_vec)
#define TILE_ANYWHERE TILE_NAME(tile_anywhere)
#define TILE_STATE TILE_NAME(tile_state)
#define TILE_STEP TILE_NAME(tile_step)
#if TILE_LANES == 1
typedef TILE_INT TILE_VEC;
#define LANE(v, l) (v)
#define AT(p, i) ((p)[i])
#define VSET(x) ((TILE_VEC)(x))
#define VLOAD(p) (*(p))
#else
typedef TILE_INT TILE_VEC __attribute__((vector_size(sizeof(TILE_INT) * TILE_LANES)));
typedef TILE_INT TILE_ANYWHERE __attribute__((vector_size(sizeof(TILE_INT) * TILE_LANES), aligned(2), may_alias));
#define LANE(v, l) ((v)[l])
#define VSET(x) ((TILE_VEC){0} + (TILE_INT)(x))
#define VLOAD(p) ((TILE_VEC)(*(const TILE_ANYWHERE *)(p)))
#endif

typedef struct {
    int32_t strip;
    TILE_VEC *h, *gap, *letter, *mismatch, *score;
    TILE_INT *backwards; /* the target's letters, the last first, LANES places in front and behind */
    TILE_INT *profile;   /* [letter of the target][row] */
} TILE_STATE;

TILE_TARGET static inline TILE_VEC TILE_NAME(tile_shift)(TILE_VEC v, TILE_INT first)
{
#if TILE_LANES == 1
    (void)v;
    return first;
#elif defined(__clang__) /* puts the moves together; GCC does not, but has a shuffle whose order is a vector */
    TILE_VEC shifted = v;
    for (int l = TILE_LANES - 1; l > 0; l--)
        shifted[l] = v[l - 1];
    shifted[0] = first;
    return shifted;
#else
    TILE_VEC from;
    for (int l = 0; l < TILE_LANES; l++)
        from[l] = l - 1 + (l == 0);
    v = __builtin_shuffle(v, from);
    v[0] = first;
    return v;
#endif
}

TILE_TARGET static void TILE_NAME(tile_open)(const best_tile *t, TILE_STATE *s, void *memory)
{
    const best_scoring *scoring = t->scoring;
    const int32_t strip = (t->rows + TILE_LANES - 1) / TILE_LANES, rows = strip * TILE_LANES;
    s->strip = strip;
    s->h = memory;
    s->gap = s->h + strip;
    s->letter = s->gap + strip;
    s->mismatch = s->letter + strip;
    s->score = s->mismatch + strip;
    s->backwards = (TILE_INT *)(s->score + strip);
    s->profile = s->backwards + t->columns + 2 * TILE_LANES;
    for (int32_t l = 0; l < TILE_LANES; l++)
        for (int32_t k = 0; k < strip; k++) {
            const int32_t row = l * strip + k, place = k * TILE_LANES + l, inside = row < t->rows;
            ((TILE_INT *)s->h)[place] = inside ? t->left[row].h : 0;
            ((TILE_INT *)s->gap)[place] = inside ? t->left[row].gap : 0;
            ((TILE_INT *)s->letter)[place] = inside ? t->query[row] : 256;
            ((TILE_INT *)s->mismatch)[place] = inside ? t->mismatch : TILE_LEAST;
        }
    for (int32_t c = 0; c < TILE_LANES; c++)
        s->backwards[c] = s->backwards[t->columns + TILE_LANES + c] = 0;
    for (int32_t c = 0; c < t->columns; c++)
        s->backwards[TILE_LANES + c] = t->target[t->columns - 1 - c];
    if (!t->is_simple)
        for (int32_t b = 0; b < scoring->letters; b++)
            for (int32_t row = 0; row < rows; row++)
                s->profile[b * rows + row] =
                    row < t->rows ? scoring->matrix[t->query[row] * scoring->letters + b] : TILE_LEAST;
}

/* The scores of one step: lane l takes those of the letter that it faces from the profile. */
TILE_TARGET static void TILE_NAME(tile_scores)(const TILE_STATE *s, const TILE_INT *letters)
{
    TILE_INT *to = (TILE_INT *)s->score;
    const int32_t rows = s->strip * TILE_LANES;
#if TILE_BITS == 16 && TILE_LANES >= 8
    if (s->strip % 8 == 0) {
        for (int32_t l = 0; l < TILE_LANES; l += 8)
            for (int32_t k = 0; k < s->strip; k += 8)
                best_transpose(s->profile + l * s->strip + k, letters + l, rows, s->strip, to + k * TILE_LANES + l,
                               TILE_LANES);
        return;
    }
#endif
    for (int32_t l = 0; l < TILE_LANES; l++) {
        const TILE_INT *from = s->profile + letters[l] * rows + l * s->strip;
        for (int32_t k = 0; k < s->strip; k++)
            to[k * TILE_LANES + l] = from[k];
    }
}

typedef struct {
    TILE_VEC before;           /* H at the foot of the strip above, one column back */
    TILE_VEC foot_h, foot_gap; /* of this strip, in the column of the last step */
    TILE_VEC best;
} TILE_STEP;

#if defined(__GNUC__)
__attribute__((always_inline))
#endif
TILE_TARGET static inline void TILE_NAME(tile_advance)(const best_tile *t, const TILE_STATE *s, TILE_STEP *x, int32_t column,
                                            const int is_simple, const int masked)
{
    const int32_t first_column = column < t->columns ? column : t->columns - 1;
    const TILE_VEC first = VSET(t->scoring->first), extend = VSET(t->scoring->extend), match = VSET(t->match);
    const TILE_INT *letters = s->backwards + (t->columns - 1 - column + TILE_LANES);
    const TILE_VEC facing = VLOAD(letters);
    TILE_VEC active = VSET(0), diagonal = x->before, h, gap, e, opened;
    if (masked)
        for (int32_t l = 0; l < TILE_LANES; l++)
            LANE(active, l) = column >= l && column - l < t->columns ? -1 : 0;
    x->before = TILE_NAME(tile_shift)(x->foot_h, t->top[first_column].h);
    gap = TILE_NAME(tile_shift)(x->foot_gap, t->top[first_column].gap);
    if (!is_simple)
        TILE_NAME(tile_scores)(s, letters);
    for (int32_t k = 0; k < s->strip; k++) {
        const TILE_VEC old = s->h[k], old_e = s->gap[k];
        const TILE_VEC score = is_simple ? VCHOOSE_EQUAL(s->letter[k], facing, match, s->mismatch[k]) : s->score[k];
        /* A gap that follows upon another is never better than that one longer: extend <= first. */
        h = VMAX(VMAX(diagonal + score, VSET(0)), old_e);
        opened = h - first;
        h = VMAX(h, gap);
        gap = VMAX(opened, gap - extend);
        e = VMAX(h - first, old_e - extend);
        if (masked) {
            x->best = VMAX(x->best, h & active);
            s->h[k] = (h & active) | (old & ~active);
            s->gap[k] = (e & active) | (old_e & ~active);
        } else {
            x->best = VMAX(x->best, h);
            s->h[k] = h;
            s->gap[k] = e;
        }
        diagonal = old;
    }
    x->foot_h = s->h[s->strip - 1];
    x->foot_gap = gap;
    if (column >= TILE_LANES - 1) {
        best_line *foot = t->bottom + (column - (TILE_LANES - 1));
        foot->h = LANE(x->foot_h, TILE_LANES - 1);
        foot->gap = best_open_gap(LANE(gap, TILE_LANES - 1));
    }
}

#if defined(__GNUC__)
__attribute__((always_inline))
#endif
TILE_TARGET static inline int32_t TILE_NAME(tile_run)(const best_tile *t, TILE_STATE *s, const int is_simple)
{
    const int32_t steps = t->columns + TILE_LANES - 1;
    int32_t column = 0, best = 0;
    TILE_STEP x;
    x.foot_h = s->h[s->strip - 1];
    x.foot_gap = x.best = VSET(0);
    x.before = TILE_NAME(tile_shift)(x.foot_h, t->corner);
    for (; column < steps && column < TILE_LANES - 1; column++)
        TILE_NAME(tile_advance)(t, s, &x, column, is_simple, 1);
    for (; column < t->columns; column++)
        TILE_NAME(tile_advance)(t, s, &x, column, is_simple, 0);
    for (; column < steps; column++)
        TILE_NAME(tile_advance)(t, s, &x, column, is_simple, 1);
    for (int32_t l = 0; l < TILE_LANES; l++)
        if (LANE(x.best, l) > best)
            best = LANE(x.best, l);
    for (int32_t row = 0; row < t->rows; row++) {
        const int32_t place = row % s->strip * TILE_LANES + row / s->strip;
        t->right[row].h = ((TILE_INT *)s->h)[place];
        t->right[row].gap = best_open_gap(((TILE_INT *)s->gap)[place]);
    }
    return best;
}

TILE_TARGET static int32_t TILE_NAME(best_tile)(const best_tile *t, void *memory)
{
    TILE_STATE s;
    TILE_NAME(tile_open)(t, &s, memory);
    return t->is_simple ? TILE_NAME(tile_run)(t, &s, 1) : TILE_NAME(tile_run)(t, &s, 0);
}

#undef TILE_LEAST
#undef TILE_BITS
#undef TILE_NAME
#undef TILE_INT
#undef TILE_LANES
#undef TILE_VEC
#undef TILE_ANYWHERE
#undef TILE_STATE
#undef TILE_STEP
#undef LANE
#undef VSET
#undef VLOAD
#undef VMAX
#undef VCHOOSE_EQUAL
