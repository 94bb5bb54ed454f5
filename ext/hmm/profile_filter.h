/* What goes before the lanes of profile_lanes.h, included in the form of their sums: is there a good stretch without gaps,
 * and is it only the composition? */
#define FILTER_BAND 4 /* diagonals in registers */
#define FILTER_LANES (LANES_BYTES ? LANES_BYTES : 1)

/* Odds of letters in the order of the filter: node l * stripes + q + 1 in lane l of vector q. As many vectors as a band
 * begins with stand behind the last again. */
static void ISA_(filter_order)(const profile_job *job, int64_t stripes, int64_t size, float *to)
{
    for (int letter = 0; letter < PROFILE_LETTERS; letter++)
        for (int64_t q = 0; q < size; q++)
            for (int64_t l = 0, node = q % stripes + 1; l < FILTER_LANES; l++, node += stripes)
                *to++ = node <= job->nodes ? job->emission[node * PROFILE_LETTERS + letter] : -INFINITY;
}

/* The same in units of which 128 are enough. */
LANES_TARGET static void ISA_(filter_scores)(const float *restrict odds, float enough, int64_t count, int8_t *restrict to)
{
    const float scale = 128 / enough;
    for (int64_t i = 0; i < count; i++) {
        const float score = odds[i] * scale, low = score > -128 ? score : -128, both = low < 127 ? low : 127;
        to[i] = (int8_t)((int)(both + 128.5f) - 128);
    }
}

/* A letter further on all diagonals of a band. One of them, or none, goes from the last vector on to the first. */
#define FILTER_STEP(turned)                                                                     \
    do {                                                                                        \
        const int32_t letter = rows[*text++];                                                   \
        const ISA_(I8) *row = (const ISA_(I8) *)(vector + letter);                              \
        vector += FILTER_LANES;                                                                 \
        seen |= letter;                                                                         \
        if (turned < FILTER_BAND)                                                               \
            sums[turned % FILTER_BAND] = ISA_(moved)(sums[turned % FILTER_BAND], none);         \
        for (int d = 0; d < FILTER_BAND; d++)                                                   \
            sums[d] = ADD_I8(sums[d], row[d]);                                                  \
        signs &= sums[0] & sums[1];                                                             \
        more &= sums[2] & sums[3];                                                              \
    } while (0)

/* HMMER's first filter (MSV), of one stretch: V(i, k) = max(V(i-1, k-1) + e(k), -128), which is where sums in 8 bits end.
 * `logs` become 1 where a V is 0 or more, so that no maximum is kept but signs. */
LANES_TARGET static void ISA_(filter)(const void *given, int64_t first, int64_t count, void *memory)
{
    const profile_job *const job = given;
    const int64_t whole = (job->nodes + FILTER_LANES - 1) / FILTER_LANES;
    const int64_t stripes = whole > FILTER_BAND ? whole : FILTER_BAND, last = stripes - FILTER_BAND;
    const ISA_(I8) none = (ISA_(I8)){0} + (int8_t)-128;
    int64_t size = 8;
    while (size < stripes + FILTER_BAND - 1) /* a power of two, so that all bits of codes are seen in offsets of rows */
        size *= 2;
    const int64_t letters = PROFILE_LETTERS * size * FILTER_LANES;
    float *made = memory, *odds = made + 16; /* what the scores are for */
    int8_t *scores = (int8_t *)(odds + letters);
    int32_t rows[256], seen = 0;
    for (int k = 0; k < 256; k++)
        rows[k] = job->code[k] * (int32_t)(size * FILTER_LANES);
    for (int64_t s = first; s < first + count && !*job->stop; s++) {
        const uint8_t *const begin = job->text + job->begins[s], *const end = begin + job->lengths[s], *text;
        ISA_(I8) signs = none, more = none;
        int passes = 0;
        if (*made == 0)
            ISA_(filter_order)(job, stripes, size, odds);
        if (*made != job->enough[s])
            ISA_(filter_scores)(odds, *made = job->enough[s], letters, scores);
        for (int64_t band = 0; band < stripes; band += FILTER_BAND) {
            ISA_(I8) sums[FILTER_BAND] = {none, none, none, none};
            const int8_t *vector = scores + (band < last ? band : last) * FILTER_LANES;
            for (text = begin; text < end; vector = scores) {
                if (vector == scores)
                    FILTER_STEP(0);
                while (vector <= scores + last * FILTER_LANES && text < end)
                    FILTER_STEP(FILTER_BAND);
                if (text < end)
                    FILTER_STEP(3);
                if (text < end)
                    FILTER_STEP(2);
                if (text < end)
                    FILTER_STEP(1);
            }
        }
        signs &= more;
        for (int l = 0; l < FILTER_LANES; l++)
            passes |= ((int8_t *)&signs)[l] >= 0;
        job->logs[s] = passes;
    }
    job->seen[first] = (uint8_t)(seen / (size * FILTER_LANES));
}

/* How much more probable letters are where the composition of the model may take turns with the usual one, as HMMER asks:
 * a Markov model of two states, the transitions and the start in `steps`, the odds of letters in `emission` of no node. */
LANES_TARGET static void ISA_(composition)(const void *given, int64_t first, int64_t count, void *memory)
{
    const profile_job *const job = given;
    const float *t = job->steps;
    VEC usual = SET(t[4]), model = SET(t[5]), exponent = SET(0);
    int64_t longest = 0;
    int seen = 0;
    (void)memory;
    for (int64_t s = first; s < first + count; s++)
        longest = job->lengths[s] > longest ? job->lengths[s] : longest;
    for (int64_t i = 0; i < longest && !*job->stop; i++) {
        const BITS letter = FORM(letters)(job, first, count, i, &seen);
        const VEC was = usual, odds = model * ISA_(lookup_single)(job->emission, letter);
        usual = was * SET(t[0]) + odds * SET(t[2]);
        model = was * SET(t[1]) + odds * SET(t[3]);
        if (i % 16 == 15) {
            const BITS large = usual + model > SET(0x1p40f);
            exponent += IF(large, SET(64), SET(0));
            usual *= IF(large, SET(0x1p-64f), SET(1));
            model *= IF(large, SET(0x1p-64f), SET(1));
        }
    }
    for (int l = 0; l < LANES && l < count; l++)
        job->logs[first + l] = log((double)AT(usual, l) + AT(model, l)) + AT(exponent, l) * 0.69314718055994530942;
    job->seen[first] = (uint8_t)seen;
}
