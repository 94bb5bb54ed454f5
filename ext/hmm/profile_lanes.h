/* Odds of sequences under a profile (profile.h), for one sum (numbers.h). */
#define LARGE 0x1p40f /* sums above it are divided by 2^64, which leaves room for a row of growth */
#define DOWN 0x1p-64f
#if NARROW
#define UNIT (500 / 0.69314718055994530942)
#define BASE 12000 /* as in HMMER */
#define LOOKUP(table, letter) ISA_(lookup)(table, PROFILE_LETTERS, letter)
#define WITH_ODDS(a, b) ADD_I16(a, b) /* which saturate */
#define STEP(k, i) ((VEC)((ISA_(I32)){0} + ((const int32_t *)steps)[PROFILE_STEPS * (k) + (i)])) /* a pair is one load */
#else
#define UNIT 1
#define BASE NUMBER(1.0f)
#define LOOKUP(table, letter) ISA_(lookup_single)(table, letter)
#define WITH_ODDS(a, b) TIMES(a, b)
#define STEP(k, i) SET(steps[PROFILE_STEPS * (k) + (i)])
#endif

/* Letter i of each sequence, PROFILE_PAST behind its end. */
LANES_TARGET static BITS FORM(letters)(const profile_job *job, int64_t first, int64_t count, int64_t i, int *seen)
{
    BITS letters = (BITS){0} + PROFILE_PAST;
    INT *const to = (INT *)&letters;
    const int64_t *const begins = job->begins + first, *const lengths = job->lengths + first;
    const uint8_t *const text = job->text + i, *const code = job->code;
    int all = 0;
    for (int l = 0; l < LANES && l < count; l++)
        if (i < lengths[l]) {
            const int letter = code[text[begins[l]]];
            all |= letter;
            to[l] = (INT)letter;
        }
    *seen |= all;
    return letters & (BITS)((BITS){0} + PROFILE_LETTERS - 1);
}

LANES_TARGET static void FORM(score)(const void *given, int64_t first, int64_t count, void *memory)
{
    const profile_job *const job = given;
    double *const logs = job->logs + first;
    const int64_t nodes = job->nodes, exits = job->exits;
    VEC *match = memory, *insertion = match + nodes + 1, *deletion = insertion + nodes + 1;
    VEC loop = {0}, move = {0}, b, c = SET(NOTHING), j = c, n = SET(BASE);
    const VEC none = c, half = SET(UNIT * NUMBER(0.5));
#if NARROW
    const REAL *steps = job->small, *emission = steps + 2 * PROFILE_STEPS * (nodes + 1);
#else
    const REAL *steps = job->steps, *emission = job->emission;
    BITS length = {0};
    int32_t exponent[LANES_BYTES ? LANES_BYTES / 4 : 1] = {0};
#endif
    int64_t longest = 0;
    int seen = 0;
    for (int l = 0; l < LANES; l++) {
        const int64_t bases = job->lengths[first + (l < count ? l : count - 1)];
        longest = bases > longest ? bases : longest;
#if !NARROW /* where loops would be rounded to nothing */
        AT(length, l) = (INT)bases;
        AT(loop, l) = (REAL)NUMBER((double)bases / (bases + 3));
#endif
        AT(move, l) = (REAL)(UNIT * NUMBER(3.0 / (bases + 3)));
    }
    for (int64_t k = 0; k <= nodes; k++)
        match[k] = insertion[k] = deletion[k] = none;
    b = TIMES(n, move);
    for (int64_t i = 0; i < longest && !*job->stop; i++) {
        VEC match_before = none, insertion_before = none, deletion_before = none, now = none, deleted = none, end = none;
        const BITS letter = FORM(letters)(job, first, count, i, &seen);
        for (int64_t k = 1; k <= nodes; k++) {
            const VEC odds = LOOKUP(emission + PROFILE_LETTERS * k, letter);
            const VEC into = PLUS(PLUS(TIMES(match_before, STEP(k, 0)), TIMES(insertion_before, STEP(k, 1))),
                                  PLUS(TIMES(deletion_before, STEP(k, 2)), TIMES(b, STEP(k, 3))));
            deleted = PLUS(TIMES(now, STEP(k, 6)), TIMES(deleted, STEP(k, 7)));
            now = WITH_ODDS(into, odds);
            if (k >= exits)
#if LARGEST /* a deletion is no gain but at the end */
                end = PLUS(end, now);
#else
                end = PLUS(end, PLUS(now, deleted));
#endif
            match_before = match[k];
            insertion_before = insertion[k];
            deletion_before = deletion[k];
            match[k] = now;
            insertion[k] = PLUS(TIMES(match_before, STEP(k, 4)), TIMES(insertion_before, STEP(k, 5)));
            deletion[k] = deleted;
        }
#if LARGEST
        end = PLUS(end, deleted);
#endif
        j = PLUS(TIMES(j, loop), TIMES(end, half));
#if NARROW /* where no letter is left, nothing ends */
        c = j;
#else
        c = IF(length > (BITS)(length * 0 + (INT)i), PLUS(TIMES(c, loop), TIMES(end, half)), c);
#endif
        n = TIMES(n, loop);
        b = TIMES(PLUS(n, j), move);
#if !LOGS
        VEC factor = SET(1);
        int is_large = 0;
        for (int l = 0; l < LANES; l++)
            if (i < AT(length, l) && AT(end, l) > LARGE) {
                AT(factor, l) = DOWN;
                exponent[l] += 64;
                is_large = 1;
            }
        if (is_large) {
            for (int64_t k = 1; k <= nodes; k++) {
                match[k] *= factor;
                insertion[k] *= factor;
                deletion[k] *= factor;
            }
            j *= factor, c *= factor, n *= factor, b *= factor;
        }
#endif
    }
    for (int l = 0; l < LANES && l < count; l++) {
#if NARROW
        logs[l] = (AT(c, l) + AT(move, l) - BASE) / UNIT - 2; /* loops take e^-2 */
        if (AT(c, l) >= INT16_MAX + AT(half, l))
            logs[l] = INFINITY;
#elif LOGS
        logs[l] = (double)AT(c, l) + AT(move, l) + exponent[l];
#else
        logs[l] = log((double)AT(c, l) * AT(move, l)) + exponent[l] * 0.69314718055994530942;
#endif
    }
    job->seen[first] = (uint8_t)seen;
}
#undef UNIT
#undef BASE
#undef LOOKUP
#undef WITH_ODDS
#undef STEP
