/* Which reads a stage takes, and where its seeds occur: index/lookup.h and index/seeds.pyx, one seed a work-item. What hides
 * the misses there, the groups of seeds, is here the number of work-items in flight. */
#include "knowledge.h"

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
    int conversion;
} seed_index_t;

#define SORTED_BASES 16 /* behind a k-mer, by which positions are sorted */
#define INDEX_TABLE(index, i) AT(index, table, i)
#define INDEX_POSITION(index, i) AT(index, positions, (ulong)(i))
#define INDEX_FOLLOWING(index, i, step) AT(index, following, (ulong)(i))
#include "seed_lookup.h"

/* The first entry of a range whose bases are not below `bound`: those in `following`, or the `deep` ones behind them. */
static uint first_entry(const seed_index_t *index, seed_range_t range, uint deep, ulong bound)
{
    while (range.lo < range.hi) {
        uint middle = range.lo + (range.hi - range.lo) / 2;
        if ((deep ? lookup_deep_bases(index, middle, deep, STEP) : INDEX_FOLLOWING(index, middle, STEP)) < bound)
            range.lo = middle + 1;
        else
            range.hi = middle;
    }
    return range.lo;
}

/* The part of a range whose bases are at least `first`, but below `end`. */
static seed_range_t narrowed(const seed_index_t *index, seed_range_t range, uint deep, ulong first, ulong end)
{
    range.lo = first_entry(index, range, deep, first);
    range.hi = first_entry(index, range, deep, end);
    return range;
}

/* The entries that begin with a seed of w bases. Where the file is damaged they are wrong, but inside the arrays. */
static seed_range_t entries_of(const seed_index_t *index, ulong seed, uint w)
{
    seed_range_t range = lookup_bucket(index, seed, w);
    uint known = index->k + lookup_inline(STEP), deep = w > known ? w - known : 0;
    if (w > index->k) {
        lookup_span_t span = lookup_span(index, seed, w, STEP);
        range = narrowed(index, range, 0, span.first, span.end);
    }
    if (deep) {
        ulong bound = seed & (((ulong)1 << 2 * deep) - 1);
        range = narrowed(index, range, deep, bound, bound + 1);
    }
    return range;
}

/* Code of the last n bases before an entry, no more than the index tells. */
static uint bases_before(const seed_index_t *index, uint entry, uint n)
{
    return INDEX_FOLLOWING(index, entry, STEP) & ((1u << 2 * n) - 1);
}

/* The occurrences of a seed of w bases that is looked up without its first `front` ones: `lo` is the entry of the first, and
 * the others have the same bases before them. There may be more than `most`, and are not all counted then. */
static seed_range_t occurrences_of(const seed_index_t *index, ulong seed, uint w, uint front, uint most)
{
    seed_range_t range = entries_of(index, seed & ~(ulong)0 >> (64 - 2 * (w - front)), w - front), found = {range.lo, range.lo};
    if (front == 0)
        return range;
    uint before = (uint)(seed >> 2 * (w - front)), count = 0;
    for (uint entry = range.lo; entry < range.hi && count <= most; entry++)
        if (bases_before(index, entry, front) == before)
            found.lo = count++ ? found.lo : entry;
    found.hi = found.lo + count;
    return found;
}

/* How a seed was looked up: its bases, those of them before the first that the index has, and whether it was longer than
 * planned. In a byte of 5, 2 and 1 bits. */
static uchar looked_up(uint w, uint front, uint clipped) { return (uchar)(w | front << 5 | clipped << 7); }
static uint width_of(uchar looked) { return looked & 31; }
static uint front_of(uchar looked) { return STEP == 1 ? 0 : looked >> 5 & 3; }
static uint is_clipped(uchar looked) { return looked >> 7; }

/* The occurrences of a seed, one after the other. */
typedef struct {
    uint entry, before, front, offset;
} occurrences_t;

static occurrences_t first_occurrence(const seed_index_t *index, uint lo, uint front, uint offset)
{
    occurrences_t occurrences = {lo, front ? bases_before(index, lo, front) : 0, front, offset};
    return occurrences;
}

/* The diagonal of the next one, which there is. */
static uint next_diagonal(const seed_index_t *index, occurrences_t *occurrences)
{
    uint entry = occurrences->entry, front = occurrences->front;
    while (front && bases_before(index, entry, front) != occurrences->before)
        entry++;
    occurrences->entry = entry + 1;
    return INDEX_POSITION(index, entry) - front - occurrences->offset;
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
    uint room = seeds->read_bases - seeds->length, at = seed_offset((number >> 1) * seeds->every, seeds->planned, room);
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
    STATE(BEST, read) = NO_SCORE;
    STATE(LIMIT, read) = PLAN(ERRORS, read_length[read]);
    STATE(COMPLETE, read) = STATE(PLANNED, read) = STATE(CAPPED, read) = STATE(LOOKED, read) = 0;
}

/* The reads that have seeds in this stage and still need them (stages.pyx, `unsettled`). None where all[LACKING]: the host
 * will ask again for everything. */
__kernel void choose_reads(uint n_reads, uint strata, __global const uint *all, __global const uint *read_length, __global const short *plan,
                           __global const ushort *state, __global uint *counters, __global uint *active)
{
    __local uint sums[GROUP];
    uint read = get_global_id(0), wanted = 0;
    if (read < n_reads && !all[LACKING]) {
        uint bases = read_length[read];
        knowledge_t known = {STATE(BEST, read), 0, STATE(COMPLETE, read)};
        wanted = PLAN(SEED_COUNT, bases) > 0 &&
                 !(known.best == NO_SCORE && PLAN(GIVEN_UP, bases)) &&
                 needs_stage(&known, PLAN(ERRORS, bases), strata, PLAN(SETTLED, bases));
    }
    uint at = reserve(wanted, sums, counters + ACTIVE, counters + OVERFLOW);
    if (wanted)
        active[at] = read;
}

/* The occurrences of all seeds: lo uint[s, a], count uint[s, a], and bytes of `looked_up`, seed by seed. Those that occur too
 * often are made longer and looked up once more (`resolve_seeds`). */
__kernel void look_up(READ_ARGS, __global const uint *counters, __global const uint *active, __global const short *plan,
                      PART_ARGS(uint, table), PART_ARGS(uint, positions), PART_ARGS(uchar, following),
                      REFERENCE_ARGS, uint k, uint p, __global const uint *caps, __global uint *lo, __global uint *count,
                      __global uchar *looked)
{
    seed_index_t index = {PARTS_OF(table), PARTS_OF(positions), PARTS_OF(following), reference_planes, reference_rows, k, p,
                          NOT_CONVERTED};
    uint i = get_global_id(0), number = get_global_id(1), n_active = counters[ACTIVE];
    if (i >= n_active)
        return;
    uint read = active[i], bases = read_length[read];
    seed_plan seeds = plan_of(plan, bases, read_flip[read]);
    if (number >= seeds.number)
        return;
    seed_place place = place_of(&seeds, number);
    ulong begin = first_base(read_row[read], place.reverse, bases) + place.offset;
    seed_bases_t found = seed_bases(read_planes, begin, min(bases - place.offset, k + SORTED_BASES), NOT_CONVERTED);
    uint w = seeds.length, clipped = 0, front = 0;
    seed_range_t range = {0, 0};
    if (found.room >= w) {
        ulong seed = found.code >> 2 * (found.room - w);
        front = STEP == 1 ? 0 : bases_before_kept(seed, w, k);
        range = occurrences_of(&index, seed, w, front, found.room > w ? caps[w] : NOWHERE);
        if (range.hi - range.lo > caps[w]) {
            clipped = 1;
            if (found.room > w) {
                w = found.room;
                range = occurrences_of(&index, found.code, w, front, NOWHERE);
            }
        }
    }
    ulong at = (ulong)number * n_active + i;
    lo[at] = range.lo;
    count[at] = range.hi - range.lo;
    looked[at] = looked_up(w, front, clipped);
}

/* Pass over the seeds that occur too often (`limit_occurrences`), note what was looked up, and reserve the anchors of each
 * read: segment uint2[n], first and number. `at` uint[s, a]: where those of a seed begin among them. There is room for
 * some anchors only: a read whose anchors do not fit gets none, and all[LACKING] is set. */
__kernel void limit_seeds(uint n_reads, __global const uint *read_length, uint room, __global const uint *active,
                          __global const short *plan, __global const uint *caps, __global uint *count,
                          __global const uchar *looked, __global uint *at, uint stage, __global ushort *state,
                          __global uint *all, __global uint *counters, __global uint2 *segment, __global uint *many)
{
    __local uint sums[GROUP];
    uint i = get_global_id(0), total = 0, read = 0, n_active = counters[ACTIVE];
    if (i < n_active) {
        read = active[i];
        seed_plan seeds = plan_of(plan, read_length[read], 0);
        uint clipped = 0, rarest = NOWHERE, rarest_count = 0, either = 0;
        for (uint s = 0; s < seeds.number; s++) {
            ulong own = (ulong)s * n_active + i;
            uint occurrences = count[own];
            either = (s & 1 ? either : 0) | is_clipped(looked[own]);
            clipped += s & 1 ? either : 0;
            if (occurrences > caps[width_of(looked[own])]) {
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
            count[own] = total = caps[width_of(looked[own])];
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
        if (total > room || first > room - total) {
            total = 0;
            atomic_or(all + LACKING, 1u);
        }
        segment[read] = (uint2)(first, total);
        if (total > FEW)
            many[atomic_inc(counters + MANY)] = read;
    }
}
