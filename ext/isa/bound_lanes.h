/* How the kernels of the bounds are compiled: for one instruction set, named by BOUND_TARGET on every function. The
 * including file may define operations that its processor has and the compiler does not find in plain vector code. */
#if defined(__clang__)
#define BOUND_UNROLL _Pragma("unroll")
#else
#define BOUND_UNROLL _Pragma("GCC unroll 32")
#endif
#define BOUND_FN static inline BOUND_TARGET __attribute__((always_inline))

#ifndef BOUND_OR_XOR
#define BOUND_OR_XOR(a, b, c) ((a) | ((b) ^ (c)))
#define BOUND_OR_NOT(a, b) ((a) | ~(b))
#define BOUND_OR_NOR(a, b, c) ((a) | ~((b) | (c)))
#define BOUND_AND_NOT(a, b) ((a) & ~(b))
#define BOUND_AND_NOR(a, b, c) ((a) & ~((b) | (c)))
#endif
#ifndef BOUND_MIN_I8 /* comparing vectors makes a mask */
#define BOUND_MIN_(a, b, mask) (((a) & (mask)) | ((b) & ~(mask)))
#define BOUND_MIN_I8(a, b) BOUND_MIN_(a, b, (a) < (b))
#define BOUND_MIN_I32(a, b) BOUND_MIN_(a, b, (a) < (b))
#endif
#ifndef BOUND_LOW_32 /* vectors of four words */
#if defined(__clang__)
#define BOUND_PICK(a, b, w, x, y, z) __builtin_shufflevector(a, b, w, x, y, z)
#else
#define BOUND_PICK(a, b, w, x, y, z) __builtin_shuffle(a, b, (__typeof__(a)){w, x, y, z})
#endif
#define BOUND_LOW_32(a, b) BOUND_PICK(a, b, 0, 4, 1, 5)
#define BOUND_HIGH_32(a, b) BOUND_PICK(a, b, 2, 6, 3, 7)
#define BOUND_LOW_64(a, b) BOUND_PICK(a, b, 0, 1, 4, 5)
#define BOUND_HIGH_64(a, b) BOUND_PICK(a, b, 2, 3, 6, 7)
#endif
