/* AVX-512: vectors of 64 bytes. */
#define ISA_BYTES 64
#include "bound_band.h"
