/* Scores of many pairs of sequences. The recurrence is that of cells.h, ordered for one device.
 *
 * Recipe. A pair has `lanes` neighbouring work-items, a power of 2 up to 32. Each holds H and the gaps in the query
 * of COLUMNS neighbouring letters of the query in registers. The target passes along: a work-item is one letter of it
 * behind the item before, which hands it H and the gap in the target beside its columns. Longer queries take several
 * strips; what is between two strips goes through `border`.
 *
 * A value holds PAIRS pairs: one in 32 bits, or two of 16 bits, whose targets share the steps. The first target of
 * a value is the longer one. Scores come from `profiles`: of each letter the scores of a work-item's columns, SCORES to
 * a word, a slot for each of the WARP items that run in step. So no two of these read from one bank of local memory.
 *
 * Where the end of the target is free, the query ends with the last column, and columns before its first letter
 * score 0; otherwise it begins with the first column.
 *
 * Wanted from whoever builds this: PAIRS, COLUMNS, LETTERS (rows of a profile, with padding), ITEMS (most of a
 * work-group), FLAGS (as in ext/pairwise/lanes.h) where there is a program for each mode, NVIDIA where items of a warp
 * may shuffle, and HOPPER where they have instructions for two values of 16 bits. */
#ifndef FLAGS
#define FLAGS g.flags
#endif
#define FREE_QUERY_BEGIN 1
#define FREE_QUERY_END 2
#define FREE_TARGET_BEGIN 4
#define FREE_TARGET_END 8
#define LOCAL 16
#define IS_LOCAL (FLAGS & LOCAL)
#define QUERY_FREE (FLAGS & (LOCAL | FREE_QUERY_BEGIN))
#define TARGET_FREE (FLAGS & (LOCAL | FREE_TARGET_BEGIN))
#define ENDS_LAST ((FLAGS & FREE_TARGET_END) && !IS_LOCAL) /* the query ends with the last column */

#define WARP 32
#define PAD 31 /* its column of the table */
#define LOWEST (-(1 << 30))
#define SCORES (2 * PAIRS) /* of a word of a profile */
#define WORDS (COLUMNS / SCORES)
#define REGION (WORDS * LETTERS * WARP) /* words of a profile */

#if PAIRS == 1
typedef int value;
#define PACK(a, b) (a)
#define PART(v, p) (v)
#define CELL_ADD(a, b) ((a) + (b))
#define CELL_MAX(a, b) max(a, b)
#define SCORE_OF(a, b, i) ((int)(short)((a) >> 16 * (i)))
#else
typedef uint value;
#define PACK(a, b) ((uint)(ushort)(a) | (uint)(ushort)(b) << 16)
#define PART(v, p) ((int)(short)((v) >> 16 * (p)))
#ifdef HOPPER
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
static inline uint max_pair_or_0(uint a, uint b)
{
    uint c;
    __asm("max.relu.s16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
    return c;
}
/* Bytes of a and of b by number, 8 more for what their sign fills. */
static inline uint bytes_of(uint a, uint b, uint which)
{
    uint c;
    __asm("prmt.b32 %0, %1, %2, %3;" : "=r"(c) : "r"(a), "r"(b), "r"(which));
    return c;
}
#define CELL_ADD(a, b) add_pair(a, b)
#define CELL_MAX(a, b) max_pair(a, b)
#define SCORE_OF(a, b, i) bytes_of(a, b, 0xc480u + 0x1111u * (i))
#else
#define CELL_ADD(a, b) as_uint(as_short2(a) + as_short2(b))
#define CELL_MAX(a, b) as_uint(max(as_short2(a), as_short2(b)))
#define SCORE_OF(a, b, i) PACK((char)((a) >> 8 * (i)), (char)((b) >> 8 * (i)))
#endif
#endif
#define SPLAT(x) PACK(x, x)
#define LEAST SPLAT(PAIRS == 1 ? LOWEST : -(1 << 15))
#if PAIRS == 2 && defined(HOPPER)
#define CELL_FLOOR(part, along) max_pair_or_0(part, along)
#else
#define CELL_FLOOR(part, along) CELL_MAX(CELL_MAX(part, along), (value)0)
#endif

/* What a work-item hands to the next one. */
typedef struct {
    value h, along;
    uint letters;
} foot;

#ifdef NVIDIA
static inline uint from_before(uint mine, int lanes)
{
    uint before;
    __asm volatile("shfl.sync.up.b32 %0, %1, 1, %2, 0xffffffff;" : "=r"(before) : "r"(mine), "r"((WARP - lanes) << 8));
    return before;
}
#define IN_STEP(item) ((item) / WARP) /* those with one number do the same number of steps */
#else
#define IN_STEP(item) 0
#endif

typedef struct {
    int first, extend; /* costs of a gap */
    int lanes;
    int begin, count; /* in `order` */
    int width;        /* of a product, a row of the output; 0 where `order` has query and target of each pair */
    int places;     /* queries are places of profiles */
    int own;        /* each pair has a profile of its own */
    int flags;
    int stride;     /* of `border`, from one query to the next */
} job;

static inline int border_score(int letters, int is_free, const job g)
{
    return is_free || letters <= 0 ? 0 : -(g.first + (letters - 1) * g.extend);
}

__kernel void pair_scores(const job g, __global const uchar *queries, __global const long *query_start,
                          __global const uchar *targets, __global const long *target_start,
                          __global const short *table, __global const int *order, __global const int *rows,
                          __global const int *border_start, __global uint2 *border, __global int *out,
                          __local uint *profiles)
{
    __local int longest[ITEMS / WARP], widest, result[ITEMS * PAIRS];
#ifndef NVIDIA
    __local foot feet[2][ITEMS];
#endif
    const int item = get_local_id(0), items = get_local_size(0), lanes = g.lanes;
    const int lane = item & (lanes - 1), slot = item % WARP, warp = item / WARP;
    const int at = ((int)get_group_id(0) * items + item) / lanes * PAIRS;
    int query[PAIRS], place[PAIRS], m[PAIRS], n[PAIRS], pad[PAIRS], found[PAIRS], wide = 0;
    __global const uchar *target[PAIRS];
    for (int p = 0; p < PAIRS; p++) {
        const int i = g.begin + min(at + p, g.count - 1), t = g.width ? order[i] : order[2 * i + 1];
        query[p] = g.width ? rows[get_group_id(1)] : order[2 * i];
        place[p] = g.width ? (int)get_group_id(1) * g.width + t : i;
        m[p] = (int)(query_start[query[p] + 1] - query_start[query[p]]);
        n[p] = (int)(target_start[t + 1] - target_start[t]);
        target[p] = targets + target_start[t];
        found[p] = LOWEST;
        wide = max(wide, m[p]);
    }
    if (item == 0)
        widest = 0;
    if (item < ITEMS / WARP)
        longest[item] = 0;
    for (int p = 0; p < PAIRS; p++)
        result[item * PAIRS + p] = LOWEST;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_max(&widest, wide);
    atomic_max(&longest[IN_STEP(item)], n[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int steps = longest[IN_STEP(item)] + lanes - 1;
    const int strips = (widest + lanes * COLUMNS - 1) / (lanes * COLUMNS);
    for (int p = 0; p < PAIRS; p++)
        pad[p] = ENDS_LAST ? strips * lanes * COLUMNS - m[p] : 0;
    __global uint2 *beside = border;
    if (strips > 1)
        beside += (size_t)get_group_id(1) * g.stride + border_start[at / PAIRS];

    const value minus_first = SPLAT(-g.first), minus_extend = SPLAT(-g.extend);
    value best = SPLAT(0);
    for (int strip = 0; strip < strips; strip++) {
        /* The profiles. Those of a work-group's own query are made by all, others by the items of each. */
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        __local const uint *scores[PAIRS];
        for (int p = 0; p < PAIRS; p++) {
            __local uint *region = profiles + (g.own ? (warp * PAIRS + p) * REGION : 0);
            scores[p] = region + slot;
            if (p && !g.own)
                continue;
            const long from = query_start[query[p]];
            for (int x = g.own ? slot : item; x < REGION; x += g.own ? WARP : items) {
                const int letter = x / WARP % LETTERS, which = letter + 1 < LETTERS ? letter : PAD;
                const int begin = (strip * lanes + (x & (lanes - 1))) * COLUMNS + x / (WARP * LETTERS) * SCORES;
                uint word = 0;
                for (int i = 0; i < SCORES; i++) {
                    const int j = begin + i - pad[p];
                    int score = 0;
                    if (j >= 0) {
                        const long row = j < m[p] ? (g.places ? from + j : queries[from + j]) : -1;
                        score = row < 0 ? table[PAD] : table[row * 32 + which];
                    }
                    word |= ((uint)score & (1u << 16 / PAIRS) - 1) << 16 / PAIRS * i;
                }
                region[x] = word;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        const int column = (strip * lanes + lane) * COLUMNS;
        value h[COLUMNS], down[COLUMNS], corner;
/* What alignments score that end with the letter of a target which is just done. */
#define TAKE(p)                                                                    \
    {                                                                              \
        _Pragma("unroll") for (int k = 0; k < COLUMNS; k++)                        \
        {                                                                          \
            const int j = column + k + 1 - pad[p];                                 \
            if (j == m[p] || ((FLAGS & FREE_QUERY_END) && j > 0 && j < m[p]))      \
                found[p] = max(found[p], PART(h[k], p));                           \
        }                                                                          \
        if (ENDS_LAST && strip + 1 == strips && lane == lanes - 1)                 \
            found[p] = max(found[p], PART(end, p));                                \
    }
#define TOP(j) PACK(border_score((j) - pad[0], QUERY_FREE, g), border_score((j) - pad[PAIRS - 1], QUERY_FREE, g))
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
            h[k] = TOP(column + k + 1);
            down[k] = CELL_ADD(h[k], minus_first);
        }
        corner = TOP(column);
        value last = h[COLUMNS - 1], along = minus_first, end = LEAST;
        uint2 ahead = 0;
        uint letters = 0;
#define NEXT(t, p) (((t) < n[p] ? target[p][t] : LETTERS - 1) * WARP)
        uint next = NEXT(0, 0);
        if (PAIRS == 2)
            next |= NEXT(0, PAIRS - 1) << 16;
        if (strip)
            ahead = beside[0];
        for (int step = 0; step < steps; step++) {
            const int t = step - lane;
            value left, beyond;
#ifdef NVIDIA
            left = (value)from_before((uint)last, lanes);
            beyond = (value)from_before((uint)along, lanes);
            letters = from_before(letters, lanes);
#else
            feet[step & 1][item].h = last;
            feet[step & 1][item].along = along;
            feet[step & 1][item].letters = letters;
            barrier(CLK_LOCAL_MEM_FENCE);
            const foot before = feet[step & 1][max(item - 1, 0)];
            left = before.h;
            beyond = before.along;
            letters = before.letters;
#endif
            if (lane == 0) {
                letters = next;
                if (strip) {
                    left = (value)ahead.x;
                    beyond = (value)ahead.y;
                } else {
                    left = SPLAT(border_score(t + 1, TARGET_FREE, g));
                    beyond = CELL_ADD(left, minus_first);
                }
            }
            next = NEXT(step + 1, 0);
            if (PAIRS == 2)
                next |= NEXT(step + 1, PAIRS - 1) << 16;
            if (strip)
                ahead = beside[min(step + 1, n[0] - 1)];
            if ((uint)t < (uint)n[0]) {
                __local const uint *a = scores[0] + (letters & 0xffff), *b = scores[PAIRS - 1] + (letters >> 16);
                uint of_a[WORDS], of_b[WORDS];
#pragma unroll
                for (int w = 0; w < WORDS; w++) {
                    of_a[w] = a[w * LETTERS * WARP];
                    of_b[w] = PAIRS == 2 ? b[w * LETTERS * WARP] : 0;
                }
#define SCORE(k) SCORE_OF(of_a[(k) / SCORES], of_b[(k) / SCORES], (k) % SCORES)
                value part = CELL_MAX(CELL_ADD(corner, SCORE(0)), down[0]);
                corner = left;
                along = beyond;
#pragma unroll
                for (int k = 0; k < COLUMNS; k++) {
                    const value now = IS_LOCAL ? CELL_FLOOR(part, along) : CELL_MAX(part, along);
                    if (k + 1 < COLUMNS)
                        part = CELL_MAX(CELL_ADD(h[k], SCORE(k + 1)), down[k + 1]);
                    h[k] = now;
                    if (IS_LOCAL)
                        best = CELL_MAX(best, now);
                    const value opened = CELL_ADD(now, minus_first);
                    along = CELL_MAX(CELL_ADD(along, minus_extend), opened);
                    down[k] = CELL_MAX(CELL_ADD(down[k], minus_extend), opened);
                }
                last = h[COLUMNS - 1];
                if (ENDS_LAST)
                    end = CELL_MAX(end, last);
                if (strip + 1 < strips && lane == lanes - 1)
                    beside[t] = (uint2)((uint)last, (uint)along);
                if (!IS_LOCAL && t + 1 == n[PAIRS - 1] && n[PAIRS - 1] < n[0])
                    TAKE(PAIRS - 1)
            }
        }
        /* After its last letter a target changes nothing. */
        if (!IS_LOCAL) {
            TAKE(0)
            if (PAIRS == 2 && n[PAIRS - 1] == n[0])
                TAKE(PAIRS - 1)
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < PAIRS; p++)
        atomic_max(&result[(item - lane) * PAIRS + p], IS_LOCAL ? PART(best, p) : found[p]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0)
        for (int p = 0; p < PAIRS; p++)
            if (at + p < g.count)
                out[place[p]] = result[item * PAIRS + p];
}
