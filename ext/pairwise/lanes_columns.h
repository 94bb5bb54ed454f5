/* Scores of pairs (lanes.h) for one width of lanes, KIND, of which numbers.h is included. Sums saturate, but for 32 bits.
 *
 * The targets of a group are done in strips of LANES_COLUMNS columns. For each strip the scores of every letter against
 * these columns are looked up once. */
#define LANES_LARGEST (sizeof(REAL) == 1 ? INT8_MAX : sizeof(REAL) == 2 ? INT16_MAX : INT32_MAX)
#define LANES_PENALTY (sizeof(REAL) == 4 ? LEAST / 2 : LEAST) /* of padding */
#define CELL_ADD ADD
#define CELL_SUBTRACT SUBTRACT
#define CELL_MAX LARGER
#define CELL_FLOOR(h) (sizeof(REAL) == 4 ? LARGER(h, floor) : (h))

/* What the queries of a group have in common. */
typedef struct {
    u8 *codes;         /* [columns, LANES], padded to whole strips */
    REAL *scores; /* [rows of the table, LANES_COLUMNS, LANES] of a strip */
    REAL *before; /* [rows, 2, LANES]: `left` and `along` for the next strip */
    REAL *letter; /* own: [rows, LANES], codes of the queries */
    REAL *ending; /* own: [rows - even, LANES], -1 where a query ends with this row */
    i64 even;          /* own: rows before any query ends; shared: rows */
    i64 rows, columns;
    i64 shortest; /* target */
    i64 length[LANES_MOST];
    u32 used; /* own: which codes are letters of the queries */
} FORM(space);

static void FORM(close)(FORM(space) *space)
{
    free(space->codes);
    free(space->scores);
    free(space->before);
    free(space->letter);
    free(space->ending);
}

/* Memory for up to `rows` rows, and the targets side by side. */
static int FORM(open)(const lanes_job *job, const lanes_group *group, i64 rows, FORM(space) *space)
{
    memset(space, 0, sizeof *space);
    space->shortest = INT64_MAX;
    for (int l = 0; l < group->n; l++) {
        i64 length = space->length[l] = lanes_length(job->target_start, group->target[l]);
        space->columns = length > space->columns ? length : space->columns;
        space->shortest = length < space->shortest ? length : space->shortest;
    }
    i64 columns = (space->columns + LANES_COLUMNS - 1) / LANES_COLUMNS * LANES_COLUMNS;
    i64 table = job->profiles ? rows : LANES_ROW;
    space->rows = space->even = rows;
    space->codes = lanes_memory((size_t)columns * LANES + LANES_MOST);
    space->scores = lanes_memory((size_t)table * LANES_COLUMNS * sizeof(VEC));
    space->before = lanes_memory((size_t)rows * 2 * sizeof(VEC));
    if (!space->codes || !space->scores || !space->before)
        return -1;
    memset(space->codes, LANES_PAD, (size_t)columns * LANES + LANES_MOST);
    for (int l = 0; l < group->n; l++) {
        const u8 *from = job->targets + job->target_start[group->target[l]];
        for (i64 j = 0; j < space->length[l]; j++)
            space->codes[j * LANES + l] = from[j];
    }
    return 0;
}

/* A row of the table against the columns of a strip. */
LANES_ALWAYS LANES_TARGET void FORM(look_up)(const lanes_job *job, i64 row, const u8 *codes, REAL *to)
{
    const u8 *low = job->table_low + row * LANES_ROW, *high = job->table_high + row * LANES_ROW;
    u8 bytes[LANES_MOST], more[LANES_MOST];
    for (int c = 0; c < LANES_COLUMNS; c++, codes += LANES, to += LANES) {
        ISA_(lookup_bytes)(low, codes, sizeof(REAL) == 1 ? (u8 *)to : bytes);
        if (sizeof(REAL) == 1)
            continue;
        if (job->wide) {
            ISA_(lookup_bytes)(high, codes, more);
            for (int l = 0; l < LANES; l++)
                to[l] = (REAL)(i16)(bytes[l] | more[l] << 8);
        } else {
            for (int l = 0; l < LANES; l++)
                to[l] = (i8)bytes[l];
        }
    }
}

LANES_ALWAYS REAL FORM(clamp)(i64 value)
{
    return (REAL)(value < LEAST ? LEAST : value > LANES_LARGEST ? LANES_LARGEST : value);
}

#define LANES_NO_KEEP(c, h)
#define LANES_KEEP_END(c, h) end[c] = IF(ends, h, end[c])
#define LANES_SCORE_SHARED(c) LOAD(scores + (c)*LANES)
#define LANES_SCORE_OWN(c) score[c]

/* All strips, for one query or one of each lane. The best score of each lane goes to `best`, -1 where it overflowed to
 * `over`. Returns 1 if it was stopped. */
LANES_ALWAYS LANES_TARGET int FORM(strips)(const lanes_job *job, const lanes_group *group,
                                                 const FORM(space) *space, const u8 *query, i64 table, int own,
                                                 REAL *result, REAL *peak_of)
{
    const int flags = job->flags, local = flags & LANES_LOCAL;
    const i64 rows = space->rows, columns = space->columns, even = own ? space->even : rows;
    const i32 base = group->base;
    const VEC first = SET(FORM(clamp)(job->first)), extend = SET(FORM(clamp)(job->extend));
    const VEC floor = SET(FORM(clamp)(local ? base : LEAST));
    VEC best = SET(LEAST), peak = best;
    REAL here[LANES_MOST], inside[LANES_MOST];
    (void)floor;
    memset(inside, -1, sizeof inside);

    for (i64 i = 0; i < rows; i++) {
        i64 h = flags & (LANES_LOCAL | FREE_QUERY_BEGIN) ? base : base - lanes_gap(job, i + 1);
        STORE(SET(FORM(clamp)(h)), space->before + 2 * i * LANES);
        STORE(SET(FORM(clamp)(h - job->first)), space->before + (2 * i + 1) * LANES);
    }
    u32 used = space->used;
    if (!own && !job->profiles)
        for (i64 i = 0; i < rows; i++)
            used |= 1u << query[i];

    for (i64 j = 0; j < columns; j += LANES_COLUMNS) {
        const u8 *codes = space->codes + j * LANES;
        if (*job->stop)
            return 1;
        if (job->profiles)
            for (i64 i = 0; i < rows; i++)
                FORM(look_up)(job, table + i, codes, space->scores + i * LANES_COLUMNS * LANES);
        else
            for (u32 rest = used; rest; rest &= rest - 1) {
                int code = lanes_lowest(rest);
                FORM(look_up)(job, code, codes, space->scores + code * LANES_COLUMNS * LANES);
            }

        VEC diagonal[LANES_COLUMNS], down[LANES_COLUMNS], highest[LANES_COLUMNS], end[LANES_COLUMNS];
        VEC left = SET(0), along = left, score[LANES_COLUMNS];
        for (int c = 0; c < LANES_COLUMNS; c++) {
            int free_top = flags & (LANES_LOCAL | FREE_TARGET_BEGIN);
            i64 before = free_top ? base : base - lanes_gap(job, j + c);
            i64 above = free_top ? base : base - lanes_gap(job, j + c + 1);
            diagonal[c] = SET(FORM(clamp)(before));
            down[c] = SET(FORM(clamp)(above - job->first));
            highest[c] = end[c] = SET(LEAST);
        }
        REAL *at = space->before;
        for (i64 i = 0; i < rows; i++, at += 2 * LANES) {
            left = LOAD(at);
            along = LOAD(at + LANES);
            if (!own) {
                i64 row = job->profiles ? i : query[i];
                const REAL *scores = space->scores + row * (LANES_COLUMNS * LANES);
                CELLS_STEP(VEC, LANES_COLUMNS, LANES_SCORE_SHARED, LANES_NO_KEEP)
            } else {
                VEC letter = LOAD(space->letter + i * LANES);
                for (int c = 0; c < LANES_COLUMNS; c++)
                    score[c] = SET(LANES_PENALTY);
                for (u32 rest = used; rest; rest &= rest - 1) {
                    int code = lanes_lowest(rest);
                    MASK mask = EQUAL(letter, SET(code));
                    const REAL *scores = space->scores + code * (LANES_COLUMNS * LANES);
                    for (int c = 0; c < LANES_COLUMNS; c++)
                        score[c] = CHOOSE(mask, LOAD(scores + c * LANES), score[c]);
                }
                if (i < even) {
                    CELLS_STEP(VEC, LANES_COLUMNS, LANES_SCORE_OWN, LANES_NO_KEEP)
                } else {
                    VEC ends = LOAD(space->ending + (i - even) * LANES);
                    CELLS_STEP(VEC, LANES_COLUMNS, LANES_SCORE_OWN, LANES_KEEP_END)
                }
            }
            STORE(left, at);
            STORE(along, at + LANES);
        }
        if (!own) {
            for (int c = 0; c + 1 < LANES_COLUMNS; c++)
                end[c] = diagonal[c + 1];
            end[LANES_COLUMNS - 1] = left;
        }
        for (int c = 0; c < LANES_COLUMNS; c++) {
            peak = LARGER(peak, highest[c]);
            if (local)
                continue;
            i64 column = j + c + 1;
            if (column < space->shortest) {
                if (flags & FREE_TARGET_END)
                    best = LARGER(best, end[c]);
                continue;
            }
            for (int l = 0; l < LANES; l++)
                here[l] = (REAL)-(l < group->n && space->length[l] == column);
            VEC ends = LOAD(here), least = SET(LEAST);
            VEC value = flags & FREE_QUERY_END ? LARGER(end[c], highest[c]) : end[c];
            best = LARGER(best, IF(ends, value, least));
            if (flags & FREE_TARGET_END)
                best = LARGER(best, IF(LOAD(inside), end[c], least));
            for (int l = 0; l < LANES; l++)
                inside[l] = (REAL)(inside[l] & ~here[l]);
        }
    }
    STORE(local ? peak : best, result);
    STORE(peak, peak_of);
    return 0;
}

/* The scores of a group to where they belong. */
static void FORM(put)(const lanes_group *group, const REAL *result, const REAL *peak, i32 *out)
{
    for (int l = 0; l < group->n; l++)
        out[group->slot[l]] =
            sizeof(REAL) < 4 && peak[l] == LANES_LARGEST ? LANES_OVERFLOW : (i32)result[l] - group->base;
}

static LANES_TARGET int FORM(shared)(const lanes_job *job, const lanes_group *group, i64 first, i64 last,
                                           i32 *out, i64 stride)
{
    FORM(space) space;
    REAL result[LANES_MOST], peak[LANES_MOST];
    i64 rows = 0;
    for (i64 q = first; q < last; q++)
        if (lanes_length(job->query_start, q) > rows)
            rows = lanes_length(job->query_start, q);
    int failed = FORM(open)(job, group, rows, &space);
    for (i64 q = first; q < last && !failed; q++) {
        i64 start = job->query_start[q];
        const u8 *query = job->queries + start;
        space.rows = space.even = job->query_start[q + 1] - start;
        if (FORM(strips)(job, group, &space, query, start, 0, result, peak))
            break;
        FORM(put)(group, result, peak, out + (q - first) * stride);
    }
    FORM(close)(&space);
    return failed;
}

static LANES_TARGET int FORM(own)(const lanes_job *job, const lanes_group *group, const i64 *query, i32 *out)
{
    FORM(space) space;
    REAL result[LANES_MOST], peak[LANES_MOST];
    i64 rows = 0, even = INT64_MAX;
    for (int l = 0; l < group->n; l++) {
        i64 length = lanes_length(job->query_start, query[l]);
        rows = length > rows ? length : rows;
        even = length - 1 < even ? length - 1 : even;
    }
    int failed = FORM(open)(job, group, rows, &space);
    size_t tail = (size_t)(rows - even) * sizeof(VEC);
    if (!failed) {
        space.even = even;
        space.letter = lanes_memory((size_t)rows * sizeof(VEC));
        space.ending = lanes_memory(tail);
        failed = space.letter && space.ending ? 0 : -1;
    }
    if (!failed) {
        for (i64 i = 0; i < rows * LANES; i++)
            space.letter[i] = LANES_PAD;
        memset(space.ending, 0, tail);
        for (int l = 0; l < group->n; l++) {
            const u8 *from = job->queries + job->query_start[query[l]];
            i64 length = lanes_length(job->query_start, query[l]);
            for (i64 i = 0; i < length; i++) {
                space.letter[i * LANES + l] = (REAL)from[i];
                space.used |= 1u << from[i];
            }
            space.ending[(length - 1 - even) * LANES + l] = -1;
        }
        if (!FORM(strips)(job, group, &space, NULL, 0, 1, result, peak))
            FORM(put)(group, result, peak, out);
    }
    FORM(close)(&space);
    return failed;
}

#undef LANES_LARGEST
#undef LANES_PENALTY
#undef CELL_ADD
#undef CELL_SUBTRACT
#undef CELL_MAX
#undef CELL_FLOOR
#undef LANES_NO_KEEP
#undef LANES_KEEP_END
#undef LANES_SCORE_SHARED
#undef LANES_SCORE_OWN
