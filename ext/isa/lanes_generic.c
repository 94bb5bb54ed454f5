/* Every processor: vectors of 16 bytes, SSE2 or NEON; elsewhere plain C, where a vector is a struct of lanes and each
 * operation a loop over them. */
#include "cells.h"
#include "lanes.h"
#include "trace.h"
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
    LANES_INLINE vec greater_##bits(vec a, vec b) { return vreinterpretq_s##bits##_u##bits(vcgtq_s##bits(a, b)); } \
    LANES_INLINE vec shift_##bits(vec v, T x) { return vextq_s##bits(vdupq_n_s##bits(x), v, 16 / sizeof(T) - 1); } \
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
    LANES_INLINE __m128i greater_##bits(__m128i a, __m128i b) { return _mm_cmpgt_epi##bits(a, b); }       \
    LANES_INLINE __m128i shift_##bits(__m128i v, T x)                                                     \
    {                                                                                                     \
        return _mm_or_si128(_mm_slli_si128(v, bits / 8), _mm_cvtsi32_si128(bits == 16 ? (u16)x : x));     \
    }                                                                                                     \
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
    LANES_INLINE vec_##bits greater_##bits(vec_##bits a, vec_##bits b)                     \
    {                                                                                      \
        for (int l = 0; l < n; l++)                                                        \
            a.lane[l] = (T)-(a.lane[l] > b.lane[l]);                                       \
        return a;                                                                          \
    }                                                                                      \
    LANES_INLINE vec_##bits shift_##bits(vec_##bits v, T x)                                \
    {                                                                                      \
        for (int l = n - 1; l > 0; l--)                                                    \
            v.lane[l] = v.lane[l - 1];                                                     \
        v.lane[0] = x;                                                                     \
        return v;                                                                          \
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

/* Bit f * lanes + l: mask f, lane l. */
#ifdef __SSE2__
LANES_INLINE void put_masks_16(u8 *to, __m128i a, __m128i b, __m128i c, __m128i d)
{
    int low = _mm_movemask_epi8(_mm_packs_epi16(a, b)), high = _mm_movemask_epi8(_mm_packs_epi16(c, d));
    u32 bits = (u32)(low | high << 16);
    memcpy(to, &bits, sizeof bits);
}

LANES_INLINE void put_masks_32(u8 *to, __m128i a, __m128i b, __m128i c, __m128i d)
{
    u16 bits = (u16)_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)));
    memcpy(to, &bits, sizeof bits);
}
#elif defined(LANES_NEON)
LANES_INLINE u8 bits_16(int16x8_t mask)
{
    static const u16 bit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    return (u8)vaddvq_u16(vandq_u16(vreinterpretq_u16_s16(mask), vld1q_u16(bit)));
}

LANES_INLINE void put_masks_16(u8 *to, int16x8_t a, int16x8_t b, int16x8_t c, int16x8_t d)
{
    to[0] = bits_16(a);
    to[1] = bits_16(b);
    to[2] = bits_16(c);
    to[3] = bits_16(d);
}

LANES_INLINE void put_masks_32(u8 *to, int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d)
{
    to[0] = bits_16(vcombine_s16(vmovn_s32(a), vmovn_s32(b)));
    to[1] = bits_16(vcombine_s16(vmovn_s32(c), vmovn_s32(d)));
}
#else
LANES_INLINE void put_masks_16(u8 *to, vec_16 a, vec_16 b, vec_16 c, vec_16 d)
{
    const vec_16 *masks[4] = {&a, &b, &c, &d};
    for (int f = 0; f < 4; f++) {
        to[f] = 0;
        for (int l = 0; l < 8; l++)
            to[f] |= (u8)((masks[f]->lane[l] & 1) << l);
    }
}

LANES_INLINE void put_masks_32(u8 *to, vec_32 a, vec_32 b, vec_32 c, vec_32 d)
{
    const vec_32 *masks[4] = {&a, &b, &c, &d};
    to[0] = to[1] = 0;
    for (int f = 0; f < 4; f++)
        for (int l = 0; l < 4; l++)
            to[f / 2] |= (u8)((masks[f]->lane[l] & 1) << (f % 2 * 4 + l));
}
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
#define V_GREATER greater_16
#define V_SHIFT(v, x) shift_16((v), (x))
#define WAVE_PUT put_masks_16
#ifdef LANES_NEON
#define WAVE_LOW vzip1q_s16
#define WAVE_HIGH vzip2q_s16
#elif defined(__SSE2__)
#define WAVE_LOW _mm_unpacklo_epi16
#define WAVE_HIGH _mm_unpackhi_epi16
#endif
#define WAVE_EIGHTS(from, skip, at) load_16((from) + (at)[0])
#define WAVE_BIT(f, l) ((f)*8 + (l))
#include "trace_wave.h"
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
#define V_GREATER greater_32
#define V_SHIFT(v, x) shift_32((v), (x))
#define WAVE_PUT put_masks_32
#define WAVE_BIT(f, l) ((f)*4 + (l))
#include "trace_wave.h"
#include "lanes_columns.h"

#include "lanes_table.h"
