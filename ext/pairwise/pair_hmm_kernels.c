/* The pair HMM of batches for every instruction set. */
#include "pair_hmm.h"

#define LANES_TEMPLATE "pair_hmm_forms.h"
#define LANES_KERNELS hmm_kernels
#define LANES_TABLE hmm_tables
#include "each_isa.h"
