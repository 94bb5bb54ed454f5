/* What an instruction set has: the most probable path, and the sum, in single precision. */
#define KIND F32
#define INT int32_t
#define LARGEST 1
#define LOGS 1
#include "numbers.h"
#include "profile_lanes.h"
#undef LARGEST
#undef LOGS
#define LARGEST 0
#define LOGS 0
#include "numbers.h"
#include "profile_lanes.h"
#undef LARGEST
#undef LOGS
#undef KIND
#undef INT

#include "profile_filter.h"

static const profile_kernels ISA_(kernels) = {
    LANES_HEAD,
    LANES_BYTES ? LANES_BYTES / 4 : 1,
    {ISA_(score_largest_F32), ISA_(score_sum_F32)},
    FILTER_LANES,
    ISA_(filter),
};
#undef FILTER_LANES
#undef FILTER_UNIT
#undef FILTER_BASE
