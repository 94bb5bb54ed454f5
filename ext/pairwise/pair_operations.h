/* What pairs need of an instruction set beside operations.h: masks, choices, shifts, and rows of lanes from what lies side by
 * side. The templates of pairs include this first; the names of numbers of one kind are at the end. */
#include <string.h>
#undef LANES_SHIFT
#undef MASK_OF
#undef EQUAL_OF
#undef GREATER_OF
#undef CHOOSE_OF
#undef BIT_OF
#undef LOW_I16
#undef HIGH_I16
#undef PUT_I16
#undef PUT_I32
#undef LANES_PACKED

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
/* The first four of each eight numbers of a and b in turn, and the last four. */
#ifdef LANES_MM
#define LOW_I16(a, b) ((ISA_(I16))LANES_MM(unpacklo_epi16, i, a, b))
#define HIGH_I16(a, b) ((ISA_(I16))LANES_MM(unpackhi_epi16, i, a, b))
#elif LANES_BYTES
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

/* Of numbers of one KIND (numbers.h). */
#define NUMBER_BITS_I8 8
#define NUMBER_BITS_I16 16
#define NUMBER_BITS_I32 32
#define NUMBER_BITS LANES_JOIN(NUMBER_BITS, KIND)
/* The least number of scores; of 32 bits one that penalties do not lead beyond the range. */
#define LEAST_I8 INT8_MIN
#define LEAST_I16 INT16_MIN
#define LEAST_I32 (-(1 << 30))
#define LEAST LANES_JOIN(LEAST, KIND)
#define LOAD(p) LANES_WHERE((VEC)(*(const ISA_(anywhere) *)(p)), *(p))
#define STORE(v, p) LANES_WHERE(*(ISA_(anywhere) *)(p) = (ISA_(anywhere))(v), *(p) = (v))
#define SHIFT(v, first) LANES_JOIN(shift, VEC)(v, first)
#define MASK MASK_OF(KIND)
#define EQUAL(a, b) EQUAL_OF(NUMBER_BITS, a, b)
#define GREATER(a, b) GREATER_OF(NUMBER_BITS, a, b)
#define CHOOSE(mask, yes, no) CHOOSE_OF(NUMBER_BITS, mask, yes, no)
#define PUT_MASKS(to, a, b, c, d) LANES_JOIN(PUT, KIND)(to, a, b, c, d)
#define MASK_BIT(mask, l) BIT_OF(NUMBER_BITS, mask, l)
#define SUBTRACT(a, b) ADD(a, -(b))
