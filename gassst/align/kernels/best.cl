/* Tiles of the local alignment of two long sequences: the recurrence and the lines of ext/pairwise/best.h.
 *
 * Recipe. A work-group has a tile. A work-item has ROWS neighbouring rows of it and is one column behind the item above
 * it, which hands it H and F at the foot of its rows through local memory. One call is a wave: of every chunk of the
 * target the tiles of one antidiagonal. A tile finds the line above it in `across`, that left of it in `down`, and leaves
 * its own there. Those between blocks are also kept for the host. A device has the tiles of some neighbouring columns:
 * of chunks of its own, or of the one chunk that the device before has begun.
 *
 * Wanted from whoever builds this: ITEMS, ROWS, COLUMNS (of a tile), LETTERS, and where all letters that occur are
 * equal or not and nothing else, MATCH and MISMATCH. */
typedef struct {
    int rows, columns;             /* letters of query and target */
    int tile_rows;                 /* rows of tiles */
    int first_tile, end_tile;      /* columns of tiles of this device */
    int chunk_tiles, overlap_tiles; /* columns of tiles of a chunk; those before it at which the chunk begins */
    int continues;                  /* what is left of the first tiles is in `down` and `corners` */
    int block_rows, block_columns; /* tiles of a block */
    int wave, first, extend;
} geometry;

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void best_wave(
    const geometry g, __global const uchar *query, __global const uchar *target, __global const int *matrix,
    __global int2 *across, __global int2 *down, __global int *corners, __global int2 *kept_across,
    __global int2 *kept_down, __global int *best)
{
    __local int2 foot[2][ITEMS + 1]; /* H and F below the rows of each item, in this step and the last */
    __local int2 line[COLUMNS];      /* above the tile, then below it */
    __local uchar facing[COLUMNS];
    __local int highest[ITEMS];
#ifndef MATCH
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
    int h[ROWS], e[ROWS], letter[ROWS], most = 0;
    for (int i = item; i < columns; i += ITEMS) {
        line[i] = above[i];
        facing[i] = target[first_column + i];
    }
#ifndef MATCH
    for (int i = item; i < LETTERS * LETTERS; i += ITEMS)
        scores[i] = matrix[i];
#endif
    for (int k = 0; k < ROWS; k++) {
        const int inside = row + k < g.rows;
        const int2 beside = inside && is_within ? left[row + k] : (int2)(0, 0);
        h[k] = beside.x;
        e[k] = beside.y;
        letter[k] = inside ? query[row + k] : -1;
    }
    const int own_corner = is_within ? corners[chunk * g.tile_rows + r] : 0;
    foot[0][item + 1] = foot[1][item + 1] = (int2)(h[ROWS - 1], 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int next_corner = line[columns - 1].x;
    int before = item ? foot[0][item].x : own_corner;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 0; step < columns + ITEMS - 1; step++) {
        const int column = step - item;
        if (column >= 0 && column < columns) {
            const int2 upper = item ? foot[step & 1][item] : line[column];
            const int base = facing[column];
            int diagonal = before, f = upper.y;
            before = upper.x;
            for (int k = 0; k < ROWS; k++) {
#ifdef MATCH
                const int score = letter[k] == base ? MATCH : MISMATCH;
#else
                const int score = letter[k] < 0 ? 0 : scores[letter[k] * LETTERS + base];
#endif
                const int now = letter[k] < 0 ? 0 : max(max(diagonal + score, 0), max(e[k], f));
                const int opened = now - g.first;
                diagonal = h[k];
                h[k] = now;
                e[k] = max(opened, e[k] - g.extend);
                f = max(opened, f - g.extend);
                most = max(most, now);
            }
            const int2 lower = (int2)(h[ROWS - 1], max(f, 0));
            foot[~step & 1][item + 1] = lower;
            if (item == ITEMS - 1)
                line[column] = lower;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    highest[item] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int keeps_across = c >= begin && (r + 1) % g.block_rows == 0 && r + 1 < g.tile_rows;
    for (int i = item; i < columns; i += ITEMS) {
        above[i] = line[i];
        if (keeps_across)
            kept_across[(size_t)((r + 1) / g.block_rows) * (g.end_tile - g.first_tile) * COLUMNS +
                        (size_t)(c - g.first_tile) * COLUMNS + i] = line[i];
    }
    const int keeps_down = c >= begin && (c + 1) % g.block_columns == 0 && c + 1 < tile_columns;
    for (int k = 0; k < ROWS && row + k < g.rows; k++) {
        const int2 beside = (int2)(h[k], max(e[k], 0));
        left[row + k] = beside;
        if (keeps_down)
            kept_down[(size_t)((c + 1 - g.first_tile) / g.block_columns) * g.rows + row + k] = beside;
    }
    if (item == 0) {
        for (int i = 1; i < ITEMS; i++)
            most = max(most, highest[i]);
        if (c >= begin)
            best[(size_t)r * (g.end_tile - g.first_tile) + c - g.first_tile] = most;
        corners[chunk * g.tile_rows + r] = next_corner;
    }
}
