/* One row after another of a chain (chain_kernels.c), states in lanes, for one sum (numbers.h). */

/* to(j) = sum of v(k) t(k, j): eight vectors of states, or one with four sums of it, so that sums need not wait. */
LANES_TARGET static void FORM(row)(const REAL *v, const REAL *t, int64_t states, REAL *to)
{
    int64_t j = 0;
    for (; j + 8 * LANES <= states; j += 8 * LANES) {
        VEC sum[8];
        for (int q = 0; q < 8; q++)
            sum[q] = TIMES(SET(v[0]), *(const VEC *)(t + j + q * LANES));
        for (int64_t k = 1; k < states; k++)
            for (int q = 0; q < 8; q++)
                sum[q] = PLUS(sum[q], TIMES(SET(v[k]), *(const VEC *)(t + k * states + j + q * LANES)));
        for (int q = 0; q < 8; q++)
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

/* V of symbols first .. last - 1 into rows, of which the first is there, and to `taken` what was taken off; whether one of
 * them has any probability. */
LANES_TARGET static int FORM(stretch)(const chain_job *job, const uint16_t *symbols, int64_t first, int64_t last, REAL *row,
                                      double *taken)
{
    const int64_t states = job->states;
    for (int64_t t = first + 1; t < last && !*job->stop; t++, row += states) {
        REAL *next = row + states;
        FORM(row)(row, job->transition, states, next);
        FORM(times)(next, next, job->emission + symbols[t] * states, states);
        if (t % RESCALED == 0) {
            const REAL most = FORM(total)(next, states);
            if (most == NOTHING)
                return 0;
            for (int64_t j = 0; j < states; j += LANES)
                *(VEC *)(next + j) -= SET(most);
            *taken += most;
        }
    }
    return 1;
}

/* The best path and its logarithm, or -1 and -inf where none has any probability. */
LANES_TARGET static void FORM(path)(const void *given, int64_t number, int64_t count, void *memory)
{
    const chain_job *const job = given;
    const uint16_t *const symbols = job->symbols + job->offsets[number];
    const int64_t states = job->states, n = job->offsets[number + 1] - job->offsets[number];
    const size_t bytes = (size_t)states * sizeof(REAL);
    const int64_t stretch = stretch_of(job, n), last = (n - 1) / stretch;
    REAL *marks = memory, *sums = marks + (last + 1) * states, *rows = sums + states, most = 0;
    int32_t *path = job->path + job->offsets[number];
    int is_possible = 1;
    double score = 0, again = 0;
    (void)count;
    FORM(times)(marks, job->start, job->emission + symbols[0] * states, states);
    for (int64_t s = 0; s <= last && is_possible; s++) {
        memcpy(rows, marks + s * states, bytes);
        is_possible = FORM(stretch)(job, symbols, s * stretch, s < last ? (s + 1) * stretch + 1 : n, rows, &score);
        if (s < last)
            memcpy(marks + (s + 1) * states, rows + stretch * states, bytes);
    }
    for (int64_t s = last, end = n; s >= 0 && is_possible && !*job->stop; end = s-- * stretch) {
        if (s < last) {
            memcpy(rows, marks + s * states, bytes);
            FORM(stretch)(job, symbols, s * stretch, end, rows, &again);
        }
        for (int64_t t = end - 1; t >= s * stretch && is_possible; t--) {
            const REAL *onward = t == n - 1 ? job->end : job->turned + path[t + 1] * states;
            FORM(times)(sums, rows + (t - s * stretch) * states, onward, states);
            most = FORM(total)(sums, states);
            is_possible = most > NOTHING;
            score += t == n - 1 ? most : 0;
            int64_t state = states;
            for (int64_t j = 0; j < states; j++) {
                const int64_t here = sums[j] == most ? j : states;
                state = here < state ? here : state;
            }
            path[t] = (int32_t)state;
        }
    }
    job->logs[number] = is_possible ? score : NOTHING;
    if (!is_possible)
        memset(path, -1, (size_t)n * sizeof *path);
}
#undef RESCALED
#else

LANES_TARGET static void FORM(forward)(const void *given, int64_t number, int64_t count, void *memory)
{
    const chain_job *const job = given;
    const int64_t states = job->states, first = job->offsets[number], last = job->offsets[number + 1];
    REAL *row = memory;
    double sum = 0, total = 1;
    (void)count;
    for (int64_t t = first; t < last && total > 0 && !*job->stop; t++) {
        REAL *next = job->rows ? job->rows + t * states : (REAL *)memory + (t & 1) * states;
        if (t > first)
            FORM(row)(row, job->transition, states, next);
        FORM(times)(next, t > first ? next : job->start, job->emission + job->symbols[t] * states, states);
        total = FORM(total)(next, states);
        for (int64_t j = 0; j < states; j += LANES)
            *(VEC *)(next + j) *= SET(1 / total);
        if (job->scales)
            job->scales[t] = 1 / total;
        sum += log(total);
        row = next;
    }
    FORM(times)(memory, row, job->end, states);
    job->logs[number] = total > 0 ? sum + log(FORM(total)(memory, states)) : -INFINITY;
}
#endif
