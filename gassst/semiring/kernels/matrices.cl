/* Products over (min, +), and paths in blocks (semiring_lanes.h): a group of 16 x 16 work-items has a tile of c, TILE x TILE
 * numbers, and the tiles of a and b that it needs pass through local memory. Sides are multiples of TILE.
 *
 * Wanted from whoever builds this: REAL and TILE. */
#define EACH (TILE / 16)

/* c = min(c, a b). What is read lies in local memory before anything is written, so that c may be a or b if `depth` is TILE. */
void tile(__global const REAL *a, const int a_stride, __global const REAL *b, const int b_stride, __global REAL *c,
          const int c_stride, const int depth, __local REAL *left, __local REAL *right)
{
    const int x = get_local_id(0), y = get_local_id(1);
    REAL sum[EACH][EACH];
    for (int r = 0; r < EACH; r++)
        for (int q = 0; q < EACH; q++)
            sum[r][q] = c[(y + 16 * r) * (size_t)c_stride + x + 16 * q];
    for (int from = 0; from < depth; from += TILE) {
        for (int r = 0; r < EACH; r++)
            for (int q = 0; q < EACH; q++) {
                const int i = y + 16 * r, j = x + 16 * q;
                left[i * TILE + j] = a[i * (size_t)a_stride + from + j];
                right[i * TILE + j] = b[(from + i) * (size_t)b_stride + j];
            }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            for (int r = 0; r < EACH; r++)
                for (int q = 0; q < EACH; q++)
                    sum[r][q] = fmin(sum[r][q], left[(y + 16 * r) * TILE + k] + right[k * TILE + x + 16 * q]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = 0; r < EACH; r++)
        for (int q = 0; q < EACH; q++)
            c[(y + 16 * r) * (size_t)c_stride + x + 16 * q] = sum[r][q];
}

/* c[., n] = a[., depth] b[depth, n], of which c holds infinity. */
__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void product(__global const REAL *a, __global const REAL *b,
                                                                       __global REAL *c, const int depth, const int n)
{
    __local REAL left[TILE * TILE], right[TILE * TILE];
    const size_t j = get_group_id(0) * TILE, i = get_group_id(1) * TILE;
    tile(a + i * depth, depth, b + j, n, c + i * n + j, n, depth, left, right);
}

/* Paths by way of block k within this block, of one group: twice as many steps each time. */
__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void pivot(__global REAL *d, const int n, const int k)
{
    __local REAL left[TILE * TILE], right[TILE * TILE];
    __global REAL *at = d + k * (size_t)n + k;
    for (int steps = 1; steps < TILE; steps *= 2) {
        tile(at, n, at, n, at, n, TILE, left, right);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

/* Paths by way of block k: of its rows (`part` 0), of its columns (1), of all others (2). */
__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void others(__global REAL *d, const int n, const int k,
                                                                      const int part)
{
    __local REAL left[TILE * TILE], right[TILE * TILE];
    const size_t across = get_group_id(0) * TILE;
    const size_t i = part == 0 ? k : part == 1 ? across : get_group_id(1) * TILE, j = part == 1 ? k : across;
    if ((part != 0 && i == k) || (part != 1 && j == k))
        return;
    tile(d + i * n + k, n, d + k * (size_t)n + j, n, d + i * n + j, n, TILE, left, right);
}
