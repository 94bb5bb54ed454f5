/* Recipe: alignment of one pair with directions, for one width of lanes. To be included before lanes_columns.h, with
 * what that defines, and with
 *
 *   V_GREATER(a, b)             a mask of lanes with a > b
 *   V_SHIFT(v, x)               each lane takes the value of the one before it, lane 0 takes x
 *   WAVE_PUT(to, m0, m1, m2, m3)    the bits of four masks to WAVE_BYTES bytes
 *   WAVE_BIT(f, l)              which of them is that of mask f and lane l
 *   WAVE_EIGHTS(from, skip, at) of 16 bits: eight neighbouring values for each of lanes 0, 8, 16 .. at from + at[0],
 *                               from + skip + at[8], from + 2 * skip + at[16] ..
 *   WAVE_LOW(a, b), WAVE_HIGH   of 16 bits, if there are such: pairs of the first (last) four values in each eight lanes
 *
 * A lane has `strip` neighbouring rows, and is one column behind the lane above it. So what it needs of its neighbour
 * was made one step ago, and one shift across lanes a step hands it on. Lanes of 16 bits saturate. That no score which
 * matters does so is for the caller to see to. */
#define WAVE_N ((int)(LANES_BYTES / sizeof(LANES_INT)))
#define WAVE_BYTES (WAVE_N * TRACE_BITS / 8)
#define WAVE_LEAST (LANES_BITS == 16 ? INT16_MIN : -(1 << 30))
#define WAVE_PENALTY (LANES_BITS == 16 ? INT16_MIN : -(1 << 29)) /* of rows and columns that are not there */
#define WAVE_STOP 1023 /* steps between two looks whether to stop, less 1 */

typedef struct {
    i64 strip, last_lane, last_row; /* rows of a lane; where the last row of the block is */
    LANES_INT *h, *gap;             /* [strip, lanes], of the column before: H and the gap that goes on to the right */
    LANES_INT *letter, *score;      /* [strip, lanes], letters of the query; scores of a step */
    LANES_INT *peak, *where;        /* [strip, lanes], the largest H of a row and its first step */
    LANES_INT *profile;             /* [letters of the target, stride], and 8; letter 0 is padding */
    i64 stride;
    LANES_INT *backwards;           /* the target, the last letter first, a vector of padding before and behind */
    i32 *places;                    /* of these letters in the profile, where there is one */
} LANES_NAME(wave);

/* Sets up the state left of the first column. `simple`: letters are compared, otherwise they are rows of the profile. */
static LANES_TARGET void LANES_NAME(wave_open)(const trace_job *job, const trace_block *b, int simple,
                                               LANES_NAME(wave) * s)
{
    const i64 strip = trace_strip(b->rows, WAVE_N), places = (strip + 8) * WAVE_N;
    s->strip = strip;
    s->last_lane = (b->rows - 1) / strip;
    s->last_row = (b->rows - 1) % strip;
    s->h = b->memory;
    s->gap = s->h + places;
    s->letter = s->gap + places;
    s->score = s->letter + places;
    s->peak = s->score + places;
    s->where = s->peak + places;
    s->profile = s->where + places;
    s->stride = strip * WAVE_N;
    s->backwards = s->profile + (LANES_ROW + 1) * places;
    s->places = (i32 *)s->backwards;
    for (i64 l = 0; l < WAVE_N; l++)
        for (i64 k = 0; k < strip; k++) {
            i64 row = l * strip + k, place = k * WAVE_N + l;
            i32 h = row < b->rows ? trace_border(job, b->row + row + 1, FREE_QUERY_BEGIN) : WAVE_LEAST / 2;
            i32 gap = h - job->first;
            s->h[place] = (LANES_INT)h;
            s->gap[place] = (LANES_INT)(gap < WAVE_LEAST ? WAVE_LEAST : gap);
            if (simple)
                s->letter[place] = row < b->rows ? b->query[row] : LANES_ROW;
        }
    memset(s->peak, 0, (size_t)(2 * places) * sizeof(LANES_INT));

    if (simple) {
        LANES_INT *to = s->backwards;
        for (i64 l = 0; l < WAVE_N; l++)
            to[l] = to[WAVE_N + b->columns + l] = LANES_ROW + 1;
        for (i64 j = 0; j < b->columns; j++)
            to[WAVE_N + j] = b->target[b->columns - 1 - j];
        return;
    }
    i32 place[LANES_ROW];
    for (i64 row = 0; row < s->stride + 8; row++)
        s->profile[row] = WAVE_PENALTY;
    u32 used = trace_letters(b->target, b->columns);
    for (int n = 1; used; n++, used &= used - 1) {
        int code = lanes_lowest(used);
        LANES_INT *to = s->profile + n * s->stride;
        if (job->profiles)
            for (i64 row = 0; row < b->rows; row++)
                to[row] = b->table[row * LANES_ROW + code];
        else
            for (i64 row = 0; row < b->rows; row++)
                to[row] = job->by_target[code][b->query[row]];
        for (i64 row = b->rows; row < s->stride + 8; row++)
            to[row] = WAVE_PENALTY;
        place[code] = (i32)(n * s->stride);
    }
    for (i64 l = 0; l < WAVE_N; l++)
        s->places[l] = s->places[WAVE_N + b->columns + l] = 0;
    for (i64 j = 0; j < b->columns; j++)
        s->places[WAVE_N + j] = place[b->target[b->columns - 1 - j]];
}

/* The scores of one step: lane l takes those of the letter that it faces from the profile. */
LANES_INLINE LANES_TARGET void LANES_NAME(wave_scores)(const LANES_NAME(wave) * s, const i32 *places)
{
    const i64 strip = s->strip;
#ifdef WAVE_LOW
    if (strip > 2) {
        for (i64 k = 0; k < strip; k += 8) { /* eight rows of each lane become eight rows of lanes, in three rounds */
            V a[8], b[8];
            for (int i = 0; i < 8; i++)
                a[i] = WAVE_EIGHTS(s->profile + k + i * strip, 8 * strip, places + i);
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < 4; i++) {
                    b[2 * i] = WAVE_LOW(a[i], a[i + 4]);
                    b[2 * i + 1] = WAVE_HIGH(a[i], a[i + 4]);
                }
                for (int i = 0; i < 8; i++)
                    a[i] = b[i];
            }
            for (int i = 0; i < 8; i++)
                V_STORE(a[i], s->score + (k + i) * WAVE_N);
        }
        return;
    }
#endif
    for (i64 l = 0; l < WAVE_N; l++) {
        const LANES_INT *from = s->profile + places[l] + l * strip;
        for (i64 k = 0; k < strip; k++)
            s->score[k * WAVE_N + l] = from[k];
    }
}

/* `simple`, `peaks` and `directed` are constants: what a letter scores, and what is kept. */
LANES_INLINE LANES_TARGET void LANES_NAME(wave_steps)(const trace_job *job, const trace_block *b, const LANES_NAME(wave) * s,
                                                      const int simple, const int peaks, const int directed)
{
    const i64 strip = s->strip, columns = b->columns, last = s->last_lane, steps = columns + last;
    const int local = job->flags & LANES_LOCAL;
    const V first = V_SPLAT((LANES_INT)job->first), extend = V_SPLAT((LANES_INT)job->extend);
    const V match = V_SPLAT((LANES_INT)job->match), mismatch = V_SPLAT((LANES_INT)job->mismatch);
    const V floor = V_SPLAT((LANES_INT)(local ? 0 : WAVE_LEAST));
    LANES_INT numbers[LANES_MOST], feet[LANES_MOST];
    for (int l = 0; l < WAVE_N; l++)
        numbers[l] = (LANES_INT)l;
    const V lane = V_LOAD(numbers);
    V foot_h = V_LOAD(s->h + (strip - 1) * WAVE_N), foot_gap = floor;
    V before = V_SHIFT(foot_h, (LANES_INT)b->corner);
    u8 *directions = b->directions;

    for (i64 step = 0; step < steps; step++) {
        const i64 letters = columns - 1 - step + WAVE_N; /* place of that of lane 0 */
        const V facing = simple ? V_LOAD(s->backwards + letters) : floor, now = V_SPLAT((LANES_INT)step);
        const trace_line *top = b->line + (step < columns ? step : columns - 1);
        const int waiting = !local && step < last; /* for their first column: these keep their border */
        const V_MASK waits = V_GREATER(lane, now);
        V diagonal = before, down = V_SHIFT(foot_gap, (LANES_INT)top->gap);
        if ((step & WAVE_STOP) == WAVE_STOP && *job->stop)
            return;
        before = V_SHIFT(foot_h, (LANES_INT)top->h);
        if (!simple)
            LANES_NAME(wave_scores)(s, s->places + letters);
        for (i64 k = 0; k < strip; k++) {
            LANES_INT *at_h = s->h + k * WAVE_N, *at_gap = s->gap + k * WAVE_N;
            const V old = V_LOAD(at_h), along = V_LOAD(at_gap);
            V score;
            if (simple)
                score = V_ONLY(mismatch, V_EQUAL(V_LOAD(s->letter + k * WAVE_N), facing), match);
            else
                score = V_LOAD(s->score + k * WAVE_N);
            const V paired = V_MAX(V_ADD(diagonal, score), floor);
            const V either = V_MAX(paired, down);
            V here = V_MAX(either, along);
            /* No gap of letters of the query follows upon another one: that is never better than one longer gap. */
            const V opened = V_SUB(V_MAX(paired, along), first), longer = V_SUB(down, extend);
            const V beside = V_SUB(here, first), farther = V_SUB(along, extend);
            V right = V_MAX(beside, farther);
            if (directed) {
                WAVE_PUT(directions, V_GREATER(down, paired), V_GREATER(along, either), V_GREATER(longer, opened),
                         V_GREATER(farther, beside));
                directions += WAVE_BYTES;
            }
            down = V_MAX(opened, longer);
            if (peaks) {
                LANES_INT *at_peak = s->peak + k * WAVE_N, *at_where = s->where + k * WAVE_N;
                const V peak = V_LOAD(at_peak);
                V_STORE(V_ONLY(V_LOAD(at_where), V_GREATER(here, peak), now), at_where);
                V_STORE(V_MAX(here, peak), at_peak);
            } else if (waiting) {
                here = V_ONLY(here, waits, old);
                right = V_ONLY(right, waits, along);
            }
            V_STORE(here, at_h);
            V_STORE(right, at_gap);
            diagonal = old;
        }
        foot_h = V_LOAD(s->h + (strip - 1) * WAVE_N);
        foot_gap = down;
        if (step >= last) {
            V_STORE(foot_gap, feet);
            trace_line *foot = b->line + (step - last);
            foot->h = s->h[s->last_row * WAVE_N + last];
            foot->gap = feet[last]; /* of use where the block is full: then the last row is the last of its lane */
        }
        if (step >= columns - 1 && b->right) {
            i64 l = step - (columns - 1);
            for (i64 k = 0; k < strip && l * strip + k < b->rows; k++)
                b->right[l * strip + k] = s->h[k * WAVE_N + l];
        }
    }
}

/* The first row with a larger H than any before has the end of a better alignment. Beyond the last column and row no H
 * is larger, and what is as large comes later. */
static void LANES_NAME(wave_peaks)(const trace_block *b, const LANES_NAME(wave) * s)
{
    for (i64 l = 0; l < WAVE_N; l++)
        for (i64 k = 0; k < s->strip && l * s->strip + k < b->rows; k++) {
            i32 peak = s->peak[k * WAVE_N + l];
            if (peak > b->best->score) {
                i64 step = LANES_BITS == 16 ? (u16)s->where[k * WAVE_N + l] : s->where[k * WAVE_N + l];
                *b->best = (trace_end){b->row + l * s->strip + k + 1, step - l + 1, peak};
            }
        }
}

static LANES_TARGET void LANES_NAME(wave_run)(const trace_job *job, const trace_block *b)
{
    const int simple = !(b->letters & ~job->simple) && !job->profiles;
    LANES_NAME(wave) s;
    LANES_NAME(wave_open)(job, b, simple, &s);
    if (b->best && b->directions)
        simple ? LANES_NAME(wave_steps)(job, b, &s, 1, 1, 1) : LANES_NAME(wave_steps)(job, b, &s, 0, 1, 1);
    else if (b->best)
        simple ? LANES_NAME(wave_steps)(job, b, &s, 1, 1, 0) : LANES_NAME(wave_steps)(job, b, &s, 0, 1, 0);
    else if (b->directions)
        simple ? LANES_NAME(wave_steps)(job, b, &s, 1, 0, 1) : LANES_NAME(wave_steps)(job, b, &s, 0, 0, 1);
    else
        simple ? LANES_NAME(wave_steps)(job, b, &s, 1, 0, 0) : LANES_NAME(wave_steps)(job, b, &s, 0, 0, 0);
    if (b->best)
        LANES_NAME(wave_peaks)(b, &s);
}

/* Ties: a pair of letters before a gap, one of the query before one of the target, and a short gap before a long one. */
static int LANES_NAME(wave_walk)(const trace_job *job, const trace_block *b, trace_place *p, trace_runs *runs, i64 start)
{
    const i64 strip = trace_strip(b->rows, WAVE_N);
    const int local = job->flags & LANES_LOCAL;
    i64 i = p->i - b->row - 1, j = p->j - 1; /* of the block, from 0 */
    i64 l = i / strip, k = i % strip;
    i32 rest = p->rest;
    int came = p->came;
#define WAVE_HAS(f) (bits[WAVE_BIT(f, l) >> 3] >> (WAVE_BIT(f, l) & 7) & 1)
    while (i >= 0 && j >= 0) {
        const u8 *bits = b->directions + ((j + l) * strip + k) * WAVE_BYTES;
        if (came != TRACE_DIAGONAL) {
            int goes_on = came == TRACE_INSERTION ? WAVE_HAS(DOWN_GOES_ON) : WAVE_HAS(RIGHT_GOES_ON);
            rest += goes_on ? job->extend : job->first;
            came = goes_on ? came : TRACE_DIAGONAL;
        }
        if (came == TRACE_DIAGONAL) {
            if (local && rest <= 0) {
                came = TRACE_ENDED;
                break;
            }
            came = WAVE_HAS(FROM_LEFT) ? TRACE_DELETION : WAVE_HAS(FROM_ABOVE) ? TRACE_INSERTION : TRACE_DIAGONAL;
        }
        if (trace_push(runs, start, came == TRACE_DIAGONAL    ? CIGAR_MATCH
                                    : came == TRACE_INSERTION ? CIGAR_INSERTION
                                                              : CIGAR_DELETION, 1))
            return -1;
        if (came == TRACE_DIAGONAL && local)
            rest -= trace_scores(job, b, i)[b->target[j]];
        j -= came != TRACE_INSERTION;
        if (came != TRACE_DELETION) {
            i--;
            if (--k < 0) {
                k = strip - 1;
                l--;
            }
        }
    }
#undef WAVE_HAS
    *p = (trace_place){b->row + i + 1, j + 1, rest, came};
    return 0;
}

static const trace_kernel LANES_NAME(trace) = {WAVE_N, LANES_NAME(wave_run), LANES_NAME(wave_walk)};

#undef WAVE_N
#undef WAVE_BYTES
#undef WAVE_LEAST
#undef WAVE_PENALTY
#undef WAVE_STOP
#undef WAVE_PUT
#undef WAVE_EIGHTS
#undef WAVE_LOW
#undef WAVE_HIGH
#undef WAVE_BIT
#undef V_GREATER
#undef V_SHIFT
