/* Matrices over (min, +) for every instruction set. */
#include <string.h>

#include "semiring.h"

#define LANES_TEMPLATE "semiring_forms.h"
#define LANES_KERNELS semiring_kernels
#define LANES_TABLE semiring_tables
#include "each_isa.h"
