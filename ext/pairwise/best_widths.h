/* What an instruction set has: the template for lanes of both widths. */
#define LEAST_I16 INT16_MIN
#define LEAST_I32 (-(1 << 30))
#define KIND I16
#include "numbers.h"
#include "best_tile.h"
#undef KIND
#define KIND I32
#include "numbers.h"
#include "best_tile.h"
#undef KIND

static const best_kernels ISA_(kernels) = {LANES_HEAD, ISA_(best_tile_I16), ISA_(best_tile_I32)};
