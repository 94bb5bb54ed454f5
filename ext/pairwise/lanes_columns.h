/* Recipe: the kernels for one width of lanes. The including file defines, and this one undefines:
 *
 *   LANES_BITS, LANES_NAME(x)   8, 16 or 32; the name of a function for this width
 *   V                           a vector of LANES_N lanes of LANES_INT
 *   V_LOAD V_STORE V_SPLAT V_ADD V_SUB V_MAX      on vectors; sums saturate, but for 32 bits
 *   V_PICK(m, a, b)             a where the vector m is -1, b where it is 0
 *   V_MASK, V_EQUAL(a, b), V_ONLY(s, m, v)        a mask of equal lanes; s with the lanes of v where m
 *
 * and for all widths LANES_TARGET, LANES_BYTES of a vector, lookup_bytes. The targets of a group are done in strips of
 * LANES_COLUMNS columns. For each strip the scores of every letter against these columns are looked up once. */
#define LANES_MIN (LANES_BITS == 8 ? INT8_MIN : LANES_BITS == 16 ? INT16_MIN : -(1 << 30))
#define LANES_MAX (LANES_BITS == 8 ? INT8_MAX : LANES_BITS == 16 ? INT16_MAX : INT32_MAX)
#define LANES_PENALTY (LANES_BITS == 8 ? INT8_MIN : LANES_BITS == 16 ? INT16_MIN : -(1 << 29)) /* of padding */
#define LANES_N ((int)(LANES_BYTES / sizeof(LANES_INT)))
#define CELL_ADD V_ADD
#define CELL_SUBTRACT V_SUB
#define CELL_MAX V_MAX
#if LANES_BITS == 32
#define CELL_FLOOR(h) V_MAX(h, floor)
#else
#define CELL_FLOOR(h) (h)
#endif

/* What the queries of a group have in common. */
typedef struct {
    u8 *codes;         /* [columns, LANES_N], padded to whole strips */
    LANES_INT *scores; /* [rows of the table, LANES_COLUMNS, LANES_N] of a strip */
    LANES_INT *before; /* [rows, 2, LANES_N]: `left` and `along` for the next strip */
    LANES_INT *letter; /* own: [rows, LANES_N], codes of the queries */
    LANES_INT *ending; /* own: [rows - even, LANES_N], -1 where a query ends with this row */
    i64 even;          /* own: rows before any query ends; shared: rows */
    i64 rows, columns;
    i64 shortest; /* target */
    i64 length[LANES_MOST];
    u32 used; /* own: which codes are letters of the queries */
} LANES_NAME(space);

static void LANES_NAME(close)(LANES_NAME(space) * space)
{
    free(space->codes);
    free(space->scores);
    free(space->before);
    free(space->letter);
    free(space->ending);
}

/* Memory for up to `rows` rows, and the targets side by side. */
static int LANES_NAME(open)(const lanes_job *job, const lanes_group *group, i64 rows, LANES_NAME(space) * space)
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
    space->codes = lanes_memory((size_t)columns * LANES_N + LANES_BYTES);
    space->scores = lanes_memory((size_t)table * LANES_COLUMNS * LANES_BYTES);
    space->before = lanes_memory((size_t)rows * 2 * LANES_BYTES);
    if (!space->codes || !space->scores || !space->before)
        return -1;
    memset(space->codes, LANES_PAD, (size_t)columns * LANES_N + LANES_BYTES);
    for (int l = 0; l < group->n; l++) {
        const u8 *from = job->targets + job->target_start[group->target[l]];
        for (i64 j = 0; j < space->length[l]; j++)
            space->codes[j * LANES_N + l] = from[j];
    }
    return 0;
}

/* A row of the table against the columns of a strip. */
LANES_INLINE LANES_TARGET void LANES_NAME(look_up)(const lanes_job *job, i64 row, const u8 *codes, LANES_INT *to)
{
    const u8 *low = job->table_low + row * LANES_ROW;
    for (int c = 0; c < LANES_COLUMNS; c++) {
#if LANES_BITS == 8
        lookup_bytes(low, codes + c * LANES_N, (u8 *)(to + c * LANES_N));
#else
        u8 bytes[LANES_BYTES], more[LANES_BYTES];
        lookup_bytes(low, codes + c * LANES_N, bytes);
        if (job->wide) {
            lookup_bytes(job->table_high + row * LANES_ROW, codes + c * LANES_N, more);
            for (int l = 0; l < LANES_N; l++)
                to[c * LANES_N + l] = (i16)(bytes[l] | more[l] << 8);
        } else {
            for (int l = 0; l < LANES_N; l++)
                to[c * LANES_N + l] = (i8)bytes[l];
        }
#endif
    }
}

LANES_INLINE LANES_INT LANES_NAME(clamp)(i64 value)
{
    return (LANES_INT)(value < LANES_MIN ? LANES_MIN : value > LANES_MAX ? LANES_MAX : value);
}

#define LANES_NO_KEEP(c, h)
#define LANES_KEEP_END(c, h) end[c] = V_PICK(ends, h, end[c])
#define LANES_SCORE_SHARED(c) V_LOAD(scores + (c)*LANES_N)
#define LANES_SCORE_OWN(c) score[c]

/* All strips, for one query or one of each lane. The best score of each lane goes to `best`, -1 where it overflowed to
 * `over`. Returns 1 if it was stopped. */
LANES_INLINE LANES_TARGET int LANES_NAME(strips)(const lanes_job *job, const lanes_group *group,
                                                 const LANES_NAME(space) * space, const u8 *query, i64 table, int own,
                                                 LANES_INT *result, LANES_INT *peak_of)
{
    const int flags = job->flags, local = flags & LANES_LOCAL;
    const i64 rows = space->rows, columns = space->columns, even = own ? space->even : rows;
    const i32 base = group->base;
    const V first = V_SPLAT(LANES_NAME(clamp)(job->first)), extend = V_SPLAT(LANES_NAME(clamp)(job->extend));
    const V floor = V_SPLAT(LANES_NAME(clamp)(local ? base : LANES_MIN));
    V best = V_SPLAT(LANES_MIN), peak = best;
    LANES_INT here[LANES_MOST], inside[LANES_MOST];
    (void)floor;
    memset(inside, -1, sizeof inside);

    for (i64 i = 0; i < rows; i++) {
        i64 h = flags & (LANES_LOCAL | FREE_QUERY_BEGIN) ? base : base - lanes_gap(job, i + 1);
        V_STORE(V_SPLAT(LANES_NAME(clamp)(h)), space->before + 2 * i * LANES_N);
        V_STORE(V_SPLAT(LANES_NAME(clamp)(h - job->first)), space->before + (2 * i + 1) * LANES_N);
    }
    u32 used = space->used;
    if (!own && !job->profiles)
        for (i64 i = 0; i < rows; i++)
            used |= 1u << query[i];

    for (i64 j = 0; j < columns; j += LANES_COLUMNS) {
        const u8 *codes = space->codes + j * LANES_N;
        if (*job->stop)
            return 1;
        if (job->profiles)
            for (i64 i = 0; i < rows; i++)
                LANES_NAME(look_up)(job, table + i, codes, space->scores + i * LANES_COLUMNS * LANES_N);
        else
            for (u32 rest = used; rest; rest &= rest - 1) {
                int code = lanes_lowest(rest);
                LANES_NAME(look_up)(job, code, codes, space->scores + code * LANES_COLUMNS * LANES_N);
            }

        V diagonal[LANES_COLUMNS], down[LANES_COLUMNS], highest[LANES_COLUMNS], end[LANES_COLUMNS];
        V left = V_SPLAT(0), along = left, score[LANES_COLUMNS];
        for (int c = 0; c < LANES_COLUMNS; c++) {
            int free_top = flags & (LANES_LOCAL | FREE_TARGET_BEGIN);
            i64 before = free_top ? base : base - lanes_gap(job, j + c);
            i64 above = free_top ? base : base - lanes_gap(job, j + c + 1);
            diagonal[c] = V_SPLAT(LANES_NAME(clamp)(before));
            down[c] = V_SPLAT(LANES_NAME(clamp)(above - job->first));
            highest[c] = end[c] = V_SPLAT(LANES_MIN);
        }
        LANES_INT *at = space->before;
        for (i64 i = 0; i < rows; i++, at += 2 * LANES_N) {
            left = V_LOAD(at);
            along = V_LOAD(at + LANES_N);
            if (!own) {
                i64 row = job->profiles ? i : query[i];
                const LANES_INT *scores = space->scores + row * (LANES_COLUMNS * LANES_N);
                CELLS_STEP(V, LANES_COLUMNS, LANES_SCORE_SHARED, LANES_NO_KEEP)
            } else {
                V letter = V_LOAD(space->letter + i * LANES_N);
                for (int c = 0; c < LANES_COLUMNS; c++)
                    score[c] = V_SPLAT(LANES_PENALTY);
                for (u32 rest = used; rest; rest &= rest - 1) {
                    int code = lanes_lowest(rest);
                    V_MASK mask = V_EQUAL(letter, V_SPLAT((LANES_INT)code));
                    const LANES_INT *scores = space->scores + code * (LANES_COLUMNS * LANES_N);
                    for (int c = 0; c < LANES_COLUMNS; c++)
                        score[c] = V_ONLY(score[c], mask, V_LOAD(scores + c * LANES_N));
                }
                if (i < even) {
                    CELLS_STEP(V, LANES_COLUMNS, LANES_SCORE_OWN, LANES_NO_KEEP)
                } else {
                    V ends = V_LOAD(space->ending + (i - even) * LANES_N);
                    CELLS_STEP(V, LANES_COLUMNS, LANES_SCORE_OWN, LANES_KEEP_END)
                }
            }
            V_STORE(left, at);
            V_STORE(along, at + LANES_N);
        }
        if (!own) {
            for (int c = 0; c + 1 < LANES_COLUMNS; c++)
                end[c] = diagonal[c + 1];
            end[LANES_COLUMNS - 1] = left;
        }
        for (int c = 0; c < LANES_COLUMNS; c++) {
            peak = V_MAX(peak, highest[c]);
            if (local)
                continue;
            i64 column = j + c + 1;
            if (column < space->shortest) {
                if (flags & FREE_TARGET_END)
                    best = V_MAX(best, end[c]);
                continue;
            }
            for (int l = 0; l < LANES_N; l++)
                here[l] = (LANES_INT)-(l < group->n && space->length[l] == column);
            V ends = V_LOAD(here), least = V_SPLAT(LANES_MIN);
            V value = flags & FREE_QUERY_END ? V_MAX(end[c], highest[c]) : end[c];
            best = V_MAX(best, V_PICK(ends, value, least));
            if (flags & FREE_TARGET_END)
                best = V_MAX(best, V_PICK(V_LOAD(inside), end[c], least));
            for (int l = 0; l < LANES_N; l++)
                inside[l] = (LANES_INT)(inside[l] & ~here[l]);
        }
    }
    V_STORE(local ? peak : best, result);
    V_STORE(peak, peak_of);
    return 0;
}

/* The scores of a group to where they belong. */
static void LANES_NAME(put)(const lanes_group *group, const LANES_INT *result, const LANES_INT *peak, i32 *out)
{
    for (int l = 0; l < group->n; l++)
        out[group->slot[l]] =
            LANES_BITS < 32 && peak[l] == LANES_MAX ? LANES_OVERFLOW : (i32)result[l] - group->base;
}

static LANES_TARGET int LANES_NAME(shared)(const lanes_job *job, const lanes_group *group, i64 first, i64 last,
                                           i32 *out, i64 stride)
{
    LANES_NAME(space) space;
    LANES_INT result[LANES_MOST], peak[LANES_MOST];
    i64 rows = 0;
    for (i64 q = first; q < last; q++)
        if (lanes_length(job->query_start, q) > rows)
            rows = lanes_length(job->query_start, q);
    int failed = LANES_NAME(open)(job, group, rows, &space);
    for (i64 q = first; q < last && !failed; q++) {
        i64 start = job->query_start[q];
        const u8 *query = job->queries + start;
        space.rows = space.even = job->query_start[q + 1] - start;
        if (LANES_NAME(strips)(job, group, &space, query, start, 0, result, peak))
            break;
        LANES_NAME(put)(group, result, peak, out + (q - first) * stride);
    }
    LANES_NAME(close)(&space);
    return failed;
}

static LANES_TARGET int LANES_NAME(own)(const lanes_job *job, const lanes_group *group, const i64 *query, i32 *out)
{
    LANES_NAME(space) space;
    LANES_INT result[LANES_MOST], peak[LANES_MOST];
    i64 rows = 0, even = INT64_MAX;
    for (int l = 0; l < group->n; l++) {
        i64 length = lanes_length(job->query_start, query[l]);
        rows = length > rows ? length : rows;
        even = length - 1 < even ? length - 1 : even;
    }
    int failed = LANES_NAME(open)(job, group, rows, &space);
    size_t tail = (size_t)(rows - even) * LANES_BYTES;
    if (!failed) {
        space.even = even;
        space.letter = lanes_memory((size_t)rows * LANES_BYTES);
        space.ending = lanes_memory(tail);
        failed = space.letter && space.ending ? 0 : -1;
    }
    if (!failed) {
        for (i64 i = 0; i < rows * LANES_N; i++)
            space.letter[i] = LANES_PAD;
        memset(space.ending, 0, tail);
        for (int l = 0; l < group->n; l++) {
            const u8 *from = job->queries + job->query_start[query[l]];
            i64 length = lanes_length(job->query_start, query[l]);
            for (i64 i = 0; i < length; i++) {
                space.letter[i * LANES_N + l] = (LANES_INT)from[i];
                space.used |= 1u << from[i];
            }
            space.ending[(length - 1 - even) * LANES_N + l] = -1;
        }
        if (!LANES_NAME(strips)(job, group, &space, NULL, 0, 1, result, peak))
            LANES_NAME(put)(group, result, peak, out);
    }
    LANES_NAME(close)(&space);
    return failed;
}

#undef LANES_MIN
#undef LANES_MAX
#undef LANES_N
#undef LANES_PENALTY
#undef CELL_ADD
#undef CELL_SUBTRACT
#undef CELL_MAX
#undef CELL_FLOOR
#undef LANES_NO_KEEP
#undef LANES_KEEP_END
#undef LANES_SCORE_SHARED
#undef LANES_SCORE_OWN
#undef LANES_BITS
#undef LANES_NAME
#undef LANES_INT
#undef V
#undef V_LOAD
#undef V_STORE
#undef V_SPLAT
#undef V_ADD
#undef V_SUB
#undef V_MAX
#undef V_PICK
#undef V_MASK
#undef V_EQUAL
#undef V_ONLY
