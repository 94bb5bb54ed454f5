/* Lanes of local.h in OpenCL. On a GPU a work-item has one pair. On a CPU it has vectors as wide as those of band.h, of
 * bytes and of 16 bits, where the compiler is clang, as PoCL's is, which knows vectors of any width; else OpenCL's widest,
 * 16 lanes of 16 bits. Goes behind band.h and score.cl. */
typedef short i16;
typedef uchar u8;
#include "local_groups.h"
#define local_anywhere LOCAL_VARIANT(local_anywhere)
#define LOCAL_WIDTH WIDTH
/* PoCL's max() and select() of vectors take four times as long as these. */
#define LOCAL_IF(test, yes, no) ((test) ? (yes) : (no))
#define LOCAL_IF_EQUAL(a, b, yes, no) LOCAL_IF((a) == (b), yes, no)
#define LOCAL_MARK_EQUAL(flags, a, b, flag) ((flags) | LOCAL_IF_EQUAL(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#define LOCAL_SET(x) ((local_vec)((local_int)(x)))

#if LANES > 1 && defined(__clang__)
#undef BAND_FN
#define BAND_FN static inline __attribute__((always_inline, unused))
#define LOCAL_LOOP static
#define LOCAL_LOAD(p) ((local_vec)(*(const local_anywhere *)(p)))
#define LOCAL_STORE(v, p) (*(local_anywhere *)(p) = (v))
#define LOCAL_SHORTS (4 * LANES)

#define ISA bytes
#define LOCAL_BYTES 1
#define LOCAL_LANES (2 * LOCAL_SHORTS)
typedef u8 local_int;
typedef u8 local_vec __attribute__((ext_vector_type(LOCAL_LANES)));
typedef u8 local_anywhere __attribute__((ext_vector_type(LOCAL_LANES), aligned(1)));
#define LOCAL_STORE_BYTES(v, p) (*(__global local_anywhere *)(p) = (v))
#define LOCAL_ADD(a, b) ((a) + LOCAL_MIN(b, ~(a)))
#define LOCAL_MIN(a, b) LOCAL_IF((a) < (b), a, b)
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF((a) > (b), yes, no)
#define LOCAL_MARK_GREATER(flags, a, b, flag) ((flags) | LOCAL_IF_GREATER(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#include "local_loops.h"

#define ISA shorts
#define LOCAL_BYTES 0
#define LOCAL_LANES LOCAL_SHORTS
typedef i16 local_int;
typedef i16 local_vec __attribute__((ext_vector_type(LOCAL_LANES)));
typedef i16 local_anywhere __attribute__((ext_vector_type(LOCAL_LANES), aligned(2)));
typedef u8 local_flags __attribute__((ext_vector_type(LOCAL_LANES)));
typedef u8 local_flags_ __attribute__((ext_vector_type(LOCAL_LANES), aligned(1)));
#define LOCAL_STORE_BYTES(v, p) (*(__global local_flags_ *)(p) = __builtin_convertvector(v, local_flags))
#define LOCAL_ADD(a, b) ((a) + (b))
#define LOCAL_MIN(a, b) LOCAL_IF((a) < (b), a, b)
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF((a) > (b), yes, no)
#define LOCAL_MARK_GREATER(flags, a, b, flag) ((flags) | LOCAL_IF_GREATER(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#include "local_loops.h"
LOCAL_GROUPS(shorts, LOCAL_SHORTS, bytes, 256)

#else
#define LOCAL_LOOP static
#define LOCAL_BYTES 0
#define ISA shorts
typedef short local_int;
#if LANES == 1
#define LOCAL_LANES 1
typedef short local_vec;
#define LOCAL_LOAD(p) (*(p))
#define LOCAL_STORE(v, p) (*(p) = (v))
#define LOCAL_STORE_BYTES(v, p) (*(p) = (uchar)(v))
#else
#define LOCAL_SHORTS 16
#define LOCAL_LANES LOCAL_SHORTS
typedef short16 local_vec;
#define LOCAL_LOAD(p) vload16(0, (p))
#define LOCAL_STORE(v, p) vstore16((v), 0, (p))
#define LOCAL_STORE_BYTES(v, p) vstore16(convert_uchar16(v), 0, (p))
#endif
#define LOCAL_ADD(a, b) ((a) + (b))
#define LOCAL_MIN(a, b) LOCAL_IF_GREATER(a, b, b, a)
#define LOCAL_IF_GREATER(a, b, yes, no) LOCAL_IF((a) > (b), yes, no)
#define LOCAL_MARK_GREATER(flags, a, b, flag) ((flags) | LOCAL_IF_GREATER(a, b, LOCAL_SET(flag), LOCAL_SET(0)))
#include "local_loops.h"
#if LANES > 1
LOCAL_GROUPS(shorts, LOCAL_SHORTS, shorts, 0)
#endif
#endif
