/* The CPU backend of kernels/local.h, compiled for each instruction set and chosen at run time as in nw_cpu.h. Names
 * are told apart by LOCAL_VARIANT. */
#ifndef GASSST_LOCAL_CPU_H
#define GASSST_LOCAL_CPU_H
#include "nw_cpu.h"

typedef int16_t i16;
typedef uint8_t u8;

#define LOCAL_VARIANT__(name, isa) name##_##isa
#define LOCAL_VARIANT_(name, isa) LOCAL_VARIANT__(name, isa)
#define LOCAL_VARIANT(name) LOCAL_VARIANT_(name, ISA)
#define local_lanes LOCAL_VARIANT(local_lanes)
#define local_state LOCAL_VARIANT(local_state)
#define local_block LOCAL_VARIANT(local_block)
#define local_open LOCAL_VARIANT(local_open)
#define local_planes LOCAL_VARIANT(local_planes)
#define local_unpack LOCAL_VARIANT(local_unpack)
#define local_load_reference LOCAL_VARIANT(local_load_reference)
#define local_load LOCAL_VARIANT(local_load)
#define local_reset LOCAL_VARIANT(local_reset)
#define local_note LOCAL_VARIANT(local_note)
#define local_row LOCAL_VARIANT(local_row)
#define local_forward LOCAL_VARIANT(local_forward)
#define local_put_ends LOCAL_VARIANT(local_put_ends)
#define local_score LOCAL_VARIANT(local_score)
#define local_push LOCAL_VARIANT(local_push)
#define local_walk LOCAL_VARIANT(local_walk)
#define local_align LOCAL_VARIANT(local_align)
#define LOCAL_WIDTH 512 /* at most */

#ifdef NW_X86
#include <immintrin.h>

/* Compilers do not make maxima and choices of vector expressions in C, so these name the instructions. */
#define ISA avx512
#define LOCAL_LANES 32
#define BAND_FN static inline __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2"), always_inline, unused))
#define LOCAL_LOOP static __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2")))
#define local_vec LOCAL_VARIANT(local_vec)
typedef i16 local_vec __attribute__((vector_size(64)));
#define LOCAL_LOAD(p) ((local_vec)_mm512_loadu_si512(p))
#define LOCAL_STORE(v, p) _mm512_storeu_si512((p), (__m512i)(v))
#define LOCAL_STORE_BYTES(v, p) _mm256_storeu_si256((__m256i *)(p), _mm512_cvtepi16_epi8((__m512i)(v)))
#define LOCAL_MAX(a, b) ((local_vec)_mm512_max_epi16((__m512i)(a), (__m512i)(b)))
#define LOCAL_IF_(test, a, b, yes, no) \
    ((local_vec)_mm512_mask_blend_epi16(test((__m512i)(a), (__m512i)(b)), (__m512i)(no), (__m512i)(yes)))
#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF_(_mm512_cmpeq_epi16_mask, a, b, yes, no)
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_(_mm512_cmpgt_epi16_mask, a, b, yes, no)
#define LOCAL_MARK_(test, flags, a, b, flag)                                                      \
    ((local_vec)_mm512_mask_add_epi16((__m512i)(flags), test((__m512i)(a), (__m512i)(b)), (__m512i)(flags), \
                                      _mm512_set1_epi16(flag)))
#define LOCAL_MARK_EQUAL(flags, a, b, flag) LOCAL_MARK_(_mm512_cmpeq_epi16_mask, flags, a, b, flag)
#define LOCAL_MARK_GREATER(flags, a, b, flag) LOCAL_MARK_(_mm512_cmpgt_epi16_mask, flags, a, b, flag)
#include "local_cpu_loops.h"

#define ISA avx2
#define LOCAL_LANES 16
#define BAND_FN static inline __attribute__((target("avx2,bmi2"), always_inline, unused))
#define LOCAL_LOOP static __attribute__((target("avx2,bmi2")))
#define local_vec LOCAL_VARIANT(local_vec)
typedef i16 local_vec __attribute__((vector_size(32)));
#define LOCAL_LOAD(p) ((local_vec)_mm256_loadu_si256((const __m256i *)(p)))
#define LOCAL_STORE(v, p) _mm256_storeu_si256((__m256i *)(p), (__m256i)(v))
#define LOCAL_STORE_BYTES(v, p)                                                             \
    _mm_storeu_si128((__m128i *)(p), _mm_packus_epi16(_mm256_castsi256_si128((__m256i)(v)), \
                                                      _mm256_extracti128_si256((__m256i)(v), 1)))
#define LOCAL_MAX(a, b) ((local_vec)_mm256_max_epi16((__m256i)(a), (__m256i)(b)))
#define LOCAL_IF_(test, a, b, yes, no) \
    ((local_vec)_mm256_blendv_epi8((__m256i)(no), (__m256i)(yes), test((__m256i)(a), (__m256i)(b))))
#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF_(_mm256_cmpeq_epi16, a, b, yes, no)
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_(_mm256_cmpgt_epi16, a, b, yes, no)
#define LOCAL_MARK_(test, flags, a, b, flag) ((flags) | ((local_vec)test((__m256i)(a), (__m256i)(b)) & LOCAL_SET(flag)))
#define LOCAL_MARK_EQUAL(flags, a, b, flag) LOCAL_MARK_(_mm256_cmpeq_epi16, flags, a, b, flag)
#define LOCAL_MARK_GREATER(flags, a, b, flag) LOCAL_MARK_(_mm256_cmpgt_epi16, flags, a, b, flag)
#include "local_cpu_loops.h"
#endif

#define ISA generic
#if defined(__GNUC__)
#define LOCAL_LANES 8 /* SSE2, NEON; where there is neither, the compiler makes it scalars */
#define BAND_FN static inline __attribute__((always_inline, unused))
#define local_vec LOCAL_VARIANT(local_vec)
typedef i16 local_vec __attribute__((vector_size(16)));
typedef i16 local_vec_anywhere __attribute__((vector_size(16), aligned(2), may_alias));
typedef u8 local_bytes __attribute__((vector_size(8), aligned(1), may_alias));
#define LOCAL_LOAD(p) ((local_vec)(*(const local_vec_anywhere *)(p)))
#define LOCAL_STORE(v, p) (*(local_vec_anywhere *)(p) = (v))
#define LOCAL_STORE_BYTES(v, p) (*(local_bytes *)(p) = __builtin_convertvector((v), local_bytes))
#define LOCAL_IF_(test, yes, no) (((test) & (yes)) | (~(test) & (no)))
#if defined(__SSE2__)
#define LOCAL_MAX(a, b) ((local_vec)_mm_max_epi16((__m128i)(a), (__m128i)(b)))
#else
#define LOCAL_MAX(a, b) LOCAL_IF_GREATER(a, b, a, b)
#endif
#else
#define LOCAL_LANES 1
#define BAND_FN static inline
#define local_vec LOCAL_VARIANT(local_vec)
typedef i16 local_vec;
#define LOCAL_LOAD(p) (*(p))
#define LOCAL_STORE(v, p) (*(p) = (v))
#define LOCAL_STORE_BYTES(v, p) (*(p) = (u8)(v))
#define LOCAL_IF_(test, yes, no) ((test) ? (yes) : (no))
#define LOCAL_MAX(a, b) LOCAL_IF_GREATER(a, b, a, b)
#endif
#define LOCAL_LOOP static
#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF_((a) == (b), yes, no)
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_((a) > (b), yes, no)
#define LOCAL_MARK_EQUAL(flags, a, b, flag) ((flags) | LOCAL_IF_EQUAL(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#define LOCAL_MARK_GREATER(flags, a, b, flag) ((flags) | LOCAL_IF_GREATER(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#include "local_cpu_loops.h"

typedef struct {
    void (*score)(const band_batch *, const local_scoring *, u32 width, const local_ends *);
    int (*align)(const band_batch *, const local_scoring *, u32 width, const local_ends *, const local_paths *,
                 u32 rows);
} local_variant;

/* In the order of nw_variants. */
static const local_variant local_variants[] = {
#ifdef NW_X86
    {local_scores_avx512, local_alignments_avx512},
    {local_scores_avx2, local_alignments_avx2},
#endif
    {local_scores_generic, local_alignments_generic},
};
#endif
