/* The narrow band: least errors of the whole read on 32 diagonals, one candidate in each 32-bit lane.
 *
 * The recurrence is that of kernels/band.h, which says how its edges hold. A band there has 64 diagonals and belongs to a
 * bucket. Here it lies around one candidate, and half the width means twice the lanes. Two things are simpler, as only
 * a lower bound is wanted: masked bases count as A, and no diagonal is named. Rows behind the end of a read match
 * everything, which leaves the least errors of its lane as they are.
 */
#define BAND_LANES ((int)(ISA_BYTES / sizeof(uint32_t)))
#define BAND_ROOM (BOUND_BLOCK + AHEAD + BAND_LANES)

typedef uint32_t bound_vec __attribute__((vector_size(ISA_BYTES)));
typedef int32_t band_signed __attribute__((vector_size(ISA_BYTES)));
typedef int8_t band_bytes __attribute__((vector_size(ISA_BYTES)));
typedef uint32_t band_anywhere __attribute__((vector_size(ISA_BYTES), aligned(4), may_alias));
#define BAND_LOAD(p) ((bound_vec)(*(const band_anywhere *)(p)))

/* Two planes of 64 bases: words 0 and 1 have the low bits of 32 bases each, words 2 and 3 the high bits. */
typedef uint64_t band_planes __attribute__((vector_size(16)));
typedef uint64_t band_planes_anywhere __attribute__((vector_size(16), aligned(8), may_alias));
#define BAND_PLANES(p) ((band_planes)(*(const band_planes_anywhere *)(p)))

/* What 64 rows need of each candidate: the read, and two times 64 bases of the reference on its first diagonal. */
typedef struct {
    uint32_t read[4 * BAND_LANES] __attribute__((aligned(ISA_BYTES)));
    uint32_t near[4 * BAND_LANES] __attribute__((aligned(ISA_BYTES)));
    uint32_t far[4 * BAND_LANES] __attribute__((aligned(ISA_BYTES)));
} band_block;

/* The candidates whose bounds are looked for, in an order of their own: where the next row begins. */
typedef struct {
    uint32_t site[BAND_ROOM]; /* which of the caller's */
    coordinate_t at[BAND_ROOM];
    uint32_t read[BAND_ROOM], left[BAND_ROOM];
    uint32_t word[BAND_ROOM], span[BAND_ROOM]; /* where the reference lies: its first word, and from there to the last row */
    uint32_t vp[BAND_ROOM], vn[BAND_ROOM], first[BAND_ROOM]; /* states of the bands */
} band_queue;

/* The same turned, so that a vector has one word of all lanes. */
typedef struct {
    bound_vec read[4], ambiguous[2], low[3], high[3];
} band_words;

#include "bound_row.h"
/* Bits r of all lanes, each spread over its lane. */
#define BAND_SPREAD(bits, r) ((bound_vec)((band_signed)((bits) << (31 - (r))) >> 31))

/* What lies on the diagonals of the band in row r: the words of 32 rows before, shifted. */
#define BAND_NEAR(word, r) ((word) >> (r))
#define BAND_FAR(word, r) ((r) ? (word) << (32 - (r)) : (bound_vec){0})

/* Where the planes of a lane lie in a block, so that turning them leaves the lanes in order. */
#define BAND_SLOT(lane) (4 * (BAND_LANES / 4 * ((lane) & 3) + ((lane) >> 2)))

/* Squares of four words by four candidates, turned: one in each 16 bytes of the vectors. */
ISA_INLINE void band_turn(const uint32_t *planes, bound_vec *words)
{
    const bound_vec a = BAND_LOAD(planes), b = BAND_LOAD(planes + BAND_LANES);
    const bound_vec c = BAND_LOAD(planes + 2 * BAND_LANES), d = BAND_LOAD(planes + 3 * BAND_LANES);
    const bound_vec ab = V_LOW_32(a, b), cd = V_LOW_32(c, d);
    const bound_vec above_ab = V_HIGH_32(a, b), above_cd = V_HIGH_32(c, d);
    words[0] = V_LOW_64(ab, cd), words[1] = V_HIGH_64(ab, cd);
    words[2] = V_LOW_64(above_ab, above_cd), words[3] = V_HIGH_64(above_ab, above_cd);
}

ISA_INLINE void band_turn_reference(const band_block *block, band_words *words)
{
    bound_vec near[4], far[4];
    band_turn(block->near, near);
    band_turn(block->far, far);
    words->low[0] = near[0], words->low[1] = near[1], words->low[2] = far[0];
    words->high[0] = near[2], words->high[1] = near[3], words->high[2] = far[2];
}

#define BAND_NOINLINE static ISA_TARGET __attribute__((noinline))

/* Up to 32 rows of a half of a block. `over`: bits of rows behind the end of the read; NULL where no read ends here or has
 * ambiguous bases. */
ISA_INLINE void band_rows(const band_words *words, int half, const uint32_t *over, int rows, bound_state *io)
{
    const bound_vec low[2] = {words->low[half], words->low[half + 1]};
    const bound_vec high[2] = {words->high[half], words->high[half + 1]};
    const bound_vec read_low = words->read[half], read_high = words->read[2 + half];
    const bound_vec live = over ? ~BAND_LOAD(over) : (bound_vec){0}, both = ~words->ambiguous[half];
    bound_state state = *io;
    ISA_UNROLL /* so that all shifts are by constants */
    for (int r = 0; r < 32; r++) {
        if (r >= rows)
            break;
        bound_vec differ[2];
        for (int w = 0; w < 2; w++) {
            differ[w] = BAND_SPREAD(read_high, r) ^ high[w];
            differ[w] = (BAND_SPREAD(read_low, r) ^ low[w]) | (over ? differ[w] & BAND_SPREAD(both, r) : differ[w]);
            differ[w] = over ? differ[w] & BAND_SPREAD(live, r) : differ[w];
        }
        bound_row(BAND_NEAR(differ[0], r) | BAND_FAR(differ[1], r), &state);
    }
    *io = state;
}

BAND_NOINLINE void band_rows_within(const band_words *words, int half, int rows, bound_state *io)
{
    band_rows(words, half, NULL, rows, io);
}

/* `left`: rows of each lane. */
BAND_NOINLINE void band_rows_at_ends(const band_words *words, int half, const uint32_t *left, int rows, bound_state *io)
{
    uint32_t over[BAND_LANES];
    for (int l = 0; l < BAND_LANES; l++)
        over[l] = left[l] > 32u * half ? ~(uint32_t)first_bases(left[l] - 32 * half) : ~(uint32_t)0;
    band_rows(words, half, over, rows, io);
}

/* Least errors of any diagonal: prefix sums of VP - VN, in each byte for its eight diagonals, then over the bytes. */
ISA_INLINE bound_vec band_least(const bound_state *state)
{
    const bound_vec ones = (bound_vec){0} + 0x01010101;
    band_bytes sum = {0}, low = {0};
    ISA_UNROLL
    for (int j = 0; j < 8; j++) {
        if (j)
            low = V_MIN_I8(low, sum);
        sum += (band_bytes)(state->vp >> j & ones) - (band_bytes)(state->vn >> j & ones);
    }
    band_signed before = (band_signed)state->first, least = before + 8;
    ISA_UNROLL
    for (int b = 0; b < 32; b += 8) {
        least = V_MIN_I32(least, before + ((band_signed)((bound_vec)low << (24 - b)) >> 24));
        before += (band_signed)((bound_vec)sum << (24 - b)) >> 24;
    }
    return (bound_vec)least;
}

/* Only what is needed is loaded: another line of memory may be one to wait for. */
ISA_INLINE void band_fill(const uint64_t *reference, uint32_t span, int shift, int lane, band_block *block)
{
    const band_planes first = BAND_PLANES(reference), next = BAND_PLANES(reference + (span < 3 ? span : 3));
    const band_planes last = BAND_PLANES(reference + span);
    *(band_planes_anywhere *)(block->near + BAND_SLOT(lane)) = first >> shift | next << 1 << (63 - shift);
    *(band_planes_anywhere *)(block->far + BAND_SLOT(lane)) = next >> shift | last << 1 << (63 - shift);
}

/* 64 rows of all lanes, whose rows that are left lie beside one another. `ambiguous`: by half and lane, if `any`. */
ISA_INLINE void band_advance(const band_block *block, const uint32_t *ambiguous, int any, const uint32_t *left,
                             uint32_t least, uint32_t most, bound_state *state)
{
    band_words words;
    band_turn_reference(block, &words);
    band_turn(block->read, words.read);
    for (uint32_t half = 0; half < 2; half++) {
        const int rows = (int)most - 32 * (int)half;
        words.ambiguous[half] = BAND_LOAD(ambiguous + BAND_LANES * half);
        if (!any && (least == most || least >= 32 * half + 32))
            band_rows_within(&words, half, rows, state);
        else
            band_rows_at_ends(&words, half, left, rows, state);
    }
}

/* Behind the last candidate it is repeated, so that all lanes have one, and all have one ahead of them. */
ISA_INLINE void band_close(int n, band_queue *queue)
{
    for (int i = n; i < n + AHEAD + BAND_LANES; i++) {
        queue->at[i] = queue->at[n - 1], queue->read[i] = queue->read[n - 1], queue->left[i] = queue->left[n - 1];
        queue->vp[i] = queue->vn[i] = queue->first[i] = 0;
    }
    for (int i = 0; i < n + AHEAD + BAND_LANES; i++) {
        const uint32_t bases = queue->left[i] < 64 ? queue->left[i] : 64;
        queue->word[i] = (uint32_t)(3 * (queue->at[i] >> 6));
        queue->span[i] = 3 * (uint32_t)(((queue->at[i] & 63) + bases + BAND_WIDTH - 2) >> 6);
    }
}

/* Ask for the reference of the next 64 rows of a candidate to come: two lines of memory at most. */
ISA_INLINE void band_prefetch(const uint64_t *reference, const band_queue *queue, int i)
{
    __builtin_prefetch(reference + queue->word[i]);
    __builtin_prefetch(reference + queue->word[i] + queue->span[i] + 1);
}

/* Keeps those of the lanes that go on. */
ISA_INLINE int band_keep(const band_site *sites, const uint32_t *least, const bound_state *state, int start, int lanes,
                       int kept, band_queue *queue)
{
    uint32_t vp[BAND_LANES], vn[BAND_LANES], first[BAND_LANES];
    *(band_anywhere *)vp = state->vp, *(band_anywhere *)vn = state->vn, *(band_anywhere *)first = state->first;
    for (int l = 0; l < lanes; l++) {
        const int from = start + l;
        const uint32_t site = queue->site[from], left = queue->left[from];
        queue->site[kept] = site;
        queue->at[kept] = queue->at[from] + 64, queue->read[kept] = queue->read[from] + 3;
        queue->left[kept] = left - 64;
        queue->vp[kept] = vp[l], queue->vn[kept] = vn[l], queue->first[kept] = first[l];
        kept += (left > 64) & (least[l] <= sites[site].limit);
    }
    return kept;
}

/* 64 rows of all candidates, then the next 64 of those that are not at the end, nor above the limit of their read: the
   least errors of a row never fall. */
static ISA_TARGET void band_bounds(const band_planes_of *planes, const band_site *sites, int n, uint16_t *errors)
{
    const uint64_t *reference = planes->reference;
    band_queue queue;
    for (int i = 0; i < n; i++) {
        queue.site[i] = (uint32_t)i;
        queue.at[i] = sites[i].at, queue.read[i] = sites[i].read, queue.left[i] = sites[i].length;
    }
    for (int opened = 1; n; opened = 0) {
        int kept = 0;
        band_close(n, &queue);
        for (int i = 0; i < AHEAD && opened; i++)
            band_prefetch(reference, &queue, i);
        for (int start = 0; start < n; start += BAND_LANES) {
            const int lanes = n - start < BAND_LANES ? n - start : BAND_LANES;
            const uint32_t *left = queue.left + start, *read = queue.read + start;
            uint32_t fewest = left[0], most = left[0], ambiguous[2 * BAND_LANES];
            uint64_t any = 0;
            band_block block;
            for (int l = 0; l < BAND_LANES; l++) {
                const int i = start + l;
                band_prefetch(reference, &queue, i + AHEAD);
                band_fill(reference + queue.word[i], queue.span[i], (int)(queue.at[i] & 63), l, &block);
            }
            for (int l = 0; l < BAND_LANES; l++) {
                const uint64_t *bases = planes->reads + read[l], of_lane = bases[1] & bases[2];
                *(band_planes_anywhere *)(block.read + BAND_SLOT(l)) = BAND_PLANES(bases);
                ambiguous[l] = (uint32_t)of_lane, ambiguous[BAND_LANES + l] = (uint32_t)(of_lane >> 32);
                any |= of_lane;
                fewest = left[l] < fewest ? left[l] : fewest;
                most = left[l] > most ? left[l] : most;
            }
            bound_state state = {{0}, {0}, {0}};
            if (!opened)
                state = (bound_state){BAND_LOAD(queue.vp + start), BAND_LOAD(queue.vn + start),
                                     BAND_LOAD(queue.first + start)};
            band_advance(&block, ambiguous, any != 0, left, fewest, most, &state);
            uint32_t least[BAND_LANES];
            *(band_anywhere *)least = band_least(&state);
            for (int l = 0; l < lanes; l++)
                errors[queue.site[start + l]] = (uint16_t)least[l];
            if (most > 64)
                kept = band_keep(sites, least, &state, start, lanes, kept, &queue);
        }
        n = kept;
    }
}
