/* Recipe: a work-item scores PAIRS pairs, strip by strip of COLUMNS columns (cells.h goes before). PAIRS is 1, with values
 * of 32 bits, or 2 with two of 16 bits in one word, where no score leaves 14 bits. `before` has H and `along` of
 * each row for the next strip: [rows, 2, items], neighbours side by side. Flags as in ext/pairwise/lanes.h. */
#define PAD 31
#define FREE_QUERY_BEGIN 1
#define FREE_QUERY_END 2
#define FREE_TARGET_BEGIN 4
#define FREE_TARGET_END 8
#define LOCAL 16

#if PAIRS == 1
#define LOWEST (-(1 << 29))
#define CELL_ADD(a, b) ((a) + (b))
#define CELL_SUBTRACT(a, b) ((a) - (b))
#define CELL_MAX(a, b) max(a, b)
#define SPLAT(x) (x)
#define PART(v, p) (v)
typedef int value;
#else
#define LOWEST (-(1 << 14))
#define SPLAT(x) ((uint)(ushort)(x) | (uint)(ushort)(x) << 16)
#define PART(v, p) ((int)(short)((v) >> 16 * (p)))
typedef uint value;
#ifdef NATIVE_PAIRS /* NVIDIA since compute capability 9.0 */
static inline uint add_pair(uint a, uint b)
{
    uint c;
    __asm("add.s16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
    return c;
}
static inline uint max_pair(uint a, uint b)
{
    uint c;
    __asm("max.s16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
    return c;
}
#define CELL_ADD(a, b) add_pair(a, b)
#define CELL_MAX(a, b) max_pair(a, b)
#else
#define CELL_ADD(a, b) as_uint(as_short2(a) + as_short2(b))
#define CELL_MAX(a, b) as_uint(max(as_short2(a), as_short2(b)))
#endif
#define CELL_SUBTRACT(a, b) CELL_ADD(a, minus_##b)
#endif
#define CELL_FLOOR(h) CELL_MAX(h, least)
#define NO_KEEP(c, h)
#define SCORE(c) scores[c]

int border(int letters, int is_free, int first, int extend)
{
    return is_free || !letters ? 0 : -(first + (letters - 1) * extend);
}

__kernel void pair_scores(__global const uchar *queries, __global const uchar *targets,
                          __global const long *query_start, __global const long *target_start,
                          __global const short *table, int4 costs, __global const uint *pairs, uint n,
                          __global value *before, __global int *out)
{
    const int flags = costs.z, local_mode = flags & LOCAL;
    const uint item = get_global_id(0), items = get_global_size(0);
#ifdef PROFILES
    __global const short *places[PAIRS];
#else
    __local short scores_of[32 * 32];
    for (uint i = get_local_id(0); i < 32 * 32; i += get_local_size(0))
        scores_of[i] = table[i];
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    if (item * PAIRS >= n)
        return;
    __global const uchar *query[PAIRS], *target[PAIRS];
    int rows[PAIRS], columns[PAIRS], best[PAIRS], most_rows = 0, most_columns = 0;
    for (int p = 0; p < PAIRS; p++) {
        uint at = min(item * PAIRS + p, n - 1), q = pairs[2 * at], t = pairs[2 * at + 1];
        query[p] = queries + query_start[q];
        target[p] = targets + target_start[t];
#ifdef PROFILES
        places[p] = table + query_start[q] * 32;
#endif
        rows[p] = (int)(query_start[q + 1] - query_start[q]);
        columns[p] = (int)(target_start[t + 1] - target_start[t]);
        most_rows = max(most_rows, rows[p]);
        most_columns = max(most_columns, columns[p]);
        best[p] = local_mode ? 0 : LOWEST * 2;
    }
    const value first = SPLAT(costs.x), extend = SPLAT(costs.y), least = SPLAT(local_mode ? 0 : LOWEST);
    const value minus_first = SPLAT(-costs.x), minus_extend = SPLAT(-costs.y);
    (void)first, (void)extend, (void)minus_first, (void)minus_extend;
    const int query_free = flags & (LOCAL | FREE_QUERY_BEGIN), target_free = flags & (LOCAL | FREE_TARGET_BEGIN);
    for (int i = 0; i < most_rows; i++) {
        int h = border(i + 1, query_free, costs.x, costs.y);
        before[(ulong)(2 * i) * items + item] = SPLAT(max(h, LOWEST));
        before[(ulong)(2 * i + 1) * items + item] = SPLAT(max(h - costs.x, LOWEST));
    }
    for (int j = 0; j < most_columns; j += COLUMNS) {
        value diagonal[COLUMNS], down[COLUMNS], highest[COLUMNS], scores[COLUMNS], end[PAIRS][COLUMNS];
        int codes[PAIRS][COLUMNS];
        for (int c = 0; c < COLUMNS; c++) {
            diagonal[c] = SPLAT(max(border(j + c, target_free, costs.x, costs.y), LOWEST));
            down[c] = SPLAT(max(border(j + c + 1, target_free, costs.x, costs.y) - costs.x, LOWEST));
            highest[c] = SPLAT(LOWEST);
            for (int p = 0; p < PAIRS; p++) {
                codes[p][c] = j + c < columns[p] ? target[p][j + c] : PAD;
                end[p][c] = 0;
            }
        }
        for (int i = 0; i < most_rows; i++) {
            __global value *at = before + (ulong)(2 * i) * items + item;
            value left = at[0], along = at[items];
            for (int c = 0; c < COLUMNS; c++)
                scores[c] = 0;
            for (int p = 0; p < PAIRS; p++) {
#ifdef PROFILES
                __global const short *row = places[p] + 32 * min(i, rows[p] - 1);
                const int is_place = i < rows[p];
#else
                __local const short *row = scores_of + 32 * (i < rows[p] ? query[p][i] : PAD);
                const int is_place = 1;
#endif
                for (int c = 0; c < COLUMNS; c++)
#if PAIRS == 1
                    scores[c] = row[is_place ? codes[p][c] : PAD];
#else
                    scores[c] |= (uint)(ushort)row[is_place ? codes[p][c] : PAD] << 16 * p;
#endif
            }
            CELLS_STEP(value, COLUMNS, SCORE, NO_KEEP)
            at[0] = left;
            at[items] = along;
            for (int p = 0; p < PAIRS; p++)
                if (i + 1 == rows[p])
                    for (int c = 0; c < COLUMNS; c++)
                        end[p][c] = c + 1 < COLUMNS ? diagonal[c + 1] : left;
        }
        for (int c = 0; c < COLUMNS; c++)
            for (int p = 0; p < PAIRS; p++) {
                int column = j + c + 1, last = PART(end[p][c], p), high = PART(highest[c], p);
                if (local_mode)
                    best[p] = max(best[p], high);
                else if (column <= columns[p]) {
                    if (column == columns[p])
                        best[p] = max(best[p], flags & FREE_QUERY_END ? max(last, high) : last);
                    if (flags & FREE_TARGET_END)
                        best[p] = max(best[p], last);
                }
            }
    }
    for (int p = 0; p < PAIRS; p++)
        if (item * PAIRS + p < n)
            out[item * PAIRS + p] = best[p];
}
