/* The narrow band: least errors of the whole read on 32 diagonals, one candidate in each 32-bit lane.
 *
 * The recurrence is that of kernels/band.h, which says how its edges hold. A band there has 64 diagonals and belongs to a
 * bucket. Here it lies around one candidate, and half the width means twice the lanes. Two things are simpler, as only
 * a lower bound is wanted: masked bases count as A, and no diagonal is named. Rows behind the end of a read match
 * everything, which leaves the least errors of its lane as they are.
 *
 * Wanted from whoever includes this: BOUND_BYTES, the bytes of a vector; BOUND_TARGET; BOUND_OR_XOR(a, b, c) = a | (b ^ c),
 * BOUND_OR_NOT(a, b) = a | ~b, BOUND_OR_NOR(a, b, c) = a | ~(b | c), BOUND_AND_NOT(a, b) = a & ~b, and
 * BOUND_MIN_I8(a, b), BOUND_MIN_I32(a, b) of signed lanes. */
#define BAND_LANES (BOUND_BYTES / 4)
#define BAND_AHEAD (2 * BAND_LANES) /* candidates from prefetch to use */

typedef uint32_t band_vec __attribute__((vector_size(BOUND_BYTES)));
typedef int32_t band_signed __attribute__((vector_size(BOUND_BYTES)));
typedef int8_t band_bytes __attribute__((vector_size(BOUND_BYTES)));
typedef uint32_t band_anywhere __attribute__((vector_size(BOUND_BYTES), aligned(4), may_alias));
#define BAND_LOAD(p) ((band_vec)(*(const band_anywhere *)(p)))

/* What 64 rows need, in words of 32 bases: the reference on the diagonals of the band, the read, and which of its rows
   lie behind the end. */
typedef struct {
    uint32_t low[3][BAND_LANES], high[3][BAND_LANES];
    uint32_t read_low[2][BAND_LANES], read_high[2][BAND_LANES], over[2][BAND_LANES];
} band_block;

typedef struct {
    band_vec vp, vn; /* the next diagonal has one error more, less */
    band_vec first;  /* errors on the first diagonal */
} band_state;

/* Bits r of all lanes, each spread over its lane. */
#define BAND_SPREAD(bits, r) ((band_vec)((band_signed)((bits) << (31 - (r))) >> 31))

BOUND_FN void band_row(const band_vec *low, const band_vec *high, const band_vec *read, int r, int ragged,
                       band_state *state)
{
    const band_vec read_low = BAND_SPREAD(read[0], r), read_high = BAND_SPREAD(read[1], r);
    band_vec differ = BOUND_OR_XOR(read_low ^ low[0], read_high, high[0]) >> r;
    if (r)
        differ |= BOUND_OR_XOR(read_low ^ low[1], read_high, high[1]) << (31 - r) << 1;
    if (ragged)
        differ = BOUND_AND_NOT(differ, BAND_SPREAD(read[2], r));
    const band_vec vp = state->vp, vn = state->vn;
    const band_vec sum = BOUND_AND_NOT(vp, differ) + vp;
    const band_vec d0 = BOUND_OR_NOT(BOUND_OR_XOR(vn, sum, vp), differ), next = d0 >> 1;
    const band_vec hp = BOUND_OR_NOR(vn, d0, vp), hn = d0 & vp;
    state->first += BOUND_AND_NOT((band_vec){0} + 1, d0);
    state->vp = BOUND_OR_NOR(hn, next, hp);
    state->vn = next & hp;
}

/* Up to 32 rows. `ragged` is a constant: may a read end here? */
BOUND_FN void band_rows(const band_block *block, int half, int rows, int ragged, band_state *io)
{
    const band_vec low[2] = {BAND_LOAD(block->low[half]), BAND_LOAD(block->low[half + 1])};
    const band_vec high[2] = {BAND_LOAD(block->high[half]), BAND_LOAD(block->high[half + 1])};
    const band_vec read[3] = {BAND_LOAD(block->read_low[half]), BAND_LOAD(block->read_high[half]),
                              BAND_LOAD(block->over[half])};
    band_state state = *io;
    BOUND_UNROLL /* so that all shifts are by constants */
    for (int r = 0; r < 32; r++) {
        if (r >= rows)
            break;
        band_row(low, high, read, r, ragged, &state);
    }
    *io = state;
}

/* Least errors of any diagonal: prefix sums of VP - VN, in each byte for its eight diagonals, then over the bytes. */
BOUND_FN band_vec band_least(const band_state *state)
{
    const band_vec ones = (band_vec){0} + 0x01010101;
    band_bytes sum = {0}, low = {0};
    BOUND_UNROLL
    for (int j = 0; j < 8; j++) {
        if (j)
            low = BOUND_MIN_I8(low, sum);
        sum += (band_bytes)(state->vp >> j & ones) - (band_bytes)(state->vn >> j & ones);
    }
    band_signed before = (band_signed)state->first, least = before + 8;
    BOUND_UNROLL
    for (int b = 0; b < 32; b += 8) {
        least = BOUND_MIN_I32(least, before + ((band_signed)((band_vec)low << (24 - b)) >> 24));
        before += (band_signed)((band_vec)sum << (24 - b)) >> 24;
    }
    return (band_vec)least;
}

BOUND_FN void band_fill(const job_t *job, int64_t candidate, uint32_t base, int lane, band_block *block)
{
    const uint32_t read_strand = job->candidates.read_strand[candidate];
    const uint32_t length = job->read_lengths[read_strand >> 1], last = (length - 1) & ~63u;
    const uint32_t from = base < last ? base : last; /* past the end anything will do, but not anywhere */
    const uint64_t at = (uint64_t)job->candidates.diagonal[candidate] - BAND_LEAD + from;
    const uint64_t *reference = job->reference.words + 3 * (at >> 6);
    const uint64_t *read = job->reads.words + 3 * (read_row(job, read_strand) + (from >> 6));
    const uint64_t over = base > last ? ~(uint64_t)0 : ~first_bases(length - last) & (0 - (uint64_t)(base == last));
    const int shift = (int)(at & 63);
    const uint64_t low = funnel_shift(reference[0], reference[3], shift);
    const uint64_t high = funnel_shift(reference[1], reference[4], shift);
    block->low[0][lane] = (uint32_t)low, block->low[1][lane] = (uint32_t)(low >> 32);
    block->high[0][lane] = (uint32_t)high, block->high[1][lane] = (uint32_t)(high >> 32);
    block->low[2][lane] = (uint32_t)funnel_shift(reference[3], reference[6], shift);
    block->high[2][lane] = (uint32_t)funnel_shift(reference[4], reference[7], shift);
    block->read_low[0][lane] = (uint32_t)read[0], block->read_low[1][lane] = (uint32_t)(read[0] >> 32);
    block->read_high[0][lane] = (uint32_t)read[1], block->read_high[1][lane] = (uint32_t)(read[1] >> 32);
    block->over[0][lane] = (uint32_t)over, block->over[1][lane] = (uint32_t)(over >> 32);
}

/* Ask for the reference of a candidate to come. */
BOUND_FN void band_prefetch(const job_t *job, int64_t candidate)
{
    const int64_t first = (int64_t)job->candidates.diagonal[candidate] - BAND_LEAD;
    prefetch_bases(job->reference, first,
                   first + BAND_WIDTH + job->read_lengths[job->candidates.read_strand[candidate] >> 1]);
}

static BOUND_TARGET void band_bounds(const job_t *job, const uint32_t *rows, int n, uint16_t *errors)
{
    for (int start = 0; start < n; start += BAND_LANES) {
        const int lanes = n - start < BAND_LANES ? n - start : BAND_LANES;
        uint32_t shortest = UINT32_MAX, longest = 0;
        for (int l = 0; l < lanes; l++) {
            const uint32_t length = job->read_lengths[job->candidates.read_strand[rows[start + l]] >> 1];
            shortest = length < shortest ? length : shortest;
            longest = length > longest ? length : longest;
            if (start + l + BAND_AHEAD < n)
                band_prefetch(job, rows[start + l + BAND_AHEAD]);
        }
        band_state state = {{0}, {0}, {0}};
        for (uint32_t base = 0; base < longest; base += 64) {
            band_block block;
            for (int l = 0; l < BAND_LANES; l++) /* past the last candidate it is repeated */
                band_fill(job, rows[start + (l < lanes ? l : lanes - 1)], base, l, &block);
            for (int half = 0; half < 2; half++) {
                const uint32_t from = base + 32 * half;
                if (from + 32 <= shortest || shortest == longest)
                    band_rows(&block, half, from < longest ? (int)(longest - from) : 0, 0, &state);
                else
                    band_rows(&block, half, from < longest ? (int)(longest - from) : 0, 1, &state);
            }
        }
        uint32_t least[BAND_LANES];
        *(band_anywhere *)least = band_least(&state);
        for (int l = 0; l < lanes; l++)
            errors[start + l] = (uint16_t)least[l];
    }
}
