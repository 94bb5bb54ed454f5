/* What C and OpenCL call by two names, for the headers that both include. */
#ifndef GASSST_PORTABLE_H
#define GASSST_PORTABLE_H
#ifdef __OPENCL_VERSION__
typedef ulong uint64_t;
typedef long int64_t;
typedef uint uint32_t;
typedef int int32_t;
typedef ushort uint16_t;
typedef uchar uint8_t;
#define GLOBAL __global
#define INLINE static
#define LOWEST_BIT(x) (63 - (int)clz((x) & (0 - (x))))
#define HIGHEST_BIT(x) (63 - (int)clz(x))
#define SWAP_BYTES(x) as_ulong(as_uchar8(x).s76543210)
#else
#include <stddef.h>
#include <stdint.h>
#define GLOBAL
#define INLINE static inline __attribute__((always_inline))
#define LOWEST_BIT(x) __builtin_ctzll(x)
#define HIGHEST_BIT(x) (63 - __builtin_clzll(x))
#define SWAP_BYTES(x) __builtin_bswap64(x)
#endif
#endif
