/* AVX-512: vectors of 64 bytes. */
#include "lanes.h"
#ifdef LANES_X86
#include "cells.h"
#include "trace.h"
#define LANES_ISA avx512
#define LANES_BYTES 64
#define LANES_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2")))

LANES_INLINE LANES_TARGET void lookup_bytes(const u8 *row, const u8 *codes, u8 *to)
{
    __m512i code = _mm512_loadu_si512(codes);
    __m512i low = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)row));
    __m512i high = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(row + 16)));
    __mmask64 is_high = _mm512_movepi8_mask(_mm512_slli_epi16(code, 3)); /* bit 4 */
    __m512i found = _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(low, code), is_high, high, code);
    _mm512_storeu_si512(to, found);
}

LANES_INLINE LANES_TARGET __m512i shift_16(__m512i v, i16 x)
{
    i16 from[32];
    for (int l = 0; l < 32; l++)
        from[l] = (i16)(l - 1 + (l == 0));
    return _mm512_mask_set1_epi16(_mm512_permutexvar_epi16(_mm512_loadu_si512(from), v), 1, x);
}

LANES_INLINE LANES_TARGET __m512i load_eights(const i16 *from, i64 skip, const i32 *at)
{
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(from + at[0])));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(from + skip + at[8])), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(from + 2 * skip + at[16])), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(from + 3 * skip + at[24])), 3);
}

LANES_INLINE LANES_TARGET void put_masks_16(u8 *to, __mmask32 a, __mmask32 b, __mmask32 c, __mmask32 d)
{
    u32 bits[4] = {a, b, c, d};
    memcpy(to, bits, sizeof bits);
}

LANES_INLINE LANES_TARGET void put_masks_32(u8 *to, __mmask16 a, __mmask16 b, __mmask16 c, __mmask16 d)
{
    u16 bits[4] = {a, b, c, d};
    memcpy(to, bits, sizeof bits);
}

#define LANES_LOAD(p) _mm512_loadu_si512(p)
#define LANES_STORE(v, p) _mm512_storeu_si512((p), (v))
#define LANES_PICK(m, a, b) _mm512_ternarylogic_epi32((m), (a), (b), 0xCA)

#define LANES_BITS 8
#define LANES_NAME(x) x##_8
#define LANES_INT i8
#define V __m512i
#define V_LOAD LANES_LOAD
#define V_STORE LANES_STORE
#define V_SPLAT(x) _mm512_set1_epi8(x)
#define V_ADD _mm512_adds_epi8
#define V_SUB _mm512_subs_epi8
#define V_MAX _mm512_max_epi8
#define V_PICK LANES_PICK
#define V_MASK __mmask64
#define V_EQUAL _mm512_cmpeq_epi8_mask
#define V_ONLY _mm512_mask_mov_epi8
#include "lanes_columns.h"

#define LANES_BITS 16
#define LANES_NAME(x) x##_16
#define LANES_INT i16
#define V __m512i
#define V_LOAD LANES_LOAD
#define V_STORE LANES_STORE
#define V_SPLAT(x) _mm512_set1_epi16(x)
#define V_ADD _mm512_adds_epi16
#define V_SUB _mm512_subs_epi16
#define V_MAX _mm512_max_epi16
#define V_PICK LANES_PICK
#define V_MASK __mmask32
#define V_EQUAL _mm512_cmpeq_epi16_mask
#define V_ONLY _mm512_mask_mov_epi16
#define V_GREATER _mm512_cmpgt_epi16_mask
#define V_SHIFT shift_16
#define WAVE_PUT put_masks_16
#define WAVE_BIT(f, l) ((f)*32 + (l))
#define WAVE_EIGHTS load_eights
#define WAVE_LOW _mm512_unpacklo_epi16
#define WAVE_HIGH _mm512_unpackhi_epi16
#include "trace_wave.h"
#include "lanes_columns.h"

#define LANES_BITS 32
#define LANES_NAME(x) x##_32
#define LANES_INT i32
#define V __m512i
#define V_LOAD LANES_LOAD
#define V_STORE LANES_STORE
#define V_SPLAT(x) _mm512_set1_epi32(x)
#define V_ADD _mm512_add_epi32
#define V_SUB _mm512_sub_epi32
#define V_MAX _mm512_max_epi32
#define V_PICK LANES_PICK
#define V_MASK __mmask16
#define V_EQUAL _mm512_cmpeq_epi32_mask
#define V_ONLY _mm512_mask_mov_epi32
#define V_GREATER _mm512_cmpgt_epi32_mask
#define V_SHIFT(v, x) _mm512_mask_set1_epi32(_mm512_alignr_epi32((v), (v), 15), 1, (x))
#define WAVE_PUT put_masks_32
#define WAVE_BIT(f, l) ((f)*16 + (l))
#include "trace_wave.h"
#include "lanes_columns.h"

#include "lanes_table.h"
#else
typedef int not_for_this_processor; /* C wants at least one declaration */
#endif
