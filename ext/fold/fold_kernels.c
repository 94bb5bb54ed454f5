/* Folding for every instruction set. */
#include <string.h>

#include "fold.h"

#define LANES_TEMPLATE "fold_forms.h"
#define LANES_KERNELS fold_kernels
#define LANES_TABLE fold_tables
#include "each_isa.h"
