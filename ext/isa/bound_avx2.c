/* AVX2: vectors of 32 bytes. */
#include "bound_kernels.h"
#ifdef BOUND_X86
#define BOUND_NAME avx2
#define BOUND_BYTES 32
#define BOUND_TARGET __attribute__((target("avx2,bmi2")))
#define BOUND_MIN_I8(a, b) ((__typeof__(a))_mm256_min_epi8((__m256i)(a), (__m256i)(b)))
#define BOUND_MIN_I32(a, b) ((__typeof__(a))_mm256_min_epi32((__m256i)(a), (__m256i)(b)))
#define BOUND_LOW_32(a, b) ((__typeof__(a))_mm256_unpacklo_epi32((__m256i)(a), (__m256i)(b)))
#define BOUND_HIGH_32(a, b) ((__typeof__(a))_mm256_unpackhi_epi32((__m256i)(a), (__m256i)(b)))
#define BOUND_LOW_64(a, b) ((__typeof__(a))_mm256_unpacklo_epi64((__m256i)(a), (__m256i)(b)))
#define BOUND_HIGH_64(a, b) ((__typeof__(a))_mm256_unpackhi_epi64((__m256i)(a), (__m256i)(b)))
#include "bound_lanes.h"
#include "bound_band.h"
#include "bound_table.h"
#else
typedef int not_for_this_processor; /* C wants at least one declaration */
#endif
