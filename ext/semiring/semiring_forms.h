/* What an instruction set has: the template for both precisions. */
#define KIND F32
#include "numbers.h"
#include "semiring_lanes.h"
#undef KIND
#define KIND F64
#include "numbers.h"
#include "semiring_lanes.h"
#undef KIND

static const semiring_kernels ISA_(kernels) = {
    LANES_HEAD,
    {ISA_(product_sum_F32), ISA_(product_sum_F64)},
    {ISA_(pivot_sum_F32), ISA_(pivot_sum_F64)},
    {ISA_(others_sum_F32), ISA_(others_sum_F64)},
};
