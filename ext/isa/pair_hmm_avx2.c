/* AVX2: 8 numbers in single, 4 in double precision. */
#include "pair_hmm.h"
#ifdef HMM_X86
#define CPU_NAME avx2
#define HMM_TARGET __attribute__((target("avx2,bmi2")))
#define HMM_BYTES 32
#include "pair_hmm_table.h"
#else
typedef int not_for_this_processor; /* C wants at least one declaration */
#endif
