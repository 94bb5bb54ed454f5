/* Chains for every instruction set. */
#include <string.h>

#include "chain.h"

#define LANES_TEMPLATE "chain_forms.h"
#define LANES_KERNELS chain_kernels
#define LANES_TABLE chain_tables
#include "each_isa.h"
