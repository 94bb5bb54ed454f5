/* kernels/local.h with one lane a work-item, in bands of 64 * WORDS diagonals at most. Goes behind band.h. */
typedef short i16;
typedef uchar u8;
typedef short local_int;
typedef short local_vec;
#define LOCAL_BYTES 0
#define LOCAL_LANES 1
#define LOCAL(name) local_##name
#define LOCAL_WIDTH (64 * WORDS)
#define LOCAL_ENTRY static
#define LOCAL_SET(x) ((local_vec)(x))
#define LOCAL_LOAD(p) (*(p))
#define LOCAL_STORE(v, p) (*(p) = (v))
#define LOCAL_STORE_BYTES(v, p) (*(p) = (uchar)(v))
#define LOCAL_MIN(a, b) LOCAL_IF_GREATER(a, b, b, a)
#define LOCAL_IF_EQUAL(a, b, yes, no) ((a) == (b) ? (yes) : (no))
#define LOCAL_IF_GREATER(a, b, yes, no) ((a) > (b) ? (yes) : (no))
#define LOCAL_MARK(test, a, b, flags, flag) ((flags) | LOCAL_IF_##test(a, b, flag, 0))
#include "local.h"
#include "local_start.h"
