/* AVX-512: 32 lanes of 16 bits, 16 of 32. Compilers do not make maxima and choices of vector expressions in C, so these
 * name the instructions. */
#include <stddef.h>

#include "best.h"
#ifdef BEST_X86
#include <immintrin.h>
#define CPU_NAME avx512
#define TILE_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2")))

#define TILE_BITS 16
#define TILE_LANES 32
#define VMAX(a, b) ((TILE_VEC)_mm512_max_epi16((__m512i)(a), (__m512i)(b)))
#define VCHOOSE_EQUAL(a, b, yes, no)                                                                   \
    ((TILE_VEC)_mm512_mask_blend_epi16(_mm512_cmpeq_epi16_mask((__m512i)(a), (__m512i)(b)), (__m512i)(no), \
                                       (__m512i)(yes)))
#include "best_tile.h"

#define TILE_BITS 32
#define TILE_LANES 16
#define VMAX(a, b) ((TILE_VEC)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#define VCHOOSE_EQUAL(a, b, yes, no)                                                                   \
    ((TILE_VEC)_mm512_mask_blend_epi32(_mm512_cmpeq_epi32_mask((__m512i)(a), (__m512i)(b)), (__m512i)(no), \
                                       (__m512i)(yes)))
#include "best_tile.h"
#include "best_table.h"
#else
typedef int not_for_this_processor; /* C wants at least one declaration */
#endif
