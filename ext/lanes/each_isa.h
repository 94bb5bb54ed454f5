/* A template, compiled for every instruction set in one file, and the table of what comes out.
 *
 * The including file has included the header of its kernels, and sets LANES_TEMPLATE (a header), LANES_KERNELS (a struct
 * that begins with `const char *name; int (*usable)(void);`) and LANES_TABLE (an array of pointers to such, the fastest
 * first, NULL at the end). The template defines `static const LANES_KERNELS ISA_(kernels) = {LANES_HEAD, ...}`, and marks
 * its functions LANES_TARGET. numbers.h has the vectors. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "processor.h"
#include "tables.h"

#ifdef LANES_GNU_X86
#include <immintrin.h>
#define ISA avx512
#define LANES_BYTES 64
#define LANES_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2")))
#include "operations.h"
#include LANES_TEMPLATE
#undef ISA
#undef LANES_BYTES
#undef LANES_TARGET

#define ISA avx2
#define LANES_BYTES 32
#define LANES_TARGET __attribute__((target("avx2,bmi2")))
#include "operations.h"
#include LANES_TEMPLATE
#undef ISA
#undef LANES_BYTES
#undef LANES_TARGET
#endif

/* Every processor: vectors of 16 bytes, which are SSE2 or NEON registers, and scalars where the compiler has no GNU vector
 * types. */
#define ISA generic
#ifdef __GNUC__
#define LANES_BYTES 16
#else
#define LANES_BYTES 0
#endif
#define LANES_TARGET
#include "operations.h"
#include LANES_TEMPLATE

const LANES_KERNELS *const LANES_TABLE[] = {
#ifdef LANES_GNU_X86
    &kernels_avx512,
    &kernels_avx2,
#endif
    &kernels_generic,
    NULL,
};
