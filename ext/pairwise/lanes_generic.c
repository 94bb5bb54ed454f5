/* Every processor: vectors of 16 bytes, SSE2 or NEON; elsewhere plain C, where a vector is a struct of lanes and each
 * operation a loop over them. */
#include "cells.h"
#include "lanes.h"
#if defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#define LANES_NEON
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif
#define LANES_ISA generic
#define LANES_BYTES 16
#define LANES_TARGET

static inline void lookup_bytes(const u8 *row, const u8 *codes, u8 *to)
{
#ifdef LANES_NEON
    uint8x16x2_t table = {{vld1q_u8(row), vld1q_u8(row + 16)}};
    vst1q_u8(to, vqtbl2q_u8(table, vld1q_u8(codes)));
#else
    for (int l = 0; l < LANES_BYTES; l++)
        to[l] = row[codes[l]];
#endif
}

#ifdef LANES_NEON
#define LANES_OPERATIONS(bits, T, vec, add, subtract)                                                     \
    typedef vec vec_##bits;                                                                               \
    LANES_INLINE vec load_##bits(const T *p) { return vld1q_s##bits(p); }                                 \
    LANES_INLINE void store_##bits(vec v, T *p) { vst1q_s##bits(p, v); }                                  \
    LANES_INLINE vec splat_##bits(T x) { return vdupq_n_s##bits(x); }                                     \
    LANES_INLINE vec add_##bits(vec a, vec b) { return add(a, b); }                                       \
    LANES_INLINE vec subtract_##bits(vec a, vec b) { return subtract(a, b); }                             \
    LANES_INLINE vec max_##bits(vec a, vec b) { return vmaxq_s##bits(a, b); }                             \
    LANES_INLINE vec equal_##bits(vec a, vec b) { return vreinterpretq_s##bits##_u##bits(vceqq_s##bits(a, b)); } \
    LANES_INLINE vec pick_##bits(vec m, vec a, vec b)                                                     \
    {                                                                                                     \
        return vbslq_s##bits(vreinterpretq_u##bits##_s##bits(m), a, b);                                   \
    }
LANES_OPERATIONS(8, i8, int8x16_t, vqaddq_s8, vqsubq_s8)
LANES_OPERATIONS(16, i16, int16x8_t, vqaddq_s16, vqsubq_s16)
LANES_OPERATIONS(32, i32, int32x4_t, vaddq_s32, vsubq_s32)

#elif defined(__SSE2__)
#define LANES_OPERATIONS(bits, T, add, subtract)                                                          \
    typedef __m128i vec_##bits;                                                                           \
    LANES_INLINE __m128i load_##bits(const T *p) { return _mm_loadu_si128((const __m128i *)p); }          \
    LANES_INLINE void store_##bits(__m128i v, T *p) { _mm_storeu_si128((__m128i *)p, v); }                \
    LANES_INLINE __m128i splat_##bits(T x) { return _mm_set1_epi##bits(x); }                              \
    LANES_INLINE __m128i add_##bits(__m128i a, __m128i b) { return add(a, b); }                           \
    LANES_INLINE __m128i subtract_##bits(__m128i a, __m128i b) { return subtract(a, b); }                 \
    LANES_INLINE __m128i equal_##bits(__m128i a, __m128i b) { return _mm_cmpeq_epi##bits(a, b); }         \
    LANES_INLINE __m128i pick_##bits(__m128i m, __m128i a, __m128i b)                                     \
    {                                                                                                     \
        return _mm_or_si128(_mm_and_si128(m, a), _mm_andnot_si128(m, b));                                 \
    }                                                                                                     \
    LANES_INLINE __m128i max_##bits(__m128i a, __m128i b)                                                 \
    {                                                                                                     \
        return bits == 16 ? _mm_max_epi16(a, b) : pick_##bits(_mm_cmpgt_epi##bits(a, b), a, b);           \
    }
LANES_OPERATIONS(8, i8, _mm_adds_epi8, _mm_subs_epi8)
LANES_OPERATIONS(16, i16, _mm_adds_epi16, _mm_subs_epi16)
LANES_OPERATIONS(32, i32, _mm_add_epi32, _mm_sub_epi32)

#else
/* The operations on vectors of n lanes of type T, wide enough for sums in type W. */
#define LANES_OPERATIONS(bits, T, W, n, least, most)                                       \
    typedef struct {                                                                       \
        T lane[n];                                                                         \
    } vec_##bits;                                                                          \
    LANES_INLINE vec_##bits load_##bits(const T *p)                                        \
    {                                                                                      \
        vec_##bits v;                                                                      \
        memcpy(&v, p, sizeof v);                                                           \
        return v;                                                                          \
    }                                                                                      \
    LANES_INLINE void store_##bits(vec_##bits v, T *p)                                     \
    {                                                                                      \
        memcpy(p, &v, sizeof v);                                                           \
    }                                                                                      \
    LANES_INLINE vec_##bits splat_##bits(T x)                                              \
    {                                                                                      \
        vec_##bits v;                                                                      \
        for (int l = 0; l < n; l++)                                                        \
            v.lane[l] = x;                                                                 \
        return v;                                                                          \
    }                                                                                      \
    LANES_INLINE vec_##bits add_##bits(vec_##bits a, vec_##bits b)                         \
    {                                                                                      \
        for (int l = 0; l < n; l++) {                                                      \
            W sum = (W)((W)a.lane[l] + b.lane[l]);                                         \
            a.lane[l] = (T)(sum < (least) ? (least) : sum > (most) ? (most) : sum);        \
        }                                                                                  \
        return a;                                                                          \
    }                                                                                      \
    LANES_INLINE vec_##bits subtract_##bits(vec_##bits a, vec_##bits b)                    \
    {                                                                                      \
        for (int l = 0; l < n; l++) {                                                      \
            W sum = (W)((W)a.lane[l] - b.lane[l]);                                         \
            a.lane[l] = (T)(sum < (least) ? (least) : sum > (most) ? (most) : sum);        \
        }                                                                                  \
        return a;                                                                          \
    }                                                                                      \
    LANES_INLINE vec_##bits max_##bits(vec_##bits a, vec_##bits b)                         \
    {                                                                                      \
        for (int l = 0; l < n; l++)                                                        \
            a.lane[l] = a.lane[l] > b.lane[l] ? a.lane[l] : b.lane[l];                     \
        return a;                                                                          \
    }                                                                                      \
    LANES_INLINE vec_##bits equal_##bits(vec_##bits a, vec_##bits b)                       \
    {                                                                                      \
        for (int l = 0; l < n; l++)                                                        \
            a.lane[l] = (T)-(a.lane[l] == b.lane[l]);                                      \
        return a;                                                                          \
    }                                                                                      \
    LANES_INLINE vec_##bits pick_##bits(vec_##bits m, vec_##bits a, vec_##bits b)          \
    {                                                                                      \
        for (int l = 0; l < n; l++)                                                        \
            a.lane[l] = (T)((m.lane[l] & a.lane[l]) | (~m.lane[l] & b.lane[l]));           \
        return a;                                                                          \
    }

LANES_OPERATIONS(8, i8, i16, 16, INT8_MIN, INT8_MAX)
LANES_OPERATIONS(16, i16, i32, 8, INT16_MIN, INT16_MAX)
LANES_OPERATIONS(32, i32, i32, 4, INT32_MIN, INT32_MAX)
#endif

#define LANES_BITS 8
#define LANES_NAME(x) x##_8
#define LANES_INT i8
#define V vec_8
#define V_LOAD load_8
#define V_STORE store_8
#define V_SPLAT(x) splat_8((i8)(x))
#define V_ADD add_8
#define V_SUB subtract_8
#define V_MAX max_8
#define V_PICK pick_8
#define V_MASK vec_8
#define V_EQUAL equal_8
#define V_ONLY(s, m, v) pick_8(m, v, s)
#include "lanes_columns.h"

#define LANES_BITS 16
#define LANES_NAME(x) x##_16
#define LANES_INT i16
#define V vec_16
#define V_LOAD load_16
#define V_STORE store_16
#define V_SPLAT(x) splat_16((i16)(x))
#define V_ADD add_16
#define V_SUB subtract_16
#define V_MAX max_16
#define V_PICK pick_16
#define V_MASK vec_16
#define V_EQUAL equal_16
#define V_ONLY(s, m, v) pick_16(m, v, s)
#include "lanes_columns.h"

#define LANES_BITS 32
#define LANES_NAME(x) x##_32
#define LANES_INT i32
#define V vec_32
#define V_LOAD load_32
#define V_STORE store_32
#define V_SPLAT(x) splat_32((i32)(x))
#define V_ADD add_32
#define V_SUB subtract_32
#define V_MAX max_32
#define V_PICK pick_32
#define V_MASK vec_32
#define V_EQUAL equal_32
#define V_ONLY(s, m, v) pick_32(m, v, s)
#include "lanes_columns.h"

#include "lanes_table.h"
