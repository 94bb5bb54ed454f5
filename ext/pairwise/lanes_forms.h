/* What an instruction set has: scores in lanes of 8, 16 and 32 bits, and alignments with their paths in the latter two. */
#include "pair_operations.h"
#define LARGEST 1
#define LOGS 1
#define KIND I8
#include "numbers.h"
#include "lanes_columns.h"
#undef KIND
#define KIND I16
#include "numbers.h"
#include "lanes_columns.h"
#include "trace_wave.h"
#undef KIND
#define KIND I32
#include "numbers.h"
#include "lanes_columns.h"
#include "trace_wave.h"
#undef KIND
#undef LARGEST
#undef LOGS

#define LANES_OF(bytes) (LANES_BYTES ? LANES_BYTES / (bytes) : 1)
static const lanes_kernels ISA_(kernels) = {
    LANES_HEAD,
    {LANES_OF(1), LANES_OF(2), LANES_OF(4)},
    {ISA_(shared_largest_I8), ISA_(shared_largest_I16), ISA_(shared_largest_I32)},
    {ISA_(own_largest_I8), ISA_(own_largest_I16), ISA_(own_largest_I32)},
    {&ISA_(trace_largest_I16), &ISA_(trace_largest_I32)},
};
#undef LANES_OF
