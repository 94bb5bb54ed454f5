/* Products and paths over (min, +), for one kind of numbers (numbers.h). A tile of c, ROWS x 4 vectors, stays in registers
 * while a stretch of a's columns and b's rows passes by. */
#define ROWS (LANES_BYTES == 64 ? 4 : 2) /* with 4 vectors of b they fill the registers there are */
#define WIDTH (4 * LANES)
#define DEPTH 512 /* rows of b at a time, of which a strip of 4 vectors stays in the cache */

LANES_ALWAYS LANES_TARGET void FORM(tile)(const REAL *a, int64_t a_stride, const REAL *b, int64_t b_stride, REAL *c,
                                          int64_t c_stride, int64_t depth)
{
    VEC sum[ROWS][4];
    for (int r = 0; r < ROWS; r++)
        for (int q = 0; q < 4; q++)
            sum[r][q] = *(const VEC *)(c + r * c_stride + q * LANES);
    for (int64_t k = 0; k < depth; k++) {
        const VEC *row = (const VEC *)(b + k * b_stride);
        for (int r = 0; r < ROWS; r++)
            for (int q = 0; q < 4; q++)
                sum[r][q] = SMALLER(sum[r][q], SET(a[r * a_stride + k]) + row[q]);
    }
    for (int r = 0; r < ROWS; r++)
        for (int q = 0; q < 4; q++)
            *(VEC *)(c + r * c_stride + q * LANES) = sum[r][q];
}

LANES_TARGET static void FORM(product)(const void *a, const void *b, void *c, int64_t first, int64_t last, int64_t l,
                                       int64_t n)
{
    for (int64_t k = 0; k < l; k += DEPTH)
        for (int64_t j = 0; j < n; j += WIDTH)
            for (int64_t i = first; i < last; i += ROWS)
                FORM(tile)((const REAL *)a + i * l + k, l, (const REAL *)b + k * n + j, n, (REAL *)c + i * n + j, n,
                           l - k < DEPTH ? l - k : DEPTH);
}

/* c = min(c, a b) of blocks, none of which is c. */
LANES_TARGET static void FORM(block)(const REAL *a, int64_t a_stride, const REAL *b, int64_t b_stride, REAL *c, int64_t n)
{
    for (int64_t j = 0; j < SEMIRING_BLOCK; j += WIDTH)
        for (int64_t i = 0; i < SEMIRING_BLOCK; i += ROWS)
            FORM(tile)(a + i * a_stride, a_stride, b + j, b_stride, c + i * n + j, n, SEMIRING_BLOCK);
}

static const REAL *FORM(copied)(const REAL *block, int64_t n, REAL *to)
{
    for (int64_t i = 0; i < SEMIRING_BLOCK; i++)
        memcpy(to + i * SEMIRING_BLOCK, block + i * n, SEMIRING_BLOCK * sizeof(REAL));
    return to;
}

LANES_TARGET static void FORM(pivot)(void *matrix, int64_t n, int64_t k)
{
    VEC space[SEMIRING_BLOCK * SEMIRING_BLOCK / LANES];
    REAL *row = (REAL *)matrix + k * n, *pivot = row + k, *copy = (REAL *)space;
    for (int64_t by = 0; by < SEMIRING_BLOCK; by++)
        for (int64_t i = 0; i < SEMIRING_BLOCK; i++) {
            const VEC to = SET(pivot[i * n + by]);
            for (int64_t j = 0; j < SEMIRING_BLOCK; j += LANES) {
                VEC *at = (VEC *)(pivot + i * n + j);
                *at = SMALLER(*at, to + *(const VEC *)(pivot + by * n + j));
            }
        }
    for (int64_t j = 0; j < n; j += SEMIRING_BLOCK)
        if (j != k)
            FORM(block)(pivot, n, FORM(copied)(row + j, n, copy), SEMIRING_BLOCK, row + j, n);
}

LANES_TARGET static void FORM(others)(void *matrix, int64_t n, int64_t k, int64_t i)
{
    VEC space[SEMIRING_BLOCK * SEMIRING_BLOCK / LANES];
    REAL *from = (REAL *)matrix + k * n, *row = (REAL *)matrix + i * n;
    FORM(block)(FORM(copied)(row + k, n, (REAL *)space), SEMIRING_BLOCK, from + k, n, row + k, n);
    for (int64_t j = 0; j < n; j += SEMIRING_BLOCK)
        if (j != k)
            FORM(block)(row + k, n, from + j, n, row + j, n);
}
