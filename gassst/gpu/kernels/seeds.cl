/* Which reads a stage takes, and where its seeds occur: index/lookup.h and index/seeds.pyx, one seed a work-item. What hides
 * the misses there, the groups of seeds, is here the number of work-items in flight. */

/* Parts of an array that is larger than one allocation may be; each but the last holds 2^PART_BITS elements. */
#if INDEX_PARTS == 1
#define PART_ARGS(type, name) __global const type *name##0
#define PARTS_OF(name) name##0
#define PART_FIELDS(type, name) __global const type *name##0;
#define TAKE_PARTS(index, name) (index).name##0 = name##0
#define AT(index, name, i) ((index)->name##0[i])
#else
#define PART_ARGS(type, name)                                                                  \
    __global const type *name##0, __global const type *name##1, __global const type *name##2, \
        __global const type *name##3
#define PARTS_OF(name) name##0, name##1, name##2, name##3
#define PART_FIELDS(type, name) __global const type *name##0, *name##1, *name##2, *name##3;
#define TAKE_PARTS(index, name)                                                                \
    ((index).name##0 = name##0, (index).name##1 = name##1, (index).name##2 = name##2, (index).name##3 = name##3)
#define IN_PART(i) ((i) & (((ulong)1 << PART_BITS) - 1))
#define AT(index, name, i)                                                                     \
    ((i) >> PART_BITS == 0   ? (index)->name##0[IN_PART(i)]                                    \
     : (i) >> PART_BITS == 1 ? (index)->name##1[IN_PART(i)]                                    \
     : (i) >> PART_BITS == 2 ? (index)->name##2[IN_PART(i)]                                    \
                             : (index)->name##3[IN_PART(i)])
#endif

typedef struct {
    PART_FIELDS(uint, table)
    PART_FIELDS(uint, positions)
    PART_FIELDS(uchar, following)
    __global const ulong *planes;
    ulong rows;
    uint k, p;
} seed_index;

typedef struct {
    uint lo, hi;
} seed_range;

enum { INLINE_BASES = 4, SORTED_BASES = 16 };

/* Bit i goes to bit 2i. */
static ulong spread_bits(uint x)
{
    ulong s = x;
    s = (s | s << 16) & 0x0000FFFF0000FFFFul;
    s = (s | s << 8) & 0x00FF00FF00FF00FFul;
    s = (s | s << 4) & 0x0F0F0F0F0F0F0F0Ful;
    s = (s | s << 2) & 0x3333333333333333ul;
    return (s | s << 1) & 0x5555555555555555ul;
}

/* Code of 32 bases, the first one in the most significant bits. */
static ulong interleave(uint low, uint high)
{
    ulong x = spread_bits(low) | spread_bits(high) << 1;
    x = (x >> 2 & 0x3333333333333333ul) | (x & 0x3333333333333333ul) << 2;
    x = (x >> 4 & 0x0F0F0F0F0F0F0F0Ful) | (x & 0x0F0F0F0F0F0F0F0Ful) << 4;
    x = (x >> 8 & 0x00FF00FF00FF00FFul) | (x & 0x00FF00FF00FF00FFul) << 8;
    x = (x >> 16 & 0x0000FFFF0000FFFFul) | (x & 0x0000FFFF0000FFFFul) << 16;
    return x >> 32 | x << 32;
}

/* The first entry of a range whose following bases are not below `bound`. */
static uint first_following(const seed_index *index, seed_range range, uint bound)
{
    while (range.lo < range.hi) {
        uint middle = range.lo + (range.hi - range.lo) / 2;
        if (AT(index, following, (ulong)middle) < bound)
            range.lo = middle + 1;
        else
            range.hi = middle;
    }
    return range.lo;
}

/* The same of the `n` bases behind those. */
static uint first_deep(const seed_index *index, seed_range range, uint n, ulong bound)
{
    while (range.lo < range.hi) {
        uint middle = range.lo + (range.hi - range.lo) / 2;
        ulong at = (ulong)AT(index, positions, (ulong)middle) + index->k + INLINE_BASES;
        uint low = (uint)bits_at(index->planes, index->rows, at, 0), high = (uint)bits_at(index->planes, index->rows, at, 1);
        if (interleave(low, high) >> (64 - 2 * n) < bound)
            range.lo = middle + 1;
        else
            range.hi = middle;
    }
    return range.lo;
}

/* The entries that begin with a seed of w bases. Where the file is damaged they are wrong, but inside the arrays. */
static seed_range entries_of(const seed_index *index, ulong seed, uint w)
{
    uint k = index->k, behind = w > k ? w - k : 0;
    ulong kmer = behind ? seed >> 2 * behind : seed << 2 * (k - w);
    ulong end = behind ? kmer + 1 : (seed + 1) << 2 * (k - w);
    seed_range range;
    range.hi = min(AT(index, table, end), index->p);
    range.lo = min(AT(index, table, kmer), range.hi);
    if (behind && range.lo < range.hi) {
        ulong rest = seed & (((ulong)1 << 2 * behind) - 1);
        uint inlined = min(behind, (uint)INLINE_BASES), deep = behind - inlined, shift = 2 * (INLINE_BASES - inlined);
        uint head = (uint)(rest >> 2 * deep);
        range.lo = first_following(index, range, head << shift);
        range.hi = first_following(index, range, (head + 1) << shift);
        if (deep && range.lo < range.hi) {
            ulong bound = rest & (((ulong)1 << 2 * deep) - 1);
            range.lo = first_deep(index, range, deep, bound);
            range.hi = first_deep(index, range, deep, bound + 1);
        }
    }
    return range;
}

/* The seeds of a read in a stage: on both strands `number` of them, of `length` bases. */
typedef struct {
    uint read_bases, length, planned, every, number, flip;
} seed_plan;

typedef struct {
    uint reverse, offset;
} seed_place;

static seed_plan plan_of(__global const short *plan, uint read_bases, uint flip)
{
    seed_plan seeds;
    seeds.read_bases = read_bases;
    seeds.length = PLAN(SEED_LENGTH, read_bases);
    seeds.planned = PLAN(SEED_COUNT, read_bases);
    seeds.every = PLAN(SEED_EVERY, read_bases);
    seeds.number = 2 * ((seeds.planned + seeds.every - 1) / seeds.every);
    seeds.flip = flip;
    return seeds;
}

/* Of the seed in the canonical orientation; even ones lie on the canonical strand. */
static seed_place place_of(const seed_plan *seeds, uint number)
{
    uint room = seeds->read_bases - seeds->length, last = seeds->planned - 1;
    uint at = last ? (number >> 1) * seeds->every * room / last : room / 2;
    seed_place place;
    at = seeds->flip ? room - at : at;
    place.reverse = (number & 1) ^ seeds->flip;
    place.offset = place.reverse ? room - at : at;
    return place;
}

/* The state before anything was looked up. `plan`: of any stage. */
__kernel void begin_reads(uint n_reads, __global const uint *read_length, __global const short *plan,
                          __global ushort *state)
{
    uint read = get_global_id(0);
    if (read >= n_reads)
        return;
    STATE(BEST, read) = STATE(RIVAL, read) = NO_SCORE;
    STATE(LIMIT, read) = PLAN(ERRORS, read_length[read]);
    STATE(COMPLETE, read) = STATE(PLANNED, read) = STATE(CAPPED, read) = STATE(LOOKED, read) = 0;
    STATE(LEFT_TO_LOCAL, read) = STATE(EVIDENCE, read) = 0;
}

/* The reads that have seeds in this stage and still need them (bookkeeping.pyx, `unsettled`). */
__kernel void choose_reads(uint n_reads, uint strata, uint margin, __global const uint *read_length,
                           __global const short *plan, __global const ushort *state, __global uint *counters,
                           __global uint *active)
{
    __local uint sums[GROUP];
    uint read = get_global_id(0), wanted = 0;
    if (read < n_reads) {
        uint bases = read_length[read];
        int best = STATE(BEST, read), rival = STATE(RIVAL, read);
        int most = min(best + (int)strata, PLAN(ERRORS, bases) + 1);
        int enough = rival > best + (int)margin ? PLAN(SETTLED_ALONE, bases) : PLAN(SETTLED, bases);
        wanted = PLAN(SEED_COUNT, bases) > 0 && (int)STATE(COMPLETE, read) < most && best > enough;
        if (STATE(LEFT_TO_LOCAL, read) || (best == NO_SCORE && PLAN(GIVEN_UP, bases)))
            wanted = 0;
    }
    uint at = reserve(wanted, sums, counters + ACTIVE, counters + OVERFLOW);
    if (wanted)
        active[at] = read;
}

/* The ranges of all seeds: lo uint[s, a], count uint[s, a], and bytes of length | clipped << 7, seed by seed. Those that
 * occur too often are made longer and looked up once more (`resolve_seeds`). */
__kernel void look_up(READ_ARGS, uint n_active, __global const uint *active, __global const short *plan,
                      PART_ARGS(uint, table), PART_ARGS(uint, positions), PART_ARGS(uchar, following),
                      __global const ulong *planes, ulong rows, uint k, uint p, __global const uint *caps,
                      __global uint *lo, __global uint *count, __global uchar *width)
{
    seed_index index = {PARTS_OF(table), PARTS_OF(positions), PARTS_OF(following), planes, rows, k, p};
    uint i = get_global_id(0), number = get_global_id(1);
    if (i >= n_active)
        return;
    uint read = active[i], bases = read_length[read];
    seed_plan seeds = plan_of(plan, bases, read_flip[read]);
    if (number >= seeds.number)
        return;
    seed_place place = place_of(&seeds, number);
    uint row = row_of(read_row[read], bases, place.reverse) + (place.offset >> 6), shift = place.offset & 63;
    ulong bits[3];
    for (int plane = 0; plane < 3; plane++)
        bits[plane] = reads[3 * (ulong)row + plane] >> shift | reads[3 * (ulong)row + 3 + plane] << 1 << (63 - shift);
    uint longest = min(bases - place.offset, k + SORTED_BASES);
    ulong masked = bits[2] | (ulong)1 << longest;
    uint room = 63 - clz(masked & (0 - masked)), w = seeds.length, clipped = 0;
    seed_range found = {0, 0};
    if (room >= w) {
        ulong code = interleave((uint)bits[0], (uint)bits[1]) >> 2 * (32 - room);
        found = entries_of(&index, code >> 2 * (room - w), w);
        if (found.hi - found.lo > caps[w]) {
            clipped = 1;
            if (room > w) {
                w = room;
                found = entries_of(&index, code, w);
            }
        }
    }
    ulong at = (ulong)number * n_active + i;
    lo[at] = found.lo;
    count[at] = found.hi - found.lo;
    width[at] = (uchar)(w | clipped << 7);
}

/* Pass over the seeds that occur too often (`limit_occurrences`), note what was looked up, and reserve the anchors of each
 * read: segment uint2[n], first and number. `at` uint[s, a]: where those of a seed begin among them. */
__kernel void limit_seeds(uint n_reads, __global const uint *read_length, uint n_active, __global const uint *active,
                          __global const short *plan, __global const uint *caps, __global uint *count,
                          __global const uchar *width, __global uint *at, uint stage, __global ushort *state,
                          __global uint *counters, __global uint2 *segment, __global uint *many)
{
    __local uint sums[GROUP];
    uint i = get_global_id(0), total = 0, read = 0;
    if (i < n_active) {
        read = active[i];
        seed_plan seeds = plan_of(plan, read_length[read], 0);
        uint clipped = 0, rarest = NOWHERE, rarest_count = 0, either = 0;
        for (uint s = 0; s < seeds.number; s++) {
            ulong own = (ulong)s * n_active + i;
            uint occurrences = count[own], w = width[own];
            either = (s & 1 ? either : 0) | w >> 7;
            clipped += s & 1 ? either : 0;
            if (occurrences > caps[w & 127]) {
                if (rarest == NOWHERE || occurrences < rarest_count) {
                    rarest = s;
                    rarest_count = occurrences;
                }
                count[own] = occurrences = 0;
            }
            at[own] = total;
            total = min(total + min(occurrences, MOST_ANCHORS), MOST_ANCHORS);
        }
        if (total == 0 && rarest != NOWHERE) {
            ulong own = (ulong)rarest * n_active + i;
            count[own] = total = caps[width[own] & 127];
            for (uint s = rarest + 1; s < seeds.number; s++)
                at[(ulong)s * n_active + i] = total;
            total = min(total, MOST_ANCHORS);
        }
        uint disjoint = (PLAN(DISJOINT, seeds.read_bases) + seeds.every - 1) / seeds.every;
        STATE(CAPPED, read) |= rarest != NOWHERE;
        STATE(LOOKED, read) |= (ushort)(1 << stage);
        STATE(PLANNED, read) = max(STATE(PLANNED, read), (ushort)disjoint);
        STATE(COMPLETE, read) = max(STATE(COMPLETE, read), (ushort)(disjoint - min(clipped, disjoint)));
    }
    if (total == MOST_ANCHORS)
        atomic_or(counters + OVERFLOW, 1u);
    uint first = reserve(total, sums, counters + ANCHORS, counters + OVERFLOW);
    if (i < n_active) {
        segment[read] = (uint2)(first, total);
        if (total > FEW)
            many[atomic_inc(counters + MANY)] = read;
    }
}

/* Of every read how many seeds are clipped, on one strand or both, and where in the read as sequenced the first of them
 * begins, and the last: clipped int[3, a]. -1 where there is none. */
__kernel void note_clipped(__global const uint *read_length, __global const uchar *read_flip, uint n_active,
                           __global const uint *active, __global const short *plan, __global const uchar *width,
                           __global int *clipped)
{
    uint i = get_global_id(0);
    if (i >= n_active)
        return;
    seed_plan seeds = plan_of(plan, read_length[active[i]], read_flip[active[i]]);
    int count = 0, first = -1, last = -1;
    for (uint s = 0; s < seeds.number; s += 2) {
        if (!((width[(ulong)s * n_active + i] | width[(ulong)(s + 1) * n_active + i]) >> 7))
            continue;
        int at = place_of(&seeds, s + seeds.flip).offset; /* on the forward strand */
        first = count++ ? min(first, at) : at;
        last = max(last, at);
    }
    clipped[i] = count;
    clipped[n_active + i] = first;
    clipped[2 * n_active + i] = last;
}
