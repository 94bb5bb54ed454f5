/* Local alignment with one instruction set: what kernels/local.h needs before the two kinds of lanes, `shorts` of 16
 * bits and `bytes`. The including file has included band_kernels.h, sets the vector operations of each kind, and
 * includes local_loops.h once per kind. */
#ifdef __SSE2__
#include <immintrin.h>
#endif
#define LOCAL_AHEAD(batch, first, n, width) local_prefetch(batch, first, n, width)
#include "local_groups.h"

#define LOCAL_WIDTH 512 /* at most */
#define LOCAL_SET(x) ((local_vec){0} + (local_int)(x))

#undef BAND_FN
#if defined(__GNUC__)
#define BAND_FN static inline CPU_TARGET __attribute__((always_inline, unused))
#define LOCAL_LOOP static CPU_TARGET
#define LOCAL_INLINE static inline __attribute__((always_inline))
#else
#define BAND_FN static inline
#define LOCAL_LOOP static
#define LOCAL_INLINE static inline
#endif

/* Bases of the reference that pairs first .. first + n - 1 look at. They lie anywhere in it: a group that waits for each
 * of its misses takes twice as long. Always inline: gcc takes a function that only prefetches for one without effect, and
 * drops its calls. */
LOCAL_INLINE void local_prefetch(const band_batch *batch, u32 first, u32 n, u32 width)
{
#if defined(__GNUC__)
    const u32 after = batch->n - first > n ? first + n : batch->n;
    for (u32 pair = first; pair < after && first < batch->n; pair++) {
        const u64 begin = batch->band_start[pair], bases = batch->read_length[batch->read_strand[pair] >> 1] + width;
        const char *line = (const char *)(batch->reference + 3 * (begin >> 6));
        const char *end = (const char *)(batch->reference + 3 * (((begin + bases) >> 6) + 1));
        for (; line < end; line += 64)
            __builtin_prefetch(line);
    }
#else
    (void)batch, (void)first, (void)n, (void)width;
#endif
}
