/* What an instruction set has: the template for both precisions and both semirings. */
#define LOGS 0
#define LARGEST 0
#define KIND F32
#include "numbers.h"
#include "pair_hmm_lanes.h"
#undef KIND
#define KIND F64
#include "numbers.h"
#include "pair_hmm_lanes.h"
#undef KIND
#undef LARGEST
#define LARGEST 1
#define KIND F32
#include "numbers.h"
#include "pair_hmm_lanes.h"
#undef KIND
#define KIND F64
#include "numbers.h"
#include "pair_hmm_lanes.h"
#undef KIND
#undef LARGEST
#undef LOGS

static const hmm_kernels ISA_(kernels) = {
    LANES_HEAD,
    {{ISA_(logs_sum_F32), ISA_(logs_sum_F64)}, {ISA_(logs_largest_F32), ISA_(logs_largest_F64)}},
};
