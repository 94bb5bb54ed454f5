/* Banded alignment with one instruction set: kernels/band.h for every band width, told apart by the width in words, and
 * local alignment, kernels/local.h for lanes of 16 bits and of bytes (local_lanes.h). */
#include "cpu_kernels.h"
#include "planes.h"
#include "vectors.h"

#ifdef ISA
#define BAND_FN static inline ISA_TARGET __attribute__((unused))
#define BAND_UNROLL ISA_UNROLL
#define BAND_ZERO ((VEC){0})
#define LANES (ISA_BYTES / 8)

/* `anywhere`: vectors that need no alignment and may alias the words they are read from. */
typedef u64 band_vec __attribute__((vector_size(ISA_BYTES)));
typedef u64 band_vec_anywhere __attribute__((vector_size(ISA_BYTES), aligned(8), may_alias));
#define VEC band_vec
#define VEC_LOAD(p) ((VEC)(*(const band_vec_anywhere *)(p)))
#define VEC_STORE(v, p) (*(band_vec_anywhere *)(p) = (v))

#define OF_WIDTH(name) ISA_PASTE(name, WORDS)
#define BAND(name) OF_WIDTH(band_##name)

/* Bases of the reference that pairs first .. first + n - 1 look at. They lie anywhere in it: a group that waits for each
 * of its misses takes twice as long. Always inline: gcc takes a function that only prefetches for one without effect, and
 * drops its calls. */
INLINE void prefetch_pairs(const band_batch *batch, u32 first, u32 n, u32 width)
{
    const u32 after = batch->n - first > n ? first + n : batch->n;
    for (u32 pair = first; pair < after && first < batch->n; pair++) {
        const u64 begin = batch->band_start[pair], bases = batch->read_length[batch->read_strand[pair] >> 1] + width;
        const char *line = (const char *)(batch->reference + 3 * (begin >> 6));
        const char *end = (const char *)(batch->reference + 3 * (((begin + bases) >> 6) + 1));
        for (; line < end; line += 64)
            __builtin_prefetch(line);
    }
}

/* Whether a read has no error on a diagonal of its band, the leftmost of which is its best end: its first bases leave hardly
 * another. Reads with a masked base at the beginning, and bands beside the end of the reference, are not asked. */
BAND_FN int is_exact(const band_batch *batch, u32 pair, u32 width, u16 *best, u16 *end)
{
    const u32 strand = batch->read_strand[pair], length = batch->read_length[strand >> 1];
    const int64_t start = batch->band_start[pair], first = first_base(batch->read_row[strand >> 1], strand, length);
    const planes_t reads = {batch->reads, (first + length + 63) >> 6}, reference = {batch->reference, batch->reference_rows};
    const bases64_t read = bases_at(reads, first);
    if (read.masked || length < 8 || start < 0 || start + width + length > 64 * reference.rows)
        return 0;
    for (u32 at = 0; at < width; at += 64) {
        const bases64_t a = bases_at(reference, start + at), b = bases_at(reference, start + at + 64);
        u64 unlike = 0;
        for (u32 i = 0; i < 8; i++)
            unlike |= (funnel_shift(a.low, b.low, i) ^ (0 - (read.low >> i & 1))) |
                      (funnel_shift(a.high, b.high, i) ^ (0 - (read.high >> i & 1)));
        for (u64 fits = ~unlike; fits; fits &= fits - 1) {
            best[pair] = 0, end[pair] = (u16)(at + __builtin_ctzll(fits));
            if (count_differences(reference, start + end[pair], reads, first, length, 0) == 0)
                return 1;
        }
    }
    return 0;
}

#define WORDS 1
#include "band_loops.h"
#undef WORDS
#define WORDS 2
#include "band_loops.h"
#undef WORDS
#define WORDS 4
#include "band_loops.h"
#undef WORDS
#define WORDS 8
#include "band_loops.h"
#undef WORDS

#undef BAND_FN
#define BAND_FN ISA_INLINE
#define LOCAL_BYTES 0
#include "local_lanes.h"
#undef LOCAL_BYTES
#define LOCAL_BYTES 1
#include "local_lanes.h"

/* Scores of all pairs, and with `paths` alignments: with lanes of bytes, whose diagonals are bytes, too, where all that a
 * group loses fits, else with 16 bits, half as many pairs at a time. Where one did not fit, the next ones may not either,
 * and the trial costs half of what they do. trace: bytes [rows, width, pairs of a group], which each group overwrites. */
#define LOCAL_UNTRIED 3
static void local_groups(const band_batch *batch, const local_scoring *scoring, u32 width, const local_ends *ends,
                         const local_paths *paths, u8 *trace)
{
    const u32 some = ISA_BYTES / 2;
    u32 wait = width > 256 || (paths && paths->are_whole) ? ~(u32)0 : 0;
    prefetch_pairs(batch, 0, 2 * some, width);
    for (u32 group = 0; group * some < batch->n; group += 2) {
        prefetch_pairs(batch, (group + 2) * some, 2 * some, width);
        if (wait == 0 && (paths ? local_align_bytes(batch, scoring, width, group / 2, ends, paths, trace)
                                : local_score_bytes(batch, scoring, width, group / 2, ends)))
            continue;
        wait = wait ? wait - 1 : LOCAL_UNTRIED;
        for (u32 one = group; one < group + 2 && one * some < batch->n; one++)
            if (paths)
                local_align_shorts(batch, scoring, width, one, ends, paths, trace);
            else
                local_score_shorts(batch, scoring, width, one, ends);
    }
}

static void local_scores(const band_batch *batch, const local_scoring *scoring, u32 width, const local_ends *ends)
{
    local_groups(batch, scoring, width, ends, NULL, NULL);
}

static int local_alignments(const band_batch *batch, const local_scoring *scoring, u32 width, const local_ends *ends,
                            const local_paths *paths, u32 rows)
{
    u8 *trace = malloc((size_t)rows * width * ISA_BYTES + 1);
    if (!trace)
        return -1;
    local_groups(batch, scoring, width, ends, paths, trace);
    free(trace);
    return 0;
}

#include "bound_band.h"

#define EACH_WIDTH(name) {name##_1, name##_2, name##_4, name##_8}
const cpu_kernels ISA_PASTE(cpu_kernels, ISA) = {
    ISA_HEAD, EACH_WIDTH(nw_score), EACH_WIDTH(nw_profile), local_scores, local_alignments, band_bounds,
};
#endif
