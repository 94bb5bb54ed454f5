/* AVX-512: vectors of 64 bytes. */
#include "lanes.h"
#ifdef LANES_X86
#include "cells.h"
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
#include "lanes_columns.h"

#include "lanes_table.h"
#else
typedef int not_for_this_processor; /* C wants at least one declaration */
#endif
