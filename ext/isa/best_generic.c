/* Every processor: vectors of 16 bytes, which are SSE2 or NEON registers, and scalars where the compiler has no GNU
 * vector types. */
#include <stddef.h>

#include "best.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#define CPU_NAME generic
#define TILE_TARGET
#if defined(__GNUC__)
#define CHOOSE(test, yes, no) ((TILE_VEC)(((TILE_VEC)(test) & (yes)) | (~(TILE_VEC)(test) & (no))))
#define SHORT_LANES 8
#define WORD_LANES 4
#else
#define CHOOSE(test, yes, no) ((test) ? (yes) : (no))
#define SHORT_LANES 1
#define WORD_LANES 1
#endif

#define TILE_BITS 16
#define TILE_LANES SHORT_LANES
#if defined(__SSE2__)
#define VMAX(a, b) ((TILE_VEC)_mm_max_epi16((__m128i)(a), (__m128i)(b)))
#else
#define VMAX(a, b) CHOOSE((a) > (b), a, b)
#endif
#define VCHOOSE_EQUAL(a, b, yes, no) CHOOSE((a) == (b), yes, no)
#include "best_tile.h"

#define TILE_BITS 32
#define TILE_LANES WORD_LANES
#define VMAX(a, b) CHOOSE((a) > (b), a, b)
#define VCHOOSE_EQUAL(a, b, yes, no) CHOOSE((a) == (b), yes, no)
#include "best_tile.h"
#include "best_table.h"
