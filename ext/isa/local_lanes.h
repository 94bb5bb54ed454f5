/* kernels/local.h for one kind of lanes, told apart by name: bytes, or 16 bits where LOCAL_BYTES is 0. */
#undef LOCAL_KIND
#undef LOCAL_LANES
#undef LOCAL_MIN
#undef LOCAL_IF_EQUAL
#undef LOCAL_IF_GREATER
#undef LOCAL_MARK
#undef LOCAL_STORE_BYTES
#define LOCAL_LANES (ISA_BYTES / (LOCAL_BYTES ? 1 : 2))
#if LOCAL_BYTES
#define LOCAL_KIND bytes
typedef u8 local_int_bytes;
typedef u8 local_vec_bytes __attribute__((vector_size(ISA_BYTES)));
#define LOCAL_MIN(a, b) V_MIN_U8(a, b)
#define LOCAL_IF_EQUAL(a, b, yes, no) V_IF_EQUAL(8, u, a, b, yes, no)
#define LOCAL_IF_GREATER(a, b, yes, no) V_IF_GREATER(8, u, a, b, yes, no)
#define LOCAL_MARK(test, a, b, flags, flag) V_MARK_##test(8, u, a, b, flags, LOCAL_SET(flag))
#define LOCAL_STORE_BYTES(v, p) LOCAL_STORE(v, p)
#else
#define LOCAL_KIND shorts
typedef i16 local_int_shorts;
typedef i16 local_vec_shorts __attribute__((vector_size(ISA_BYTES)));
typedef u8 local_anywhere __attribute__((vector_size(ISA_BYTES), aligned(1), may_alias));
typedef u8 local_half_anywhere __attribute__((vector_size(ISA_BYTES / 2), aligned(1), may_alias));
#define LOCAL_MIN(a, b) V_MIN_I16(a, b)
#define LOCAL_IF_EQUAL(a, b, yes, no) V_IF_EQUAL(16, i, a, b, yes, no)
#define LOCAL_IF_GREATER(a, b, yes, no) V_IF_GREATER(16, i, a, b, yes, no)
#define LOCAL_MARK(test, a, b, flags, flag) V_MARK_##test(16, i, a, b, flags, LOCAL_SET(flag))
#define LOCAL_STORE_BYTES(v, p) (*(local_half_anywhere *)(p) = __builtin_convertvector(v, local_half_anywhere))

#define LOCAL_WIDTH 512 /* at most */
#define LOCAL_ENTRY static ISA_TARGET
#define LOCAL_SET(x) ((LOCAL(vec)){0} + (LOCAL(int))(x))
#define LOCAL_LOAD(p) ((LOCAL(vec))(*(const local_anywhere *)(p)))
#define LOCAL_STORE(v, p) (*(local_anywhere *)(p) = (local_anywhere)(v))
#define LOCAL(name) ISA_PASTE(local_##name, LOCAL_KIND)
#endif
#include "local.h"
