/* Every processor: vectors of 16 bytes, which are SSE2 or NEON registers, and scalars where the compiler has neither
 * these nor GNU vector types. */
#include "cpu_kernels.h"
#define CPU_NAME generic
#define CPU_TARGET
#if defined(__GNUC__)
#define LANES 2
#else
#define LANES 1
#endif
#include "band_kernels.h"
#include "local_kernels.h"

#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF_((a) == (b), yes, no)
#define LOCAL_MARK_EQUAL(flags, a, b, flag) ((flags) | LOCAL_IF_EQUAL(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#if defined(__GNUC__)
#define LOCAL_LOAD(p) ((local_vec)(*(const local_vec_anywhere *)(p)))
#define LOCAL_STORE(v, p) (*(local_vec_anywhere *)(p) = (local_vec_anywhere)(v))
#define LOCAL_IF_(test, yes, no) ((local_vec)(((local_vec)(test) & (yes)) | (~(local_vec)(test) & (no))))
typedef u8 local_vec_anywhere __attribute__((vector_size(16), aligned(1), may_alias));
typedef u8 local_half_anywhere __attribute__((vector_size(8), aligned(1), may_alias));
#define LOCAL_SHORTS 8
#else
#define LOCAL_LOAD(p) (*(p))
#define LOCAL_STORE(v, p) (*(p) = (v))
#define LOCAL_IF_(test, yes, no) ((test) ? (yes) : (no))
#define LOCAL_SHORTS 1
#endif

#define ISA shorts
#define LOCAL_BYTES 0
#define LOCAL_LANES LOCAL_SHORTS
typedef i16 local_int;
#if defined(__GNUC__)
typedef i16 local_vec __attribute__((vector_size(16)));
#define LOCAL_STORE_BYTES(v, p) (*(local_half_anywhere *)(p) = __builtin_convertvector((v), local_half_anywhere))
#else
typedef i16 local_vec;
#undef LOCAL_SET
#define LOCAL_SET(x) ((i16)(x))
#define LOCAL_STORE_BYTES(v, p) (*(p) = (u8)(v))
#endif
#define LOCAL_ADD(a, b) ((a) + (b))
#if defined(__SSE2__)
#define LOCAL_MIN(a, b) ((local_vec)_mm_min_epi16((__m128i)(a), (__m128i)(b)))
#else
#define LOCAL_MIN(a, b) LOCAL_IF_GREATER(a, b, b, a)
#endif
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_((a) > (b), yes, no)
#define LOCAL_MARK_GREATER(flags, a, b, flag) ((flags) | LOCAL_IF_GREATER(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#include "local_loops.h"

#if defined(__GNUC__)
#define ISA bytes
#define LOCAL_BYTES 1
#define LOCAL_LANES (2 * LOCAL_SHORTS)
typedef u8 local_int;
typedef u8 local_vec __attribute__((vector_size(16)));
#define LOCAL_STORE_BYTES(v, p) LOCAL_STORE(v, p)
#if defined(__SSE2__)
#define LOCAL_ADD(a, b) ((local_vec)_mm_adds_epu8((__m128i)(a), (__m128i)(b)))
#define LOCAL_MIN(a, b) ((local_vec)_mm_min_epu8((__m128i)(a), (__m128i)(b)))
#else
#define LOCAL_ADD(a, b) ((a) + LOCAL_MIN(b, ~(a)))
#define LOCAL_MIN(a, b) LOCAL_IF_GREATER(a, b, b, a)
#endif
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF_((a) > (b), yes, no)
#define LOCAL_MARK_GREATER(flags, a, b, flag) ((flags) | LOCAL_IF_GREATER(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#include "local_loops.h"
LOCAL_GROUPS(shorts, LOCAL_SHORTS, bytes, 256)
#else
LOCAL_GROUPS(shorts, LOCAL_SHORTS, shorts, 0)
#endif

#include "kernel_table.h"
