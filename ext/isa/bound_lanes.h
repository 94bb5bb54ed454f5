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
#endif
#ifndef BOUND_MIN_I8 /* comparing vectors makes a mask */
#define BOUND_MIN_(a, b, mask) (((a) & (mask)) | ((b) & ~(mask)))
#define BOUND_MIN_I8(a, b) BOUND_MIN_(a, b, (a) < (b))
#define BOUND_MIN_I16(a, b) BOUND_MIN_(a, b, (a) < (b))
#define BOUND_MIN_I32(a, b) BOUND_MIN_(a, b, (a) < (b))
#endif
