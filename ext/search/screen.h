/* Screens single reads without a place: does any seed of the stages that are left lead to an alignment within the limit?
 *
 * Most such reads are of another genome. All they need is "no". So nothing is sorted, and no array of seeds or anchors is
 * written: a block of reads stays in the caches from its bases to its narrow bands. What a stage of the schedule would do
 * with the places that it finds is told of each read: which bucket it would score first, and the longest anchor. A read of
 * which a narrow band is within the limit is left to the schedule, which begins again where the screen began.
 *
 * Order is canonical strand, then diagonal: of equals the first one counts, as in index/anchors.pyx. */
#ifndef GASSST_SCREEN_H
#define GASSST_SCREEN_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bound_kernels.h"
#include "filter_job.h"
#include "lookup.h"

enum {
    SCREEN_READS = 32,       /* of a block, at most */
    SCREEN_SEEDS = 4096,     /* of a stage of a block, at most */
    SCREEN_STAGES = 8,
    SCREEN_LONGEST = 448,    /* bases of a read; longer ones are left to the schedule */
    SCREEN_CODES = SCREEN_LONGEST / 32 + 1, /* of 32 bases, and one behind them */
    SCREEN_PLACES = 4096,    /* of a read in a stage and those before, at most; others are left to the schedule */
    SCREEN_KNOWN = 1024,     /* of them before the stage */
    SCREEN_SLOTS = 4 * SCREEN_PLACES,
    SCREEN_NONE = 0xFFFF,
    SCREEN_EMPTY = 0xFFFFFFFF,
};

/* The seeds of a stage of reads of one length that no stage before has: where they begin on the canonical strand. */
typedef struct {
    int64_t cell; /* where its results begin */
    int width, n;
    uint16_t offset[SCREEN_LONGEST];
} screen_seeds;

/* All stages that a read of one length takes. */
typedef struct {
    uint32_t length; /* 0: not filled yet */
    int n;
    screen_seeds of[SCREEN_STAGES];
} screen_plan;

/* A read of the block. */
typedef struct {
    uint32_t row, read, length, limit;
    int flip, is_open, is_capped, n_known, n_scored;
    int first, middle, end;               /* its seeds: of the canonical strand, and of the other */
    uint64_t codes[2][SCREEN_CODES];      /* by canonical strand */
    uint64_t known[SCREEN_KNOWN];         /* canonical strand << 32 | diagonal */
    uint64_t scored[SCREEN_STAGES + 64];  /* canonical strand << 32 | bucket */
} screen_read;

/* Anchors of one bucket: the last of them, and the bases that they cover. */
typedef struct {
    uint32_t key;
    uint16_t last, support;
} screen_slot;

/* Where a seed occurs: its diagonal, and offset | end << 10 | canonical strand << 20. */
typedef struct {
    uint32_t diagonal, seed;
} screen_place;

typedef struct {
    uint32_t diagonal;
    uint16_t begin, end; /* on the strand */
    uint16_t before;     /* the one before it in the bucket */
    uint16_t strand;     /* canonical; 2: leads to nothing new */
} screen_anchor;

/* What is told of each read. `top`, `longest`: read_strand, then bucket or diagonal; SCREEN_EMPTY where there is none. */
typedef struct {
    uint8_t *is_open;
    uint32_t *occurrences, *candidates;
    uint32_t *top[2], *longest[2];
    uint16_t *clipped;
    uint8_t *capped;
} screen_results;

typedef struct {
    const seed_index_t *index;
    const job_t *job;
    const uint32_t *caps;
    const uint16_t *seed_length, *seed_count, *seed_every; /* [stage][length] */
    const uint8_t *taken;                                  /* the same: whether a read without a place takes the stage */
    int64_t lengths;                                       /* of an axis of these */
    int first_stage, stages, longest_seed, shift;
    const uint8_t *flip;
    const uint64_t *scored_keys, *rejected_keys;
    const int64_t *scored_start, *rejected_start;
    int64_t n; /* reads */
} screen_job;

typedef struct {
    screen_plan plan;
    screen_read reads[SCREEN_READS];
    uint64_t codes[SCREEN_SEEDS];
    uint8_t widths[SCREEN_SEEDS];
    uint16_t offsets[SCREEN_SEEDS];
    seed_range_t found[SCREEN_SEEDS];
    uint8_t clipped[SCREEN_SEEDS];
    screen_place places[SCREEN_PLACES + 2];
    screen_slot slots[SCREEN_SLOTS];
    screen_anchor anchors[SCREEN_PLACES];
    band_site sites[SCREEN_READS * SCREEN_PLACES];
    uint8_t owner[SCREEN_READS * SCREEN_PLACES];
} screen_room;

/* ---- seeds ---------------------------------------------------------------------------------------------- */

static inline uint64_t screen_code(const uint64_t *codes, unsigned offset, unsigned n)
{
    const uint64_t *at = codes + (offset >> 5);
    const unsigned shift = 2 * (offset & 31);
    return (at[0] << shift | at[1] >> 1 >> (63 - shift)) >> (64 - 2 * n);
}

/* Codes of both strands; 0 where a base is masked. */
static inline int screen_fill_codes(const uint64_t *planes, uint32_t m, uint64_t *codes)
{
    const unsigned rows = (m + 63) / 64;
    uint64_t masked = 0;
    for (unsigned i = 0; i < rows; i++) {
        const uint64_t *row = planes + 3 * i;
        masked |= row[2];
        codes[2 * i] = interleave((uint32_t)row[0], (uint32_t)row[1]);
        codes[2 * i + 1] = interleave((uint32_t)(row[0] >> 32), (uint32_t)(row[1] >> 32));
    }
    codes[2 * rows] = 0;
    return masked == 0;
}

static void screen_make_plan(const screen_job *job, uint32_t m, screen_plan *plan)
{
    plan->length = m;
    plan->n = 0;
    for (int stage = job->first_stage; stage < job->stages && m <= SCREEN_LONGEST; stage++) {
        const int64_t cell = stage * job->lengths + m;
        const int w = job->seed_length[cell], count = job->seed_count[cell], every = job->seed_every[cell];
        if (!job->taken[cell] || !count)
            continue;
        screen_seeds *seeds = &plan->of[plan->n++];
        seeds->cell = (stage - job->first_stage) * job->n;
        seeds->width = w;
        seeds->n = 0;
        for (int j = 0; j < count; j += every) {
            const int o = count > 1 ? (int)((int64_t)j * ((int)m - w) / (count - 1)) : ((int)m - w) / 2;
            int is_new = 1;
            for (int s = 0; s + 1 < plan->n && is_new; s++)
                for (int i = 0; plan->of[s].width == w && i < plan->of[s].n && is_new; i++)
                    is_new = plan->of[s].offset[i] != o;
            if (is_new)
                seeds->offset[seeds->n++] = (uint16_t)o;
        }
    }
}

/* Appends the seeds of a read: those of the canonical strand, then of the other, each by ascending offset. */
static int screen_plan_seeds(screen_room *room, screen_read *read, const screen_seeds *seeds, int at)
{
    const unsigned w = (unsigned)seeds->width, last = read->length - w;
    const int n = seeds->n;
    read->first = at;
    read->middle = at + n;
    read->end = at + 2 * n;
    for (int i = 0; i < n; i++) {
        const unsigned o = seeds->offset[i], other = last - seeds->offset[n - 1 - i];
        room->offsets[at + i] = (uint16_t)o;
        room->codes[at + i] = screen_code(read->codes[0], o, w);
        room->offsets[at + n + i] = (uint16_t)other;
        room->codes[at + n + i] = screen_code(read->codes[1], other, w);
    }
    memset(room->widths + at, (int)w, 2 * (size_t)n);
    return read->end;
}

static void screen_look_up(const screen_job *job, screen_room *room, int n)
{
    for (int start = 0; start < n; start += LOOKUP_GROUP) {
        const int stop = start + LOOKUP_GROUP < n ? start + LOOKUP_GROUP : n;
        for (int i = stop; i < stop + LOOKUP_GROUP && i < n; i++)
            lookup_prefetch_table(job->index, room->codes[i], room->widths[i]);
        lookup_group_of_step(job->index, room->codes + start, room->widths + start, room->found + start,
                             (unsigned)(stop - start), 1);
        for (int i = start; i < stop; i++)
            if (room->found[i].lo < room->found[i].hi) {
                LOOKUP_PREFETCH(job->index->positions + room->found[i].lo);
                LOOKUP_PREFETCH(job->index->positions + room->found[i].hi - 1);
            }
    }
}

/* Seeds that occur too often are made longer to the right, as `seeds.resolve_seeds` does. */
static void screen_lengthen(const screen_job *job, screen_room *room, const screen_read *read)
{
    uint64_t codes[LOOKUP_GROUP];
    uint8_t widths[LOOKUP_GROUP];
    uint16_t owner[LOOKUP_GROUP];
    seed_range_t found[LOOKUP_GROUP];
    unsigned n = 0;
    for (int i = read->first; i < read->end; i++) {
        const unsigned rest = read->length - room->offsets[i];
        const unsigned longest = rest < (unsigned)job->longest_seed ? rest : (unsigned)job->longest_seed;
        const int often = room->found[i].hi - room->found[i].lo > job->caps[room->widths[i]];
        room->clipped[i] = (uint8_t)often;
        if (often && longest > room->widths[i]) {
            codes[n] = screen_code(read->codes[i >= read->middle], room->offsets[i], longest);
            room->widths[i] = widths[n] = (uint8_t)longest;
            owner[n++] = (uint16_t)i;
        }
        if (n == LOOKUP_GROUP || (n && i + 1 == read->end)) {
            lookup_group(job->index, codes, widths, found, n);
            for (unsigned j = 0; j < n; j++) {
                room->found[owner[j]] = found[j];
                LOOKUP_PREFETCH(job->index->positions + found[j].lo);
            }
            n = 0;
        }
    }
}

/* Passes over seeds that still occur too often; returns how many places are left, or -1 where a seed passed over, of this
 * stage or one before, may be looked at all the same, as the read has no other. */
static int64_t screen_limit(const screen_job *job, screen_room *room, screen_read *read, uint16_t *clipped,
                            uint8_t *capped)
{
    const int n = read->middle - read->first;
    int64_t total = 0;
    int any = 0;
    *clipped = 0;
    *capped = 0;
    for (int i = read->first; i < read->end; i++) {
        any |= room->clipped[i];
        if (room->found[i].hi - room->found[i].lo > job->caps[room->widths[i]]) {
            room->found[i].hi = room->found[i].lo;
            *capped = 1;
        }
        total += room->found[i].hi - room->found[i].lo;
    }
    for (int i = 0; any && i < n; i++) /* both strands of a seed */
        *clipped += room->clipped[read->first + i] | room->clipped[read->end - 1 - i];
    read->is_capped |= *capped;
    return total == 0 && read->is_capped ? -1 : total;
}

/* ---- anchors -------------------------------------------------------------------------------------------- */

static inline screen_slot *screen_slot_of(screen_slot *slots, uint32_t mask, uint32_t key)
{
    uint32_t at = key * 2654435769u >> 12 & mask;
    while (slots[at].key != key && slots[at].key != SCREEN_EMPTY)
        at = (at + 1) & mask;
    return slots + at;
}

/* What is first in order and has most bases of all that were shown: (bases, nothing after it) as one number. */
static inline uint64_t screen_rank(uint64_t bases, uint64_t strand, uint32_t place)
{
    return bases << 33 | (~(strand << 32 | place) & 0x1FFFFFFFF);
}

static inline void screen_note_known(screen_room *room, uint32_t mask, int shift, uint64_t key, int i)
{
    const uint32_t strand = (uint32_t)(key >> 32), diagonal = (uint32_t)key;
    screen_slot *slot = screen_slot_of(room->slots, mask, diagonal >> shift << 1 | strand);
    const uint16_t before = slot->key == SCREEN_EMPTY ? SCREEN_NONE : slot->last;
    *slot = (screen_slot){diagonal >> shift << 1 | strand, (uint16_t)i, slot->key == SCREEN_EMPTY ? 0 : slot->support};
    room->anchors[i] = (screen_anchor){diagonal, 0, SCREEN_NONE, before, 2};
}

/* Slots for `total` places and those known before, which lead to nothing new; returns their number less one. */
static uint32_t screen_begin_slots(screen_room *room, const screen_read *read, int shift, int64_t total)
{
    screen_slot *slots = room->slots;
    uint32_t mask = 127;
    while (mask < 2 * (total + read->n_known + read->n_scored))
        mask = 2 * mask + 1;
    memset(slots, 0xFF, (mask + 1) * sizeof *slots);
    for (int i = 0; i < read->n_scored; i++) {
        const uint32_t key = (uint32_t)read->scored[i] << 1 | (uint32_t)(read->scored[i] >> 32);
        *screen_slot_of(slots, mask, key) = (screen_slot){key, SCREEN_NONE, SCREEN_NONE};
    }
    for (int i = 0; i < read->n_known; i++)
        screen_note_known(room, mask, shift, read->known[i], i);
    return mask;
}

/* The places of the seeds of a read. Nothing here depends on what they are: many are waited for at once. */
static void screen_read_places(const uint32_t *positions, const screen_room *room, const screen_read *read,
                               screen_place *places)
{
    for (int s = read->first; s < read->end; s++) {
        const seed_range_t found = room->found[s];
        const uint32_t offset = room->offsets[s], n = found.hi - found.lo;
        const uint32_t seed = offset | (offset + room->widths[s]) << 10 | (uint32_t)(s >= read->middle) << 20;
        if (!n)
            continue;
        /* Most have one or two. */
        places[0] = (screen_place){positions[found.lo] - offset, seed};
        places[1] = (screen_place){positions[found.lo + (n > 1)] - offset, seed};
        for (uint32_t i = 2; i < n; i++)
            places[i] = (screen_place){positions[found.lo + i] - offset, seed};
        places += n;
    }
}

/* The anchor of this diagonal in a bucket, the last one of several; SCREEN_NONE if there is none. */
static inline uint32_t screen_anchor_of(const screen_anchor *anchors, uint32_t last, uint32_t diagonal)
{
    while (last != SCREEN_NONE && anchors[last].diagonal != diagonal)
        last = anchors[last].before;
    return last;
}

/* The places of a read as anchors, `total` of them; returns how many there are, with those known before. */
static int screen_gather(const screen_job *job, screen_room *room, screen_read *read, int64_t total, uint64_t *top,
                         uint64_t *longest)
{
    const screen_place *places = room->places;
    const int shift = job->shift;
    screen_slot *slots = room->slots;
    screen_anchor *anchors = room->anchors;
    int n = read->n_known;
    uint64_t best = 0, most = 0;
    const uint32_t mask = screen_begin_slots(room, read, shift, total);
    for (int64_t i = 0; i < total; i++) {
        const uint32_t diagonal = places[i].diagonal, bucket = diagonal >> shift, strand = places[i].seed >> 20;
        const uint32_t offset = places[i].seed & 1023, end = places[i].seed >> 10 & 1023;
        screen_slot *slot = screen_slot_of(slots, mask, bucket << 1 | strand);
        uint32_t longer = end - offset, at = SCREEN_NONE, again = 0;
        if (slot->key == SCREEN_EMPTY) {
            *slot = (screen_slot){bucket << 1 | strand, SCREEN_NONE, 0};
        } else {
            at = screen_anchor_of(anchors, slot->last, diagonal);
            if (slot->support == SCREEN_NONE || (at != SCREEN_NONE && anchors[at].end == SCREEN_NONE))
                continue;
            again = at != SCREEN_NONE;
        }
        if (again && offset <= anchors[at].end) {
            longer = end > anchors[at].end ? end - anchors[at].end : 0;
            anchors[at].end = (uint16_t)(anchors[at].end + longer);
        } else {
            at = (uint32_t)n++;
            anchors[at] = (screen_anchor){diagonal, (uint16_t)offset, (uint16_t)end, slot->last,
                                          (uint16_t)(again ? 2 : strand)};
            slot->last = (uint16_t)at;
        }
        slot->support = (uint16_t)(slot->support + longer);
        const uint64_t in_bucket = screen_rank(slot->support, strand, bucket);
        const uint64_t alone = screen_rank((uint64_t)(anchors[at].end - anchors[at].begin), strand, diagonal);
        best = in_bucket > best ? in_bucket : best;
        most = alone > most ? alone : most;
    }
    *top = best;
    *longest = most;
    return n;
}

static inline void screen_tell(uint64_t rank, uint32_t read, int flip, uint32_t *read_strand, uint32_t *place)
{
    const uint64_t key = ~rank & 0x1FFFFFFFF;
    *read_strand = rank ? read << 1 | ((uint32_t)(key >> 32) ^ (uint32_t)flip) : SCREEN_EMPTY;
    *place = (uint32_t)key;
}

/* Narrow bands of the anchors from `first` to before `n`; 0 where one cannot be decided. */
static int screen_sites(const screen_job *job, screen_room *room, const screen_read *read, int owner, int first, int n,
                        int *n_sites)
{
    const job_t *of = job->job;
    const uint32_t rows = (read->length + 63) / 64, row = of->plane_start[read->read];
    const int64_t last_block = (read->length - 1) & ~63, bases = 64 * of->reference.rows;
    const uint32_t planes[2] = {3 * (row + (read->flip ? rows : 0)), 3 * (row + (read->flip ? 0 : rows))};
    int inside = 1, at = *n_sites;
    for (int i = first; i < n; i++) {
        const screen_anchor anchor = room->anchors[i];
        const int64_t start = (int64_t)anchor.diagonal - BAND_LEAD;
        inside &= (start >= 0) & (((start + last_block) >> 6) + BAND_ROWS < of->reference.rows) &
                  (anchor.diagonal + (int64_t)read->length <= bases);
        room->sites[at] = (band_site){(uint32_t)start, planes[anchor.strand & 1], read->length, read->limit};
        room->owner[at] = (uint8_t)owner;
        at += anchor.strand < 2;
    }
    if (inside)
        *n_sites = at;
    return inside;
}

/* ---- blocks --------------------------------------------------------------------------------------------- */

static int screen_note_before(const screen_job *job, screen_read *read)
{
    const uint32_t r = read->read;
    for (int64_t i = job->scored_start[r]; i < job->scored_start[r + 1]; i++) {
        if (read->n_scored == 64)
            return 0;
        read->scored[read->n_scored++] = job->scored_keys[i] & 0x1FFFFFFFF;
    }
    for (int64_t i = job->rejected_start[r]; i < job->rejected_start[r + 1]; i++) {
        if (read->n_known == SCREEN_KNOWN)
            return 0;
        read->known[read->n_known++] = job->rejected_keys[i] & 0x1FFFFFFFF;
    }
    if (read->flip) {
        for (int i = 0; i < read->n_scored; i++)
            read->scored[i] ^= (uint64_t)1 << 32;
        for (int i = 0; i < read->n_known; i++)
            read->known[i] ^= (uint64_t)1 << 32;
    }
    return 1;
}

static void screen_begin(const screen_job *job, uint32_t r, uint32_t row, screen_read *read)
{
    const job_t *of = job->job;
    const uint32_t m = of->read_lengths[r], rows = (m + 63) / 64;
    const uint64_t *forward = of->reads.words + 3 * (int64_t)of->plane_start[r];
    const int flip = job->flip[r];
    read->row = row, read->read = r, read->length = m, read->limit = of->limits[r], read->flip = flip;
    read->n_known = read->n_scored = read->is_capped = 0;
    read->is_open = m <= SCREEN_LONGEST && screen_fill_codes(forward, m, read->codes[flip]) &&
                    screen_fill_codes(forward + 3 * rows, m, read->codes[!flip]) &&
                    (of->gaps <= BAND_REACH || read->limit <= BAND_REACH) && screen_note_before(job, read);
}

/* What a stage finds of a read: its sites are added, or it is closed to the screen. */
static void screen_stage_of_read(const screen_job *job, screen_room *room, screen_read *read, int owner, int stage,
                                 int *n_sites, const screen_results *results)
{
    const int64_t cell = room->plan.of[stage].cell + read->row;
    const int is_last = stage + 1 == room->plan.n;
    uint64_t top, longest;
    screen_lengthen(job, room, read);
    const int64_t total = screen_limit(job, room, read, &results->clipped[cell], &results->capped[cell]);
    const int known = read->n_known;
    read->is_open = total >= 0 && total + known + 2 <= SCREEN_PLACES;
    if (!read->is_open)
        return;
    screen_read_places(job->index->positions, room, read, room->places);
    const int n = screen_gather(job, room, read, total, &top, &longest);
    read->is_open = screen_sites(job, room, read, owner, known, n, n_sites);
    screen_tell(top, read->read, read->flip, &results->top[0][cell], &results->top[1][cell]);
    screen_tell(longest, read->read, read->flip, &results->longest[0][cell], &results->longest[1][cell]);
    results->occurrences[read->row] += (uint32_t)total;
    results->candidates[read->row] += (uint32_t)(n - known);
    if (top && read->n_scored < SCREEN_STAGES + 64)
        read->scored[read->n_scored++] = ~top & 0x1FFFFFFFF;
    read->is_open &= is_last || n <= SCREEN_KNOWN;
    for (int i = known; i < n && !is_last && n <= SCREEN_KNOWN; i++)
        if (room->anchors[i].strand < 2)
            read->known[read->n_known++] = (uint64_t)room->anchors[i].strand << 32 | room->anchors[i].diagonal;
}

/* Reads with a band within the limit are closed. */
static void screen_bands(const screen_job *job, screen_room *room, int n)
{
    const band_planes_of planes = {job->job->reads.words, job->job->reference.words};
    uint16_t errors[BOUND_BLOCK];
    for (int start = 0; start < n; start += BOUND_BLOCK) {
        const int stop = start + BOUND_BLOCK < n ? start + BOUND_BLOCK : n;
        job->job->kernels->band(&planes, room->sites + start, stop - start, errors);
        for (int i = start; i < stop; i++)
            room->reads[room->owner[i]].is_open &= errors[i - start] > room->sites[i].limit;
    }
}

/* One stage of the reads of a block that are open. */
static void screen_stage(const screen_job *job, screen_room *room, int reads, int stage, const screen_results *results)
{
    const screen_seeds *seeds = &room->plan.of[stage];
    int n_seeds = 0, n_sites = 0;
    for (int i = 0; i < reads; i++)
        if (room->reads[i].is_open)
            n_seeds = screen_plan_seeds(room, &room->reads[i], seeds, n_seeds);
    screen_look_up(job, room, n_seeds);
    for (int i = 0; i < reads; i++)
        if (room->reads[i].is_open)
            screen_stage_of_read(job, room, &room->reads[i], i, stage, &n_sites, results);
    screen_bands(job, room, n_sites);
}

/* How many reads of the same length from `start` on make a block. */
static int screen_block(const screen_job *job, screen_room *room, const uint32_t *reads, int64_t start)
{
    const uint32_t m = job->job->read_lengths[reads[start]];
    int most = 0, n = 1;
    if (room->plan.length != m)
        screen_make_plan(job, m, &room->plan);
    for (int s = 0; s < room->plan.n; s++)
        most = room->plan.of[s].n > most ? room->plan.of[s].n : most;
    while (n < SCREEN_READS && start + n < job->n && job->job->read_lengths[reads[start + n]] == m &&
           2 * most * (n + 1) <= SCREEN_SEEDS)
        n++;
    return n;
}

/* `results->is_open` of every read: whether no seed leads to a band within the limit. -1 without memory. */
static int screen_all(const screen_job *job, const uint32_t *reads, const screen_results *results)
{
    screen_room *room = malloc(sizeof *room);
    if (!room)
        return -1;
    room->plan.length = 0;
    for (int64_t start = 0, n; start < job->n; start += n) {
        n = screen_block(job, room, reads, start);
        for (int i = 0; i < n; i++)
            screen_begin(job, reads[start + i], (uint32_t)(start + i), &room->reads[i]);
        for (int stage = 0; stage < room->plan.n; stage++)
            screen_stage(job, room, (int)n, stage, results);
        for (int i = 0; i < n; i++)
            results->is_open[start + i] = (uint8_t)room->reads[i].is_open;
    }
    free(room);
    return 0;
}

#endif
