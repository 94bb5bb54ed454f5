/* What an instruction set has: the most probable path, and the sum, in single precision; the path in 16 bits; filters. */
#define LARGEST 1
#define LOGS 1
#define KIND I16
#define INT int16_t
#include "numbers.h"
#undef TIMES
#undef NOTHING
#define TIMES(a, b) ((a) + (b)) /* of a step: which is 0 at most, and bounded below */
#define NOTHING PROFILE_NOTHING
#define NARROW 1
#include "profile_lanes.h"
#undef KIND
#undef INT
#undef NARROW

#define KIND F32
#define INT int32_t
#define NARROW 0
#include "numbers.h"
#include "profile_lanes.h"
#undef LARGEST
#undef LOGS
#define LARGEST 0
#define LOGS 0
#include "numbers.h"
#include "profile_lanes.h"
#include "profile_filter.h"
#undef LARGEST
#undef LOGS
#undef KIND
#undef INT
#undef NARROW
#include "profile_trace.h"

#define PROFILE_LANES(bytes) (LANES_BYTES ? LANES_BYTES / (bytes) : 1)
static const profile_kernels ISA_(kernels) = {
    LANES_HEAD,
    {PROFILE_LANES(4), PROFILE_LANES(4), PROFILE_LANES(2), PROFILE_LANES(4), PROFILE_LANES(1)},
    {ISA_(score_largest_F32), ISA_(score_sum_F32), ISA_(score_largest_I16), ISA_(composition), ISA_(filter)},
    ISA_(trace),
};
#undef PROFILE_LANES
#undef FILTER_BAND
#undef FILTER_LANES
#undef FILTER_STEP
