/* Tiles of the local alignment of two long sequences: the recurrence and the lines of ext/pairwise/best.h.
 *
 * Recipe. A work-group has a tile. A work-item has ROWS neighbouring rows of it and is one column behind the item above
 * it, which hands it H and F at the foot of its rows through local memory. One call is a wave: of every chunk of the
 * target the tiles of one antidiagonal. A tile finds the line above it in `across`, that left of it in `down`, and leaves
 * its own there. Those between blocks are also kept for the host. A device has the tiles of some neighbouring columns:
 * of chunks of its own, or of the one chunk that the device before has begun.
 *
 * Wanted from whoever builds this: ITEMS, ROWS, COLUMNS (of a tile), LETTERS; PACKED, where no letter that occurs has a
 * code above 7, and bytes hold their scores; NVIDIA, where a tile has a work-item for each of a warp, which shuffle. */
#ifdef PACKED
/* Scores of a row's letter against letters 0 to 7, and what of them is wanted. */
#define TABLE uint2
#ifdef NVIDIA
static inline int score_of(uint2 table, uint which)
{
    int score;
    __asm("prmt.b32 %0, %1, %2, %3;" : "=r"(score) : "r"(table.x), "r"(table.y), "r"(which));
    return score;
}
#define SELECTOR(base) (0x8880u + (base) * 0x1111u)
#else
#define SELECTOR(base) (base)
static inline int score_of(uint2 table, uint which)
{
    return (char)((which < 4 ? table.x : table.y) >> which % 4 * 8);
}
#endif
#else
#define TABLE int
#define SELECTOR(base) (base)
#define score_of(letter, base) scores[(letter) * LETTERS + (base)]
#endif

#ifdef NVIDIA
#define UNROLL _Pragma("unroll")
#define TOGETHER
static inline int from_before(int mine)
{
    int before;
    __asm volatile("shfl.sync.up.b32 %0, %1, 1, 0, 0xffffffff;" : "=r"(before) : "r"(mine));
    return before;
}
/* A product with 1 has a unit of its own beside that of the largest of values. */
static inline int times_plus(int a, int b, int c)
{
    int d;
    __asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
#define PLUS(a, b) times_plus(a, g.one, b)
#else
#define UNROLL /* PoCL 5 miscompiles unrolled loops of a kernel with barriers */
#define TOGETHER barrier(CLK_LOCAL_MEM_FENCE)
#define PLUS(a, b) ((a) + (b))
#endif

/* One column of an item's rows. No gap is kept below 0: so neither is H. */
#define CELLS(WITHIN)                                                                     \
    {                                                                                     \
        int paired = PLUS(diagonal, score_of(table[0], which));                           \
        UNROLL for (int k = 0; k < ROWS; k++)                                             \
        {                                                                                 \
            const int now = (WITHIN) ? max(max(paired, e[k]), f) : 0;                     \
            if (k + 1 < ROWS)                                                             \
                paired = PLUS(h[k], score_of(table[k + 1], which));                       \
            const int opened = PLUS(now, -g.first);                                       \
            h[k] = now;                                                                   \
            e[k] = max(max(e[k] - g.extend, opened), 0);                                  \
            f = max(f - g.extend, opened);                                                \
            most = max(most, now);                                                        \
        }                                                                                 \
    }

typedef struct {
    int rows, columns;             /* letters of query and target */
    int tile_rows;                 /* rows of tiles */
    int first_tile, end_tile;      /* columns of tiles of this device */
    int chunk_tiles, overlap_tiles; /* columns of tiles of a chunk; those before it at which the chunk begins */
    int continues;                  /* what is left of the first tiles is in `down` and `corners` */
    int block_rows, block_columns; /* tiles of a block */
    int wave, first, extend;
    int one; /* is 1, which the compiler must not know */
} geometry;

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void best_wave(
    const geometry g, __global const uchar *query, __global const uchar *target, __global const int *matrix,
    __global int2 *across, __global int2 *down, __global int *corners, __global int2 *kept_across,
    __global int2 *kept_down, __global int *best)
{
#ifndef NVIDIA
    __local int2 foot[2][ITEMS + 1]; /* H and F below the rows of each item, in this step and the last */
#endif
    __local int2 line[COLUMNS]; /* above the tile, then below it */
    __local uchar facing[COLUMNS];
    __local int highest[ITEMS];
#ifdef PACKED
    __local uint2 tables[8];
#else
    __local int scores[LETTERS * LETTERS];
#endif
    const int item = get_local_id(0), chunk = get_group_id(0) / g.tile_rows, r = get_group_id(0) % g.tile_rows;
    const int tile_columns = (g.columns + COLUMNS - 1) / COLUMNS;
    const int begin = g.first_tile + chunk * g.chunk_tiles, warm = min(begin, g.overlap_tiles);
    const int c = begin - warm + g.wave - r, end = min(begin + g.chunk_tiles, g.end_tile);
    if (g.wave < r || c >= end)
        return;
    const int first_row = r * ITEMS * ROWS, first_column = c * COLUMNS;
    const int columns = min(COLUMNS, g.columns - first_column), row = first_row + item * ROWS;
    const int is_within = g.continues || g.wave > r;
    /* Lines of a chunk have room for the overlap. */
    __global int2 *above = across + (size_t)chunk * (g.chunk_tiles + g.overlap_tiles) * COLUMNS +
                           (size_t)(g.wave - r) * COLUMNS;
    __global int2 *left = down + (size_t)chunk * g.rows;
    int h[ROWS], e[ROWS], most = 0;
    TABLE table[ROWS];
    for (int i = item; i < columns; i += ITEMS) {
        line[i] = above[i];
        facing[i] = target[first_column + i];
    }
#ifdef PACKED
    if (item < 8) {
        uint packed[2] = {0, 0};
        UNROLL for (int other = 0; other < min(8, LETTERS); other++)
            packed[other / 4] |= (uint)(matrix[min(item, LETTERS - 1) * LETTERS + other] & 0xff) << other % 4 * 8;
        tables[item] = (uint2)(packed[0], packed[1]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#else
    for (int i = item; i < LETTERS * LETTERS; i += ITEMS)
        scores[i] = matrix[i];
#endif
    UNROLL for (int k = 0; k < ROWS; k++) {
        const int inside = row + k < g.rows;
        const int2 beside = inside && is_within ? left[row + k] : (int2)(0, 0);
        h[k] = beside.x;
        e[k] = beside.y;
        const int letter = inside ? query[row + k] : 0;
#ifdef PACKED
        table[k] = tables[letter];
#else
        table[k] = letter;
#endif
    }
    const int own_corner = is_within ? corners[chunk * g.tile_rows + r] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int next_corner = line[columns - 1].x;
    const int rows = clamp(g.rows - row, 0, ROWS), is_full = first_row + ITEMS * ROWS <= g.rows;
    int below = 0;
#ifdef NVIDIA
    int before = from_before(h[ROWS - 1]);
    before = item ? before : own_corner;
#else
    foot[0][item + 1] = foot[1][item + 1] = (int2)(h[ROWS - 1], 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    int before = item ? foot[0][item].x : own_corner;
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    for (int step = 0; step < columns + ITEMS - 1; step++) {
        const int column = step - item;
#ifdef NVIDIA
        int2 upper = (int2)(from_before(h[ROWS - 1]), from_before(below));
#else
        int2 upper = foot[step & 1][item];
#endif
        if (column >= 0 && column < columns) {
            if (item == 0)
                upper = line[column];
            const uint which = SELECTOR(facing[column]);
            int diagonal = before, f = upper.y;
            before = upper.x;
            if (is_full)
                CELLS(1)
            else
                CELLS(k < rows)
            below = max(f, 0);
#ifndef NVIDIA
            foot[~step & 1][item + 1] = (int2)(h[ROWS - 1], below);
#endif
            if (item == ITEMS - 1)
                line[column] = (int2)(h[ROWS - 1], below);
        }
        TOGETHER;
    }
    highest[item] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int keeps_across = c >= begin && (r + 1) % g.block_rows == 0 && r + 1 < g.tile_rows;
    for (int i = item; i < columns; i += ITEMS) {
        above[i] = line[i];
        if (keeps_across)
            kept_across[(size_t)((r + 1) / g.block_rows - 1) * (g.end_tile - g.first_tile) * COLUMNS +
                        (size_t)(c - g.first_tile) * COLUMNS + i] = line[i];
    }
    const int keeps_down = c >= begin && (c + 1) % g.block_columns == 0 && c + 1 < tile_columns;
    UNROLL for (int k = 0; k < ROWS; k++) {
        if (row + k >= g.rows)
            continue;
        const int2 beside = (int2)(h[k], max(e[k], 0));
        left[row + k] = beside;
        if (keeps_down)
            kept_down[(size_t)((c + 1 - g.first_tile) / g.block_columns - 1) * g.rows + row + k] = beside;
    }
    if (item == 0) {
        for (int i = 1; i < ITEMS; i++)
            most = max(most, highest[i]);
        if (c >= begin)
            best[(size_t)r * (g.end_tile - g.first_tile) + c - g.first_tile] = most;
        corners[chunk * g.tile_rows + r] = next_corner;
    }
}
