/* What an instruction set has: lanes of 16 bits. */
#define KIND I16
#define LOOK(table, size, index) ISA_(lookup)(table, size, index)
#define ANY(type) 1
#define INFINITE FOLD_INFINITE
#include "numbers.h"
#include "fold_lanes.h"
#undef KIND
#undef LOOK
#undef ANY
#undef INFINITE

static const fold_kernels ISA_(kernels) = {LANES_HEAD, LANES_BYTES ? LANES_BYTES / 2 : 1, ISA_(fold_sum_I16)};
