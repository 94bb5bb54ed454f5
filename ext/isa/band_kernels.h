/* Banded alignment with one instruction set: kernels/band.h for every band width, told apart by the width in words.
 *
 * The including file sets LANES, the words of a vector, and CPU_TARGET, the attribute that names the instruction set.
 * Every function carries it, because GCC lowers vector types by the target of the function that holds them, before it
 * inlines. */
#include <stdlib.h>
#include <string.h>

#if defined(__clang__)
#define BAND_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define BAND_UNROLL _Pragma("GCC unroll 16")
#else
#define BAND_UNROLL
#endif

#if defined(__GNUC__)
#define BAND_FN static inline CPU_TARGET __attribute__((unused))
#else
#define BAND_FN static inline
#endif

/* Bits set; the builtin calls a library function where the target has no such instruction, as baseline
 * x86-64. */
static inline u64 band_popcount(u64 x)
{
    x -= (x >> 1) & 0x5555555555555555;
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
    return (((x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F) * 0x0101010101010101) >> 56;
}
#define BAND_POPCOUNT(x) band_popcount(x)

#define WIDTH_PASTE_(name, words) name##_##words
#define WIDTH_PASTE(name, words) WIDTH_PASTE_(name, words)
#define OF_WIDTH(name) WIDTH_PASTE(name, WORDS)
#define band_lanes OF_WIDTH(band_lanes)
#define band_block OF_WIDTH(band_block)
#define band_state OF_WIDTH(band_state)
#define band_open OF_WIDTH(band_open)
#define band_open_group OF_WIDTH(band_open_group)
#define band_plane OF_WIDTH(band_plane)
#define band_load OF_WIDTH(band_load)
#define band_matches OF_WIDTH(band_matches)
#define band_zero_steps OF_WIDTH(band_zero_steps)
#define band_advance OF_WIDTH(band_advance)
#define band_rows OF_WIDTH(band_rows)
#define band_rows_traced OF_WIDTH(band_rows_traced)
#define band_reset OF_WIDTH(band_reset)
#define band_run OF_WIDTH(band_run)
#define band_forward OF_WIDTH(band_forward)
#define band_min16 OF_WIDTH(band_min16)
#define band_best OF_WIDTH(band_best)
#define band_score OF_WIDTH(band_score)
#define band_spread4 OF_WIDTH(band_spread4)
#define band_expand OF_WIDTH(band_expand)
#define band_ends OF_WIDTH(band_ends)
#define band_put_ends OF_WIDTH(band_put_ends)
#define band_forward_traced OF_WIDTH(band_forward_traced)
#define band_profile OF_WIDTH(band_profile)
#define band_walk OF_WIDTH(band_walk)
#define band_errors OF_WIDTH(band_errors)
#define band_align OF_WIDTH(band_align)

#if defined(__GNUC__)
#define NW_PREFETCH(p) __builtin_prefetch(p)
#else
#define NW_PREFETCH(p) ((void)(p))
#endif

#define GROUPS(n) (((n) + LANES - 1) / LANES)

#if defined(__GNUC__)
/* `anywhere`: vectors that need no alignment and may alias the words they are read from. */
typedef u64 band_vec __attribute__((vector_size(8 * LANES)));
typedef u64 band_vec_anywhere __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
#define VEC band_vec
#define VEC_LOAD(p) ((VEC)(*(const band_vec_anywhere *)(p)))
#define VEC_STORE(v, p) (*(band_vec_anywhere *)(p) = (v))
#define BAND_ZERO ((VEC){0})
#else
#define VEC u64
#define VEC_LOAD(p) (*(p))
#define VEC_STORE(v, p) (*(p) = (v))
#define BAND_ZERO ((u64)0)
#endif

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
