/* AVX-512: vectors of 64 bytes. */
#include "bound_kernels.h"
#ifdef BOUND_X86
#define BOUND_NAME avx512
#define BOUND_BYTES 64
#define BOUND_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2")))

/* Any function of three bits is one instruction; the constant is its table of truth, a the most significant. */
#define BOUND_TERNARY(type, a, b, c, table) \
    ((type)_mm512_ternarylogic_epi32((__m512i)(a), (__m512i)(b), (__m512i)(c), table))
#define BOUND_OR_XOR(a, b, c) BOUND_TERNARY(__typeof__(a), a, b, c, 0xF6)
#define BOUND_OR_NOT(a, b) BOUND_TERNARY(__typeof__(a), a, b, b, 0xF3)
#define BOUND_OR_NOR(a, b, c) BOUND_TERNARY(__typeof__(a), a, b, c, 0xF1)
#define BOUND_AND_NOT(a, b) BOUND_TERNARY(__typeof__(a), a, b, b, 0x30)
#define BOUND_AND_NOR(a, b, c) BOUND_TERNARY(__typeof__(a), a, b, c, 0x10)
#define BOUND_MIN_I8(a, b) ((__typeof__(a))_mm512_min_epi8((__m512i)(a), (__m512i)(b)))
#define BOUND_MIN_I32(a, b) ((__typeof__(a))_mm512_min_epi32((__m512i)(a), (__m512i)(b)))
#define BOUND_LOW_32(a, b) ((__typeof__(a))_mm512_unpacklo_epi32((__m512i)(a), (__m512i)(b)))
#define BOUND_HIGH_32(a, b) ((__typeof__(a))_mm512_unpackhi_epi32((__m512i)(a), (__m512i)(b)))
#define BOUND_LOW_64(a, b) ((__typeof__(a))_mm512_unpacklo_epi64((__m512i)(a), (__m512i)(b)))
#define BOUND_HIGH_64(a, b) ((__typeof__(a))_mm512_unpackhi_epi64((__m512i)(a), (__m512i)(b)))
#include "bound_lanes.h"
#include "bound_band.h"
#include "bound_table.h"
#else
typedef int not_for_this_processor; /* C wants at least one declaration */
#endif
