/* All places of reads. Their limits never fall, so the narrow band looks at an occurrence before it becomes an anchor, and
 * rejects 99 in 100: what follows has little to sort. Ends of alignments are those of `local_minima` (stages.pyx). */
#include "local_item.h"

/* A work-item's way through the occurrences of the seeds of one read, in the order of `limit_seeds`. */
typedef struct {
    uint number, start, stop; /* seed, and the occurrences that are its own */
    ulong own;                /* its place in the columns of the stage */
    seed_place place;
} seed_walk;

static void enter_seed(seed_walk *walk, const seed_plan *seeds, uint n_active, uint i, __global const uint *count,
                       __global const uint *at)
{
    walk->own = (ulong)walk->number * n_active + i;
    walk->start = at[walk->own];
    walk->stop = walk->start + count[walk->own];
    walk->place = place_of(seeds, walk->number);
}

/* Goes on to the seed of occurrence `t`, which there is. */
static void walk_to(seed_walk *walk, uint t, const seed_plan *seeds, uint n_active, uint i, __global const uint *count,
                    __global const uint *at)
{
    while (t >= walk->stop) {
        walk->number++;
        enter_seed(walk, seeds, n_active, i, count, at);
    }
}

/* The diagonals of all occurrences, those of a read in its segment: listed uint[]. */
__kernel void list_occurrences(__global const uint *read_length, __global const uchar *read_flip, uint n_active,
                               __global const uint *active, __global const short *plan, PART_ARGS(uint, positions),
                               PART_ARGS(uchar, following), __global const uint *lo, __global const uint *count, __global const uchar *looked,
                               __global const uint *at, __global const uint2 *segment, __global uint *listed)
{
    seed_index_t index;
    TAKE_PARTS(index, positions);
    TAKE_PARTS(index, following);
    uint i = get_global_id(0), number = get_global_id(1);
    if (i >= n_active)
        return;
    seed_plan seeds = plan_of(plan, read_length[active[i]], read_flip[active[i]]);
    ulong own = (ulong)number * n_active + i;
    if (number >= seeds.number || count[own] == 0)
        return;
    __global uint *to = listed + segment[active[i]].x + at[own];
    occurrences_t occurrences = first_occurrence(&index, lo[own], front_of(looked[own]), place_of(&seeds, number).offset);
    for (uint j = 0; j < count[own]; j++)
        to[j] = next_diagonal(&index, &occurrences);
}

/* The diagonals on which no alignment within the limit lies (`bound_bands`) become NOWHERE. One work-group a read; number
 * uint[a], how many are left. */
__kernel void bound_occurrences(READ_ARGS, uint n_reads, __global const ushort *state, REFERENCE_ARGS, uint gaps,
                                uint n_active, __global const uint *active,
                                __global const short *plan, __global const uint *count, __global const uint *at,
                                __global const uint2 *segment, __global uint *listed, __global uint *number)
{
    __local uint passed;
    uint i = get_group_id(0), read = active[i], length = read_length[read], limit = STATE(LIMIT, read), own = 0;
    uint2 all = segment[read];
    seed_plan seeds = plan_of(plan, length, read_flip[read]);
    seed_walk walk = {0, 0, 0, 0, {0, 0}};
    if (get_local_id(0) == 0)
        passed = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    enter_seed(&walk, &seeds, n_active, i, count, at);
    for (uint t = get_local_id(0); t < all.y; t += get_local_size(0)) {
        walk_to(&walk, t, &seeds, n_active, i, count, at);
        uint diagonal = listed[(ulong)all.x + t];
        ulong row = first_base(read_row[read], walk.place.reverse, length) >> 6;
        if (may_align(read_planes, row, length, reference_planes, reference_rows, gaps, limit, diagonal))
            own++;
        else
            listed[(ulong)all.x + t] = NOWHERE;
    }
    if (own)
        atomic_add(&passed, own);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        number[i] = passed;
}

/* Reserves the anchors of each read: kept uint2[n], first and number. */
__kernel void reserve_passed(uint n_active, __global const uint *active, __global const uint *number,
                             __global uint *counters, __global uint2 *kept, __global uint *many)
{
    __local uint sums[GROUP];
    uint i = get_global_id(0), n = i < n_active ? number[i] : 0;
    uint first = reserve(n, sums, counters + PASSED, counters + OVERFLOW);
    if (i < n_active) {
        kept[active[i]] = (uint2)(first, n);
        if (n > FEW)
            many[atomic_inc(counters + MANY_PASSED)] = active[i];
    }
}

/* The occurrences that pass become anchors in the segment of their read; `owner` uint[c], the read of each. */
__kernel void gather_passed(__global const uint *read_length, __global const uchar *read_flip, uint n_active,
                            __global const uint *active, __global const short *plan, __global const uint *count,
                            __global const uchar *looked, __global const uint *at, __global const uint2 *segment,
                            __global const uint *listed, __global const uint2 *kept, __global ulong *anchors, __global uint *owner)
{
    __local uint next;
    uint i = get_group_id(0), read = active[i];
    uint2 all = segment[read], own = kept[read];
    seed_plan seeds = plan_of(plan, read_length[read], read_flip[read]);
    seed_walk walk = {0, 0, 0, 0, {0, 0}};
    if (get_local_id(0) == 0)
        next = own.x;
    barrier(CLK_LOCAL_MEM_FENCE);
    enter_seed(&walk, &seeds, n_active, i, count, at);
    for (uint t = get_local_id(0); t < all.y && own.y; t += get_local_size(0)) {
        uint diagonal = listed[(ulong)all.x + t];
        if (diagonal == NOWHERE)
            continue;
        walk_to(&walk, t, &seeds, n_active, i, count, at);
        uint to = atomic_inc(&next), w = width_of(looked[walk.own]);
        anchors[to] = anchor_of(walk.place.reverse ^ seeds.flip, diagonal, walk.place.offset, w);
        owner[to] = read;
    }
}

/* The errors of the bands of 64 * WORDS diagonals by end diagonal: ushort[n, stride], the bands as `list_bands`
 * has left them. */
__kernel void profile_bands(READ_ARGS, __global const short *plan, REFERENCE_ARGS, __global const uint *pairs, uint room,
                            uint n, uint stride, __global ulong *profile)
{
    band_batch batch = BANDS_OF_READS(pairs, room, n);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        if (PLAN(BAND_WORDS, read_length[pairs[i] >> 1]) == WORDS)
            band_profile(&batch, &i, profile + (ulong)i * (stride / 4 - 16 * WORDS));
}

/* The bands of a stage, in the order of read, canonical strand and diagonal, with their profiles. */
typedef struct {
    __global const uint *strand, *first;
    __global const ushort *profile;
    uint n, stride;
} profiled_bands;

/* Whether a band and the next one lie over each other, or touch. */
static int is_joined(const profiled_bands *bands, uint j)
{
    return j + 1 < bands->n && bands->strand[j] == bands->strand[j + 1] && bands->first[j + 1] - bands->first[j] <= 64 * WORDS;
}

/* Fewest errors on a diagonal that band `j` holds, in that band and those before it; `origin`: the first band with them. */
static uint errors_on(const profiled_bands *bands, uint j, uint diagonal, uint *origin)
{
    uint strand = bands->strand[j], least = NO_SCORE;
    for (uint i = j + 1; i-- > 0 && bands->strand[i] == strand && diagonal - bands->first[i] < 64 * WORDS;) {
        uint errors = bands->profile[(ulong)i * bands->stride + (diagonal - bands->first[i])];
        if (errors <= least) {
            least = errors;
            *origin = i;
        }
    }
    return least;
}

/* How many diagonals behind one with so many errors have as many, where higher ones follow; -1 where lower ones do. */
static int reach_of(const profiled_bands *bands, uint j, uint diagonal, uint errors)
{
    uint origin;
    for (uint next = diagonal + 1;; next++) {
        while (is_joined(bands, j) && bands->first[j + 1] <= next)
            j++;
        uint here = next - bands->first[j] < 64 * WORDS ? errors_on(bands, j, next, &origin) : NO_SCORE + 1;
        if (here != errors)
            return here > errors ? (int)(next - diagonal) - 1 : -1;
    }
}

/* The local minima that begin on diagonals which are band j's own: up to where the next one begins. With `columns` they go to
 * the rows from `to` on: uint[2, h], read strand and first diagonal; `scores` ushort[3, h], errors, end, and reach. */
static uint minima_of(const profiled_bands *bands, uint j, uint limit, uint to, uint h, __global uint *columns,
                      __global ushort *scores)
{
    uint first = bands->first[j], stop = is_joined(bands, j) ? bands->first[j + 1] : first + 64 * WORDS, found = 0, origin;
    uint before = j && is_joined(bands, j - 1) ? errors_on(bands, j - 1, first - 1, &origin) : NO_SCORE + 1;
    for (uint diagonal = first; diagonal < stop; diagonal++) {
        uint here = errors_on(bands, j, diagonal, &origin);
        int reach = here <= limit && here < before ? reach_of(bands, j, diagonal, here) : -1;
        if (reach >= 0) {
            if (columns) {
                columns[to + found] = bands->strand[j];
                columns[h + to + found] = bands->first[origin];
                scores[to + found] = here;
                scores[h + to + found] = diagonal - bands->first[origin];
                scores[2 * (ulong)h + to + found] = reach;
            }
            found++;
        }
        before = here;
    }
    return found;
}

/* How many minima begin in each band: minima uint[n]. */
__kernel void count_minima(__global const uint *read_length, __global const short *plan, uint n_reads,
                           __global const ushort *state, __global const uint *pairs, uint room, uint n, uint stride,
                           __global const ushort *profile, __global uint *minima)
{
    uint j = get_global_id(0), read = j < n ? pairs[j] >> 1 : 0;
    profiled_bands bands = {pairs, pairs + room, profile, n, stride};
    if (j < n && PLAN(BAND_WORDS, read_length[read]) == WORDS)
        minima[j] = minima_of(&bands, j, STATE(LIMIT, read), 0, 0, 0, 0);
}

/* Their sums before each band among those of its read: before uint[n]; number uint[reads], those of each read. */
__kernel void sum_minima(uint n_active, __global const uint *active, __global const uint2 *bands,
                         __global const uint *minima, __global uint *before, __global uint *number)
{
    uint i = get_global_id(0);
    if (i >= n_active)
        return;
    uint2 own = bands[i];
    uint sum = 0;
    for (uint j = own.x; j < own.x + own.y; j++) {
        before[j] = sum;
        sum += minima[j];
    }
    number[active[i]] = sum;
}

/* The minima to the rows of their reads, which begin at `next` uint[reads]: canonical strand by canonical strand. */
__kernel void collect_minima(__global const uint *read_length, __global const short *plan, uint n_reads,
                             __global const ushort *state, __global const uint *pairs, uint room, uint n, uint stride,
                             __global const ushort *profile, __global const uint *before, __global const uint *next, uint h,
                             __global uint *columns, __global ushort *scores)
{
    uint j = get_global_id(0), read = j < n ? pairs[j] >> 1 : 0;
    profiled_bands bands = {pairs, pairs + room, profile, n, stride};
    if (j < n && PLAN(BAND_WORDS, read_length[read]) == WORDS)
        minima_of(&bands, j, STATE(LIMIT, read), next[read] + before[j], h, columns, scores);
}

/* Of every row the diagonal of an ungapped alignment with as few errors, 0 where there is none. Those without one are listed:
 * gapped uint[h]. slot_end uint[h]: behind the last of the runs that they may have. */
__kernel void find_ungapped(READ_ARGS, REFERENCE_ARGS, uint h, __global const uint *columns,
                            __global const ushort *scores, __global uint *diagonals, __global ushort *edits, __global ushort *n_runs,
                            __global uint *gapped, __global uint *slot_end, __global uint *counters)
{
    planes_t reads = READS, reference = REFERENCE;
    __local uint sums[GROUP], slots[GROUP];
    uint row = get_global_id(0), found = 0, errors = 0;
    if (row < h) {
        uint read = columns[row] >> 1, length = read_length[read];
        errors = scores[row];
        found = (uint)ungapped_diagonal(reference, (long)columns[h + row] + scores[h + row], reads,
                                        first_base(read_row[read], columns[row] & 1, length), length, errors,
                                        scores[2 * (ulong)h + row]);
        diagonals[row] = found;
        edits[row] = errors;
        n_runs[row] = 0;
    }
    uint is_gapped = row < h && !found, to = reserve(is_gapped, sums, counters + GAPPED, counters + OVERFLOW);
    uint slot = reserve(is_gapped ? 2 * errors + 1 : 0, slots, counters + RUNS, counters + OVERFLOW);
    if (is_gapped) {
        gapped[to] = row;
        slot_end[row] = slot + 2 * errors + 1;
    }
}

/* The alignments of gapped rows, each in a band with its end in the middle (`align_wholes` of local_aligner.pxi): those in bands of at
 * most 64 * WORDS diagonals, but not of half as many. Work-items share `trace`: bytes [tiles, longest, 64 * WORDS, LOCAL_TILE].
 * first uint[h], of each band; ends ushort[2, h], rows and diagonals; edits, n_runs ushort[h]. */
__kernel void trace_gapped(READ_ARGS, REFERENCE_ARGS, uint h, __global const uint *columns, __global const ushort *scores,
                           __global const uint *gapped, uint n, uint longest, __global uchar *trace, __global uint *first,
                           __global ushort *ends, __global const uint *slot_end, __global uint *runs,
                           __global uint *diagonals, __global ushort *edits, __global ushort *n_runs)
{
    const local_scoring scoring = WHOLE_SCORING;
    const band_batch batch = {reference_planes, reference_rows, read_planes, read_row, read_length, columns, first, h};
    const local_ends to_end = {0, ends, ends + h};
    const local_paths to = {slot_end, diagonals, edits, n_runs, runs, 1};
    uint item = get_global_id(0);
    trace += (ulong)(item / LOCAL_TILE) * longest * (64 * WORDS * LOCAL_TILE) + item % LOCAL_TILE;
    for (uint i = item; i < n; i += get_global_size(0)) {
        uint row = gapped[i], width = whole_width(scores[row]);
        if (max(width, 64u) != 64 * WORDS)
            continue;
        first[row] = columns[h + row] + scores[h + row] - width / 2;
        ends[row] = read_length[columns[row] >> 1];
        ends[h + row] = width / 2;
        local_align(&batch, &scoring, width, row, &to_end, &to, trace);
    }
}

/* The runs of all rows side by side: packed uint[]. Where each row's begin: start uint[h]. `total`: of how many runs. */
__kernel void pack_runs(uint h, __global const uint *slot_end, __global const ushort *n_runs, __global const uint *runs,
                        __global uint *total, __global uint *start, __global uint *packed, __global uint *counters)
{
    __local uint sums[GROUP];
    uint row = get_global_id(0), own = row < h ? n_runs[row] : 0, at = reserve(own, sums, total, counters + OVERFLOW);
    if (row >= h)
        return;
    start[row] = at;
    for (uint j = 0; j < own; j++)
        packed[at + j] = runs[slot_end[row] - own + j];
}
