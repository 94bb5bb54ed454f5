/* AVX2: 16 lanes of 16 bits, 8 of 32. */
#include <stddef.h>

#include "best.h"
#ifdef BEST_X86
#include <immintrin.h>
#define CPU_NAME avx2
#define TILE_TARGET __attribute__((target("avx2,bmi2")))

#define TILE_BITS 16
#define TILE_LANES 16
#define VMAX(a, b) ((TILE_VEC)_mm256_max_epi16((__m256i)(a), (__m256i)(b)))
#define VCHOOSE_EQUAL(a, b, yes, no)                              \
    ((TILE_VEC)_mm256_blendv_epi8((__m256i)(no), (__m256i)(yes), \
                                  _mm256_cmpeq_epi16((__m256i)(a), (__m256i)(b))))
#include "best_tile.h"

#define TILE_BITS 32
#define TILE_LANES 8
#define VMAX(a, b) ((TILE_VEC)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#define VCHOOSE_EQUAL(a, b, yes, no)                              \
    ((TILE_VEC)_mm256_blendv_epi8((__m256i)(no), (__m256i)(yes), \
                                  _mm256_cmpeq_epi32((__m256i)(a), (__m256i)(b))))
#include "best_tile.h"
#include "best_table.h"
#else
typedef int not_for_this_processor; /* C wants at least one declaration */
#endif
