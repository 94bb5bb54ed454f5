/* What an instruction set has: the template for lanes of both widths. */
#include "pair_operations.h"
#define LARGEST 1
#define LOGS 1
#define KIND I16
#include "numbers.h"
#include "best_tile.h"
#undef KIND
#define KIND I32
#include "numbers.h"
#include "best_tile.h"
#undef KIND
#undef LARGEST
#undef LOGS

static const best_kernels ISA_(kernels) = {LANES_HEAD, ISA_(best_tile_largest_I16), ISA_(best_tile_largest_I32)};
