/* Every processor: vectors of 16 bytes, which are SSE2 or NEON registers, or whatever the compiler makes of them. */
#include "bound_kernels.h"
#define BOUND_NAME generic
#define BOUND_BYTES 16
#define BOUND_TARGET
#include "bound_lanes.h"
#include "bound_band.h"
#include "bound_table.h"
