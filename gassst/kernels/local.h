/* Banded local alignment with affine gaps (Gotoh 1982) and a bonus for each end of the read that is reached: the
 * one recurrence of the OpenCL and of the C backend. Appended to band.h, whose band_batch it takes.
 *
 * Recipe. Rows are read bases, columns the diagonals of a band, LOCAL_LANES pairs side by side in one vector of 16
 * bits: no step looks at a neighbouring lane. For diagonal c of row i
 *
 *     I(i,c) = max(H(i-1,c+1) - open, I(i-1,c+1) - extend)          a base of the read alone
 *     D(i,c) = max(H'(i,c-1) - open, D(i,c-1) - extend)             a base of the reference alone
 *     H'     = max(max(H(i-1,c), 0) + s(i,c), I(i,c)), H = max(H', D)
 *
 * where `open` is for a gap's first base. A deletion need not open behind a deletion, hence H': so the chain along
 * the row is two operations a cell. The 0 is an alignment that begins here, behind clipped bases. Row -1 is the
 * bonus; the last row's best gets it, too.
 *
 * Scores are doubled, and the lowest bit says that the alignment begins with the first base: so of equal scores one
 * that does is preferred, and both bonuses can be told from the score. -16384 is infinity: `local_scoring` is small
 * enough (gassst/extend.py) that nothing overflows.
 *
 * Ties, in this order: begins with the first base; ends later in the read; ends on a lower diagonal; walking back,
 * a diagonal step, else an insertion, else a deletion, so gaps come as far left as they can; a gap goes on rather
 * than begins; an alignment goes on rather than begins. */
#ifdef __OPENCL_VERSION__
#define LOCAL_LANES (LANES == 1 ? 1 : 16)
#define LOCAL_WIDTH WIDTH
#if LANES == 1
typedef short local_vec;
#define LOCAL_SET(x) ((short)(x))
#define LOCAL_LOAD(p) (*(p))
#define LOCAL_STORE(v, p) (*(p) = (v))
#define LOCAL_STORE_BYTES(v, p) (*(p) = (uchar)(v))
#else
typedef short16 local_vec;
#define LOCAL_SET(x) ((short16)((short)(x)))
#define LOCAL_LOAD(p) vload16(0, (p))
#define LOCAL_STORE(v, p) vstore16((v), 0, (p))
#define LOCAL_STORE_BYTES(v, p) vstore16(convert_uchar16(v), 0, (p))
#endif
/* PoCL's max() and select() of vectors take four times as long as these. */
#define LOCAL_IF(test, yes, no) ((test) ? (yes) : (no))
#define LOCAL_MAX(a, b) LOCAL_IF_GREATER(a, b, a, b)
#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF((a) == (b), yes, no)
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF((a) > (b), yes, no)
#define LOCAL_MARK_EQUAL(flags, a, b, flag) ((flags) | LOCAL_IF_EQUAL(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#define LOCAL_MARK_GREATER(flags, a, b, flag) ((flags) | LOCAL_IF_GREATER(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
typedef short i16;
typedef uchar u8;
#endif

#define LOCAL_TILE (LOCAL_LANES == 1 ? 32 : LOCAL_LANES)
#define LOCAL_BLOCK 16 /* rows whose bases are unpacked at once */
#define LOCAL_INFINITE 16384
#define LOCAL_MASKED 3 /* codes above it are masked: 4 in the reference, 8 in a read, never equal */

/* Flags of a cell in the traceback. */
#define LOCAL_DIAGONAL 1    /* H is the diagonal step */
#define LOCAL_INSERTION 2   /* H is I */
#define LOCAL_I_OPENS 4     /* I is a gap's first base */
#define LOCAL_D_OPENS 8
#define LOCAL_BEGINS 16     /* nothing before the diagonal step is worth it */
#define LOCAL_EQUAL 32      /* both bases are */

#ifndef LOCAL_TYPES
#define LOCAL_TYPES
/* Penalties are positive; `open` is for the first base of a gap. All doubled. */
typedef struct {
    i16 match, mismatch, open_deletion, extend_deletion, open_insertion, extend_insertion, bonus;
} local_scoring;

/* Slot of pair p: runs[slot_end[p - 1] .. slot_end[p]], 2 * g + 3 places where g gaps are more than the score of the
 * whole read pays for: gaps that follow each other have bases between them or are of two kinds, and both ends may be
 * clipped. */
typedef struct {
    BAND_GLOBAL const u32 *slot_end;
    BAND_GLOBAL u32 *position; /* of the first aligned base */
    BAND_GLOBAL u16 *edits, *n_runs;
    BAND_GLOBAL u32 *runs;
} local_paths;

/* By pair: the doubled score, the row behind the last aligned base, 0 where nothing is worth aligning, and the
 * diagonal of that base. */
typedef struct {
    BAND_GLOBAL u16 *key, *rows, *end;
} local_ends;
#endif

typedef struct {
    u64 start[LOCAL_LANES];
    u32 pair[LOCAL_LANES], row[LOCAL_LANES], length[LOCAL_LANES];
    u32 longest;
    local_vec lengths;
} local_lanes;

typedef struct {
    local_vec h[LOCAL_WIDTH + 1], insertion[LOCAL_WIDTH + 1];
    local_vec best, rows, end; /* over all rows so far */
} local_state;

typedef struct {
    local_vec reference[LOCAL_WIDTH + LOCAL_BLOCK], read[LOCAL_BLOCK];
    u32 any_masked; /* in this block or one before it */
} local_block;

/* Pairs of a group; past the last pair it is repeated, which costs no special case. */
BAND_FN void local_open(const band_batch *batch, u32 group, local_lanes *lanes)
{
    i16 lengths[LOCAL_LANES];
    lanes->longest = 0;
    for (int l = 0; l < LOCAL_LANES; l++) {
        u32 pair = batch->n - 1 - group * LOCAL_LANES < (u32)l ? batch->n - 1 : group * LOCAL_LANES + l;
        u32 read = batch->read_strand[pair] >> 1, length = batch->read_length[read];
        lanes->pair[l] = pair;
        lanes->start[l] = batch->band_start[pair];
        lanes->length[l] = length;
        lanes->row[l] = batch->read_row[read] + (batch->read_strand[pair] & 1) * ((length + 63) >> 6);
        lanes->longest = length > lanes->longest ? length : lanes->longest;
        lengths[l] = (i16)length;
    }
    lanes->lengths = LOCAL_LOAD(lengths);
}

/* Bits at..at+15 of the three planes; everything behind the reference is masked. */
BAND_FN void local_planes(BAND_GLOBAL const u64 *planes, u64 rows, u64 at, u32 bits[3])
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
BAND_FN void local_unpack(i16 bits[3][LOCAL_LANES], int masked_bit, local_vec *codes)
{
    local_vec low = LOCAL_LOAD(bits[0]), high = LOCAL_LOAD(bits[1]), masked = LOCAL_LOAD(bits[2]);
    BAND_UNROLL
    for (int j = 0; j < 16; j++)
        codes[j] = ((low >> (i16)j) & (i16)1) | (((high >> (i16)j) & (i16)1) << (i16)1) |
                   (((masked >> (i16)j) & (i16)1) << (i16)masked_bit);
}

/* The 16 bases that diagonals at..at+15 face in row `row`. */
BAND_FN void local_load_reference(const band_batch *batch, const local_lanes *lanes, u32 row, u32 at,
                                  local_block *block)
{
    i16 bits[3][LOCAL_LANES];
    for (int l = 0; l < LOCAL_LANES; l++) {
        u32 x[3];
        local_planes(batch->reference, batch->reference_rows, lanes->start[l] + row + at, x);
        for (int plane = 0; plane < 3; plane++)
            bits[plane][l] = (i16)x[plane];
        block->any_masked |= x[2];
    }
    local_unpack(bits, 2, block->reference + at);
}

/* What rows row..row+15 see: 16 bases of each read, and the bases of the reference that face them, of which all but
 * the last 16 are those of the block before, one diagonal of 16 further on. */
BAND_FN void local_load(const band_batch *batch, const local_lanes *lanes, u32 width, u32 row, local_block *block)
{
    i16 bits[3][LOCAL_LANES];
    if (row == 0) {
        block->any_masked = 0;
        for (u32 at = 0; at < width; at += LOCAL_BLOCK)
            local_load_reference(batch, lanes, row, at, block);
    } else {
        for (u32 at = 0; at < width; at++)
            block->reference[at] = block->reference[at + LOCAL_BLOCK];
    }
    local_load_reference(batch, lanes, row, width, block);
    for (int l = 0; l < LOCAL_LANES; l++)
        for (int plane = 0; plane < 3; plane++) {
            u64 at = 3 * (u64)(lanes->row[l] + (row >> 6)) + plane;
            u32 x = row < lanes->length[l] ? (u32)(batch->reads[at] >> (row & 63)) & 0xFFFF : 0;
            bits[plane][l] = (i16)x;
            block->any_masked |= plane == 2 ? x : 0;
        }
    local_unpack(bits, 3, block->read);
}

BAND_FN void local_reset(const local_scoring *scoring, u32 width, local_state *state)
{
    for (u32 c = 0; c < width; c++) {
        state->h[c] = LOCAL_SET(scoring->bonus + 1);
        state->insertion[c] = LOCAL_SET(-LOCAL_INFINITE);
    }
    state->h[width] = state->insertion[width] = LOCAL_SET(-LOCAL_INFINITE);
    state->best = state->rows = state->end = LOCAL_SET(0);
}

/* The best of row `row`, which is on diagonal `at`, becomes the best so far unless it is less. Rows past the end of
 * a lane's read do not count. */
BAND_FN void local_note(const local_lanes *lanes, const local_scoring *scoring, u32 row, local_vec best, local_vec at,
                        local_state *state)
{
    local_vec rows = LOCAL_SET(row + 1), none = LOCAL_SET(-LOCAL_INFINITE);
    best += LOCAL_IF_EQUAL(lanes->lengths, rows, LOCAL_SET(scoring->bonus), LOCAL_SET(0));
    best = LOCAL_IF_GREATER(rows, lanes->lengths, none, best);
    state->rows = LOCAL_IF_GREATER(state->best, best, state->rows, rows);
    state->end = LOCAL_IF_GREATER(state->best, best, state->end, at);
    state->best = LOCAL_MAX(state->best, best);
}

/* Row `row`, row r of its block. `masked`, `traced` are constants: may there be masked bases; is each cell's byte of
 * flags wanted, at trace[c * LOCAL_TILE]. */
BAND_FN void local_row(const local_block *block, const local_lanes *lanes, const local_scoring *scoring, u32 width,
                       u32 row, int masked, int traced, local_state *state, BAND_GLOBAL u8 *trace)
{
    const u32 r = row % LOCAL_BLOCK;
    const local_vec zero = LOCAL_SET(0), match = LOCAL_SET(scoring->match), mismatch = LOCAL_SET(-scoring->mismatch);
    const local_vec open_d = LOCAL_SET(scoring->open_deletion), extend_d = LOCAL_SET(scoring->extend_deletion);
    const local_vec open_i = LOCAL_SET(scoring->open_insertion), extend_i = LOCAL_SET(scoring->extend_insertion);
    const local_vec base = block->read[r];
    local_vec best = LOCAL_SET(-LOCAL_INFINITE), at = zero, opens = zero;
    local_vec deletion = LOCAL_SET(-LOCAL_INFINITE), before = state->h[0];
    for (u32 c = 0; c < width; c++) {
        local_vec facing = block->reference[r + c];
        local_vec s = LOCAL_IF_EQUAL(facing, base, match, mismatch);
        if (masked)
            s = LOCAL_IF_GREATER(facing | base, LOCAL_SET(LOCAL_MASKED), LOCAL_SET(-2), s);
        local_vec diagonal = LOCAL_MAX(before, zero) + s;
        local_vec above = state->h[c + 1], longer = state->insertion[c + 1] - extend_i, newer = above - open_i;
        local_vec insertion = LOCAL_MAX(newer, longer);
        local_vec most = LOCAL_MAX(diagonal, insertion), h = LOCAL_MAX(most, deletion);
        if (traced) {
            local_vec flags = LOCAL_MARK_EQUAL(opens, h, diagonal, LOCAL_DIAGONAL);
            flags = LOCAL_MARK_EQUAL(flags, h, insertion, LOCAL_INSERTION);
            flags = LOCAL_MARK_GREATER(flags, newer, longer, LOCAL_I_OPENS);
            flags = LOCAL_MARK_GREATER(flags, zero, before, LOCAL_BEGINS);
            flags = LOCAL_MARK_EQUAL(flags, facing, base, LOCAL_EQUAL);
            LOCAL_STORE_BYTES(flags, trace + (u64)c * LOCAL_TILE);
            opens = LOCAL_IF_GREATER(most - open_d, deletion - extend_d, LOCAL_SET(LOCAL_D_OPENS), zero);
        }
        deletion = LOCAL_MAX(most - open_d, deletion - extend_d);
        state->h[c] = h;
        state->insertion[c] = insertion;
        at = LOCAL_IF_GREATER(h, best, LOCAL_SET(c), at);
        best = LOCAL_MAX(best, h);
        before = above;
    }
    local_note(lanes, scoring, row, best, at, state);
}

/* All rows of a group. */
BAND_FN void local_forward(const band_batch *batch, const local_lanes *lanes, const local_scoring *scoring, u32 width,
                           int traced, local_state *state, BAND_GLOBAL u8 *trace)
{
    local_block block;
    local_reset(scoring, width, state);
    for (u32 row = 0; row < lanes->longest; row++) {
        if (row % LOCAL_BLOCK == 0)
            local_load(batch, lanes, width, row, &block);
        if (block.any_masked)
            local_row(&block, lanes, scoring, width, row, 1, traced, state, trace);
        else
            local_row(&block, lanes, scoring, width, row, 0, traced, state, trace);
        trace += traced ? (u64)width * LOCAL_TILE : 0;
    }
}

BAND_FN void local_put_ends(const local_lanes *lanes, const local_state *state, const local_ends *ends)
{
    i16 key[LOCAL_LANES], rows[LOCAL_LANES], end[LOCAL_LANES];
    LOCAL_STORE(state->best, key);
    LOCAL_STORE(state->rows, rows);
    LOCAL_STORE(state->end, end);
    for (int l = 0; l < LOCAL_LANES; l++) {
        u32 pair = lanes->pair[l];
        ends->key[pair] = (u16)key[l];
        ends->rows[pair] = (u16)(key[l] > 1 ? rows[l] : 0);
        ends->end[pair] = (u16)end[l];
    }
}

/* Best scores of one group of pairs and where they end. */
BAND_FN void local_score(const band_batch *batch, const local_scoring *scoring, u32 width, u32 group,
                         const local_ends *ends)
{
    local_lanes lanes;
    local_state state;
    local_open(batch, group, &lanes);
    local_forward(batch, &lanes, scoring, width, 0, &state, 0);
    local_put_ends(&lanes, &state, ends);
}

/* `length` more of `op` in front of the runs at `at`; returns where they begin now. */
BAND_FN u32 local_push(const local_paths *paths, u32 at, u32 last, u32 length, u32 op)
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
BAND_FN void local_walk(const local_paths *paths, u32 width, u32 pair, u32 start, u32 length, u32 rows, u32 c,
                        BAND_GLOBAL const u8 *trace)
{
    u32 i = rows, edits = 0, steps = 0, state = 0; /* i: bases before; state 0 H, 1 I, 2 D: the ops of a CIGAR */
    u32 last = paths->slot_end[pair], at = local_push(paths, last, last, length - rows, 4);
    while (i > 0) {
        u32 flags = trace[((u64)(i - 1) * width + c) * LOCAL_TILE];
        if (state == 0 && !(flags & LOCAL_DIAGONAL))
            state = flags & LOCAL_INSERTION ? 1 : 2;
        if (state == 0) {
            steps++;
            edits += !(flags & LOCAL_EQUAL);
            i--;
            if (flags & LOCAL_BEGINS && i > 0)
                break;
            continue;
        }
        at = local_push(paths, local_push(paths, at, last, steps, 0), last, 1, state);
        steps = 0;
        edits++;
        i -= state == 1;
        c = state == 1 ? c + 1 : c - 1;
        state = flags & (state == 1 ? LOCAL_I_OPENS : LOCAL_D_OPENS) ? 0 : state;
    }
    at = local_push(paths, local_push(paths, at, last, steps, 0), last, i, 4);
    paths->position[pair] = start + c + i;
    paths->edits[pair] = (u16)edits;
    paths->n_runs[pair] = (u16)(last - at);
}

/* Alignments of one group. `trace` is the group's own: bytes [longest, width, LOCAL_TILE], its lane already
 * added. */
BAND_FN void local_align(const band_batch *batch, const local_scoring *scoring, u32 width, u32 group,
                         const local_ends *ends, const local_paths *paths, BAND_GLOBAL u8 *trace)
{
    local_lanes lanes;
    local_state state;
    local_open(batch, group, &lanes);
    local_forward(batch, &lanes, scoring, width, 1, &state, trace);
    local_put_ends(&lanes, &state, ends);
    for (int l = 0; l < LOCAL_LANES; l++) {
        u32 pair = lanes.pair[l];
        local_walk(paths, width, pair, (u32)lanes.start[l], lanes.length[l], ends->rows[pair], ends->end[pair],
                   trace + l);
    }
}
