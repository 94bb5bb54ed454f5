/* Alignment of one pair with directions (trace.h) for one width of lanes, KIND, of which numbers.h is included.
 *
 * A lane has `strip` neighbouring rows, and is one column behind the lane above it. So what it needs of its neighbour
 * was made one step ago, and one shift across lanes a step hands it on. Lanes of 16 bits saturate. That no score which
 * matters does so is for the caller to see to. */
#define WAVE_BYTES ((LANES * TRACE_BITS + 7) / 8)
#define WAVE_PENALTY (sizeof(REAL) == 4 ? LEAST / 2 : LEAST) /* of rows and columns that are not there */
#define WAVE_STOP 1023 /* steps between two looks whether to stop, less 1 */

typedef struct {
    i64 strip, last_lane, last_row; /* rows of a lane; where the last row of the block is */
    REAL *h, *gap;             /* [strip, lanes], of the column before: H and the gap that goes on to the right */
    REAL *letter, *score;      /* [strip, lanes], letters of the query; scores of a step */
    REAL *peak, *where;        /* [strip, lanes], the largest H of a row and its first step */
    REAL *profile;             /* [letters of the target, stride], and 8; letter 0 is padding */
    i64 stride;
    REAL *backwards;           /* the target, the last letter first, a vector of padding before and behind */
    i32 *places;                    /* of these letters in the profile, where there is one */
} FORM(wave);

/* Sets up the state left of the first column. `simple`: letters are compared, otherwise they are rows of the profile. */
static LANES_TARGET void FORM(wave_open)(const trace_job *job, const trace_block *b, int simple,
                                               FORM(wave) * s)
{
    const i64 strip = trace_strip(b->rows, LANES), places = (strip + 8) * LANES;
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
    s->stride = strip * LANES;
    s->backwards = s->profile + (LANES_ROW + 1) * places;
    s->places = (i32 *)s->backwards;
    for (i64 l = 0; l < LANES; l++)
        for (i64 k = 0; k < strip; k++) {
            i64 row = l * strip + k, place = k * LANES + l;
            i32 h = row < b->rows ? trace_border(job, b->row + row + 1, FREE_QUERY_BEGIN) : LEAST / 2;
            i32 gap = h - job->first;
            s->h[place] = (REAL)h;
            s->gap[place] = (REAL)(gap < LEAST ? LEAST : gap);
            if (simple)
                s->letter[place] = row < b->rows ? b->query[row] : LANES_ROW;
        }
    memset(s->peak, 0, (size_t)(2 * places) * sizeof(REAL));

    if (simple) {
        REAL *to = s->backwards;
        for (i64 l = 0; l < LANES; l++)
            to[l] = to[LANES + b->columns + l] = LANES_ROW + 1;
        for (i64 j = 0; j < b->columns; j++)
            to[LANES + j] = b->target[b->columns - 1 - j];
        return;
    }
    i32 place[LANES_ROW];
    for (i64 row = 0; row < s->stride + 8; row++)
        s->profile[row] = WAVE_PENALTY;
    u32 used = trace_letters(b->target, b->columns);
    for (int n = 1; used; n++, used &= used - 1) {
        int code = lanes_lowest(used);
        REAL *to = s->profile + n * s->stride;
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
    for (i64 l = 0; l < LANES; l++)
        s->places[l] = s->places[LANES + b->columns + l] = 0;
    for (i64 j = 0; j < b->columns; j++)
        s->places[LANES + j] = place[b->target[b->columns - 1 - j]];
}

/* The scores of one step: lane l takes those of the letter that it faces from the profile. */
LANES_ALWAYS LANES_TARGET void FORM(wave_scores)(const FORM(wave) * s, const i32 *places)
{
    const i64 strip = s->strip;
#if LANES_BYTES
    if (sizeof(REAL) == 2 && strip > 2) {
        for (i64 k = 0; k < strip; k += 8)
            ISA_(transpose)((const i16 *)s->profile + k, strip, places, (i16 *)s->score + k * LANES);
        return;
    }
#endif
    for (i64 l = 0; l < LANES; l++) {
        const REAL *from = s->profile + places[l] + l * strip;
        for (i64 k = 0; k < strip; k++)
            s->score[k * LANES + l] = from[k];
    }
}

/* `simple`, `peaks` and `directed` are constants: what a letter scores, and what is kept. */
LANES_ALWAYS LANES_TARGET void FORM(wave_steps)(const trace_job *job, const trace_block *b, const FORM(wave) * s,
                                                      const int simple, const int peaks, const int directed)
{
    const i64 strip = s->strip, columns = b->columns, last = s->last_lane, steps = columns + last;
    const int local = job->flags & LANES_LOCAL;
    const VEC first = SET((REAL)job->first), extend = SET((REAL)job->extend);
    const VEC match = SET((REAL)job->match), mismatch = SET((REAL)job->mismatch);
    const VEC floor = SET((REAL)(local ? 0 : LEAST));
    REAL numbers[LANES_MOST], feet[LANES_MOST];
    for (int l = 0; l < LANES; l++)
        numbers[l] = (REAL)l;
    const VEC lane = LOAD(numbers);
    VEC foot_h = LOAD(s->h + (strip - 1) * LANES), foot_gap = floor;
    VEC before = SHIFT(foot_h, (REAL)b->corner);
    u8 *directions = b->directions;

    for (i64 step = 0; step < steps; step++) {
        const i64 letters = columns - 1 - step + LANES; /* place of that of lane 0 */
        const VEC facing = simple ? LOAD(s->backwards + letters) : floor, now = SET((REAL)step);
        const trace_line *top = b->line + (step < columns ? step : columns - 1);
        const int waiting = !local && step < last; /* for their first column: these keep their border */
        const MASK waits = GREATER(lane, now);
        VEC diagonal = before, down = SHIFT(foot_gap, (REAL)top->gap);
        if ((step & WAVE_STOP) == WAVE_STOP && *job->stop)
            return;
        before = SHIFT(foot_h, (REAL)top->h);
        if (!simple)
            FORM(wave_scores)(s, s->places + letters);
        for (i64 k = 0; k < strip; k++) {
            REAL *at_h = s->h + k * LANES, *at_gap = s->gap + k * LANES;
            const VEC old = LOAD(at_h), along = LOAD(at_gap);
            VEC score;
            if (simple)
                score = CHOOSE(EQUAL(LOAD(s->letter + k * LANES), facing), match, mismatch);
            else
                score = LOAD(s->score + k * LANES);
            const VEC paired = LARGER(ADD(diagonal, score), floor);
            const VEC either = LARGER(paired, down);
            VEC here = LARGER(either, along);
            /* No gap of letters of the query follows upon another one: that is never better than one longer gap. */
            const VEC opened = SUBTRACT(LARGER(paired, along), first), longer = SUBTRACT(down, extend);
            const VEC beside = SUBTRACT(here, first), farther = SUBTRACT(along, extend);
            VEC right = LARGER(beside, farther);
            if (directed) {
                PUT_MASKS(directions, GREATER(down, paired), GREATER(along, either), GREATER(longer, opened),
                         GREATER(farther, beside));
                directions += WAVE_BYTES;
            }
            down = LARGER(opened, longer);
            if (peaks) {
                REAL *at_peak = s->peak + k * LANES, *at_where = s->where + k * LANES;
                const VEC peak = LOAD(at_peak);
                STORE(CHOOSE(GREATER(here, peak), now, LOAD(at_where)), at_where);
                STORE(LARGER(here, peak), at_peak);
            } else if (waiting) {
                here = CHOOSE(waits, old, here);
                right = CHOOSE(waits, along, right);
            }
            STORE(here, at_h);
            STORE(right, at_gap);
            diagonal = old;
        }
        foot_h = LOAD(s->h + (strip - 1) * LANES);
        foot_gap = down;
        if (step >= last) {
            STORE(foot_gap, feet);
            trace_line *foot = b->line + (step - last);
            foot->h = s->h[s->last_row * LANES + last];
            foot->gap = feet[last]; /* of use where the block is full: then the last row is the last of its lane */
        }
        if (step >= columns - 1 && b->right) {
            i64 l = step - (columns - 1);
            for (i64 k = 0; k < strip && l * strip + k < b->rows; k++)
                b->right[l * strip + k] = s->h[k * LANES + l];
        }
    }
}

/* The first row with a larger H than any before has the end of a better alignment. Beyond the last column and row no H
 * is larger, and what is as large comes later. */
static void FORM(wave_peaks)(const trace_block *b, const FORM(wave) * s)
{
    for (i64 l = 0; l < LANES; l++)
        for (i64 k = 0; k < s->strip && l * s->strip + k < b->rows; k++) {
            i32 peak = s->peak[k * LANES + l];
            if (peak > b->best->score) {
                i64 step = sizeof(REAL) == 2 ? (u16)s->where[k * LANES + l] : s->where[k * LANES + l];
                *b->best = (trace_end){b->row + l * s->strip + k + 1, step - l + 1, peak};
            }
        }
}

static LANES_TARGET void FORM(wave_run)(const trace_job *job, const trace_block *b)
{
    const int simple = !(b->letters & ~job->simple) && !job->profiles;
    FORM(wave) s;
    FORM(wave_open)(job, b, simple, &s);
    if (b->best && b->directions)
        simple ? FORM(wave_steps)(job, b, &s, 1, 1, 1) : FORM(wave_steps)(job, b, &s, 0, 1, 1);
    else if (b->best)
        simple ? FORM(wave_steps)(job, b, &s, 1, 1, 0) : FORM(wave_steps)(job, b, &s, 0, 1, 0);
    else if (b->directions)
        simple ? FORM(wave_steps)(job, b, &s, 1, 0, 1) : FORM(wave_steps)(job, b, &s, 0, 0, 1);
    else
        simple ? FORM(wave_steps)(job, b, &s, 1, 0, 0) : FORM(wave_steps)(job, b, &s, 0, 0, 0);
    if (b->best)
        FORM(wave_peaks)(b, &s);
}

/* Ties: a pair of letters before a gap, one of the query before one of the target, and a short gap before a long one. */
static int FORM(wave_walk)(const trace_job *job, const trace_block *b, trace_place *p, trace_runs *runs, i64 start)
{
    const i64 strip = trace_strip(b->rows, LANES);
    const int local = job->flags & LANES_LOCAL;
    i64 i = p->i - b->row - 1, j = p->j - 1; /* of the block, from 0 */
    i64 l = i / strip, k = i % strip;
    i32 rest = p->rest;
    int came = p->came;
#define WAVE_HAS(f) (bits[MASK_BIT(f, l) >> 3] >> (MASK_BIT(f, l) & 7) & 1)
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

static const trace_kernel FORM(trace) = {LANES, FORM(wave_run), FORM(wave_walk)};

#undef LANES
#undef WAVE_BYTES
#undef WAVE_PENALTY
#undef WAVE_STOP
