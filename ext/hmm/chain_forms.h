/* What an instruction set has: paths of both precisions, sums of double precision. */
#define LARGEST 1
#define LOGS 1
#define KIND F32
#include "numbers.h"
#include "chain_lanes.h"
#undef KIND
#define KIND F64
#include "numbers.h"
#include "chain_lanes.h"
#undef LARGEST
#undef LOGS
#define LARGEST 0
#define LOGS 0
#include "numbers.h"
#include "chain_lanes.h"
#undef KIND
#undef LARGEST
#undef LOGS

static const chain_kernels ISA_(kernels) = {
    LANES_HEAD,
    {ISA_(path_largest_F32), ISA_(path_largest_F64)},
    ISA_(forward_sum_F64),
    ISA_(backward_sum_F64),
};
