/* The CPU backend of kernels/local.h, compiled for each instruction set and chosen at run time as in banded.h. */
#ifndef GASSST_LOCAL_CPU_H
#define GASSST_LOCAL_CPU_H
#include "banded.h"

typedef int16_t i16;
typedef uint8_t u8;

#include "local_groups.h"

#define LOCAL_WIDTH 512 /* at most */
#define LOCAL_SET(x) ((local_vec){0} + (local_int)(x))

/* Of each instruction set a variant with lanes of 16 bits and one with bytes. */

#ifdef NW_X86
#include <immintrin.h>

/* Compilers do not make maxima and choices of vector expressions in C, so these name the instructions. */
#define BAND_FN static inline __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2"), always_inline, unused))
#define LOCAL_LOOP static __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2")))
#define LOCAL_LOAD(p) ((local_vec)_mm512_loadu_si512(p))
#define LOCAL_STORE(v, p) _mm512_storeu_si512((p), (__m512i)(v))
#define LOCAL_IF_(bits, test, a, b, yes, no) \
    ((local_vec)_mm512_mask_blend_epi##bits(test((__m512i)(a), (__m512i)(b)), (__m512i)(no), (__m512i)(yes)))
#define LOCAL_MARK_(bits, test, flags, a, b, flag)                                           \
    ((local_vec)_mm512_mask_add_epi##bits((__m512i)(flags), test((__m512i)(a), (__m512i)(b)), \
                                          (__m512i)(flags), _mm512_set1_epi##bits(flag)))

#define ISA avx512
#define LOCAL_BYTES 0
#define LOCAL_LANES 32
typedef i16 local_int;
typedef i16 local_vec __attribute__((vector_size(64)));
#define LOCAL_STORE_BYTES(v, p) _mm256_storeu_si256((__m256i *)(p), _mm512_cvtepi16_epi8((__m512i)(v)))
#define LOCAL_ADD(a, b) ((a) + (b))
#define LOCAL_MIN(a, b) ((local_vec)_mm512_min_epi16((__m512i)(a), (__m512i)(b)))
#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF_(16, _mm512_cmpeq_epi16_mask, a, b, yes, no)
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_(16, _mm512_cmpgt_epi16_mask, a, b, yes, no)
#define LOCAL_MARK_EQUAL(flags, a, b, flag) LOCAL_MARK_(16, _mm512_cmpeq_epi16_mask, flags, a, b, flag)
#define LOCAL_MARK_GREATER(flags, a, b, flag) LOCAL_MARK_(16, _mm512_cmpgt_epi16_mask, flags, a, b, flag)
#include "local_loops.h"
#undef LOCAL_IF_EQUAL
#undef LOCAL_MARK_EQUAL

#define ISA avx512_bytes
#define LOCAL_BYTES 1
#define LOCAL_LANES 64
typedef u8 local_int;
typedef u8 local_vec __attribute__((vector_size(64)));
#define LOCAL_STORE_BYTES(v, p) LOCAL_STORE(v, p)
#define LOCAL_ADD(a, b) ((local_vec)_mm512_adds_epu8((__m512i)(a), (__m512i)(b)))
#define LOCAL_MIN(a, b) ((local_vec)_mm512_min_epu8((__m512i)(a), (__m512i)(b)))
#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF_(8, _mm512_cmpeq_epu8_mask, a, b, yes, no)
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_(8, _mm512_cmpgt_epu8_mask, a, b, yes, no)
#define LOCAL_MARK_EQUAL(flags, a, b, flag) LOCAL_MARK_(8, _mm512_cmpeq_epu8_mask, flags, a, b, flag)
#define LOCAL_MARK_GREATER(flags, a, b, flag) LOCAL_MARK_(8, _mm512_cmpgt_epu8_mask, flags, a, b, flag)
#include "local_loops.h"

#undef BAND_FN
#undef LOCAL_LOOP
#undef LOCAL_LOAD
#undef LOCAL_STORE
#undef LOCAL_IF_
#undef LOCAL_IF_EQUAL
#undef LOCAL_MARK_
#undef LOCAL_MARK_EQUAL
#define BAND_FN static inline __attribute__((target("avx2,bmi2"), always_inline, unused))
#define LOCAL_LOOP static __attribute__((target("avx2,bmi2")))
#define LOCAL_LOAD(p) ((local_vec)_mm256_loadu_si256((const __m256i *)(p)))
#define LOCAL_STORE(v, p) _mm256_storeu_si256((__m256i *)(p), (__m256i)(v))
#define LOCAL_IF_(test, yes, no) ((local_vec)_mm256_blendv_epi8((__m256i)(no), (__m256i)(yes), test))
#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF_(LOCAL_EQUALS(a, b), yes, no)
#define LOCAL_MARK_EQUAL(flags, a, b, flag) ((flags) | ((local_vec)LOCAL_EQUALS(a, b) & LOCAL_SET(flag)))

#define ISA avx2
#define LOCAL_BYTES 0
#define LOCAL_LANES 16
typedef i16 local_int;
typedef i16 local_vec __attribute__((vector_size(32)));
#define LOCAL_STORE_BYTES(v, p)                                                             \
    _mm_storeu_si128((__m128i *)(p), _mm_packus_epi16(_mm256_castsi256_si128((__m256i)(v)), \
                                                      _mm256_extracti128_si256((__m256i)(v), 1)))
#define LOCAL_ADD(a, b) ((a) + (b))
#define LOCAL_MIN(a, b) ((local_vec)_mm256_min_epi16((__m256i)(a), (__m256i)(b)))
#define LOCAL_EQUALS(a, b) _mm256_cmpeq_epi16((__m256i)(a), (__m256i)(b))
#define LOCAL_GREATER(a, b) _mm256_cmpgt_epi16((__m256i)(a), (__m256i)(b))
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_(LOCAL_GREATER(a, b), yes, no)
#define LOCAL_MARK_GREATER(flags, a, b, flag) ((flags) | ((local_vec)LOCAL_GREATER(a, b) & LOCAL_SET(flag)))
#include "local_loops.h"

/* Unsigned bytes do not compare, but a > b unless min(a, b) = a. */
#define ISA avx2_bytes
#define LOCAL_BYTES 1
#define LOCAL_LANES 32
typedef u8 local_int;
typedef u8 local_vec __attribute__((vector_size(32)));
#define LOCAL_STORE_BYTES(v, p) LOCAL_STORE(v, p)
#define LOCAL_ADD(a, b) ((local_vec)_mm256_adds_epu8((__m256i)(a), (__m256i)(b)))
#define LOCAL_MIN(a, b) ((local_vec)_mm256_min_epu8((__m256i)(a), (__m256i)(b)))
#define LOCAL_EQUALS(a, b) _mm256_cmpeq_epi8((__m256i)(a), (__m256i)(b))
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_(LOCAL_EQUALS(LOCAL_MIN(a, b), a), no, yes)
#define LOCAL_MARK_GREATER(flags, a, b, flag) \
    ((flags) | (~(local_vec)LOCAL_EQUALS(LOCAL_MIN(a, b), a) & LOCAL_SET(flag)))
#include "local_loops.h"

#undef BAND_FN
#undef LOCAL_LOOP
#undef LOCAL_LOAD
#undef LOCAL_STORE
#undef LOCAL_IF_
#undef LOCAL_IF_EQUAL
#undef LOCAL_MARK_EQUAL
#endif

/* SSE2, NEON; where there is neither, the compiler makes it scalars. */
#define LOCAL_LOOP static
#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF_((a) == (b), yes, no)
#define LOCAL_MARK_EQUAL(flags, a, b, flag) ((flags) | LOCAL_IF_EQUAL(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#if defined(__GNUC__)
#define BAND_FN static inline __attribute__((always_inline, unused))
#define LOCAL_LOAD(p) ((local_vec)(*(const local_vec_anywhere *)(p)))
#define LOCAL_STORE(v, p) (*(local_vec_anywhere *)(p) = (local_vec_anywhere)(v))
#define LOCAL_IF_(test, yes, no) ((local_vec)(((local_vec)(test) & (yes)) | (~(local_vec)(test) & (no))))
typedef u8 local_vec_anywhere __attribute__((vector_size(16), aligned(1), may_alias));
typedef u8 local_half_anywhere __attribute__((vector_size(8), aligned(1), may_alias));
#define LOCAL_GENERIC_LANES 8
#else
#define BAND_FN static inline
#define LOCAL_LOAD(p) (*(p))
#define LOCAL_STORE(v, p) (*(p) = (v))
#define LOCAL_IF_(test, yes, no) ((test) ? (yes) : (no))
#define LOCAL_GENERIC_LANES 1
#endif

#define ISA generic
#define LOCAL_BYTES 0
#define LOCAL_LANES LOCAL_GENERIC_LANES
typedef i16 local_int;
#if defined(__GNUC__)
typedef i16 local_vec __attribute__((vector_size(16)));
#define LOCAL_STORE_BYTES(v, p) (*(local_half_anywhere *)(p) = __builtin_convertvector((v), local_half_anywhere))
#else
typedef i16 local_vec;
#undef LOCAL_SET
#define LOCAL_SET(x) ((i16)(x))
#define LOCAL_STORE_BYTES(v, p) (*(p) = (u8)(v))
#endif
#define LOCAL_ADD(a, b) ((a) + (b))
#if defined(__SSE2__)
#define LOCAL_MIN(a, b) ((local_vec)_mm_min_epi16((__m128i)(a), (__m128i)(b)))
#else
#define LOCAL_MIN(a, b) LOCAL_IF_GREATER(a, b, b, a)
#endif
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_((a) > (b), yes, no)
#define LOCAL_MARK_GREATER(flags, a, b, flag) ((flags) | LOCAL_IF_GREATER(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#include "local_loops.h"

#if defined(__GNUC__)
#define ISA generic_bytes
#define LOCAL_BYTES 1
#define LOCAL_LANES 16
typedef u8 local_int;
typedef u8 local_vec __attribute__((vector_size(16)));
#define LOCAL_STORE_BYTES(v, p) LOCAL_STORE(v, p)
#if defined(__SSE2__)
#define LOCAL_ADD(a, b) ((local_vec)_mm_adds_epu8((__m128i)(a), (__m128i)(b)))
#define LOCAL_MIN(a, b) ((local_vec)_mm_min_epu8((__m128i)(a), (__m128i)(b)))
#else
#define LOCAL_ADD(a, b) ((a) + LOCAL_MIN(b, ~(a)))
#define LOCAL_MIN(a, b) LOCAL_IF_GREATER(a, b, b, a)
#endif
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_((a) > (b), yes, no)
#define LOCAL_MARK_GREATER(flags, a, b, flag) ((flags) | LOCAL_IF_GREATER(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#include "local_loops.h"
#endif

/* -1 when there is no memory for one group's traceback. rows: of the longest read. */
#define LOCAL_DRIVER(isa, lanes, bytes, widest)                                                                   \
    LOCAL_GROUPS(isa, lanes, bytes, widest)                                                                       \
    static void local_scores_by_##isa(const band_batch *batch, const local_scoring *scoring, u32 width,           \
                                      const local_ends *ends)                                                     \
    {                                                                                                             \
        local_scores_##isa(batch, scoring, width, 0, 1, ends);                                                    \
    }                                                                                                             \
    static int local_alignments_by_##isa(const band_batch *batch, const local_scoring *scoring, u32 width,        \
                                         const local_ends *ends, const local_paths *paths, u32 rows)              \
    {                                                                                                             \
        u8 *trace = malloc((size_t)rows * width * 2 * (lanes == 1 ? 32 : lanes) + 1);                             \
        if (!trace)                                                                                               \
            return -1;                                                                                            \
        local_alignments_##isa(batch, scoring, width, 0, 1, ends, paths, trace);                                  \
        free(trace);                                                                                              \
        return 0;                                                                                                 \
    }
#ifdef NW_X86
LOCAL_DRIVER(avx512, 32, avx512_bytes, 256)
LOCAL_DRIVER(avx2, 16, avx2_bytes, 256)
#endif
#if defined(__GNUC__)
LOCAL_DRIVER(generic, 8, generic_bytes, 256)
#else
LOCAL_DRIVER(generic, 1, generic, 0)
#endif

typedef struct {
    void (*score)(const band_batch *, const local_scoring *, u32 width, const local_ends *);
    int (*align)(const band_batch *, const local_scoring *, u32 width, const local_ends *, const local_paths *,
                 u32 rows);
} local_variant;

/* In the order of nw_variants. */
static const local_variant local_variants[] = {
#ifdef NW_X86
    {local_scores_by_avx512, local_alignments_by_avx512},
    {local_scores_by_avx2, local_alignments_by_avx2},
#endif
    {local_scores_by_generic, local_alignments_by_generic},
};
#endif
