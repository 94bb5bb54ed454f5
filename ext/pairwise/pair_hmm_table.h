/* What the file of an instruction set consists of: the template for single and double precision and both semirings, and
 * the table. The file sets CPU_NAME, HMM_TARGET, and HMM_BYTES, the size of a vector (0: scalars). */
#include <math.h>
#include <stdlib.h>

#include "pair_hmm.h"
#include "processor.h"

#define HMM_SCOPE static
#define HMM_LANES_OF(size) (HMM_BYTES ? HMM_BYTES / (size) : 1)
#define HMM_MAX_ONE(a, b) ((a) > (b) ? (a) : (b))

/* A row's largest number lies above SMALL: this leaves all of the range below it to lesser ones. */
#define HMM_FN single_sum
#define HMM_NAME(x) single_sum_##x
#define PLUS(a, b) ((a) + (b))
#define HMM_PLUS_ONE(a, b) ((a) + (b))
#include "pair_hmm_single.h"
#include "pair_hmm_lanes.h"

#define HMM_FN single_largest
#define HMM_NAME(x) single_largest_##x
#define PLUS(a, b) HMM_LARGER(a, b)
#define HMM_PLUS_ONE(a, b) HMM_MAX_ONE(a, b)
#include "pair_hmm_single.h"
#include "pair_hmm_lanes.h"

#define HMM_FN double_sum
#define HMM_NAME(x) double_sum_##x
#define PLUS(a, b) ((a) + (b))
#define HMM_PLUS_ONE(a, b) ((a) + (b))
#include "pair_hmm_double.h"
#include "pair_hmm_lanes.h"

#define HMM_FN double_largest
#define HMM_NAME(x) double_largest_##x
#define PLUS(a, b) HMM_LARGER(a, b)
#define HMM_PLUS_ONE(a, b) HMM_MAX_ONE(a, b)
#include "pair_hmm_double.h"
#include "pair_hmm_lanes.h"

#define HMM_TEXT_(name) #name
#define HMM_TEXT(name) HMM_TEXT_(name)
#define HMM_USABLE_(name) usable_##name
#define HMM_USABLE(name) HMM_USABLE_(name)
#define HMM_TABLE_(name) hmm_kernels_##name
#define HMM_TABLE(name) HMM_TABLE_(name)
const hmm_kernels HMM_TABLE(CPU_NAME) = {
    HMM_TEXT(CPU_NAME),
    HMM_USABLE(CPU_NAME),
    {HMM_LANES_OF(4), HMM_LANES_OF(8)},
    {{single_sum, double_sum}, {single_largest, double_largest}},
};
