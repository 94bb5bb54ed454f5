/* One row after another of a chain (chain.h), states in lanes, for one kind of numbers and one sum (numbers.h). */

/* to(j) = sum of v(k) t(k, j): four vectors of states, or one with four sums of it, so that sums need not wait. */
LANES_TARGET static void FORM(row)(const REAL *v, const REAL *t, int64_t states, REAL *to)
{
    int64_t j = 0;
    for (; j + 4 * LANES <= states; j += 4 * LANES) {
        VEC sum[4] = {SET(NOTHING), SET(NOTHING), SET(NOTHING), SET(NOTHING)};
        for (int64_t k = 0; k < states; k++)
            for (int q = 0; q < 4; q++)
                sum[q] = PLUS(sum[q], TIMES(SET(v[k]), *(const VEC *)(t + k * states + j + q * LANES)));
        for (int q = 0; q < 4; q++)
            *(VEC *)(to + j + q * LANES) = sum[q];
    }
    for (; j < states; j += LANES) {
        VEC sum[4] = {SET(NOTHING), SET(NOTHING), SET(NOTHING), SET(NOTHING)};
        for (int64_t k = 0; k < states; k += 4)
            for (int q = 0; q < 4; q++)
                sum[q] = PLUS(sum[q], TIMES(SET(v[k + q]), *(const VEC *)(t + (k + q) * states + j)));
        *(VEC *)(to + j) = PLUS(PLUS(sum[0], sum[1]), PLUS(sum[2], sum[3]));
    }
}

LANES_TARGET static void FORM(times)(REAL *to, const REAL *a, const REAL *b, int64_t states)
{
    for (int64_t j = 0; j < states; j += LANES)
        *(VEC *)(to + j) = TIMES(*(const VEC *)(a + j), *(const VEC *)(b + j));
}

/* The sum, or the largest. */
LANES_TARGET static REAL FORM(total)(const REAL *v, int64_t states)
{
    VEC sum = *(const VEC *)v;
    REAL total = NOTHING;
    for (int64_t j = LANES; j < states; j += LANES)
        sum = PLUS(sum, *(const VEC *)(v + j));
    for (int l = 0; l < LANES; l++)
        total = PLUS_ONE(total, AT(sum, l));
    return total;
}

#if LARGEST
#define RESCALED 8 /* rows between two that are made relative to their largest, so that they stay small and exact */

/* V of symbols first .. last - 1 into rows, of which the first is there. */
LANES_TARGET static int FORM(stretch)(const chain_model *m, const uint16_t *symbols, int64_t first, int64_t last,
                                      REAL *row, const volatile int32_t *stop)
{
    const int64_t states = m->states;
    for (int64_t t = first + 1; t < last && !*stop; t++, row += states) {
        REAL *next = row + states;
        FORM(row)(row, m->transition, states, next);
        FORM(times)(next, next, (const REAL *)m->emission + symbols[t] * states, states);
        if (t % RESCALED == 0) {
            const REAL most = FORM(total)(next, states);
            if (most == NOTHING)
                return 0;
            for (int64_t j = 0; j < states; j += LANES)
                *(VEC *)(next + j) -= SET(most);
        }
    }
    return 1;
}

LANES_TARGET static int FORM(path)(const chain_model *m, const uint16_t *symbols, int64_t n, int64_t stretch, void *marks,
                                   void *kept, int32_t *path, const volatile int32_t *stop)
{
    const int64_t states = m->states, last = (n - 1) / stretch;
    const size_t bytes = states * sizeof(REAL);
    REAL *rows = kept, *mark = marks, *sums = mark + (last + 1) * states;
    FORM(times)(mark, m->start, (const REAL *)m->emission + symbols[0] * states, states);
    for (int64_t s = 0; s <= last; s++) {
        memcpy(rows, mark + s * states, bytes);
        if (!FORM(stretch)(m, symbols, s * stretch, s < last ? (s + 1) * stretch + 1 : n, rows, stop))
            return 0;
        if (s < last)
            memcpy(mark + (s + 1) * states, rows + stretch * states, bytes);
    }
    for (int64_t s = last, end = n; s >= 0 && !*stop; end = s-- * stretch) {
        if (s < last) {
            memcpy(rows, mark + s * states, bytes);
            FORM(stretch)(m, symbols, s * stretch, end, rows, stop);
        }
        for (int64_t t = end - 1; t >= s * stretch; t--) {
            const void *onward = t == n - 1 ? m->end : (const REAL *)m->turned + path[t + 1] * states;
            FORM(times)(sums, rows + (t - s * stretch) * states, onward, states);
            const REAL most = FORM(total)(sums, states);
            if (most == NOTHING)
                return 0;
            path[t] = 0;
            while (sums[path[t]] != most)
                path[t]++;
        }
    }
    return 1;
}
#undef RESCALED
#else

/* Multiplies a row such that its sum is 1; returns by what. */
LANES_TARGET static REAL FORM(scale)(REAL *row, int64_t states)
{
    const REAL scale = 1 / FORM(total)(row, states);
    for (int64_t j = 0; j < states; j += LANES)
        *(VEC *)(row + j) *= SET(scale);
    return scale;
}

LANES_TARGET static double FORM(forward)(const chain_model *m, const uint16_t *symbols, int64_t n, int is_kept,
                                         double *rows, double *scales, const volatile int32_t *stop)
{
    const int64_t states = m->states;
    double *row = rows, *next, sum = 0, scale;
    FORM(times)(row, m->start, (const REAL *)m->emission + symbols[0] * states, states);
    scales[0] = scale = FORM(scale)(row, states);
    sum = -log(scale);
    for (int64_t t = 1; t < n && scale < INFINITY && !*stop; t++) {
        next = is_kept ? row + states : rows + (t & 1) * states;
        FORM(row)(row, m->transition, states, next);
        FORM(times)(next, next, (const REAL *)m->emission + symbols[t] * states, states);
        scales[is_kept ? t : 0] = scale = FORM(scale)(next, states);
        sum -= log(scale);
        row = next;
    }
    if (scale == INFINITY)
        return -INFINITY;
    next = is_kept ? scales + n : rows + 2 * states;
    FORM(times)(next, row, m->end, states);
    return sum + log(FORM(total)(next, states));
}

LANES_TARGET static void FORM(backward)(const chain_model *m, const uint16_t *symbols, int64_t n, const double *scales,
                                        double *rows, double *memory, const volatile int32_t *stop)
{
    const int64_t states = m->states;
    memcpy(rows + (n - 1) * states, m->end, states * sizeof(REAL));
    for (int64_t t = n - 1; t > 0 && !*stop; t--) {
        REAL *before = rows + (t - 1) * states;
        FORM(times)(memory, rows + t * states, (const REAL *)m->emission + symbols[t] * states, states);
        FORM(row)(memory, m->turned, states, before);
        for (int64_t j = 0; j < states; j += LANES)
            *(VEC *)(before + j) *= SET(scales[t]);
    }
}
#endif
