/* The narrow band: least errors of the whole read on 32 diagonals, one candidate in each 32-bit lane.
 *
 * The recurrence is that of kernels/band.h, which says how its edges hold. A band there has 64 diagonals and belongs to a
 * bucket. Here it lies around one candidate, and half the width means twice the lanes. Two things are simpler, as only
 * a lower bound is wanted: masked bases count as A, and no diagonal is named. Rows behind the end of a read match
 * everything, which leaves the least errors of its lane as they are.
 *
 * Wanted from whoever includes this: BOUND_BYTES, the bytes of a vector; BOUND_TARGET; BOUND_OR_XOR(a, b, c) = a | (b ^ c),
 * BOUND_OR_NOT(a, b) = a | ~b, BOUND_OR_NOR(a, b, c) = a | ~(b | c), BOUND_AND_NOT(a, b) = a & ~b, and
 * BOUND_MIN_I8(a, b), BOUND_MIN_I32(a, b) of signed lanes. BOUND_LOW_32(a, b) and BOUND_HIGH_32(a, b) take turns in each 16
 * bytes: words 0 of a and b, then words 1; words 2, then words 3. BOUND_LOW_64 and BOUND_HIGH_64 do so with
 * halves of 64 bits. */
#define BAND_LANES (BOUND_BYTES / 4)
#define BAND_AHEAD (2 * BAND_LANES) /* candidates from prefetch to use */

typedef uint32_t band_vec __attribute__((vector_size(BOUND_BYTES)));
typedef int32_t band_signed __attribute__((vector_size(BOUND_BYTES)));
typedef int8_t band_bytes __attribute__((vector_size(BOUND_BYTES)));
typedef uint32_t band_anywhere __attribute__((vector_size(BOUND_BYTES), aligned(4), may_alias));
#define BAND_LOAD(p) ((band_vec)(*(const band_anywhere *)(p)))

/* Two planes of 64 bases: words 0 and 1 have the low bits of 32 bases each, words 2 and 3 the high bits. */
typedef uint64_t band_planes __attribute__((vector_size(16)));
typedef uint64_t band_planes_anywhere __attribute__((vector_size(16), aligned(8), may_alias));
#define BAND_PLANES(p) ((band_planes)(*(const band_planes_anywhere *)(p)))

/* What 64 rows need of each candidate: the read, and two times 64 bases of the reference on its first diagonal. */
typedef struct {
    uint32_t read[4 * BAND_LANES] __attribute__((aligned(BOUND_BYTES)));
    uint32_t near[4 * BAND_LANES] __attribute__((aligned(BOUND_BYTES)));
    uint32_t far[4 * BAND_LANES] __attribute__((aligned(BOUND_BYTES)));
    uint32_t length[BAND_LANES];
} band_block;

/* The same turned, so that a vector has one word of all lanes. */
typedef struct {
    band_vec read[4], near[4], far[4];
} band_words;

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

/* Where the planes of a lane lie in a block, so that turning them leaves the lanes in order. */
#define BAND_SLOT(lane) (4 * (BAND_LANES / 4 * ((lane) & 3) + ((lane) >> 2)))

/* Squares of four words by four candidates, turned: one in each 16 bytes of the vectors. */
BOUND_FN void band_turn(const uint32_t *planes, band_vec *words)
{
    const band_vec a = BAND_LOAD(planes), b = BAND_LOAD(planes + BAND_LANES);
    const band_vec c = BAND_LOAD(planes + 2 * BAND_LANES), d = BAND_LOAD(planes + 3 * BAND_LANES);
    const band_vec ab = BOUND_LOW_32(a, b), cd = BOUND_LOW_32(c, d);
    const band_vec above_ab = BOUND_HIGH_32(a, b), above_cd = BOUND_HIGH_32(c, d);
    words[0] = BOUND_LOW_64(ab, cd), words[1] = BOUND_HIGH_64(ab, cd);
    words[2] = BOUND_LOW_64(above_ab, above_cd), words[3] = BOUND_HIGH_64(above_ab, above_cd);
}

/* Up to 32 rows from `from` on, the first or second half of a block. `ragged` is a constant: may a read end here? */
BOUND_FN void band_rows(const band_words *words, int half, const band_block *block, uint32_t from, int rows, int ragged,
                        band_state *io)
{
    const band_vec low[2] = {words->near[half], half ? words->far[0] : words->near[1]};
    const band_vec high[2] = {words->near[2 + half], half ? words->far[2] : words->near[3]};
    band_vec read[3] = {words->read[half], words->read[2 + half]};
    band_state state = *io;
    if (ragged) {
        uint32_t over[BAND_LANES]; /* the rows behind the end of the read */
        for (int l = 0; l < BAND_LANES; l++)
            over[l] = block->length[l] > from ? ~(uint32_t)first_bases(block->length[l] - from) : ~(uint32_t)0;
        read[2] = BAND_LOAD(over);
    }
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

/* Words from the first row of the reference to the last row that 64 rows of a read need. */
BOUND_FN int band_span(uint64_t at, uint32_t bases)
{
    return 3 * (int)(((at & 63) + (bases < 64 ? bases : 64) + BAND_WIDTH - 2) >> 6);
}

BOUND_FN uint32_t band_length(const job_t *job, uint32_t candidate)
{
    return job->read_lengths[job->candidates.read_strand[candidate] >> 1];
}

/* Only what is needed is loaded: another line of memory may be one to wait for. */
BOUND_FN void band_fill(const job_t *job, uint32_t candidate, uint32_t base, int lane, band_block *block)
{
    const uint32_t read_strand = job->candidates.read_strand[candidate], length = band_length(job, candidate);
    const uint64_t at = (uint64_t)job->candidates.diagonal[candidate] - BAND_LEAD + base;
    const uint64_t *reference = job->reference.words + 3 * (at >> 6);
    const int span = band_span(at, length - base), shift = (int)(at & 63);
    const band_planes first = BAND_PLANES(reference), next = BAND_PLANES(reference + (span < 3 ? span : 3));
    const band_planes last = BAND_PLANES(reference + span);
    const uint64_t *read = job->reads.words + 3 * (read_row(job, read_strand) + (base >> 6));
    *(band_planes_anywhere *)(block->read + BAND_SLOT(lane)) = BAND_PLANES(read);
    *(band_planes_anywhere *)(block->near + BAND_SLOT(lane)) = first >> shift | next << 1 << (63 - shift);
    *(band_planes_anywhere *)(block->far + BAND_SLOT(lane)) = next >> shift | last << 1 << (63 - shift);
    block->length[lane] = length;
}

/* Ask for the reference of 64 rows of a candidate to come: two lines of memory at most. */
BOUND_FN void band_prefetch(const job_t *job, uint32_t candidate, uint32_t base)
{
    const uint64_t at = (uint64_t)job->candidates.diagonal[candidate] - BAND_LEAD + base;
    const uint64_t *reference = job->reference.words + 3 * (at >> 6);
    __builtin_prefetch(reference);
    __builtin_prefetch(reference + band_span(at, band_length(job, candidate) - base) + 1);
}

/* 64 rows from `base` on of up to BAND_LANES candidates, the longest of them `longest`. */
BOUND_FN void band_advance(const band_block *block, uint32_t base, uint32_t shortest, uint32_t longest, band_state *state)
{
    band_words words;
    band_turn(block->read, words.read);
    band_turn(block->near, words.near);
    band_turn(block->far, words.far);
    for (int half = 0; half < 2; half++) {
        const uint32_t from = base + 32 * half;
        const int rows = from < longest ? (int)(longest - from) : 0;
        if (from + 32 <= shortest || shortest == longest)
            band_rows(&words, half, block, from, rows, 0, state);
        else
            band_rows(&words, half, block, from, rows, 1, state);
    }
}

/* 64 rows of all candidates, then the next 64 of those that are not at the end, nor above the limit of their read: the
   least errors of a row never fall. */
static BOUND_TARGET void band_bounds(const job_t *job, const uint32_t *rows, int n, uint16_t *errors)
{
    uint32_t open[BOUND_BLOCK + BAND_LANES]; /* of `rows`; their states beside them */
    uint32_t vp[BOUND_BLOCK + BAND_LANES], vn[BOUND_BLOCK + BAND_LANES], first[BOUND_BLOCK + BAND_LANES];
    int n_open = n;
    for (uint32_t base = 0; n_open; base += 64) {
        int left = 0;
        for (int start = 0; start < n_open; start += BAND_LANES) {
            const int lanes = n_open - start < BAND_LANES ? n_open - start : BAND_LANES;
            uint32_t shortest = UINT32_MAX, longest = 0;
            band_block block;
            for (int l = 0; l < BAND_LANES; l++) { /* past the last candidate it is repeated */
                const int at = start + (l < lanes ? l : lanes - 1), ahead = start + l + BAND_AHEAD;
                if (ahead < n_open)
                    band_prefetch(job, rows[base ? open[ahead] : (uint32_t)ahead], base);
                band_fill(job, rows[base ? open[at] : (uint32_t)at], base, l, &block);
                shortest = block.length[l] < shortest ? block.length[l] : shortest;
                longest = block.length[l] > longest ? block.length[l] : longest;
            }
            band_state state = {{0}, {0}, {0}};
            if (base)
                state = (band_state){BAND_LOAD(vp + start), BAND_LOAD(vn + start), BAND_LOAD(first + start)};
            band_advance(&block, base, shortest, longest, &state);
            uint32_t least[BAND_LANES], state_vp[BAND_LANES], state_vn[BAND_LANES], state_first[BAND_LANES];
            *(band_anywhere *)least = band_least(&state);
            if (longest <= base + 64) {
                for (int l = 0; l < lanes; l++)
                    errors[base ? open[start + l] : (uint32_t)(start + l)] = (uint16_t)least[l];
                continue;
            }
            *(band_anywhere *)state_vp = state.vp, *(band_anywhere *)state_vn = state.vn;
            *(band_anywhere *)state_first = state.first;
            for (int l = 0; l < lanes; l++) {
                const uint32_t row = base ? open[start + l] : (uint32_t)(start + l);
                errors[row] = (uint16_t)least[l];
                open[left] = row;
                vp[left] = state_vp[l], vn[left] = state_vn[l], first[left] = state_first[l];
                left += (block.length[l] > base + 64) &
                        (least[l] <= job->limits[job->candidates.read_strand[rows[row]] >> 1]);
            }
        }
        n_open = left;
        *(band_anywhere *)(vp + left) = *(band_anywhere *)(vn + left) = *(band_anywhere *)(first + left) = (band_vec){0};
    }
}
