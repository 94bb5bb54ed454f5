/* AVX-512: vectors of 8 words, of 32 lanes of 16 bits, of 64 bytes. */
#include "cpu_kernels.h"
#ifdef CPU_X86
#define CPU_NAME avx512
#define CPU_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2")))
#define LANES 8
#include "band_kernels.h"
#include "local_kernels.h"

/* Compilers do not make maxima and choices of vector expressions in C, so these name the instructions. */
#define LOCAL_LOAD(p) ((local_vec)_mm512_loadu_si512(p))
#define LOCAL_STORE(v, p) _mm512_storeu_si512((p), (__m512i)(v))
#define LOCAL_IF_(bits, test, a, b, yes, no) \
    ((local_vec)_mm512_mask_blend_epi##bits(test((__m512i)(a), (__m512i)(b)), (__m512i)(no), (__m512i)(yes)))
#define LOCAL_MARK_(bits, test, flags, a, b, flag)                                           \
    ((local_vec)_mm512_mask_add_epi##bits((__m512i)(flags), test((__m512i)(a), (__m512i)(b)), \
                                          (__m512i)(flags), _mm512_set1_epi##bits(flag)))

#define ISA shorts
#define LOCAL_BYTES 0
#define LOCAL_SHORTS 32
#define LOCAL_LANES LOCAL_SHORTS
typedef i16 local_int;
typedef i16 local_vec __attribute__((vector_size(64)));
#define LOCAL_STORE_BYTES(v, p) _mm256_storeu_si256((__m256i *)(p), _mm512_cvtepi16_epi8((__m512i)(v)))
#define LOCAL_ADD(a, b) ((a) + (b))
#define LOCAL_MIN(a, b) ((local_vec)_mm512_min_epi16((__m512i)(a), (__m512i)(b)))
#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF_(16, _mm512_cmpeq_epi16_mask, a, b, yes, no)
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_(16, _mm512_cmpgt_epi16_mask, a, b, yes, no)
#define LOCAL_MARK_EQUAL(flags, a, b, flag) LOCAL_MARK_(16, _mm512_cmpeq_epi16_mask, flags, a, b, flag)
#define LOCAL_MARK_GREATER(flags, a, b, flag) LOCAL_MARK_(16, _mm512_cmpgt_epi16_mask, flags, a, b, flag)
#include "local_loops.h"
#undef LOCAL_IF_EQUAL
#undef LOCAL_MARK_EQUAL

#define ISA bytes
#define LOCAL_BYTES 1
#define LOCAL_LANES (2 * LOCAL_SHORTS)
typedef u8 local_int;
typedef u8 local_vec __attribute__((vector_size(64)));
#define LOCAL_STORE_BYTES(v, p) LOCAL_STORE(v, p)
#define LOCAL_ADD(a, b) ((local_vec)_mm512_adds_epu8((__m512i)(a), (__m512i)(b)))
#define LOCAL_MIN(a, b) ((local_vec)_mm512_min_epu8((__m512i)(a), (__m512i)(b)))
#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF_(8, _mm512_cmpeq_epu8_mask, a, b, yes, no)
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_(8, _mm512_cmpgt_epu8_mask, a, b, yes, no)
#define LOCAL_MARK_EQUAL(flags, a, b, flag) LOCAL_MARK_(8, _mm512_cmpeq_epu8_mask, flags, a, b, flag)
#define LOCAL_MARK_GREATER(flags, a, b, flag) LOCAL_MARK_(8, _mm512_cmpgt_epu8_mask, flags, a, b, flag)
#include "local_loops.h"
LOCAL_GROUPS(shorts, LOCAL_SHORTS, bytes, 256)

#include "kernel_table.h"
#else
typedef int not_for_this_processor; /* C wants at least one declaration */
#endif
