/* AVX2: vectors of 32 bytes. */
#include "lanes.h"
#ifdef LANES_X86
#include "cells.h"
#include "trace.h"
#define LANES_ISA avx2
#define LANES_BYTES 32
#define LANES_TARGET __attribute__((target("avx2,bmi2")))

LANES_INLINE LANES_TARGET void lookup_bytes(const u8 *row, const u8 *codes, u8 *to)
{
    __m256i code = _mm256_loadu_si256((const __m256i *)codes);
    __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)row));
    __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(row + 16)));
    __m256i is_high = _mm256_slli_epi16(code, 3); /* bit 4 of the code becomes that of the sign */
    __m256i found = _mm256_blendv_epi8(_mm256_shuffle_epi8(low, code), _mm256_shuffle_epi8(high, code), is_high);
    _mm256_storeu_si256((__m256i *)to, found);
}

/* The lanes before, of `bytes` each, and 0 in the first. */
#define LANES_BEFORE(v, bytes) _mm256_alignr_epi8((v), _mm256_permute2x128_si256((v), (v), 0x08), 16 - (bytes))
#define LANES_FIRST(x) _mm256_inserti128_si256(_mm256_setzero_si256(), _mm_cvtsi32_si128(x), 0)

LANES_INLINE LANES_TARGET __m256i load_eights(const i16 *from, i64 skip, const i32 *at)
{
    __m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(from + at[0])));
    return _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)(from + skip + at[8])), 1);
}

LANES_INLINE LANES_TARGET void put_masks_16(u8 *to, __m256i a, __m256i b, __m256i c, __m256i d)
{
    u32 bits[2] = {(u32)_mm256_movemask_epi8(_mm256_packs_epi16(a, b)),
                   (u32)_mm256_movemask_epi8(_mm256_packs_epi16(c, d))};
    memcpy(to, bits, sizeof bits);
}

LANES_INLINE LANES_TARGET void put_masks_32(u8 *to, __m256i a, __m256i b, __m256i c, __m256i d)
{
    __m256i both = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    u32 bits = (u32)_mm256_movemask_epi8(both);
    memcpy(to, &bits, sizeof bits);
}

#define LANES_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define LANES_STORE(v, p) _mm256_storeu_si256((__m256i *)(p), (v))
#define LANES_PICK(m, a, b) _mm256_blendv_epi8((b), (a), (m))

#define LANES_BITS 8
#define LANES_NAME(x) x##_8
#define LANES_INT i8
#define V __m256i
#define V_LOAD LANES_LOAD
#define V_STORE LANES_STORE
#define V_SPLAT(x) _mm256_set1_epi8(x)
#define V_ADD _mm256_adds_epi8
#define V_SUB _mm256_subs_epi8
#define V_MAX _mm256_max_epi8
#define V_PICK LANES_PICK
#define V_MASK __m256i
#define V_EQUAL _mm256_cmpeq_epi8
#define V_ONLY(s, m, v) LANES_PICK(m, v, s)
#include "lanes_columns.h"

#define LANES_BITS 16
#define LANES_NAME(x) x##_16
#define LANES_INT i16
#define V __m256i
#define V_LOAD LANES_LOAD
#define V_STORE LANES_STORE
#define V_SPLAT(x) _mm256_set1_epi16(x)
#define V_ADD _mm256_adds_epi16
#define V_SUB _mm256_subs_epi16
#define V_MAX _mm256_max_epi16
#define V_PICK LANES_PICK
#define V_MASK __m256i
#define V_EQUAL _mm256_cmpeq_epi16
#define V_ONLY(s, m, v) LANES_PICK(m, v, s)
#define V_GREATER _mm256_cmpgt_epi16
#define V_SHIFT(v, x) _mm256_or_si256(LANES_BEFORE(v, 2), LANES_FIRST((u16)(x)))
#define WAVE_PUT put_masks_16
#define WAVE_EIGHTS load_eights
#define WAVE_LOW _mm256_unpacklo_epi16
#define WAVE_HIGH _mm256_unpackhi_epi16
#define WAVE_BIT(f, l) (((f) >> 1) * 32 + ((l) >> 3) * 16 + ((f)&1) * 8 + ((l)&7))
#include "trace_wave.h"
#include "lanes_columns.h"

#define LANES_BITS 32
#define LANES_NAME(x) x##_32
#define LANES_INT i32
#define V __m256i
#define V_LOAD LANES_LOAD
#define V_STORE LANES_STORE
#define V_SPLAT(x) _mm256_set1_epi32(x)
#define V_ADD _mm256_add_epi32
#define V_SUB _mm256_sub_epi32
#define V_MAX _mm256_max_epi32
#define V_PICK LANES_PICK
#define V_MASK __m256i
#define V_EQUAL _mm256_cmpeq_epi32
#define V_ONLY(s, m, v) LANES_PICK(m, v, s)
#define V_GREATER _mm256_cmpgt_epi32
#define V_SHIFT(v, x) _mm256_or_si256(LANES_BEFORE(v, 4), LANES_FIRST(x))
#define WAVE_PUT put_masks_32
#define WAVE_BIT(f, l) (((l) >> 2) * 16 + (f)*4 + ((l)&3))
#include "trace_wave.h"
#include "lanes_columns.h"

#include "lanes_table.h"
#else
typedef int not_for_this_processor; /* C wants at least one declaration */
#endif
