/* AVX-512: 16 numbers in single, 8 in double precision. */
#include "pair_hmm.h"
#ifdef HMM_X86
#define CPU_NAME avx512
#define HMM_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2")))
#define HMM_BYTES 64
#include "pair_hmm_table.h"
#else
typedef int not_for_this_processor; /* C wants at least one declaration */
#endif
