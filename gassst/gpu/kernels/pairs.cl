/* The quick look of pairs: ext/pairing/mate_anchors.pyx and placements.pyx, one pair a work-item. Mates are neighbours in
 * `active`, the first one first, so item i has active[2 i] and active[2 i + 1]. */

#include "contigs.h"
#include "orientation.h"
#define WINDOW_ARGS int orientation, int low, int high
#define WINDOW {orientation, low, high}

typedef struct {
    int64_t lo, hi;
} diagonals;

/* Diagonals of the mate of `other` bases in a concordant pair with a read of `own` bases on `diagonal`. */
static diagonals around(const window_t *window, uint reverse, int is_first, long own, long other, long diagonal)
{
    diagonals range;
    partner_window(window, leads(window, reverse, is_first), own, other, diagonal, &range.lo, &range.hi);
    return range;
}

/* Where the anchors of a strand begin and end: those of the canonical one come first. */
static uint2 run_of(__global const ulong *anchors, uint2 segment, uint strand)
{
    uint lo = segment.x, hi = segment.x + segment.y;
    while (lo < hi) {
        uint middle = lo + (hi - lo) / 2;
        if (anchor_strand(anchors[middle]))
            hi = middle;
        else
            lo = middle + 1;
    }
    return strand ? (uint2)(lo, segment.x + segment.y) : (uint2)(segment.x, lo);
}

/* The buckets of near anchors, in order, of both mates on either strand. In global memory: what is indexed would be there
 * anyway, and PoCL keeps no structs of work-items across a barrier. */
typedef struct {
    uint bucket[2][2][QUICK_ANCHORS];
    uint n[2][2];
    uint near[2]; /* anchors */
} near_buckets;

/* Returns whether there are too many. */
static int take_near(__global near_buckets *found, int mate, uint strand, uint bucket)
{
    uint n = found->n[mate][strand];
    if (found->near[mate]++ == QUICK_ANCHORS)
        return 1;
    if (n == 0 || found->bucket[mate][strand][n - 1] != bucket)
        found->bucket[mate][strand][found->n[mate][strand]++] = bucket;
    return 0;
}

/* Anchors that have one of the mate in their window (`mark_near_mates`): `own` of the first mate, `other` of the last. The
 * window moves along, so that each anchor is looked at once. Returns whether there are too many. */
static int find_near(const window_t *window, __global const ulong *anchors, uint2 own, uint2 other, uint strand,
                     uint own_bases, uint other_bases, uint shift, __global near_buckets *found)
{
    uint b = other.x, taken = other.x, mates = partner_strand(window, strand);
    for (uint a = own.x; a < own.y && b < other.y; a++) {
        uint diagonal = anchor_diagonal(anchors[a]);
        diagonals range = around(window, strand, 1, own_bases, other_bases, diagonal);
        while (b < other.y && (long)anchor_diagonal(anchors[b]) < range.lo)
            b++;
        if (b == other.y || (long)anchor_diagonal(anchors[b]) > range.hi)
            continue;
        if (take_near(found, 0, strand, diagonal >> shift))
            return 1;
        taken = max(taken, b);
        for (; taken < other.y && (long)anchor_diagonal(anchors[taken]) <= range.hi; taken++)
            if (take_near(found, 1, mates, anchor_diagonal(anchors[taken]) >> shift))
                return 1;
    }
    return 0;
}

/* The buckets of near anchors, in pairs that have few of them (`quick_buckets`), as bands: pairs uint[2, room], bands
 * uint2[a]. near: of each pair. */
__kernel void list_near_bands(__global const uint *read_length, __global const uchar *read_flip, uint n_pairs,
                              __global const uint *active, __global const short *plan, uint shift, WINDOW_ARGS,
                              __global const uint2 *segment, __global const ulong *anchors, uint room,
                              __global near_buckets *near, __global uint *pairs, __global uint2 *bands,
                              __global uint *counters)
{
    __local uint sums[GROUP];
    uint i = get_global_id(0), total = 0;
    if (i < n_pairs) {
        window_t window = WINDOW;
        int too_many = 0;
        uint read = active[2 * i], mate = active[2 * i + 1];
        uint2 own = segment[read], other = segment[mate];
        for (int j = 0; j < 4; j++)
            near[i].n[j >> 1][j & 1] = near[i].near[j >> 1] = 0;
        for (uint strand = 0; strand < 2 && own.y && other.y && !too_many; strand++) {
            uint2 first = run_of(anchors, own, strand ^ read_flip[read]);
            uint2 last = run_of(anchors, other, partner_strand(&window, strand) ^ read_flip[mate]);
            too_many = find_near(&window, anchors, first, last, strand, read_length[read], read_length[mate], shift,
                                 near + i);
        }
        for (int j = 0; j < 4; j++)
            total += near[i].n[j >> 1][j & 1] = too_many ? 0 : near[i].n[j >> 1][j & 1];
    }
    uint to = reserve(total, sums, counters + BANDS, counters + OVERFLOW);
    for (uint mate = 0; i < n_pairs && mate < 2; mate++) {
        uint read = active[2 * i + mate], lead = lead_of(PLAN(BAND_WORDS, read_length[read]), shift);
        bands[2 * i + mate] = (uint2)(to, near[i].n[mate][0] + near[i].n[mate][1]);
        for (uint strand = 0; strand < 2; strand++)
            for (uint j = 0; j < near[i].n[mate][strand]; j++, to++) {
                pairs[to] = read << 1 | strand;
                pairs[room + to] = (near[i].bucket[mate][strand][j] << shift) - lead;
            }
    }
}

/* The scored bands of a pair. */
typedef struct {
    __global const uint *strand, *start;
    __global const ushort *edits, *end;
    __global const uchar *kept;
} scored_bands;

/* Coordinate behind the last aligned base. */
static uint end_of(const scored_bands *bands, uint j, uint bases) { return bands->start[j] + bands->end[j] + bases; }

/* Diagonals of the mate in a concordant pair with a place, and on its contig. */
static diagonals on_contig(diagonals range, __global const long *borders, uint n_borders, long middle, long other)
{
    uint contig = min(max((uint)contigs_before(borders, n_borders, middle), 1u) - 1, n_borders - 2);
    range.lo = max(range.lo, borders[contig] - (other >> 1));
    range.hi = min(range.hi, borders[contig + 1] - 1 - (other >> 1));
    return range;
}

/* What is known of the concordant pairs of a pair of mates. */
typedef struct {
    uint least, paired[2];      /* errors of the best one, together and of either mate */
    ulong first[2], last[2];    /* of either mate the places of all within `most` */
} concordant_pairs;

/* Looks at all concordant pairs from the places of one mate: at the best one, or at the places of those of up to `most`
 * errors. */
static void pair_up(const scored_bands *bands, __global const uint2 *own, const uint *bases, int mate,
                    const window_t *window, __global const long *borders, uint n_borders, uint most,
                    concordant_pairs *found)
{
    for (uint a = own[mate].x; a < own[mate].x + own[mate].y; a++) {
        if (!bands->kept[a])
            continue;
        uint strand = bands->strand[a] & 1, end = end_of(bands, a, bases[mate]);
        long diagonal = (long)end - bases[mate];
        diagonals range = around(window, strand, mate == 0, bases[mate], bases[!mate], diagonal);
        range = on_contig(range, borders, n_borders, diagonal + (bases[mate] >> 1), bases[!mate]);
        for (uint b = own[!mate].x; b < own[!mate].x + own[!mate].y; b++) {
            uint other_end = end_of(bands, b, bases[!mate]), errors = (uint)bands->edits[a] + bands->edits[b];
            long other = (long)other_end - bases[!mate];
            if (!bands->kept[b] || (bands->strand[b] & 1) != partner_strand(window, strand) || other < range.lo ||
                other > range.hi || errors > most)
                continue;
            if (errors < found->least) {
                found->least = errors;
                found->paired[0] = found->paired[1] = 0;
            }
            if (errors == found->least) {
                found->paired[mate] = max(found->paired[mate], (uint)bands->edits[a]);
                found->paired[!mate] = max(found->paired[!mate], (uint)bands->edits[b]);
            }
            ulong key[2] = {(ulong)bands->strand[a] << 32 | end, (ulong)bands->strand[b] << 32 | other_end};
            for (int i = 0; i < 2; i++) {
                found->first[i] = min(found->first[i], key[mate ^ i]);
                found->last[i] = max(found->last[i], key[mate ^ i]);
            }
        }
    }
}

/* Marks the bands within the limits of their reads (`within_limit`), finds the best concordant pair of each pair of mates
 * (`pair_up`), and closes the pair where rivals of it are known well enough (`settle`).
 *
 * Shares that seeds miss are known by rank alone: `row` uint[LENGTHS] has the row of a length in shares
 * uint[rows + 1, MISS_ERRORS, 3], the last row of what was passed over. Of each share: its rank, and how many ranks it may be
 * added to so that both are no more than may be missed, usually and of a pair that stands alone. kept: uchar[room]; all bands of
 * an open pair are, as later looks need them, and the end of those within the limits is marked. */
__kernel void settle_pairs(__global const uint *read_length, uint n_reads, uint n_pairs, __global const uint *active,
                           WINDOW_ARGS, __global const long *borders, uint n_borders, int margin,
                           __global const uint *row, __global const uint *shares, uint n_rows,
                           __global const uint2 *bands, __global const uint *pairs, uint room, __global ushort *found,
                           __global const near_buckets *near, __global ushort *state, __global uchar *kept, __global uint *number,
                           __global uchar *is_open, __global uint *counters)
{
    __local uint sums[GROUP];
    window_t window = WINDOW;
    uint i = get_global_id(0), closed = 0;
    if (i < n_pairs) {
        uint read[2] = {active[2 * i], active[2 * i + 1]}, bases[2], within[2] = {0, 0};
        __global const uint2 *own = bands + 2 * i;
        for (int mate = 0; mate < 2; mate++) {
            knowledge_t known = {NO_SCORE, NO_SCORE, STATE(LIMIT, read[mate]), 0};
            bases[mate] = read_length[read[mate]];
            for (uint j = own[mate].x; j < own[mate].x + own[mate].y; j++)
                within[mate] += kept[j] = take_band(&known, found[j], margin);
            STATE(BEST, read[mate]) = known.best;
            STATE(RIVAL, read[mate]) = known.rival;
        }
        scored_bands scored = {pairs, pairs + room, found, found + room, kept};
        concordant_pairs concordant = {NOWHERE, {0, 0}, {0, 0}, {0, 0}};
        if (within[0] && within[1])
            for (int mate = 0; mate < 2; mate++)
                pair_up(&scored, own, bases, mate, &window, borders, n_borders, NOWHERE, &concordant);
        if (concordant.least != NOWHERE) {
            __global const uint *share[2];
            for (int mate = 0; mate < 2; mate++) {
                uint errors = min(concordant.paired[mate], MISS_ERRORS - 1u);
                uint at = STATE(CAPPED, read[mate]) ? n_rows : row[bases[mate]];
                share[mate] = shares + 3 * (at * MISS_ERRORS + (at == n_rows ? 0 : errors));
            }
            closed = share[1][0] < share[0][1];
            if (!closed && share[1][0] < share[0][2]) {
                concordant_pairs all = {concordant.least, {0, 0}, {~(ulong)0, ~(ulong)0}, {0, 0}};
                pair_up(&scored, own, bases, 0, &window, borders, n_borders, concordant.least + margin, &all);
                closed = all.last[0] - all.first[0] <= SAME_PLACE && all.last[1] - all.first[1] <= SAME_PLACE;
            }
        }
        for (int mate = 0; mate < 2; mate++) {
            is_open[read[mate]] = !closed;
            number[read[mate]] = closed ? within[mate] : own[mate].y;
            for (uint j = own[mate].x; !closed && j < own[mate].x + own[mate].y; j++) {
                found[room + j] |= kept[j] ? WITHIN_LIMIT : 0;
                kept[j] = 1;
            }
        }
    }
    /* Anchors of the pairs that stay open are gathered again. */
    reserve(closed ? near[i].near[0] + near[i].near[1] : 0, sums, counters + CANDIDATES, counters + OVERFLOW);
}

/* The reads of the pairs that are open. */
__kernel void choose_open(uint n_asked, __global const uint *asked, __global const uchar *is_open, __global uint *counters,
                          __global uint *active)
{
    __local uint sums[GROUP];
    uint i = get_global_id(0), wanted = i < n_asked ? is_open[asked[i]] : 0;
    uint at = reserve(wanted, sums, counters + ACTIVE, counters + OVERFLOW);
    if (wanted)
        active[at] = asked[i];
}
