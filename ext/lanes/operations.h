/* What compilers do not make of vector expressions in C, for one instruction set: maxima, minima, sums that saturate,
 * and tables looked up lane by lane. each_isa.h includes this once for each; numbers.h gives the
 * types. */
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif
#undef LANES_VECTOR
#undef LANES_MM
#undef LANES_CHOOSE
#undef MAX_F32
#undef MIN_F32
#undef MAX_F64
#undef MIN_F64
#undef MAX_I8
#undef MAX_I16
#undef MIN_I16
#undef MAX_I32
#undef MIN_I32
#undef ADD_I8
#undef ADD_I16
#if LANES_BYTES
#define LANES_VECTOR(T) __attribute__((vector_size(LANES_BYTES))) T
typedef int8_t ISA_(anywhere) __attribute__((vector_size(LANES_BYTES), aligned(1), may_alias));
#else
#define LANES_VECTOR(T) T
#endif
typedef LANES_VECTOR(float) ISA_(F32);
typedef LANES_VECTOR(double) ISA_(F64);
typedef LANES_VECTOR(int8_t) ISA_(I8);
typedef LANES_VECTOR(int16_t) ISA_(I16);
typedef LANES_VECTOR(int32_t) ISA_(I32);
typedef LANES_VECTOR(int64_t) ISA_(I64);

/* An instruction of whole vectors, by its name in x86. */
#if LANES_BYTES == 64
#define LANES_MM(name, T, a, b) _mm512_##name((__m512##T)(a), (__m512##T)(b))
#elif LANES_BYTES == 32
#define LANES_MM(name, T, a, b) _mm256_##name((__m256##T)(a), (__m256##T)(b))
#elif LANES_BYTES && defined(__SSE2__)
#define LANES_MM(name, T, a, b) _mm_##name((__m128##T)(a), (__m128##T)(b))
#endif

#if LANES_BYTES
#define LANES_CHOOSE(B, mask, yes, no) ((__typeof__(yes))(((B)(mask) & (B)(yes)) | (~(B)(mask) & (B)(no))))
#else
#define LANES_CHOOSE(B, mask, yes, no) ((mask) ? (yes) : (no))
#endif

#ifdef LANES_MM
#define MAX_F32(a, b) ((ISA_(F32))LANES_MM(max_ps, , a, b))
#define MIN_F32(a, b) ((ISA_(F32))LANES_MM(min_ps, , a, b))
#define MAX_F64(a, b) ((ISA_(F64))LANES_MM(max_pd, d, a, b))
#define MIN_F64(a, b) ((ISA_(F64))LANES_MM(min_pd, d, a, b))
#define MAX_I16(a, b) ((ISA_(I16))LANES_MM(max_epi16, i, a, b))
#define MIN_I16(a, b) ((ISA_(I16))LANES_MM(min_epi16, i, a, b))
#define ADD_I8(a, b) ((ISA_(I8))LANES_MM(adds_epi8, i, a, b))
#define ADD_I16(a, b) ((ISA_(I16))LANES_MM(adds_epi16, i, a, b))
#else
#define MAX_F32(a, b) LANES_CHOOSE(ISA_(I32), (a) > (b), a, b)
#define MIN_F32(a, b) LANES_CHOOSE(ISA_(I32), (a) < (b), a, b)
#define MAX_F64(a, b) LANES_CHOOSE(ISA_(I64), (a) > (b), a, b)
#define MIN_F64(a, b) LANES_CHOOSE(ISA_(I64), (a) < (b), a, b)
#define MAX_I16(a, b) LANES_CHOOSE(ISA_(I16), (a) > (b), a, b)
#define MIN_I16(a, b) LANES_CHOOSE(ISA_(I16), (a) < (b), a, b)
#if defined(__ARM_NEON) && LANES_BYTES
#define ADD_I8(a, b) ((ISA_(I8))vqaddq_s8((int8x16_t)(a), (int8x16_t)(b)))
#define ADD_I16(a, b) ((ISA_(I16))vqaddq_s16((int16x8_t)(a), (int16x8_t)(b)))
#else
#define LANES_SATURATED(name, T, V, most)                                               \
    static inline V name(V a, V b)                                                      \
    {                                                                                   \
        for (int l = 0; l < (int)(sizeof a / sizeof(T)); l++) {                         \
            const int sum = ((T *)&a)[l] + ((T *)&b)[l];                                \
            ((T *)&a)[l] = (T)(sum > most ? most : sum < -most - 1 ? -most - 1 : sum);  \
        }                                                                               \
        return a;                                                                       \
    }
LANES_SATURATED(ISA_(saturated_8), int8_t, ISA_(I8), INT8_MAX)
LANES_SATURATED(ISA_(saturated_16), int16_t, ISA_(I16), INT16_MAX)
#define ADD_I8(a, b) ISA_(saturated_8)(a, b)
#define ADD_I16(a, b) ISA_(saturated_16)(a, b)
#endif
#endif
#if LANES_BYTES > 16
#define MAX_I8(a, b) ((ISA_(I8))LANES_MM(max_epi8, i, a, b))
#define MAX_I32(a, b) ((ISA_(I32))LANES_MM(max_epi32, i, a, b))
#define MIN_I32(a, b) ((ISA_(I32))LANES_MM(min_epi32, i, a, b))
#else
#define MAX_I8(a, b) LANES_CHOOSE(ISA_(I8), (a) > (b), a, b)
#define MAX_I32(a, b) LANES_CHOOSE(ISA_(I32), (a) > (b), a, b)
#define MIN_I32(a, b) LANES_CHOOSE(ISA_(I32), (a) < (b), a, b)
#endif
#define ADD_I32(a, b) ((a) + (b))
/* table[index[l]] of each lane. Of a table with more than 32 numbers at most two behind its end are read, and not used. */
LANES_ALWAYS LANES_TARGET ISA_(I16) ISA_(lookup)(const int16_t *table, int size, ISA_(I16) index)
{
#if LANES_BYTES == 64
    const __m512i i = (__m512i)index;
    if (size <= 32)
        return (ISA_(I16))_mm512_permutexvar_epi16(i, _mm512_loadu_si512(table));
    if (size <= 128) {
        const __m512i low = _mm512_permutex2var_epi16(_mm512_loadu_si512(table), i, _mm512_loadu_si512(table + 32));
        if (size <= 64)
            return (ISA_(I16))low;
        return (ISA_(I16))_mm512_mask_mov_epi16(
            low, _mm512_test_epi16_mask(i, _mm512_set1_epi16(64)),
            _mm512_permutex2var_epi16(_mm512_loadu_si512(table + 64), i, _mm512_loadu_si512(table + 96)));
    }
    const __m512i first = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(i));
    const __m512i second = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(i, 1));
    return (ISA_(I16))_mm512_inserti64x4(
        _mm512_castsi256_si512(_mm512_cvtepi32_epi16(_mm512_i32gather_epi32(first, table, 2))),
        _mm512_cvtepi32_epi16(_mm512_i32gather_epi32(second, table, 2)), 1);
#elif LANES_BYTES == 32
    const __m256i i = (__m256i)index, low = _mm256_set1_epi32(0xFFFF);
    const __m256i even = _mm256_and_si256(_mm256_i32gather_epi32((const int *)table, _mm256_and_si256(i, low), 2), low);
    const __m256i odd = _mm256_i32gather_epi32((const int *)table, _mm256_srli_epi32(i, 16), 2);
    (void)size;
    return (ISA_(I16))_mm256_or_si256(even, _mm256_slli_epi32(odd, 16));
#else
    ISA_(I16) found = index;
    (void)size;
    for (int l = 0; l < (int)(sizeof index / sizeof *table); l++)
        ((int16_t *)&found)[l] = table[((int16_t *)&index)[l]];
    return found;
#endif
}

/* Likewise of a table of 32 numbers of single precision. */
LANES_ALWAYS LANES_TARGET ISA_(F32) ISA_(lookup_single)(const float *table, ISA_(I32) index)
{
#if LANES_BYTES == 64
    return (ISA_(F32))_mm512_permutex2var_ps(_mm512_loadu_ps(table), (__m512i)index, _mm512_loadu_ps(table + 16));
#elif LANES_BYTES == 32
    return (ISA_(F32))_mm256_i32gather_ps(table, (__m256i)index, 4);
#else
    ISA_(F32) found = {0};
    for (int l = 0; l < (int)(sizeof index / sizeof *table); l++)
        ((float *)&found)[l] = table[((int32_t *)&index)[l]];
    return found;
#endif
}

/* Lanes moved up by one; the lowest takes the highest of `below`. */
LANES_ALWAYS LANES_TARGET ISA_(I8) ISA_(moved)(ISA_(I8) v, ISA_(I8) below)
{
#if LANES_BYTES == 64
    return (ISA_(I8))_mm512_alignr_epi8((__m512i)v, _mm512_alignr_epi32((__m512i)v, (__m512i)below, 12), 15);
#elif LANES_BYTES == 32
    return (ISA_(I8))_mm256_alignr_epi8((__m256i)v, _mm256_permute2x128_si256((__m256i)v, (__m256i)below, 3), 15);
#elif LANES_BYTES && defined(__SSE2__)
    return (ISA_(I8))_mm_or_si128(_mm_slli_si128((__m128i)v, 1), _mm_srli_si128((__m128i)below, 15));
#elif LANES_BYTES && defined(__ARM_NEON)
    return (ISA_(I8))vextq_s8((int8x16_t)below, (int8x16_t)v, 15);
#else
    ISA_(I8) found = below;
    for (int l = 0; l < (int)sizeof v; l++)
        ((int8_t *)&found)[l] = l ? ((int8_t *)&v)[l - 1] : ((int8_t *)&below)[sizeof v - 1];
    return found;
#endif
}
