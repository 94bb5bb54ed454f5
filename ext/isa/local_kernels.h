/* Local alignment with one instruction set: what kernels/local.h needs before the two kinds of lanes, `shorts` of 16
 * bits and `bytes`. The including file has included band_kernels.h, sets the vector operations of each kind, and
 * includes local_loops.h once per kind. */
#ifdef __SSE2__
#include <immintrin.h>
#endif
#include "local_groups.h"

#define LOCAL_WIDTH 512 /* at most */
#define LOCAL_SET(x) ((local_vec){0} + (local_int)(x))

#undef BAND_FN
#if defined(__GNUC__)
#define BAND_FN static inline CPU_TARGET __attribute__((always_inline, unused))
#define LOCAL_LOOP static CPU_TARGET
#else
#define BAND_FN static inline
#define LOCAL_LOOP static
#endif
