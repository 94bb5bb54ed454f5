/* Banded bit-parallel alignment of reads to the reference: the one recurrence of the OpenCL and of the C
 * backend.
 *
 * Recipe. A band is a parallelogram of 64 * WORDS diagonals; row i of the DP faces reference bases start +
 * i onwards. A row is two bit-vectors along the diagonals, VP / VN: the next diagonal has one error more /
 * less. A row costs one addition and some twenty logical operations a word (Hyyro 2003, banded form). LANES
 * pairs go side by side in one VEC. The window of the reference stays put for 64 rows: mismatches are found
 * first and shifted into place after, which is one funnel shift a word and row instead of three.
 *
 * The edges. Diagonal -1 is infinite: the addition has no carry in. Diagonal B is taken to gain an error in
 * every row (zero is shifted into D0), and VP clamps its lead at +1. So VN of the top diagonal is never
 * set, its neighbour is never smaller, and an insertion from there (neighbour + 1) never beats the diagonal
 * step: same as infinite.
 *
 * Wanted from whoever includes this: WORDS (1, 2, 4, 8); outside OpenCL, where a work-item has one lane, also LANES
 * (1, 2, 4, 8), VEC, VEC_LOAD, VEC_STORE, u64, u32, u16, BAND, BAND_FN, BAND_GLOBAL, BAND_UNROLL, BAND_ZERO.
 * Several lanes may differ in read length: rows past the end of a read leave its lane as it is. */
#ifdef __OPENCL_VERSION__
#define BAND_GLOBAL __global
#define BAND_FN static
#define BAND(name) band_##name
#define BAND_UNROLL _Pragma("unroll")
#define BAND_ZERO ((VEC)(0))
#define LANES 1
#define VEC ulong
#define VEC_LOAD(p) (*(p))
#define VEC_STORE(v, p) (*(p) = (v))
typedef ulong u64;
typedef uint u32;
typedef ushort u16;
typedef u32 coordinate_t;
#endif

#define BAND_BYTES ((u64)0x0101010101010101)

#include "band_types.h"

typedef struct {
    u64 start[LANES];                     /* concatenated coordinate of diagonal 0 */
    u32 pair[LANES], row[LANES], length[LANES]; /* row: of the strand's first plane */
    u32 shortest, longest;
} BAND(lanes);

typedef struct {
    VEC lo[WORDS + 1], hi[WORDS + 1], masked[WORDS + 1]; /* reference: what 64 rows can see */
    VEC read_lo, read_hi, read_masked, live;             /* 64 read bases; live: before the end of the read */
    u64 any_masked;                                      /* some lane's read has a masked base here */
} BAND(block);

typedef struct {
    VEC vp[WORDS], vn[WORDS];
    VEC first; /* errors on diagonal 0 */
} BAND(state);

BAND_FN void BAND(open)(const band_batch *batch, const u32 *pairs, BAND(lanes) *lanes)
{
    lanes->shortest = 0xFFFFFFFF;
    lanes->longest = 0;
    for (int l = 0; l < LANES; l++) {
        u32 read = batch->read_strand[pairs[l]] >> 1, length = batch->read_length[read];
        lanes->pair[l] = pairs[l];
        lanes->start[l] = batch->band_start[pairs[l]];
        lanes->length[l] = length;
        lanes->row[l] = batch->read_row[read] + (batch->read_strand[pairs[l]] & 1) * ((length + 63) >> 6);
        lanes->shortest = length < lanes->shortest ? length : lanes->shortest;
        lanes->longest = length > lanes->longest ? length : lanes->longest;
    }
}

/* One plane of one row of the reference; everything outside is masked. */
BAND_FN u64 BAND(plane)(const band_batch *batch, u64 row, int plane)
{
    if (row < batch->reference_rows)
        return batch->reference[3 * row + plane];
    return plane == 2 ? ~(u64)0 : 0;
}

/* What the 64 rows from `first_row` (a multiple of 64) need. Shifts of 64 are undefined, hence 1 + (63 -
 * shift). */
BAND_FN void BAND(load)(const band_batch *batch, const BAND(lanes) *lanes, u32 first_row, BAND(block) *block)
{
    u64 window[3][WORDS + 1][LANES], read[4][LANES];
    block->any_masked = 0;
    for (int l = 0; l < LANES; l++) {
        u64 at = lanes->start[l] + first_row;
        u32 shift = at & 63, row = lanes->row[l] + (first_row >> 6);
        u32 left = lanes->length[l] > first_row ? lanes->length[l] - first_row : 0;
        BAND_UNROLL
        for (int plane = 0; plane < 3; plane++) {
            u64 word = BAND(plane)(batch, at >> 6, plane);
            BAND_UNROLL
            for (int w = 0; w <= WORDS; w++) {
                u64 next = BAND(plane)(batch, (at >> 6) + w + 1, plane);
                window[plane][w][l] = (word >> shift) | ((next << 1) << (63 - shift));
                word = next;
            }
            read[plane][l] = left ? batch->reads[3 * (u64)row + plane] : 0;
        }
        read[3][l] = left >= 64 ? ~(u64)0 : ((u64)1 << left) - 1;
        block->any_masked |= read[2][l];
    }
    BAND_UNROLL
    for (int w = 0; w <= WORDS; w++) {
        block->lo[w] = VEC_LOAD(window[0][w]);
        block->hi[w] = VEC_LOAD(window[1][w]);
        block->masked[w] = VEC_LOAD(window[2][w]);
    }
    block->read_lo = VEC_LOAD(read[0]);
    block->read_hi = VEC_LOAD(read[1]);
    block->read_masked = VEC_LOAD(read[2]);
    block->live = VEC_LOAD(read[3]);
}

/* Match mask of row r of the block: bit c says that the read base equals the reference base on diagonal c. */
BAND_FN void BAND(matches)(const BAND(block) *block, u32 r, int masked, VEC *match)
{
    VEC lo = 0 - ((block->read_lo >> r) & 1), hi = 0 - ((block->read_hi >> r) & 1);
    VEC ambiguous = masked ? 0 - (((block->read_masked & block->read_hi) >> r) & 1) : BAND_ZERO; /* planes.h */
    VEC differ[WORDS + 1];
    BAND_UNROLL
    for (int w = 0; w <= WORDS; w++)
        differ[w] = (lo ^ block->lo[w]) | ((hi ^ block->hi[w]) & ~ambiguous) | block->masked[w];
    BAND_UNROLL
    for (int w = 0; w < WORDS; w++)
        match[w] = ~((differ[w] >> r) | ((differ[w + 1] << 1) << (63 - r)));
    if (masked) {
        VEC plain = (((block->read_masked >> r) & 1) - 1) | ambiguous;
        BAND_UNROLL
        for (int w = 0; w < WORDS; w++)
            match[w] &= plain;
    }
}

/* D0: bit c is set where the new row has no more errors on diagonal c than the row before. */
BAND_FN void BAND(zero_steps)(const BAND(state) *state, const VEC *match, VEC *d0)
{
    VEC carry = BAND_ZERO;
    BAND_UNROLL
    for (int w = 0; w < WORDS; w++) {
        VEC vp = state->vp[w], a = match[w] & vp, sum = a + vp + carry;
        d0[w] = (sum ^ vp) | match[w] | state->vn[w];
        if (w + 1 < WORDS) /* a is part of vp, so a & vp is a and a | vp is vp */
            carry = (a | (vp & ~sum)) >> 63;
    }
}

BAND_FN void BAND(advance)(BAND(state) *state, const VEC *d0, VEC live, int ragged)
{
    VEC errors = ~d0[0] & 1;
    state->first += ragged ? errors & live : errors;
    BAND_UNROLL
    for (int w = 0; w < WORDS; w++) {
        VEC vp = state->vp[w], vn = state->vn[w];
        VEC hp = vn | ~(d0[w] | vp), hn = d0[w] & vp;
        VEC next = d0[w] >> 1;
        if (w + 1 < WORDS)
            next |= d0[w + 1] << 63;
        VEC new_vp = hn | ~(next | hp), new_vn = next & hp;
        state->vp[w] = ragged ? (new_vp & live) | (vp & ~live) : new_vp;
        state->vn[w] = ragged ? (new_vn & live) | (vn & ~live) : new_vn;
    }
}

/* Rows from..to-1 of the block. `masked`, `ragged` are constants: may reads have masked bases, may lanes
 * end here. */
BAND_FN void BAND(rows)(const BAND(block) *in, u32 from, u32 to, int masked, int ragged, BAND(state) *io)
{
    BAND(block) block = *in;
    BAND(state) state = *io;
    for (u32 r = from; r < to; r++) {
        VEC match[WORDS], d0[WORDS];
        BAND(matches)(&block, r, masked, match);
        BAND(zero_steps)(&state, match, d0);
        BAND(advance)(&state, d0, ragged ? 0 - ((block.live >> r) & 1) : block.live, ragged);
    }
    *io = state;
}

BAND_FN void BAND(reset)(BAND(state) *state)
{
    BAND_UNROLL
    for (int w = 0; w < WORDS; w++)
        state->vp[w] = state->vn[w] = BAND_ZERO;
    state->first = BAND_ZERO;
}

/* Rows from..to-1 of the whole pair, all inside one block. The plain loop serves almost all reads. One lane
 * never is ragged; it takes masked bases always, as a warp that splits would run both loops. */
BAND_FN void BAND(run)(const BAND(lanes) *lanes, const BAND(block) *block, u32 from, u32 to, BAND(state) *state)
{
    u32 base = from & ~(u32)63, stop = (to < lanes->longest ? to : lanes->longest) - base;
#if LANES == 1
    BAND(rows)(block, from - base, stop, 1, 0, state);
#else
    u32 common = lanes->shortest > base ? lanes->shortest - base : 0;
    if (common > stop)
        common = stop;
    if (block->any_masked || common < from - base)
        common = from - base;
    BAND(rows)(block, from - base, common, 0, 0, state);
    if (common < stop)
        BAND(rows)(block, common, stop, 1, 1, state);
#endif
}

BAND_FN void BAND(forward)(const band_batch *batch, const BAND(lanes) *lanes, BAND(state) *state)
{
    BAND(block) block;
    BAND(reset)(state);
    for (u32 row = 0; row < lanes->longest; row += 64) {
        BAND(load)(batch, lanes, row, &block);
        BAND(run)(lanes, &block, row, row + 64, state);
    }
}

/* Smaller of two numbers below 2^15 in each 16 bits. */
BAND_FN VEC BAND(min16)(VEC a, VEC b)
{
    const u64 top = (u64)0x8000800080008000;
    VEC greater = ((a | top) - b) & top;
    return a ^ ((a ^ b) & (greater - (greater >> 15)));
}

/* Least errors << 9 | leftmost diagonal that has them. Prefix sums of VP - VN, eight diagonals (one byte)
 * at a time in all bytes at once, as keys (errors + 7) * 8 + diagonal in the byte (at most 119, so the top
 * bit is free to compare); then the bytes' own prefix sums, as keys (errors + 71) << 8 | diagonal in 16
 * bits. */
BAND_FN VEC BAND(best)(const BAND(state) *state)
{
    const u64 even = (u64)0x00FF00FF00FF00FF;
    VEC base = state->first, best = base;
    BAND_UNROLL
    for (int w = 0; w < WORDS; w++) {
        VEC vp = state->vp[w], vn = state->vn[w], key = BAND_ZERO + 56 * BAND_BYTES, low = key;
        BAND_UNROLL
        for (int j = 0; j < 7; j++) {
            key += (((vp >> j) & BAND_BYTES) << 3) + BAND_BYTES - (((vn >> j) & BAND_BYTES) << 3);
            VEC greater = ((low | (BAND_BYTES << 7)) - key) & (BAND_BYTES << 7);
            low ^= (low ^ key) & (greater - (greater >> 7));
        }
        VEC step = ((key >> 3) & (15 * BAND_BYTES)) + BAND_BYTES;
        step += ((vp >> 7) & BAND_BYTES) - ((vn >> 7) & BAND_BYTES);
        VEC sums = step + (step << 8); /* of (step + 8), bytes 0..b */
        sums += sums << 16;
        sums += sums << 32;
        VEC errors = (sums << 8) + ((low >> 3) & (15 * BAND_BYTES)) + (u64)0x0810182028303840;
        VEC diagonal = (low & (7 * BAND_BYTES)) | (u64)0x3830282018100800;
        VEC least = BAND(min16)(((errors & even) << 8) | (diagonal & even),
                               (errors & ~even) | ((diagonal >> 8) & even));
        least = BAND(min16)(least, least >> 32);
        least = BAND(min16)(least, least >> 16) & 0x7FFF;
        VEC word_best = ((base + (least >> 8) - 71) << 9) + (least & 0xFF) + (u64)(64 * w);
        VEC gain = word_best - best;
        best = w ? best + (gain & (0 - (gain >> 63))) : word_best;
        base += (sums >> 56) - 64;
    }
    return best;
}

/* Best errors and leftmost end diagonal of a pair in each lane: best[n], end[n]. */
BAND_FN void BAND(score)(const band_batch *batch, const u32 *pairs, BAND_GLOBAL u16 *best, BAND_GLOBAL u16 *end)
{
    BAND(lanes) lanes;
    BAND(state) state;
    u64 key[LANES];
    BAND(open)(batch, pairs, &lanes);
    BAND(forward)(batch, &lanes, &state);
    VEC_STORE(BAND(best)(&state), key);
    for (int l = 0; l < LANES; l++) {
        best[lanes.pair[l]] = (u16)(key[l] >> 9);
        end[lanes.pair[l]] = (u16)(key[l] & 511);
    }
}

/* Bits 0..3 to the lowest bit of four 16-bit fields. */
BAND_FN u64 BAND(spread4)(u64 bits)
{
    return ((bits & 15) * (u64)0x0000200040008001) & (u64)0x0001000100010001;
}

/* Errors on 64 neighbouring diagonals as 16 words of four u16; returns the errors on the diagonal behind
 * them. */
BAND_FN u64 BAND(expand)(u64 first, u64 vp, u64 vn, BAND_GLOBAL u64 *out)
{
    const u64 each = (u64)0x0001000100010001;
    for (int i = 0; i < 16; i++) {
        u64 up = BAND(spread4)(vp >> (4 * i)) * each, down = BAND(spread4)(vn >> (4 * i)) * each;
        out[i] = first * each + (up << 16) - (down << 16);
        first += (up >> 48) - (down >> 48);
    }
    return first;
}

/* Errors by end diagonal, u16[n, 64 * WORDS], four in a word (little-endian hosts and devices). */
BAND_FN void BAND(profile)(const band_batch *batch, const u32 *pairs, BAND_GLOBAL u64 *profile)
{
    BAND(lanes) lanes;
    BAND(state) state;
    u64 first[LANES], vp[WORDS][LANES], vn[WORDS][LANES];
    BAND(open)(batch, pairs, &lanes);
    BAND(forward)(batch, &lanes, &state);
    VEC_STORE(state.first, first);
    for (int w = 0; w < WORDS; w++) {
        VEC_STORE(state.vp[w], vp[w]);
        VEC_STORE(state.vn[w], vn[w]);
    }
    for (int l = 0; l < LANES; l++)
        for (int w = 0; w < WORDS; w++)
            first[l] = BAND(expand)(first[l], vp[w][l], vn[w][l], profile + (lanes.pair[l] * (u64)WORDS + w) * 16);
}
