/* The best stretches without gaps, in thirds of a bit (profile.h): M(k) = e(k) max(M(k-1), B), J = E / 2, B = J move. */
#define FILTER_LANES (LANES_BYTES ? LANES_BYTES : 1)
#define FILTER_UNIT (0.69314718055994530942 / 3)
#define FILTER_BASE 62 /* HMMER's 190 of 255 */

static int ISA_(thirds)(double logs)
{
    return (int)floor(logs / FILTER_UNIT + 0.5);
}

LANES_TARGET static void ISA_(filter)(const profile_job *job, int64_t first, int64_t count, void *memory, double *logs)
{
    const int64_t nodes = job->nodes, *at = job->offsets + first;
    const int8_t *scores = job->bytes; /* copied, as what is written to rows might lie anywhere else */
    const int is_small = job->is_small;
    ISA_(I8) *match = memory, into = {0}, best, begin;
    const ISA_(I8) zero = {0}, none = zero + (int8_t)-128, half = zero + (int8_t)-3;
    const ISA_(I8) base = zero + (int8_t)FILTER_BASE;
    int64_t longest = 0;
    for (int l = 0; l < FILTER_LANES; l++) {
        const int64_t bases = at[l < count ? l + 1 : count] - at[l < count ? l : count - 1];
        const int cost = ISA_(thirds)(log(2.0 / ((double)nodes * (nodes + 1)))) + ISA_(thirds)(log(3.0 / (bases + 3)));
        longest = bases > longest ? bases : longest;
        ((int8_t *)&into)[l] = (int8_t)(cost < -128 ? -128 : cost);
    }
    for (int64_t k = 0; k <= nodes; k++)
        match[k] = none;
    best = none;
    begin = ADD_I8(base, into);
    for (int64_t i = 0; i < longest && !*job->stop; i++) {
        ISA_(I8) letter = zero, before = none, end = none;
        for (int l = 0; l < FILTER_LANES; l++) {
            const int64_t *of = at + (l < count ? l : count - 1);
            ((int8_t *)&letter)[l] = i < of[1] - of[0] ? (int8_t)job->codes[of[0] + i] : PROFILE_LETTERS - 1;
        }
        for (int64_t k = 1; k <= nodes; k++) {
            const ISA_(I8) score = ISA_(lookup_byte)(scores + PROFILE_LETTERS * k, is_small, letter);
            const ISA_(I8) larger = MAX_I8(before, begin), now = ADD_I8(larger, score);
            before = match[k];
            match[k] = now;
            end = MAX_I8(end, now);
        }
        end = ADD_I8(end, half);
        best = MAX_I8(best, end);
        begin = MAX_I8(base, best);
        begin = ADD_I8(begin, into);
    }
    for (int l = 0; l < FILTER_LANES && l < count; l++) {
        const int found = ((int8_t *)&best)[l], move = ISA_(thirds)(log(3.0 / (at[l + 1] - at[l] + 3)));
        logs[l] = found >= 124 ? INFINITY : (found + move - FILTER_BASE) * FILTER_UNIT - 3; /* loops take e^-3 */
    }
}
