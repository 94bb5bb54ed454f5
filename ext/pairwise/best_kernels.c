/* Tiles for every instruction set. */
#include "best.h"

#define LANES_TEMPLATE "best_widths.h"
#define LANES_KERNELS best_kernels
#define LANES_TABLE best_tables
#include "each_isa.h"
