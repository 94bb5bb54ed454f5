/* Banded local alignment with affine gaps (Gotoh 1982) and a bonus for each end of the read that is reached: the
 * one recurrence of the OpenCL and of the C backend. Goes behind band.h, whose band_batch it takes; lanes are those of
 * local.cl in OpenCL, of the files of ext/isa in C.
 *
 * Recipe. Rows are read bases, columns the diagonals of a band, LOCAL_LANES pairs side by side in one vector: no step
 * looks at a neighbouring lane. Instead of scores their losses are kept, what an alignment lacks up to here against one
 * without an error from the first base on, so that they stay small. For diagonal c of row i
 *
 *     I(i,c) = min(L(i-1,c+1) + open, I(i-1,c+1) + extend)               a base of the read alone
 *     D(i,c) = min(L'(i,c-1) + open, D(i,c-1) + extend)                  a base of the reference alone
 *     L'     = min(min(L(i-1,c), none(i-1)) + loss(i,c), I(i,c)), L = min(L', D)
 *
 * where `open` is for a gap's first base. A deletion need not open behind a deletion, hence L': so the chain along
 * the row is two operations a cell. none(i) is the loss of an alignment that begins here, behind i clipped bases, the
 * bonus among it. An alignment that ends here loses, in the end, the bases behind it and the other bonus.
 *
 * Scores are doubled, and the lowest bit says that the alignment begins behind the first base: so of equal scores one
 * that does is preferred, and both bonuses can be told from the score.
 *
 * With LOCAL_BYTES lanes are bytes: twice as many pairs side by side. What an alignment loses that begins behind clipped
 * bases is then cut off at `limit`, so that no sum of a cell overflows. A loss of less than that is exact, as losses only
 * grow along an alignment; a pair that loses more is to be aligned with 16 bits, where `limit` is more than any alignment
 * loses and `local_scoring` is small enough (gassst/model/params.py).
 *
 * Ties, in this order: begins behind the first base; ends earlier in the read; ends on a lower diagonal; walking back,
 * a diagonal step, else an insertion, else a deletion, so gaps come as far left as they can; a gap goes on rather
 * than begins; an alignment begins rather than goes on. So an end is reached only where that scores more. */
#include "local_types.h"

#undef LOCAL_MOST
#undef LOCAL_PARTS
#if LOCAL_BYTES
#define LOCAL_MOST 255
#define LOCAL_PARTS 2
#else
#define LOCAL_MOST LOCAL_INFINITE
#define LOCAL_PARTS 1 /* of 16 bits a lane */
#endif
#define LOCAL_TILE (LOCAL_LANES == 1 ? 32 : LOCAL_LANES)
#define LOCAL_BLOCK 16 /* rows whose bases are unpacked at once */
#define LOCAL_MASKED 3 /* codes above it are masked: 4 in the reference, 8 in a read, never equal */
#define LOCAL_HIGH 2   /* the high bit of a base: with that of a masked one the base is ambiguous (planes.h) */

/* Flags of a cell in the traceback. */
#define LOCAL_DIAGONAL 1    /* H is the diagonal step */
#define LOCAL_INSERTION 2   /* H is I */
#define LOCAL_I_OPENS 4     /* I is a gap's first base */
#define LOCAL_D_OPENS 8
#define LOCAL_GOES_ON 16    /* what is before the diagonal step is worth it */
#define LOCAL_EQUAL 32      /* both bases are */

typedef struct {
    u64 start[LOCAL_LANES];
    u32 pair[LOCAL_LANES], row[LOCAL_LANES], length[LOCAL_LANES];
    u32 longest, shortest;
    i16 lengths[LOCAL_LANES];
} LOCAL(lanes);

/* Losses, doubled: of a base that differs, of a masked one, of gaps; of a base that is not aligned, of an end. */
typedef struct {
    LOCAL(int) mismatch, masked, open_deletion, extend_deletion, open_insertion, extend_insertion;
    i16 base, bonus, limit;
} LOCAL(costs);

typedef struct {
    LOCAL(vec) h[LOCAL_WIDTH + 1], insertion[LOCAL_WIDTH + 1];
    LOCAL(vec) best, rows[2], end; /* over all rows so far; low and high byte of the row */
} LOCAL(state);

typedef struct {
    LOCAL(vec) reference[LOCAL_WIDTH + LOCAL_BLOCK], read[LOCAL_BLOCK];
    u32 any_masked; /* in this block or one before it */
    u32 width;      /* diagonals */
} LOCAL(block);

BAND_FN i16 LOCAL(larger)(i16 a, i16 b)
{
    return a > b ? a : b;
}

/* `limit` is 0 or less where these costs are too high for lanes of bytes. */
BAND_FN LOCAL(costs) LOCAL(losses)(const local_scoring *scoring)
{
    const i16 match = scoring->match, differs = match + scoring->mismatch, masked = match + scoring->masked;
    const i16 open = LOCAL(larger)(scoring->open_deletion, match + scoring->open_insertion);
    const i16 extend = LOCAL(larger)(scoring->extend_deletion, match + scoring->extend_insertion);
    LOCAL(costs) costs;
    costs.mismatch = (LOCAL(int))differs;
    costs.masked = (LOCAL(int))masked;
    costs.open_deletion = (LOCAL(int))scoring->open_deletion;
    costs.extend_deletion = (LOCAL(int))scoring->extend_deletion;
    costs.open_insertion = (LOCAL(int))(match + scoring->open_insertion);
    costs.extend_insertion = (LOCAL(int))(match + scoring->extend_insertion);
    costs.base = match;
    costs.bonus = scoring->bonus;
    costs.limit = LOCAL_BYTES ? LOCAL_MOST - LOCAL(larger)(differs, masked) - open - extend : LOCAL_MOST;
    return costs;
}

/* Pairs of a group; past the last pair it is repeated, which costs no special case. */
BAND_FN void LOCAL(open)(const band_batch *batch, u32 group, LOCAL(lanes) *lanes)
{
    lanes->longest = 0;
    lanes->shortest = ~(u32)0;
    for (int l = 0; l < LOCAL_LANES; l++) {
        u32 pair = batch->n - 1 - group * LOCAL_LANES < (u32)l ? batch->n - 1 : group * LOCAL_LANES + l;
        u32 read = batch->read_strand[pair] >> 1, length = batch->read_length[read];
        lanes->pair[l] = pair;
        lanes->start[l] = batch->band_start[pair];
        lanes->length[l] = length;
        lanes->row[l] = batch->read_row[read] + (batch->read_strand[pair] & 1) * ((length + 63) >> 6);
        lanes->longest = length > lanes->longest ? length : lanes->longest;
        lanes->shortest = length < lanes->shortest ? length : lanes->shortest;
        lanes->lengths[l] = (i16)length;
    }
}

/* Bits at..at+15 of the three planes; everything behind the reference is masked. */
BAND_FN void LOCAL(planes)(BAND_GLOBAL const u64 *planes, u64 rows, u64 at, u32 bits[3])
{
    const u64 row = at >> 6;
    const u32 shift = at & 63;
    BAND_GLOBAL const u64 *first = planes + 3 * row;
    for (int plane = 0; plane < 3; plane++) {
        u64 outside = plane == 2 ? ~(u64)0 : 0;
        u64 low = row < rows ? first[plane] : outside, high = row + 1 < rows ? first[3 + plane] : outside;
        bits[plane] = (u32)(low >> shift | high << 1 << (63 - shift)) & 0xFFFF; /* a shift by 64 is undefined */
    }
}

/* Codes of 16 bases of each lane from their three planes; masked bases have bit `masked_bit` alone. */
BAND_FN void LOCAL(unpack)(LOCAL(int) bits[3][LOCAL_PARTS][LOCAL_LANES], int masked_bit, LOCAL(vec) *codes)
{
    BAND_UNROLL
    for (int j = 0; j < 16; j++) {
        const int part = j * LOCAL_PARTS / 16;
        const LOCAL(int) shift = (LOCAL(int))(j % (16 / LOCAL_PARTS));
        LOCAL(vec) low = LOCAL_LOAD(bits[0][part]), high = LOCAL_LOAD(bits[1][part]);
        LOCAL(vec) masked = LOCAL_LOAD(bits[2][part]);
        codes[j] = ((low >> shift) & (LOCAL(int))1) | (((high >> shift) & (LOCAL(int))1) << (LOCAL(int))1) |
                   (((masked >> shift) & (LOCAL(int))1) << (LOCAL(int))masked_bit);
    }
}

/* The 16 bases that diagonals at..at+15 face in row `row`. */
BAND_FN void LOCAL(load_reference)(const band_batch *batch, const LOCAL(lanes) *lanes, u32 row, u32 at,
                                  LOCAL(block) *block)
{
    LOCAL(int) bits[3][LOCAL_PARTS][LOCAL_LANES];
    for (int l = 0; l < LOCAL_LANES; l++) {
        u32 x[3];
        LOCAL(planes)(batch->reference, batch->reference_rows, lanes->start[l] + row + at, x);
        for (int plane = 0; plane < 3; plane++)
            for (int part = 0; part < LOCAL_PARTS; part++)
                bits[plane][part][l] = (LOCAL(int))(x[plane] >> (8 * part));
        block->any_masked |= x[2];
    }
    LOCAL(unpack)(bits, 2, block->reference + at);
}

/* What rows row..row+15 see: 16 bases of each read, and the bases of the reference that face them, of which all but
 * the last 16 are those of the block before, one diagonal of 16 further on. */
BAND_FN void LOCAL(load)(const band_batch *batch, const LOCAL(lanes) *lanes, u32 width, u32 row, LOCAL(block) *block)
{
    LOCAL(int) bits[3][LOCAL_PARTS][LOCAL_LANES];
    block->width = width;
    if (row == 0) {
        block->any_masked = 0;
        for (u32 at = 0; at < width; at += LOCAL_BLOCK)
            LOCAL(load_reference)(batch, lanes, row, at, block);
    } else {
        for (u32 at = 0; at < width; at++)
            block->reference[at] = block->reference[at + LOCAL_BLOCK];
    }
    LOCAL(load_reference)(batch, lanes, row, width, block);
    for (int l = 0; l < LOCAL_LANES; l++)
        for (int plane = 0; plane < 3; plane++) {
            u64 at = 3 * (u64)(lanes->row[l] + (row >> 6)) + plane;
            u32 x = row < lanes->length[l] ? (u32)(batch->reads[at] >> (row & 63)) & 0xFFFF : 0;
            for (int part = 0; part < LOCAL_PARTS; part++)
                bits[plane][part][l] = (LOCAL(int))(x >> (8 * part));
            block->any_masked |= plane == 2 ? x : 0;
        }
    LOCAL(unpack)(bits, 3, block->read);
}

BAND_FN void LOCAL(reset)(const LOCAL(costs) *costs, u32 width, LOCAL(state) *state)
{
    const LOCAL(vec) infinite = LOCAL_SET(costs->limit);
    for (u32 c = 0; c < width; c++) {
        state->h[c] = LOCAL_SET(1);
        state->insertion[c] = infinite;
    }
    state->h[width] = state->insertion[width] = infinite;
    state->best = LOCAL_SET(LOCAL_MOST);
    state->rows[0] = state->rows[1] = state->end = LOCAL_SET(0);
}

/* What an alignment that ends with row `rows - 1` loses by that; infinite in lanes whose reads are shorter. */
BAND_FN LOCAL(vec) LOCAL(behind)(const LOCAL(lanes) *lanes, const LOCAL(costs) *costs, u32 rows)
{
    LOCAL(int) loss[LOCAL_LANES];
    if (lanes->shortest == lanes->longest) {
        const int more = (int)(lanes->longest - rows);
        const int lost = more * costs->base + (more ? costs->bonus : 0);
        return LOCAL_SET(lost < LOCAL_MOST ? lost : LOCAL_MOST);
    }
    for (int l = 0; l < LOCAL_LANES; l++) {
        const int more = lanes->lengths[l] - (int)rows, lost = more * costs->base + (more ? costs->bonus : 0);
        loss[l] = (LOCAL(int))(more < 0 || lost > LOCAL_MOST ? LOCAL_MOST : lost);
    }
    return LOCAL_LOAD(loss);
}

/* The best of row `row`, which is on diagonal `at`, becomes the best so far if it is more. */
BAND_FN void LOCAL(note)(const LOCAL(lanes) *lanes, const LOCAL(costs) *costs, u32 row, LOCAL(vec) best, LOCAL(vec) at,
                        LOCAL(state) *state)
{
    LOCAL(vec) left = LOCAL_SET(LOCAL_MOST) - best; /* so that no sum overflows */
    best += LOCAL_MIN(LOCAL(behind)(lanes, costs, row + 1), left);
    state->rows[0] = LOCAL_IF_GREATER(state->best, best, LOCAL_SET((row + 1) & 255), state->rows[0]);
    state->rows[1] = LOCAL_IF_GREATER(state->best, best, LOCAL_SET((row + 1) >> 8), state->rows[1]);
    state->end = LOCAL_IF_GREATER(state->best, best, at, state->end);
    state->best = LOCAL_MIN(state->best, best);
}

/* Row `row`, row r of its block. `masked`, `traced` are constants: may there be masked bases; is each cell's byte of
 * flags wanted, at trace[c * LOCAL_TILE]. */
BAND_FN void LOCAL(row)(const LOCAL(block) *block, const LOCAL(lanes) *lanes, const LOCAL(costs) *costs, u32 row,
                       int masked, int traced, LOCAL(state) *state, BAND_GLOBAL u8 *trace)
{
    const u32 r = row % LOCAL_BLOCK, width = block->width;
    const LOCAL(vec) zero = LOCAL_SET(0), mismatch = LOCAL_SET(costs->mismatch), unknown = LOCAL_SET(costs->masked);
    const LOCAL(vec) open_d = LOCAL_SET(costs->open_deletion), extend_d = LOCAL_SET(costs->extend_deletion);
    const LOCAL(vec) open_i = LOCAL_SET(costs->open_insertion), extend_i = LOCAL_SET(costs->extend_insertion);
    const int begins = (int)row * costs->base + costs->bonus;
    const LOCAL(vec) none = LOCAL_SET(row && begins < costs->limit ? begins : costs->limit);
    const LOCAL(vec) code = block->read[r];
    const LOCAL(vec) ambiguous = masked ? code & (code >> LOCAL_SET(2)) & LOCAL_SET(LOCAL_HIGH) : zero;
    const LOCAL(vec) base = masked ? code ^ (ambiguous | ambiguous << LOCAL_SET(2)) : code;
    LOCAL(vec) best = LOCAL_SET(LOCAL_MOST), at = zero, opens = zero;
    LOCAL(vec) deletion = LOCAL_SET(costs->limit), before = state->h[0];
    for (u32 c = 0; c < width; c++) {
        LOCAL(vec) facing = masked ? block->reference[r + c] & ~ambiguous : block->reference[r + c];
        LOCAL(vec) loss = LOCAL_IF_EQUAL(facing, base, zero, mismatch);
        if (masked)
            loss = LOCAL_IF_GREATER(facing | base, LOCAL_SET(LOCAL_MASKED), unknown, loss);
        LOCAL(vec) diagonal = LOCAL_MIN(before, none) + loss;
        LOCAL(vec) above = state->h[c + 1], longer = state->insertion[c + 1] + extend_i;
        LOCAL(vec) newer = above + open_i, insertion = LOCAL_MIN(newer, longer);
        LOCAL(vec) most = LOCAL_MIN(diagonal, insertion), h = LOCAL_MIN(most, deletion);
        LOCAL(vec) opened = most + open_d, extended = deletion + extend_d;
        if (traced) {
            LOCAL(vec) flags = LOCAL_MARK(EQUAL, h, diagonal, opens, LOCAL_DIAGONAL);
            flags = LOCAL_MARK(EQUAL, h, insertion, flags, LOCAL_INSERTION);
            flags = LOCAL_MARK(GREATER, longer, newer, flags, LOCAL_I_OPENS);
            flags = LOCAL_MARK(GREATER, none, before, flags, LOCAL_GOES_ON);
            flags = LOCAL_MARK(EQUAL, facing, base, flags, LOCAL_EQUAL);
            LOCAL_STORE_BYTES(flags, trace + (u64)c * LOCAL_TILE);
            opens = LOCAL_IF_GREATER(extended, opened, LOCAL_SET(LOCAL_D_OPENS), zero);
        }
        deletion = LOCAL_MIN(opened, extended);
        state->h[c] = h;
        state->insertion[c] = insertion;
        at = LOCAL_IF_GREATER(best, h, LOCAL_SET(c), at);
        best = LOCAL_MIN(best, h);
        before = above;
    }
    LOCAL(note)(lanes, costs, row, best, at, state);
}

/* All rows of a group. */
BAND_FN void LOCAL(forward)(const band_batch *batch, const LOCAL(lanes) *lanes, const local_scoring *scoring, u32 width,
                           int traced, LOCAL(state) *state, BAND_GLOBAL u8 *trace)
{
    const LOCAL(costs) costs = LOCAL(losses)(scoring);
    LOCAL(block) block;
    LOCAL(reset)(&costs, width, state);
    for (u32 row = 0; row < lanes->longest; row++) {
        if (row % LOCAL_BLOCK == 0)
            LOCAL(load)(batch, lanes, width, row, &block);
        if (block.any_masked)
            LOCAL(row)(&block, lanes, &costs, row, 1, traced, state, trace);
        else
            LOCAL(row)(&block, lanes, &costs, row, 0, traced, state, trace);
        trace += traced ? (u64)width * LOCAL_TILE : 0;
    }
}

/* Returns whether all are known: with LOCAL_BYTES what loses `limit` may lose more. */
BAND_FN int LOCAL(put_ends)(const LOCAL(lanes) *lanes, const local_scoring *scoring, const LOCAL(state) *state,
                           const local_ends *ends)
{
    LOCAL(int) best[LOCAL_LANES], rows[2][LOCAL_LANES], end[LOCAL_LANES];
    const int limit = LOCAL(losses)(scoring).limit;
    int known = 1;
    LOCAL_STORE(state->best, best);
    LOCAL_STORE(state->rows[0], rows[0]);
    LOCAL_STORE(state->rows[1], rows[1]);
    LOCAL_STORE(state->end, end);
    for (int l = 0; l < LOCAL_LANES; l++) {
        u32 pair = lanes->pair[l];
        int key = (int)lanes->length[l] * scoring->match + 2 * scoring->bonus + 1 - best[l];
        ends->key[pair] = (u16)(key > 0 ? key : 0);
        ends->rows[pair] = (u16)(key > 1 ? rows[0][l] | rows[1][l] << 8 : 0);
        ends->end[pair] = (u16)end[l];
        known &= best[l] < limit;
    }
    return LOCAL_BYTES ? known : 1;
}

/* Best scores of one group of pairs and where they end; whether all of them are known. */
LOCAL_ENTRY int LOCAL(score)(const band_batch *batch, const local_scoring *scoring, u32 width, u32 group,
                        const local_ends *ends)
{
    LOCAL(lanes) lanes;
    LOCAL(state) state;
    LOCAL(open)(batch, group, &lanes);
    LOCAL(forward)(batch, &lanes, scoring, width, 0, &state, 0);
    return LOCAL(put_ends)(&lanes, scoring, &state, ends);
}

/* `length` more of `op` in front of the runs at `at`; returns where they begin now. */
BAND_FN u32 LOCAL(push)(const local_paths *paths, u32 at, u32 last, u32 length, u32 op)
{
    if (at < last && (paths->runs[at] & 15) == op) {
        paths->runs[at] += length << 4;
        return at;
    }
    if (length)
        paths->runs[--at] = length << 4 | op;
    return at;
}

/* From the last aligned base, row `rows` and diagonal `c`, back to the first. The runs fill the slot from its end. */
BAND_FN void LOCAL(walk)(const local_paths *paths, u32 width, u32 pair, coordinate_t start, u32 length, u32 rows, u32 c,
                        BAND_GLOBAL const u8 *trace)
{
    const u64 stride = (u64)width * LOCAL_TILE;
    u32 i = rows, edits = 0, state = 0; /* i: bases before; state 0 H, 1 I, 2 D: the ops of a CIGAR */
    u32 last = paths->slot_end[pair], at = LOCAL(push)(paths, last, last, length - rows, 4);
    while (i > 0) {
        BAND_GLOBAL const u8 *cell = trace + (i - 1) * stride + (u64)c * LOCAL_TILE;
        u32 flags = *cell, before = i;
        if (state == 0) {
            for (; i > 0 && !(~(flags = *cell) & (LOCAL_DIAGONAL | LOCAL_GOES_ON)); cell -= stride, i--)
                edits += !(flags & LOCAL_EQUAL);
            if (i > 0 && (flags & LOCAL_DIAGONAL)) { /* the alignment begins with this step */
                edits += !(flags & LOCAL_EQUAL);
                at = LOCAL(push)(paths, at, last, before - --i, 0);
                break;
            }
            at = LOCAL(push)(paths, at, last, before - i, 0);
            if (i == 0)
                break;
            state = flags & LOCAL_INSERTION ? 1 : 2;
        }
        at = LOCAL(push)(paths, at, last, 1, state);
        edits++;
        i -= state == 1;
        c = state == 1 ? c + 1 : c - 1;
        state = flags & (state == 1 ? LOCAL_I_OPENS : LOCAL_D_OPENS) ? 0 : state;
    }
    at = LOCAL(push)(paths, at, last, i, 4);
    paths->position[pair] = start + c + i;
    paths->edits[pair] = (u16)edits;
    paths->n_runs[pair] = (u16)(last - at);
}

/* Alignments of one group, unless not all are known. `trace` is the group's own: bytes [longest, width, LOCAL_TILE],
 * its lane already added. */
LOCAL_ENTRY int LOCAL(align)(const band_batch *batch, const local_scoring *scoring, u32 width, u32 group,
                        const local_ends *ends, const local_paths *paths, BAND_GLOBAL u8 *trace)
{
    LOCAL(lanes) lanes;
    LOCAL(state) state;
    LOCAL(open)(batch, group, &lanes);
    LOCAL(forward)(batch, &lanes, scoring, width, 1, &state, trace);
    if (!paths->are_whole && !LOCAL(put_ends)(&lanes, scoring, &state, ends))
        return 0;
    for (int l = 0; l < LOCAL_LANES; l++) {
        u32 pair = lanes.pair[l];
        LOCAL(walk)(paths, width, pair, (coordinate_t)lanes.start[l], lanes.length[l], ends->rows[pair], ends->end[pair],
                   trace + l);
    }
    return 1;
}
