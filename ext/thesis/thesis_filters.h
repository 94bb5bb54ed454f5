/* The filters of the thesis (Rizk 4.4.2, 4.6.3, 4.6.4, 4.6.6), which a run uses where `--filters` names them.
 *
 * Every bound here is as in `ext/search/filters.h`: it walks away from the seed, so the left flank is read mirrored, and
 * the two add up. The flanks are mirrored bit by bit (1 to 3 ns a candidate) rather than by a second table, which would
 * compete for the cache. Clones of the loops for AVX2 and AVX-512 machines were no faster than the x86-64 baseline, and
 * gathers in place of single look-ups only a tenth: there is one version of everything.
 */
#ifndef GASSST_THESIS_FILTERS_H
#define GASSST_THESIS_FILTERS_H

#include <stdlib.h>
#include <string.h>

#include "filter_job.h"
#include "flanks.h"
#include "planes.h"

enum {
    CHUNK = 32,      /* bases of reference packed at a time */
    BLOCK = 8,       /* shifts s tried at a time */
    SLACK = 16,      /* bytes around packed bases that loads may touch */
};

/* Packed bases: two bits a base, base 0 lowest, low bit first. A masked base packs as A. */

INLINE uint32_t pack4(uint64_t low, uint64_t high)
{
    uint32_t v = (uint32_t)(low & 15) | (uint32_t)(high & 15) << 8;
    v = (v | v << 2) & 0x3333;
    v = (v | v << 1) & 0x5555;
    return (v | v >> 7) & 0xFF;
}

INLINE uint32_t pack16(uint64_t low, uint64_t high)
{
    uint64_t v = (low & 0xFFFF) | (high & 0xFFFF) << 32;
    v = (v | v << 8) & 0x00FF00FF00FF00FF;
    v = (v | v << 4) & 0x0F0F0F0F0F0F0F0F;
    v = (v | v << 2) & 0x3333333333333333;
    v = (v | v << 1) & 0x5555555555555555;
    return (uint32_t)(v | v >> 31);
}

INLINE uint64_t pack32(bases64_t bases)
{
    return pack16(bases.low, bases.high) | (uint64_t)pack16(bases.low >> 16, bases.high >> 16) << 32;
}

INLINE uint32_t mirror4(uint32_t packed)
{
    packed = (packed & 0x0F) << 4 | packed >> 4;
    return (packed & 0x33) << 2 | (packed >> 2 & 0x33);
}

INLINE uint32_t mirror16(uint32_t packed)
{
    packed = __builtin_bswap32(packed);
    packed = (packed & 0x0F0F0F0F) << 4 | (packed >> 4 & 0x0F0F0F0F);
    return (packed & 0x33333333) << 2 | (packed >> 2 & 0x33333333);
}

INLINE uint64_t mirror32(uint64_t packed)
{
    packed = __builtin_bswap64(packed);
    packed = (packed & 0x0F0F0F0F0F0F0F0F) << 4 | (packed >> 4 & 0x0F0F0F0F0F0F0F0F);
    return (packed & 0x3333333333333333) << 2 | (packed >> 2 & 0x3333333333333333);
}

typedef struct {
    int64_t read;      /* coordinate of read base 0 in the planes of the reads */
    int64_t reference; /* coordinate that read base 0 faces */
    int offset, end;   /* the seed covers read bases offset..end-1 */
    int length;        /* of the read */
    int limit;
} site_t;

INLINE int larger(int a, int b) { return a > b ? a : b; }

INLINE site_t site_at(const job_t *job, int64_t i)
{
    const uint32_t read_strand = job->candidates.read_strand[i], read = read_strand >> 1;
    const int offset = job->candidates.offset[i];
    return (site_t){64 * read_row(job, read_strand), job->candidates.diagonal[i], offset,
                    offset + job->candidates.length[i], (int)job->read_lengths[read], job->limits[read]};
}

INLINE void keep(const job_t *job, int64_t to, int64_t from)
{
    job->kept.read_strand[to] = job->candidates.read_strand[from];
    job->kept.diagonal[to] = job->candidates.diagonal[from];
    job->kept.offset[to] = job->candidates.offset[from];
    job->kept.length[to] = job->candidates.length[from];
}

/* Prefetches the reference of the candidate AHEAD of i, up to `reach` bases from its seed. */
INLINE void prefetch_ahead(const job_t *job, int64_t i, int reach)
{
    const int64_t next = i + AHEAD < job->n ? i + AHEAD : job->n - 1;
    const int64_t seed = job->candidates.diagonal[next] + job->candidates.offset[next];
    prefetch_bases(job->reference, seed - reach, seed + job->candidates.length[next] + reach);
}

/* The whole read of the candidate AHEAD. */
INLINE void prefetch_read_ahead(const job_t *job, int64_t i)
{
    const int64_t next = i + AHEAD < job->n ? i + AHEAD : job->n - 1;
    const int64_t diagonal = job->candidates.diagonal[next];
    const uint32_t read = job->candidates.read_strand[next] >> 1;
    prefetch_bases(job->reference, diagonal, diagonal + job->read_lengths[read]);
}

/* -2 - i where candidate i is the first that does not lie in the reads and the reference, else 0. */
static int64_t first_outside(const job_t *job)
{
    for (int64_t i = 0; i < job->n; i++) {
        const uint32_t read = job->candidates.read_strand[i] >> 1;
        if (read >= job->n_reads)
            return -2 - i;
        const int64_t length = job->read_lengths[read];
        if (job->candidates.offset[i] + job->candidates.length[i] > length ||
            job->candidates.diagonal[i] < 0 || job->candidates.diagonal[i] + length > 64 * job->reference.rows ||
            job->plane_start[read] + 2 * ((length + 63) / 64) > job->reads.rows)
            return -2 - i;
    }
    return 0;
}

/* ---- Precomputed scores ------------------------------------------------------------------------------- */

/* Adds columns depth+1.. of the matrices of word x against all words that begin with y; `bottom` is the
   best score in the bottom row so far. */
static void score_columns(uint8_t *scores, int l, uint32_t x, uint32_t y, int depth, const uint8_t *column,
                          int bottom)
{
    if (depth == l) {
        for (int i = 0; i < l; i++)
            bottom = smaller(bottom, column[i]);
        scores[y] = (uint8_t)bottom;
        return;
    }
    for (uint32_t base = 0; base < 4; base++) {
        uint8_t next[8] = {(uint8_t)(depth + 1)};
        for (int i = 1; i <= l; i++) {
            const int step = column[i - 1] + ((x >> (2 * i - 2) & 3) != base);
            next[i] = (uint8_t)smaller(step, 1 + smaller(column[i], next[i - 1]));
        }
        score_columns(scores, l, x, y | base << 2 * depth, depth + 1, next, smaller(bottom, next[l]));
    }
}

/* PST_l for l <= 7: scores[x << 2l | y], x and y packed; symmetric. Best score of any path from the top
   left corner of the l x l matrix to its right column or bottom row. Words share the columns of their
   common prefix. */
static void fill_scores(uint8_t *scores, int l)
{
    uint8_t column[8];
    for (int i = 0; i <= l; i++)
        column[i] = (uint8_t)i;
    for (uint32_t x = 0; x < 1u << 2 * l; x++)
        score_columns(scores + ((size_t)x << 2 * l), l, x, 0, 0, column, l);
}

/* ---- Up to 16 bases either side of the seed ----------------------------------------------------------- */

/* TNW_4(4). Sees at most four errors a side, so nothing with a limit above 7. */
INLINE int passes_tnw4_4(const job_t *job, const site_t *site)
{
    const int left = site->offset >= 4, right = site->length - site->end >= 4;
    if (4 * left + 4 * right <= site->limit)
        return 1;
    const flanks_t a = flanks_at(job->reads, site->read, site->offset, site->end);
    const flanks_t b = flanks_at(job->reference, site->reference, site->offset, site->end);
    const uint32_t before = mirror4(pack4(a.left.low >> 12, a.left.high >> 12)) << 8 |
                            mirror4(pack4(b.left.low >> 12, b.left.high >> 12));
    const uint32_t after = pack4(a.right.low, a.right.high) << 8 | pack4(b.right.low, b.right.high);
    return left * job->scores[before] + right * job->scores[after] <= site->limit;
}

/* How often each base occurs, in four lanes of 16 bits, all counted at once. */
INLINE uint64_t base_counts(bases64_t bases, uint64_t among)
{
    uint64_t v = (among & ~(bases.low | bases.high)) | (among & bases.low & ~bases.high) << 16 |
                 (among & bases.high & ~bases.low) << 32 | (among & bases.low & bases.high) << 48;
    v -= v >> 1 & 0x5555555555555555;
    v = (v & 0x3333333333333333) + (v >> 2 & 0x3333333333333333);
    v = (v + (v >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return (v + (v >> 8)) & 0x00FF00FF00FF00FF;
}

/* Frequency distance. Both stretches have the same number of bases, so the sum of |f - g| / 2 is the sum
   of those f - g that are positive: a whole number, nothing is rounded. */
INLINE int frequency_distance(bases64_t a, bases64_t b, uint64_t among)
{
    const uint64_t ones = 0x0001000100010001;
    const uint64_t surplus = (base_counts(a, among) | ones << 15) - base_counts(b, among);
    const uint64_t positive = surplus >> 15 & ones;
    return (int)((surplus & ((positive << 15) - positive)) * ones >> 48);
}

INLINE int passes_fd(const job_t *job, const site_t *site)
{
    const int left = smaller(FLANK, site->offset), right = smaller(FLANK, site->length - site->end);
    if (left + right <= site->limit)
        return 1;
    const flanks_t a = flanks_at(job->reads, site->read, site->offset, site->end);
    const flanks_t b = flanks_at(job->reference, site->reference, site->offset, site->end);
    const uint64_t before = 0xFFFF & ~(0xFFFFu >> left), after = (1u << right) - 1;
    return frequency_distance(a.left, b.left, before) + frequency_distance(a.right, b.right, after) <=
           site->limit;
}

/* ---- Tiled Needleman-Wunsch --------------------------------------------------------------------------- */

/* Packed bases from the seed outwards: in one word, or, where `bytes` is set, in memory from base `start`
   on. */
typedef struct {
    uint64_t word;
    const uint8_t *bytes;
    int start;
} packed_t;

INLINE uint64_t window(packed_t flank, int at)
{
    if (!flank.bytes)
        return flank.word >> 2 * (flank.start + at);
    uint64_t word;
    memcpy(&word, flank.bytes + ((flank.start + at) >> 2), sizeof word);
    return word >> 2 * ((flank.start + at) & 3);
}

/* One level of the recursion: TNW_l(n) from `score` = TNW_l(n - l), with `at` = n - l. A path may leave
   the square of side n - l up to `at` diagonals off, so s goes no further. Terms with s >= `best` cannot
   improve on it, and no term is below `score`: both end the loop early. Within a block nothing branches: a
   branch a term is guessed wrong too often and costs more than four terms. */
INLINE int tnw_level(const uint8_t *scores, int l, packed_t read, packed_t reference, int at, int gaps,
                     int score)
{
    const uint32_t mask = (1u << 2 * l) - 1;
    const uint32_t x = (uint32_t)window(read, at) & mask, y = (uint32_t)window(reference, at) & mask;
    int best = score + scores[x << 2 * l | y];
    gaps = smaller(gaps, at);
    for (int done = 0; done < gaps && done + 1 < best && score < best; done += BLOCK) {
        const uint64_t xs = window(read, at - done - BLOCK), ys = window(reference, at - done - BLOCK);
        for (int s = 1; s <= BLOCK; s++) {
            const uint32_t shift = 2 * (BLOCK - s);
            const int shifted = smaller(scores[x << 2 * l | (ys >> shift & mask)],
                                        scores[(xs >> shift & mask) << 2 * l | y]);
            const int before = done + s <= gaps ? larger(done + s, score) : UINT8_MAX;
            best = smaller(best, before + shifted);
        }
    }
    return best;
}

/* A walk over the whole tiles of one flank of n bases; a partial last tile is dropped. Where the reference
   is in memory it is packed as the walk needs it: most walks are cut short. */
typedef struct {
    packed_t read, reference;
    int n, at, score;
    int packed, mirrored;
    uint8_t *buffer;     /* of the packed reference, or NULL where it is in a word */
    int64_t coordinate;  /* of the reference base next to the seed; one more on the left */
} walk_t;

INLINE void pack_up_to(walk_t *walk, planes_t reference, int n)
{
    for (; walk->packed < n; walk->packed += CHUNK) {
        const int64_t step = walk->mirrored ? -walk->packed - CHUNK : walk->packed;
        const uint64_t plain = pack32(bases_at(reference, walk->coordinate + step));
        const uint64_t chunk = walk->mirrored ? mirror32(plain) : plain;
        memcpy(walk->buffer + walk->packed / 4, &chunk, sizeof chunk);
    }
}

INLINE int advance(walk_t *walk, const job_t *job, int l)
{
    if (walk->buffer)
        pack_up_to(walk, job->reference, walk->at + l);
    walk->score = tnw_level(job->scores, l, walk->read, walk->reference, walk->at, job->gaps, walk->score);
    walk->at += l;
    return walk->score;
}

/* Both sides in step, then the rest of the longer one. In step, because at a low score a shift of s
   diagonals is dear, so the sum passes the limit sooner than the score of one side would. */
INLINE int passes_walks(walk_t left, walk_t right, const job_t *job, int limit, int l)
{
    const int levels = smaller(left.n, right.n) / l;
    for (int i = 0; i < levels; i++)
        if (advance(&left, job, l) + advance(&right, job, l) > limit)
            return 0;
    for (int spare = limit - right.score; left.at + l <= left.n;)
        if (advance(&left, job, l) > spare)
            return 0;
    for (int spare = limit - left.score; right.at + l <= right.n;)
        if (advance(&right, job, l) > spare)
            return 0;
    return 1;
}

/* BLOCK bases in front, which shifts may touch but never count. */
INLINE packed_t in_word(uint32_t packed)
{
    return (packed_t){(uint64_t)packed << 2 * BLOCK, NULL, BLOCK};
}

INLINE int passes_tnw4_16(const job_t *job, const site_t *site)
{
    const int left = smaller(FLANK, site->offset), right = smaller(FLANK, site->length - site->end);
    if ((left & ~3) + (right & ~3) <= site->limit)
        return 1;
    const flanks_t a = flanks_at(job->reads, site->read, site->offset, site->end);
    const flanks_t b = flanks_at(job->reference, site->reference, site->offset, site->end);
    const walk_t before = {in_word(mirror16(pack16(a.left.low, a.left.high))),
                           in_word(mirror16(pack16(b.left.low, b.left.high))), .n = left};
    const walk_t after = {in_word(pack16(a.right.low, a.right.high)),
                          in_word(pack16(b.right.low, b.right.high)), .n = right};
    return passes_walks(before, after, job, site->limit, 4);
}

/* A read strand packed forwards and mirrored, kept while candidates of it follow one another. */
typedef struct {
    uint32_t read_strand;
    uint8_t *memory, *plain, *mirrored, *left, *right;
} scratch_t;

INLINE void pack_read(const job_t *job, scratch_t *scratch, const site_t *site, uint32_t read_strand)
{
    scratch->read_strand = read_strand;
    for (int at = 0; at < site->length; at += CHUNK) {
        const uint64_t plain = pack32(bases_at(job->reads, site->read + at));
        const int64_t from_end = site->read + site->length - at - CHUNK;
        const uint64_t mirrored = mirror32(pack32(bases_at(job->reads, from_end)));
        memcpy(scratch->plain + at / 4, &plain, sizeof plain);
        memcpy(scratch->mirrored + at / 4, &mirrored, sizeof mirrored);
    }
}

INLINE int passes_tnw5_full(const job_t *job, const site_t *site, const scratch_t *scratch)
{
    const int n = site->length - site->end;
    if (site->offset / 5 * 5 + n / 5 * 5 <= site->limit)
        return 1;
    const walk_t left = {{0, scratch->mirrored, site->length - site->offset}, {0, scratch->left, 0},
                         .n = site->offset, .mirrored = 1, .buffer = scratch->left,
                         .coordinate = site->reference + site->offset};
    const walk_t right = {{0, scratch->plain, site->end}, {0, scratch->right, 0},
                          .n = n, .buffer = scratch->right, .coordinate = site->reference + site->end};
    return passes_walks(left, right, job, site->limit, 5);
}

static int allocate(scratch_t *scratch, const job_t *job)
{
    uint32_t longest = 0;
    for (int64_t i = 0; i < job->n_reads; i++)
        longest = job->read_lengths[i] > longest ? job->read_lengths[i] : longest;
    const size_t size = longest / 4 + CHUNK / 4 + SLACK;
    uint8_t *memory = calloc(1, SLACK + 4 * size), *first = memory + SLACK;
    *scratch = (scratch_t){UINT32_MAX, memory, first, first + size, first + 2 * size, first + 3 * size};
    return memory != NULL;
}

/* ---- Duplicates --------------------------------------------------------------------------------------- */

/* The first read base from `from` on that differs from the reference on the diagonal, or the read's
   length. */
INLINE int end_of_run(const job_t *job, const site_t *site, int from)
{
    for (; from < site->length; from += 64) {
        const uint64_t difference = differences(bases_at(job->reads, site->read + from),
                                                bases_at(job->reference, site->reference + from));
        if (difference)
            return smaller(site->length, from + __builtin_ctzll(difference));
    }
    return site->length;
}

/* The first base of the run of equal bases that ends before `until`. */
INLINE int run_start(const job_t *job, const site_t *site, int until)
{
    for (; until > 0; until -= 64) {
        const uint64_t difference = differences(bases_at(job->reads, site->read + until - 64),
                                                bases_at(job->reference, site->reference + until - 64));
        if (difference)
            return larger(0, until - __builtin_clzll(difference));
    }
    return 0;
}

/* ---- The filters -------------------------------------------------------------------------------------- */

#define COMPACT(name, passes, reach)                                                                       \
    static int64_t name(const job_t *job)                                                                  \
    {                                                                                                      \
        const int64_t outside = first_outside(job);                                                        \
        if (outside)                                                                                       \
            return outside;                                                                                \
        int64_t kept = 0;                                                                                  \
        for (int64_t i = 0; i < job->n; i++) {                                                             \
            prefetch_ahead(job, i, reach);                                                                 \
            const site_t site = site_at(job, i);                                                           \
            keep(job, kept, i);                                                                            \
            kept += passes(job, &site);                                                                    \
        }                                                                                                  \
        return kept;                                                                                       \
    }

COMPACT(keep_tnw4_4, passes_tnw4_4, 4)
COMPACT(keep_fd, passes_fd, FLANK)
COMPACT(keep_tnw4_16, passes_tnw4_16, FLANK)

/* -1 when out of memory. */
static int64_t keep_tnw5_full(const job_t *job)
{
    const int64_t outside = first_outside(job);
    if (outside)
        return outside;
    int64_t kept = 0;
    scratch_t scratch;
    if (!allocate(&scratch, job))
        return -1;
    for (int64_t i = 0; i < job->n; i++) {
        prefetch_read_ahead(job, i);
        const site_t site = site_at(job, i);
        if (job->candidates.read_strand[i] != scratch.read_strand)
            pack_read(job, &scratch, &site, job->candidates.read_strand[i]);
        keep(job, kept, i);
        kept += passes_tnw5_full(job, &site, &scratch);
    }
    free(scratch.memory);
    return kept;
}

/* Of the candidates whose seeds lie in one run of equal bases, the first stays, its seed grown to the whole
 * run.
 *
 * This loses nothing. An alignment through one seed of the run comes to that seed from some row (read base)
 * above or column (reference base) left of the run's first cell: let P be the last point at which it crosses
 * that row or column before the first cell, x diagonals away from the run's. (If it starts past both, as it
 * may anywhere in the first row, it can start on the run's diagonal instead.) From P to the seed it has at
 * least x gap bases. Going straight along the row or column from P to the first cell takes x gap bases, and
 * the run itself then costs nothing. The same holds, mirrored, behind the seed. So every alignment through a
 * seed of the run has an equivalent with no more errors and no more gap bases through the whole run, hence
 * through each of its seeds.
 *
 * A seed that is not error-free (possible where the index sorts masked bases as A) stays as it is. */
static int64_t keep_first(const job_t *job)
{
    const int64_t outside = first_outside(job);
    if (outside)
        return outside;
    int64_t kept = 0;
    uint32_t read_strand = UINT32_MAX;
    coordinate_t diagonal = 0;
    int run = 0;
    for (int64_t i = 0; i < job->n; i++) {
        prefetch_read_ahead(job, i);
        const site_t site = site_at(job, i);
        const int same = job->candidates.read_strand[i] == read_strand &&
                         job->candidates.diagonal[i] == diagonal;
        if (same && site.end <= run)
            continue;
        read_strand = job->candidates.read_strand[i];
        diagonal = job->candidates.diagonal[i];
        run = end_of_run(job, &site, site.offset);
        keep(job, kept, i);
        if (run >= site.end) {
            job->kept.offset[kept] = (uint16_t)run_start(job, &site, site.offset);
            job->kept.length[kept] = (uint16_t)(run - job->kept.offset[kept]);
        }
        kept++;
    }
    return kept;
}

#endif
