/* Every processor: vectors of 16 bytes, which are SSE2 or NEON registers, and scalars where the compiler has no GNU
 * vector types. */
#define CPU_NAME generic
#define HMM_TARGET
#if defined(__GNUC__)
#define HMM_BYTES 16
#else
#define HMM_BYTES 0
#endif
#include "pair_hmm_table.h"
