/* AVX2: vectors of 4 words, of 16 lanes of 16 bits, of 32 bytes. */
#include "cpu_kernels.h"
#ifdef CPU_X86
#define CPU_NAME avx2
#define CPU_TARGET __attribute__((target("avx2,bmi2")))
#define LANES 4
#include "band_kernels.h"
#include "local_kernels.h"

/* Compilers do not make maxima and choices of vector expressions in C, so these name the instructions. */
#define LOCAL_LOAD(p) ((local_vec)_mm256_loadu_si256((const __m256i *)(p)))
#define LOCAL_STORE(v, p) _mm256_storeu_si256((__m256i *)(p), (__m256i)(v))
#define LOCAL_IF_(test, yes, no) ((local_vec)_mm256_blendv_epi8((__m256i)(no), (__m256i)(yes), test))
#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF_(LOCAL_EQUALS(a, b), yes, no)
#define LOCAL_MARK_EQUAL(flags, a, b, flag) ((flags) | ((local_vec)LOCAL_EQUALS(a, b) & LOCAL_SET(flag)))

#define ISA shorts
#define LOCAL_BYTES 0
#define LOCAL_SHORTS 16
#define LOCAL_LANES LOCAL_SHORTS
typedef i16 local_int;
typedef i16 local_vec __attribute__((vector_size(32)));
#define LOCAL_STORE_BYTES(v, p)                                                             \
    _mm_storeu_si128((__m128i *)(p), _mm_packus_epi16(_mm256_castsi256_si128((__m256i)(v)), \
                                                      _mm256_extracti128_si256((__m256i)(v), 1)))
#define LOCAL_ADD(a, b) ((a) + (b))
#define LOCAL_MIN(a, b) ((local_vec)_mm256_min_epi16((__m256i)(a), (__m256i)(b)))
#define LOCAL_EQUALS(a, b) _mm256_cmpeq_epi16((__m256i)(a), (__m256i)(b))
#define LOCAL_GREATER(a, b) _mm256_cmpgt_epi16((__m256i)(a), (__m256i)(b))
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_(LOCAL_GREATER(a, b), yes, no)
#define LOCAL_MARK_GREATER(flags, a, b, flag) ((flags) | ((local_vec)LOCAL_GREATER(a, b) & LOCAL_SET(flag)))
#include "local_loops.h"

/* AVX2 does not compare unsigned bytes: a > b unless min(a, b) = a. */
#define ISA bytes
#define LOCAL_BYTES 1
#define LOCAL_LANES (2 * LOCAL_SHORTS)
typedef u8 local_int;
typedef u8 local_vec __attribute__((vector_size(32)));
#define LOCAL_STORE_BYTES(v, p) LOCAL_STORE(v, p)
#define LOCAL_ADD(a, b) ((local_vec)_mm256_adds_epu8((__m256i)(a), (__m256i)(b)))
#define LOCAL_MIN(a, b) ((local_vec)_mm256_min_epu8((__m256i)(a), (__m256i)(b)))
#define LOCAL_EQUALS(a, b) _mm256_cmpeq_epi8((__m256i)(a), (__m256i)(b))
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_(LOCAL_EQUALS(LOCAL_MIN(a, b), a), no, yes)
#define LOCAL_MARK_GREATER(flags, a, b, flag) \
    ((flags) | (~(local_vec)LOCAL_EQUALS(LOCAL_MIN(a, b), a) & LOCAL_SET(flag)))
#include "local_loops.h"
LOCAL_GROUPS(shorts, LOCAL_SHORTS, bytes, 256)

#include "kernel_table.h"
#else
typedef int not_for_this_processor; /* C wants at least one declaration */
#endif
