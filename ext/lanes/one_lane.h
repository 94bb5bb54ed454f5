/* A template without vectors: numbers.h then gives plain C, for forms that are slow and rare. */
#include <math.h>
#include <stdint.h>

#include "tables.h"
#define ISA plain
#define LANES_BYTES 0
#define LANES_TARGET
#include "operations.h"
