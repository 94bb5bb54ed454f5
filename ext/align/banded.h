/* The CPU backend: kernels/band.h compiled for each instruction set and band width, chosen at run time.
 *
 * Every function of band.h carries the target attribute of its instruction set, because GCC lowers vector
 * types by the target of the function that holds them, before it inlines. Names are told apart by VARIANT. */
#ifndef GASSST_NW_CPU_H
#define GASSST_NW_CPU_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;

#define BAND_GLOBAL
#if defined(__clang__)
#define BAND_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define BAND_UNROLL _Pragma("GCC unroll 16")
#else
#define BAND_UNROLL
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

#define VARIANT__(name, isa, words) name##_##isa##_##words
#define VARIANT_(name, isa, words) VARIANT__(name, isa, words)
#define VARIANT(name) VARIANT_(name, ISA, WORDS)
#define band_lanes VARIANT(band_lanes)
#define band_block VARIANT(band_block)
#define band_state VARIANT(band_state)
#define band_open VARIANT(band_open)
#define band_open_group VARIANT(band_open_group)
#define band_plane VARIANT(band_plane)
#define band_load VARIANT(band_load)
#define band_matches VARIANT(band_matches)
#define band_zero_steps VARIANT(band_zero_steps)
#define band_advance VARIANT(band_advance)
#define band_rows VARIANT(band_rows)
#define band_rows_traced VARIANT(band_rows_traced)
#define band_reset VARIANT(band_reset)
#define band_run VARIANT(band_run)
#define band_forward VARIANT(band_forward)
#define band_min16 VARIANT(band_min16)
#define band_best VARIANT(band_best)
#define band_score VARIANT(band_score)
#define band_spread4 VARIANT(band_spread4)
#define band_expand VARIANT(band_expand)
#define band_profile VARIANT(band_profile)
#define band_walk VARIANT(band_walk)
#define band_errors VARIANT(band_errors)
#define band_align VARIANT(band_align)

#if defined(__GNUC__)
#define NW_PREFETCH(p) __builtin_prefetch(p)
#else
#define NW_PREFETCH(p) ((void)(p))
#endif
#define NW_AHEAD 2 /* groups from prefetch to use */

#define GROUPS(n) (((n) + LANES - 1) / LANES)

#if defined(__GNUC__)
/* One typedef an instruction set: vectors of u64 that may lie anywhere and alias the u64 they are read
 * from. */
typedef u64 vec8 __attribute__((vector_size(64), aligned(8), may_alias));
typedef u64 vec4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef u64 vec2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef u64 vec8_aligned __attribute__((vector_size(64)));
typedef u64 vec4_aligned __attribute__((vector_size(32)));
typedef u64 vec2_aligned __attribute__((vector_size(16)));
#define VEC_(lanes, kind) vec##lanes##kind
#define VEC_PASTE(lanes, kind) VEC_(lanes, kind)
#define VEC VEC_PASTE(LANES, _aligned)
#define VEC_LOAD(p) ((VEC)(*(const VEC_PASTE(LANES, ) *)(p)))
#define VEC_STORE(v, p) (*(VEC_PASTE(LANES, ) *)(p) = (v))
#define BAND_ZERO ((VEC){0})
#else
#define VEC u64
#define VEC_LOAD(p) (*(p))
#define VEC_STORE(v, p) (*(p) = (v))
#define BAND_ZERO ((u64)0)
#endif

#if defined(__GNUC__) && defined(__x86_64__)
#define NW_X86

#define ISA avx512
#define LANES 8
#define BAND_FN static inline __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2"), unused))
#include "banded_variants.h"
#undef ISA
#undef LANES
#undef BAND_FN

#define ISA avx2
#define LANES 4
#define BAND_FN static inline __attribute__((target("avx2,bmi2"), unused))
#include "banded_variants.h"
#undef ISA
#undef LANES
#undef BAND_FN
#endif

#define ISA generic
#if defined(__GNUC__)
#define LANES 2 /* SSE2, NEON; where there is neither, the compiler makes it two integers */
#define BAND_FN static inline __attribute__((unused))
#else
#define LANES 1
#define BAND_FN static inline
#endif
#include "banded_variants.h"
#undef ISA
#undef LANES
#undef BAND_FN

typedef struct {
    const char *name;
    void (*score[4])(const band_batch *, u16 *best, u16 *end);
    void (*profile[4])(const band_batch *, u64 *errors);
    int (*align[4])(const band_batch *, const band_paths *, u32 rows);
    int (*within[4])(const band_batch *, const u16 *limit, uint8_t *keep);
} nw_variant;

#define NW_EACH(name, isa) {name##_##isa##_1, name##_##isa##_2, name##_##isa##_4, name##_##isa##_8}
#define NW_VARIANT(isa) \
    {#isa, NW_EACH(nw_score, isa), NW_EACH(nw_profile, isa), NW_EACH(nw_align, isa), NW_EACH(nw_within, isa)}
static const nw_variant nw_variants[] = {
#ifdef NW_X86
    NW_VARIANT(avx512),
    NW_VARIANT(avx2),
#endif
    NW_VARIANT(generic),
};
enum { NW_VARIANTS = sizeof nw_variants / sizeof nw_variants[0] };

/* May variant i run on this processor? */
static inline int nw_usable(int i)
{
#ifdef NW_X86
    __builtin_cpu_init();
    if (i == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("bmi2");
    if (i == 1)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#endif
    return i >= 0 && i < NW_VARIANTS;
}

/* Runs of all pairs from their slots to one contiguous array; cigar_start gets each pair's place in it. */
static inline void nw_pack(const u32 *runs, const u32 *slot_end, const u16 *n_runs, u32 n, u32 *cigars,
                           u32 *cigar_start)
{
    u32 at = 0;
    for (u32 p = 0; p < n; p++) {
        cigar_start[p] = at;
        memcpy(cigars + at, runs + slot_end[p] - n_runs[p], n_runs[p] * sizeof(u32));
        at += n_runs[p];
    }
}
#endif
