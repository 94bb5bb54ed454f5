/* Scores of many pairs of sequences. The recurrence is that of cells.h, ordered for one device.
 *
 * Recipe. A pair has `lanes` neighbouring work-items, a power of 2 up to 32. Each holds H and the gaps in the query
 * of COLUMNS neighbouring letters of the query in registers. The target passes along: a work-item is one letter of it
 * behind the item before, which hands it H and the gap in the target beside its columns. Longer queries take several
 * strips; what is between two strips goes through `border`.
 *
 * A value holds PAIRS pairs: one in 32 bits, or two of 16 bits, whose targets share the steps; `pair_letters` lays
 * their letters side by side. The first target of a value is the longer one. Scores come from `profiles`: of each
 * letter the scores of a work-item's columns, SCORES to a word, a slot for each of the WARP items that run in step. So no
 * two of these read from one bank of local memory. Where letters are few, a profile has a word for each two of them and
 * each column instead, a score of both pairs, in as many slots as JOINED says.
 *
 * A score s is held as s + zero, so that no H is less than the first letter of a gap costs. Then one subtraction of
 * 32 bits opens the gaps of both pairs, and no half borrows from the other. So does one sum add the scores of letters:
 * of H are kept `shift` less, and profiles say `shift` more than the table, never less than 0.
 *
 * Sums of 32 bits leave a GPU's unit for the largest of values alone. A cell takes four of these: H, both gaps, and for
 * local alignments half of one for the largest H. That H is not below 0 there follows from the gaps in the query.
 *
 * Where the end of the target is free, the query ends with the last column, and columns before its first letter
 * score 0; otherwise it begins with the first column.
 *
 * Wanted from whoever builds this: PAIRS, COLUMNS, LETTERS (rows of a profile, with padding), ITEMS (most of a
 * work-group). Where there is a program for each: FLAGS (as in ext/pairwise/lanes.h), OWN, whether each pair has a
 * profile of its own, and STRIPS, whether there are several. PLAIN where `shift` is `first`. NVIDIA where items of a
 * warp may shuffle, HOPPER where they have instructions for two values of 16 bits. */
#ifndef FLAGS
#define FLAGS g.flags
#define OWN (g.width == 0)
#define STRIPS 1
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
#define PADDED (LETTERS - 1)
#ifdef JOINED
#define SCORES 1
#define QUADS ((COLUMNS + 3) / 4) /* words that are read at once */
#else
#define SCORES (2 * PAIRS) /* of a word of a profile */
#define WORDS ((COLUMNS + SCORES - 1) / SCORES)
#define REGION (WORDS * LETTERS * WARP) /* words of a profile */
#endif

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
/* Sums of both halves at once. A product with 1 has a unit of its own beside that of sums. */
#ifdef HOPPER
static inline uint times_plus(uint a, uint b, uint c)
{
    uint d;
    __asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
#define PLUS(a, b) ((value)times_plus((uint)(a), (uint)g.one, (uint)(b)))
#else
#define PLUS(a, b) ((value)((a) + (b)))
#endif
#define OPENED(h) PLUS(h, 0 - first)
#ifdef PLAIN
#define LOWERED(h) OPENED(h)
#else
#define LOWERED(h) PLUS(h, 0 - shift)
#endif

/* Letters of two targets side by side. */
#ifdef JOINED
#define BESIDE(a, b) ((a) * LETTERS + (b))
#else
#define BESIDE(a, b) ((a) | (PAIRS - 1) * (b) << 8)
#endif

/* What a work-item hands to the next one. */
typedef struct {
    value low, along;
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
    int zero, shift;
    int one; /* is 1, which the compiler must not know */
    int lanes;
    int begin, count; /* in `order` */
    int pair;         /* in `starts`, of the first value */
    int width;        /* of a product, a row of the output; 0 where `order` has query and target of each pair */
    int places;       /* queries are places of profiles */
    int flags;
    long stride; /* of `border`, from one query to the next */
} job;

static inline int target_at(const job g, __global const int *order, int at)
{
    const int i = g.begin + min(at, g.count - 1);
    return g.width ? order[i] : order[2 * i + 1];
}

/* The letters of the targets of each value, the first in the low byte: a work-group lays one side by side. */
__kernel void pair_letters(const job g, __global const uchar *targets, __global const long *target_start,
                           __global const int *order, __global const long *starts, __global ushort *letters)
{
    const int pair = get_group_id(0), a = target_at(g, order, pair * PAIRS);
    const int b = target_at(g, order, pair * PAIRS + PAIRS - 1);
    const int n = (int)(target_start[a + 1] - target_start[a]), shorter = (int)(target_start[b + 1] - target_start[b]);
    for (int t = get_local_id(0); t < n; t += get_local_size(0))
        letters[starts[g.pair + pair] + t] =
            (ushort)BESIDE(targets[target_start[a] + t], t < shorter ? targets[target_start[b] + t] : PADDED);
}

static inline int border_score(int letters, int is_free, const job g)
{
    return g.zero - (is_free || letters <= 0 ? 0 : g.first + (letters - 1) * g.extend);
}

/* What alignments score that end with the letter of a target which is just done. */
#define TAKE(p)                                                                    \
    {                                                                              \
        _Pragma("unroll") for (int k = 0; k < COLUMNS; k++)                        \
        {                                                                          \
            const int j = column + k + 1 - pad[p];                                 \
            if (j == m[p] || ((FLAGS & FREE_QUERY_END) && j > 0 && j < m[p]))      \
                found[p] = max(found[p], PART(low[k], p) + g.shift);                          \
        }                                                                          \
        if (ENDS_LAST && strip + 1 == strips && lane == lanes - 1)                 \
            found[p] = max(found[p], PART(end, p));                                \
    }
#define TOP(j) PACK(border_score((j) - pad[0], QUERY_FREE, g), border_score((j) - pad[PAIRS - 1], QUERY_FREE, g))
#ifdef JOINED
#define SCORE(k) (of_both[k])
#else
#define SCORE(k) SCORE_OF(of_a[(k) / SCORES], of_b[(k) / SCORES], (k) % SCORES)
#endif

/* Of place `from + j` of a query of m letters facing a letter of a target. */
static inline int score_of(const job g, __global const short *table, __global const uchar *queries, long from, int j,
                           int m, int letter)
{
    if (j < 0)
        return g.shift;
    if (j >= m)
        return table[PAD];
    return table[(g.places ? from + j : queries[from + j]) * 32 + (letter == PADDED ? PAD : letter)];
}

__kernel void pair_scores(const job g, __global const uchar *queries, __global const long *query_start,
                          __global const long *target_start, __global const short *table, __global const int *order,
                          __global const int *rows, __global const long *starts, __global const ushort *letters_of,
                          __global uint2 *border, __global int *out, __local uint4 *room)
{
    __local uint *profiles = (__local uint *)room;
    __local int longest[ITEMS / WARP], widest, result[ITEMS * PAIRS];
#ifndef NVIDIA
    __local foot feet[2][ITEMS];
#endif
    const int item = get_local_id(0), items = get_local_size(0), lanes = g.lanes;
    const int lane = item & (lanes - 1), slot = item % WARP, warp = item / WARP;
    const int at = ((int)get_group_id(0) * items + item) / lanes * PAIRS;
    int query[PAIRS], place[PAIRS], m[PAIRS], n[PAIRS], pad[PAIRS], found[PAIRS], wide = 0;
    for (int p = 0; p < PAIRS; p++) {
        const int i = g.begin + min(at + p, g.count - 1), t = target_at(g, order, at + p);
        query[p] = g.width ? rows[get_group_id(1)] : order[2 * i];
        place[p] = g.width ? (int)get_group_id(1) * g.width + t : i;
        m[p] = (int)(query_start[query[p] + 1] - query_start[query[p]]);
        n[p] = (int)(target_start[t + 1] - target_start[t]);
        found[p] = 0;
        wide = max(wide, m[p]);
    }
    if (item == 0)
        widest = 0;
    if (item < ITEMS / WARP)
        longest[item] = 0;
    for (int p = 0; p < PAIRS; p++)
        result[item * PAIRS + p] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (STRIPS)
        atomic_max(&widest, wide);
    atomic_max(&longest[IN_STEP(item)], n[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int steps = longest[IN_STEP(item)] + lanes - 1;
    const int strips = STRIPS ? (widest + lanes * COLUMNS - 1) / (lanes * COLUMNS) : 1;
    for (int p = 0; p < PAIRS; p++)
        pad[p] = ENDS_LAST ? strips * lanes * COLUMNS - m[p] : 0;
    /* Items without a pair repeat the last one, in a place of their own. */
    const int pair = min(at, g.count - 1) / PAIRS;
    __global const ushort *facing = letters_of + starts[g.pair + pair];
    const long begin_of = starts[g.pair + pair], length = starts[g.pair + pair + 1] - begin_of;
    __global uint2 *beside =
        border + get_group_id(1) * g.stride + begin_of - starts[g.pair] + (at / PAIRS - pair) * length;

    const value zero = SPLAT(g.zero), first = SPLAT(g.first), shift = SPLAT(g.shift);
    const value extend = SPLAT(g.extend), minus_extend = SPLAT(-g.extend);
    value best = zero;
    for (int strip = 0; strip < strips; strip++) {
        /* The profiles. Those of a work-group's one query are made by all, others by the items of each. */
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#ifdef JOINED
        __local const uint4 *scores = room + (item & (JOINED - 1));
        for (int x = item; x < JOINED * 4 * QUADS; x += items) {
            const int k = x % 4 + x / (4 * JOINED) * 4;
            const int j = (strip * lanes + (x / 4 & (lanes - 1))) * COLUMNS + k - pad[0];
            __local uint *words = profiles + x;
            uint of[LETTERS];
#pragma unroll
            for (int letter = 0; letter < LETTERS; letter++)
                of[letter] = score_of(g, table, queries, query_start[query[0]], j, m[0], letter);
#pragma unroll
            for (int first_of = 0; first_of < LETTERS; first_of++)
#pragma unroll
                for (int other = 0; other < LETTERS; other++)
                    words[BESIDE(first_of, other) * JOINED * 4 * QUADS] = of[first_of] | of[other] << 16;
        }
#else
        __local const uint *scores[PAIRS];
        for (int p = 0; p < PAIRS; p++) {
            __local uint *region = profiles + (OWN ? (warp * PAIRS + p) * REGION : 0);
            scores[p] = region + slot;
            if (p && !OWN)
                continue;
            for (int x = OWN ? slot : item; x < REGION; x += OWN ? WARP : items) {
                const int letter = x / WARP % LETTERS;
                const int begin = (strip * lanes + (x & (lanes - 1))) * COLUMNS + x / (WARP * LETTERS) * SCORES;
                uint word = 0;
                for (int i = 0; i < SCORES; i++) {
                    const int score =
                        score_of(g, table, queries, query_start[query[p]], begin + i - pad[p], m[p], letter);
                    word |= ((uint)score & (1u << 16 / PAIRS) - 1) << 16 / PAIRS * i;
                }
                region[x] = word;
            }
        }
#endif
        barrier(CLK_LOCAL_MEM_FENCE);

        const int column = (strip * lanes + lane) * COLUMNS;
        value low[COLUMNS], down[COLUMNS], corner = LOWERED(TOP(column));
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
            const value top = TOP(column + k + 1);
            low[k] = LOWERED(top);
            down[k] = IS_LOCAL ? zero : OPENED(top);
        }
        value along = 0, end = 0;
        uint letters = BESIDE(PADDED, PADDED), next = facing[0];
        uint2 ahead = 0;
        if (STRIPS && strip)
            ahead = beside[0];
        for (int step = 0; step < steps; step++) {
            const int t = step - lane;
            value left, beyond;
#ifdef NVIDIA
            left = (value)from_before((uint)low[COLUMNS - 1], lanes);
            beyond = (value)from_before((uint)along, lanes);
            letters = from_before(letters, lanes);
#else
            feet[step & 1][item].low = low[COLUMNS - 1];
            feet[step & 1][item].along = along;
            feet[step & 1][item].letters = letters;
            barrier(CLK_LOCAL_MEM_FENCE);
            const foot before = feet[step & 1][max(item - 1, 0)];
            left = before.low;
            beyond = before.along;
            letters = before.letters;
#endif
            if (lane == 0) {
                letters = !IS_LOCAL || step < n[0] ? next : BESIDE(PADDED, PADDED);
                const value side = SPLAT(border_score(t + 1, TARGET_FREE, g));
                left = LOWERED(side);
                beyond = OPENED(side);
                if (STRIPS && strip) {
                    left = (value)ahead.x;
                    beyond = (value)ahead.y;
                }
            }
            next = facing[step + 1];
            if (STRIPS && strip)
                ahead = beside[min(step + 1, n[0] - 1)];
            /* Before and after the target are letters that raise no score of a local alignment. */
            if (IS_LOCAL || (uint)t < (uint)n[0]) {
#ifdef JOINED
                uint of_both[4 * QUADS];
#pragma unroll
                for (int w = 0; w < QUADS; w++) {
                    const uint4 words = scores[(letters * QUADS + w) * JOINED];
                    of_both[4 * w] = words.x;
                    of_both[4 * w + 1] = words.y;
                    of_both[4 * w + 2] = words.z;
                    of_both[4 * w + 3] = words.w;
                }
#else
                __local const uint *a = scores[0] + (letters & 0xff) * WARP, *b = scores[PAIRS - 1] + (letters >> 8) * WARP;
                uint of_a[WORDS], of_b[WORDS];
#pragma unroll
                for (int w = 0; w < WORDS; w++) {
                    of_a[w] = a[w * LETTERS * WARP];
                    of_b[w] = PAIRS == 2 ? b[w * LETTERS * WARP] : 0;
                }
#endif
                value paired = PLUS(corner, SCORE(0)), now = 0;
                corner = left;
                along = beyond;
#pragma unroll
                for (int k = 0; k < COLUMNS; k++) {
                    now = CELL_MAX(CELL_MAX(paired, down[k]), along);
                    if (k + 1 < COLUMNS)
                        paired = PLUS(low[k], SCORE(k + 1));
                    if (IS_LOCAL)
                        best = CELL_MAX(best, now);
                    const value opened = OPENED(now);
                    low[k] = LOWERED(now);
                    along = CELL_MAX(CELL_ADD(along, minus_extend), opened);
                    if (IS_LOCAL)
                        down[k] = CELL_MAX(CELL_MAX(PLUS(down[k], 0 - extend), opened), zero);
                    else
                        down[k] = CELL_MAX(CELL_ADD(down[k], minus_extend), opened);
                }
                if (ENDS_LAST)
                    end = CELL_MAX(end, now);
                if (STRIPS && strip + 1 < strips && lane == lanes - 1 && (uint)t < (uint)n[0])
                    beside[t] = (uint2)((uint)low[COLUMNS - 1], (uint)along);
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
                out[place[p]] = result[item * PAIRS + p] - g.zero;
}
