/* One text for every instruction set. A file of a set gives ISA_BYTES, the bytes of a vector, and includes the text, which
 * includes this first. ISA is the name of the set, and stays undefined where the processor is of another kind. Every
 * function carries ISA_TARGET, because GCC lowers vector types by the target of the function that holds them, before it
 * inlines. Compilers do not make V_IF, V_MARK, V_MIN, V_LOW and V_HIGH of plain vector code, so these name the instructions. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "processor.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif
#if defined(__x86_64__) && ISA_BYTES == 64
#define ISA avx512
#define ISA_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2")))
#define V_OF(name, a, b) ((__typeof__(a))_mm512_##name((__m512i)(a), (__m512i)(b)))
#define V_IF(bits, test, a, b, yes, no)                                                                              \
    ((__typeof__(a))_mm512_mask_blend_epi##bits(test((__m512i)(a), (__m512i)(b)), (__m512i)(no), (__m512i)(yes)))
#define V_IF_EQUAL(bits, sign, a, b, yes, no) V_IF(bits, _mm512_cmpeq_ep##sign##bits##_mask, a, b, yes, no)
#define V_IF_GREATER(bits, sign, a, b, yes, no) V_IF(bits, _mm512_cmpgt_ep##sign##bits##_mask, a, b, yes, no)
#define V_MARK_EQUAL(bits, sign, a, b, flags, flag) V_IF_EQUAL(bits, sign, a, b, (flags) + (flag), flags)
#define V_MARK_GREATER(bits, sign, a, b, flags, flag) V_IF_GREATER(bits, sign, a, b, (flags) + (flag), flags)
#else
#if defined(__x86_64__) && ISA_BYTES == 32
#define ISA avx2
#define ISA_TARGET __attribute__((target("avx2,bmi2")))
#define V_OF(name, a, b) ((__typeof__(a))_mm256_##name((__m256i)(a), (__m256i)(b)))
#define V_IF(test, yes, no) ((__typeof__(yes))_mm256_blendv_epi8((__m256i)(no), (__m256i)(yes), (__m256i)(test)))
#elif ISA_BYTES == 16
#define ISA generic
#define ISA_TARGET
#if defined(__SSE2__)
#define V_OF(name, a, b) ((__typeof__(a))_mm_##name((__m128i)(a), (__m128i)(b)))
#endif
#define V_IF(test, yes, no) (((__typeof__(yes))(test) & (yes)) | (~(__typeof__(yes))(test) & (no)))
#endif
#define V_IF_EQUAL(bits, sign, a, b, yes, no) V_IF((a) == (b), yes, no)
#define V_IF_GREATER(bits, sign, a, b, yes, no) V_IF((a) > (b), yes, no)
#define V_MARK_EQUAL(bits, sign, a, b, flags, flag) ((flags) | ((__typeof__(flags))((a) == (b)) & (flag)))
#define V_MARK_GREATER(bits, sign, a, b, flags, flag) ((flags) | ((__typeof__(flags))((a) > (b)) & (flag)))
#endif

#if ISA_BYTES > 16
#define V_MIN_I8(a, b) V_OF(min_epi8, a, b)
#define V_MIN_I32(a, b) V_OF(min_epi32, a, b)
#else
#define V_MIN_I8(a, b) V_IF((a) < (b), a, b)
#define V_MIN_I32(a, b) V_IF((a) < (b), a, b)
#endif
#ifdef V_OF
#define V_MIN_U8(a, b) V_OF(min_epu8, a, b)
#define V_MIN_I16(a, b) V_OF(min_epi16, a, b)
#define V_LOW_32(a, b) V_OF(unpacklo_epi32, a, b)
#define V_HIGH_32(a, b) V_OF(unpackhi_epi32, a, b)
#define V_LOW_64(a, b) V_OF(unpacklo_epi64, a, b)
#define V_HIGH_64(a, b) V_OF(unpackhi_epi64, a, b)
#else
#define V_MIN_U8(a, b) V_IF((a) < (b), a, b)
#define V_MIN_I16(a, b) V_IF((a) < (b), a, b)
#if defined(__clang__)
#define V_PICK(a, b, w, x, y, z) __builtin_shufflevector(a, b, w, x, y, z)
#else
#define V_PICK(a, b, w, x, y, z) __builtin_shuffle(a, b, (__typeof__(a)){w, x, y, z})
#endif
#define V_LOW_32(a, b) V_PICK(a, b, 0, 4, 1, 5)
#define V_HIGH_32(a, b) V_PICK(a, b, 2, 6, 3, 7)
#define V_LOW_64(a, b) V_PICK(a, b, 0, 1, 4, 5)
#define V_HIGH_64(a, b) V_PICK(a, b, 2, 3, 6, 7)
#endif

#if defined(__clang__)
#define ISA_UNROLL _Pragma("unroll")
#else
#define ISA_UNROLL _Pragma("GCC unroll 32")
#endif
#define ISA_INLINE static inline ISA_TARGET __attribute__((always_inline, unused))

#define ISA_PASTE_(a, b) a##_##b
#define ISA_PASTE(a, b) ISA_PASTE_(a, b)
#define ISA_TEXT_(name) #name
#define ISA_TEXT(name) ISA_TEXT_(name)
/* A table of kernels begins with the name of the set, and whether this processor has its instructions. */
#define ISA_HEAD ISA_TEXT(ISA), ISA_PASTE(usable, ISA)
