/* The best stretch without gaps, in thirds of a bit (profile.h): V(i, k) = max(V(i-1, k-1) + e(k), B), and B is -128, where
 * sums in 8 bits end. A second stretch matters only if the first one is good enough to pass, so that it need not be known.
 * Node q + 1 + l * stripes lies in lane l of stripe q: the node before it is in the stripe before. */
#define FILTER_UNIT (0.69314718055994530942 / 3)
#define FILTER_PARTS (LANES_BYTES ? PROFILE_STRIPE / LANES_BYTES : PROFILE_STRIPE) /* vectors of a stripe */

static int ISA_(thirds)(double logs)
{
    return (int)floor(logs / FILTER_UNIT + 0.5);
}

LANES_TARGET static void ISA_(filter)(const profile_job *job, int64_t first, int64_t count, void *memory, double *logs)
{
    const int64_t nodes = job->nodes, *at = job->offsets + first, stripes = (nodes + PROFILE_STRIPE - 1) / PROFILE_STRIPE;
    const int64_t size = stripes * FILTER_PARTS;
    const ISA_(I8) none = (ISA_(I8)){0} + (int8_t)-128;
    ISA_(I8) *rows = memory, best[PROFILE_TOGETHER][FILTER_PARTS], before[FILTER_PARTS], most[FILTER_PARTS];
    int64_t longest = 0;
    memset(rows, -128, sizeof *rows * PROFILE_TOGETHER * size);
    for (int s = 0; s < PROFILE_TOGETHER; s++) {
        longest = s < count && at[s + 1] - at[s] > longest ? at[s + 1] - at[s] : longest;
        for (int p = 0; p < FILTER_PARTS; p++)
            best[s][p] = none;
    }
    for (int64_t i = 0; i < longest && !*job->stop; i++)
        for (int s = 0; s < PROFILE_TOGETHER && s < count; s++) { /* one waits while others go on */
            const int letter = i < at[s + 1] - at[s] ? job->codes[at[s] + i] : PROFILE_LETTERS - 1;
            const ISA_(I8) *scores = (const ISA_(I8) *)(job->bytes + letter * stripes * PROFILE_STRIPE);
            ISA_(I8) *row = rows + s * size, *last = row + size - FILTER_PARTS;
            for (int p = 0; p < FILTER_PARTS; p++) {
                before[p] = ISA_(moved)(last[p], p ? last[p - 1] : none);
                most[p] = best[s][p];
            }
            for (int64_t q = 0; q < size; q += FILTER_PARTS)
                for (int p = 0; p < FILTER_PARTS; p++) {
                    const ISA_(I8) now = ADD_I8(before[p], scores[q + p]);
                    before[p] = row[q + p];
                    row[q + p] = now;
                    most[p] = MAX_I8(most[p], now);
                }
            for (int p = 0; p < FILTER_PARTS; p++)
                best[s][p] = most[p];
        }
    for (int s = 0; s < PROFILE_TOGETHER && s < count; s++) {
        const int move = ISA_(thirds)(log(3.0 / (at[s + 1] - at[s] + 3)));
        int found = -128;
        for (int l = 0; l < PROFILE_STRIPE; l++)
            found = ((int8_t *)best[s])[l] > found ? ((int8_t *)best[s])[l] : found;
        /* It begins at the cost of `move` and of any node, and ends at 3. */
        const int score = found + 128 + move + ISA_(thirds)(log(2.0 / ((double)nodes * (nodes + 1)))) - 3;
        logs[s] = score > 0 || found == 127 ? INFINITY : (score + move) * FILTER_UNIT - 3; /* loops take e^-3 */
    }
}
