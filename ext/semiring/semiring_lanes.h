/* Products and paths over (min, +), for one kind of numbers (numbers.h). A tile of c, ROWS x 4 vectors, stays in registers
 * while a stretch of a's columns and b's rows passes by. */
#define ROWS (LANES_BYTES == 64 ? 4 : 2) /* with 4 vectors of b they fill the registers there are */
#define WIDTH (4 * LANES)
#define DEPTH 128 /* rows of b at a time, of which a strip of 4 vectors is copied to where it stays in the cache */

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

/* Rows that lie apart, one behind the other. */
static const REAL *FORM(copied)(const REAL *from, int64_t stride, REAL *to, int64_t rows, int64_t width)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + i * width, from + i * stride, (size_t)width * sizeof(REAL));
    return to;
}

LANES_TARGET static void FORM(product)(const void *given, int64_t first, int64_t count, void *memory)
{
    const product_job *const job = given;
    const int64_t n = job->n;
    for (int64_t k = 0; k < job->depth; k += DEPTH)
        for (int64_t j = 0; j < n; j += WIDTH) {
            const int64_t depth = job->depth - k < DEPTH ? job->depth - k : DEPTH;
            const REAL *strip = FORM(copied)((const REAL *)job->b + k * n + j, n, memory, depth, WIDTH);
            for (int64_t i = first * BLOCK; i < (first + count) * BLOCK; i += ROWS)
                FORM(tile)((const REAL *)job->a + i * job->depth + k, job->depth, strip, WIDTH, (REAL *)job->c + i * n + j, n, depth);
        }
}

/* c = min(c, a b) of blocks, none of which is c. */
LANES_TARGET static void FORM(block)(const REAL *a, int64_t a_stride, const REAL *b, int64_t b_stride, REAL *c, int64_t n)
{
    for (int64_t j = 0; j < BLOCK; j += WIDTH)
        for (int64_t i = 0; i < BLOCK; i += ROWS)
            FORM(tile)(a + i * a_stride, a_stride, b + j, b_stride, c + i * n + j, n, BLOCK);
}

LANES_TARGET static void FORM(pivot)(const void *given, int64_t first, int64_t count, void *memory)
{
    const closure_job *const job = given;
    const int64_t n = job->n, k = job->k;
    REAL *const row = (REAL *)job->d + k * n, *const pivot = row + k;
    (void)first, (void)count;
    for (int64_t by = 0; by < BLOCK; by++)
        for (int64_t i = 0; i < BLOCK; i++) {
            const VEC to = SET(pivot[i * n + by]);
            for (int64_t j = 0; j < BLOCK; j += LANES) {
                VEC *at = (VEC *)(pivot + i * n + j);
                *at = SMALLER(*at, to + *(const VEC *)(pivot + by * n + j));
            }
        }
    for (int64_t j = 0; j < n; j += BLOCK)
        if (j != k)
            FORM(block)(pivot, n, FORM(copied)(row + j, n, memory, BLOCK, BLOCK), BLOCK, row + j, n);
}

LANES_TARGET static void FORM(others)(const void *given, int64_t first, int64_t count, void *memory)
{
    const closure_job *const job = given;
    const int64_t n = job->n, k = job->k;
    REAL *const from = (REAL *)job->d + k * n, *const row = (REAL *)job->d + first * BLOCK * n;
    (void)count;
    if (first * BLOCK == k)
        return;
    FORM(block)(FORM(copied)(row + k, n, memory, BLOCK, BLOCK), BLOCK, from + k, n, row + k, n);
    for (int64_t j = 0; j < n; j += BLOCK)
        if (j != k)
            FORM(block)(row + k, n, FORM(copied)(from + j, n, memory, BLOCK, BLOCK), BLOCK, row + j, n);
}
