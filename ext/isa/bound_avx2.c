/* AVX2: vectors of 32 bytes. */
#define ISA_BYTES 32
#include "bound_band.h"
