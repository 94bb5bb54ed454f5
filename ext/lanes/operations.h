/* What compilers do not make of vector expressions in C, for one instruction set: maxima, minima, sums that saturate,
 * masks, choices, shifts, and tables looked up lane by lane. each_isa.h includes this once for each; numbers.h gives the
 * types. */
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif
#undef LANES_VECTOR
#undef LANES_MM
#undef LANES_CHOOSE
#undef LANES_SHIFT
#undef MASK_OF
#undef EQUAL_OF
#undef GREATER_OF
#undef CHOOSE_OF
#undef BIT_OF
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
#undef LOW_I16
#undef HIGH_I16
#undef PUT_I16
#undef PUT_I32
#undef LANES_PACKED
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

/* Masks of lanes of 8, 16 or 32 bits: a bit for each lane, or a vector of -1 and 0. */
#if LANES_BYTES == 64
#define MASK_OF(kind) LANES_JOIN(LANES_MASK, kind)
#define LANES_MASK_I8 __mmask64
#define LANES_MASK_I16 __mmask32
#define LANES_MASK_I32 __mmask16
#define EQUAL_OF(bits, a, b) LANES_NAMED(_mm512_cmpeq_epi, bits, _mask)((__m512i)(a), (__m512i)(b))
#define GREATER_OF(bits, a, b) LANES_NAMED(_mm512_cmpgt_epi, bits, _mask)((__m512i)(a), (__m512i)(b))
#define CHOOSE_OF(bits, mask, yes, no) \
    ((__typeof__(yes))LANES_NAMED(_mm512_mask_blend_epi, bits, )(mask, (__m512i)(no), (__m512i)(yes)))
#else
#define MASK_OF(kind) ISA_(kind)
#define EQUAL_OF(bits, a, b) ((a) == (b))
#define GREATER_OF(bits, a, b) ((a) > (b))
#if LANES_BYTES == 32
#define CHOOSE_OF(bits, mask, yes, no) ((__typeof__(yes))_mm256_blendv_epi8((__m256i)(no), (__m256i)(yes), (__m256i)(mask)))
#else
#define CHOOSE_OF(bits, mask, yes, no) LANES_CHOOSE(ISA_(LANES_NAMED(I, bits, )), mask, yes, no)
#endif
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
#define LOW_I16(a, b) ((ISA_(I16))LANES_MM(unpacklo_epi16, i, a, b))
#define HIGH_I16(a, b) ((ISA_(I16))LANES_MM(unpackhi_epi16, i, a, b))
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
/* The first four of each eight numbers of a and b in turn, and the last four. */
#if LANES_BYTES && !defined(LANES_MM)
#if defined(__clang__)
#define LANES_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define LANES_MIX(a, b, ...) __builtin_shuffle(a, b, (ISA_(I16)){__VA_ARGS__})
#endif
#define LOW_I16(a, b) LANES_MIX(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_I16(a, b) LANES_MIX(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#endif

/* Each lane takes the number of the one before it, the lowest `first`. */
#if !LANES_BYTES
#define LANES_SHIFT(V, T) \
    static inline V LANES_JOIN(shift, V)(V v, T first) { return (void)v, first; }
#else
#if defined(__clang__) /* puts the moves together; GCC does not, but has a shuffle whose order is a vector */
#define LANES_BEFORE(V, v, moved) \
    V moved = v;                  \
    for (int l = 1; l < (int)(sizeof v / sizeof v[0]); l++) \
        moved[l] = v[l - 1]
#else
#define LANES_BEFORE(V, v, moved)                           \
    V moved;                                                \
    for (int l = 0; l < (int)(sizeof v / sizeof v[0]); l++) \
        moved[l] = l - 1 + (l == 0);                        \
    moved = __builtin_shuffle(v, moved)
#endif
#define LANES_SHIFT(V, T)                                                 \
    LANES_ALWAYS LANES_TARGET V LANES_JOIN(shift, V)(V v, T first)        \
    {                                                                     \
        LANES_BEFORE(V, v, moved);                                        \
        moved[0] = first;                                                 \
        return moved;                                                     \
    }
#endif
LANES_SHIFT(ISA_(I16), int16_t)
LANES_SHIFT(ISA_(I32), int32_t)

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

/* row[codes[l]] of each of so many bytes; a row has 32. */
LANES_ALWAYS LANES_TARGET void ISA_(lookup_bytes)(const uint8_t *row, const uint8_t *codes, uint8_t *to)
{
#if LANES_BYTES == 64
    const __m512i code = _mm512_loadu_si512(codes);
    const __m512i low = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)row));
    const __m512i high = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(row + 16)));
    const __mmask64 is_high = _mm512_movepi8_mask(_mm512_slli_epi16(code, 3)); /* bit 4 becomes that of the sign */
    _mm512_storeu_si512(to, _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(low, code), is_high, high, code));
#elif LANES_BYTES == 32
    const __m256i code = _mm256_loadu_si256((const __m256i *)codes);
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)row));
    const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(row + 16)));
    _mm256_storeu_si256((__m256i *)to, _mm256_blendv_epi8(_mm256_shuffle_epi8(low, code), _mm256_shuffle_epi8(high, code),
                                                          _mm256_slli_epi16(code, 3)));
#elif LANES_BYTES && defined(__ARM_NEON)
    const uint8x16x2_t table = {{vld1q_u8(row), vld1q_u8(row + 16)}};
    vst1q_u8(to, vqtbl2q_u8(table, vld1q_u8(codes)));
#else
    for (int l = 0; l < (int)sizeof(ISA_(I8)); l++)
        to[l] = row[codes[l]];
#endif
}

/* Eight neighbouring numbers for each of lanes 0, 8, 16 ..: at from + at[0], from + skip + at[8], from + 2 * skip + at[16] .. */
LANES_ALWAYS LANES_TARGET ISA_(I16) ISA_(eights)(const int16_t *from, int64_t skip, const int32_t *at)
{
#if LANES_BYTES == 64
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(from + at[0])));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(from + skip + at[8])), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(from + 2 * skip + at[16])), 2);
    return (ISA_(I16))_mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(from + 3 * skip + at[24])), 3);
#elif LANES_BYTES == 32
    const __m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(from + at[0])));
    return (ISA_(I16))_mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)(from + skip + at[8])), 1);
#else
    ISA_(I16) v;
    (void)skip;
    memcpy(&v, from + at[0], sizeof v);
    return v;
#endif
}

#if LANES_BYTES
/* Eight neighbouring numbers of each lane to eight rows of lanes, by transposing in three rounds: lane l has from[at[l] +
 * l * skip] and those behind it. */
LANES_ALWAYS LANES_TARGET void ISA_(transpose)(const int16_t *from, int64_t skip, const int32_t *at, int16_t *to)
{
    ISA_(I16) a[8], b[8];
    for (int i = 0; i < 8; i++)
        a[i] = ISA_(eights)(from + i * skip, 8 * skip, at + i);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            b[2 * i] = LOW_I16(a[i], a[i + 4]);
            b[2 * i + 1] = HIGH_I16(a[i], a[i + 4]);
        }
        for (int i = 0; i < 8; i++)
            a[i] = b[i];
    }
    for (int i = 0; i < 8; i++)
        *(ISA_(anywhere) *)(to + i * (LANES_BYTES / 2)) = (ISA_(anywhere))a[i];
}
#endif

/* The bits of four masks, half a byte for each lane: that of a lane of mask 0 .. 3 is bit BIT_OF(bits, mask, lane). */
#if LANES_BYTES == 64
#define BIT_OF(bits, mask, lane) ((mask) * (512 / (bits)) + (lane))
#define PUT_I16(to, a, b, c, d) memcpy(to, ((const __mmask32[4]){a, b, c, d}), 16)
#define PUT_I32(to, a, b, c, d) memcpy(to, ((const __mmask16[4]){a, b, c, d}), 8)
#elif LANES_BYTES /* they are packed within each 16 bytes */
#define BIT_OF(bits, mask, lane)                                                                   \
    ((bits) == 16 ? ((mask) >> 1) * LANES_BYTES + ((lane) >> 3) * 16 + ((mask)&1) * 8 + ((lane)&7) \
                  : ((lane) >> 2) * 16 + (mask)*4 + ((lane)&3))
#define PUT_I16(to, a, b, c, d) \
    (ISA_(put_signs)(to, LANES_PACKED(8, 16, a, b)), ISA_(put_signs)((to) + LANES_BYTES / 8, LANES_PACKED(8, 16, c, d)))
#define PUT_I32(to, a, b, c, d) \
    ISA_(put_signs)(to, LANES_PACKED(8, 16, LANES_PACKED(16, 32, a, b), LANES_PACKED(16, 32, c, d)))
#ifdef LANES_MM
#define LANES_PACKED(half, bits, a, b) ((ISA_(I##half))LANES_MM(packs_epi##bits, i, a, b))
#else
typedef int16_t ISA_(twice_16) __attribute__((vector_size(2 * LANES_BYTES)));
typedef int32_t ISA_(twice_32) __attribute__((vector_size(2 * LANES_BYTES)));
#define LANES_PACKED(half, bits, a, b) \
    __builtin_convertvector(((union { ISA_(I##bits) one[2]; ISA_(twice_##bits) both; }){{a, b}}).both, ISA_(I##half))
#endif

LANES_ALWAYS LANES_TARGET void ISA_(put_signs)(uint8_t *to, ISA_(I8) v)
{
#if LANES_BYTES == 32
    const uint32_t bits = (uint32_t)_mm256_movemask_epi8((__m256i)v);
    memcpy(to, &bits, sizeof bits);
#elif defined(LANES_MM)
    const uint16_t bits = (uint16_t)_mm_movemask_epi8((__m128i)v);
    memcpy(to, &bits, sizeof bits);
#else
    to[0] = to[1] = 0;
    for (int l = 0; l < LANES_BYTES; l++)
        to[l / 8] |= (uint8_t)((v[l] & 1) << l % 8);
#endif
}
#else
#define BIT_OF(bits, mask, lane) (mask)
#define PUT_I16(to, a, b, c, d) (*(to) = (uint8_t)((a) | (b) << 1 | (c) << 2 | (d) << 3))
#define PUT_I32(to, a, b, c, d) PUT_I16(to, a, b, c, d)
#endif
