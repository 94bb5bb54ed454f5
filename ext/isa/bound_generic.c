/* Every processor: vectors of 16 bytes, which are SSE2 or NEON registers, or what the compiler makes of them. */
#define ISA_BYTES 16
#include "bound_band.h"
