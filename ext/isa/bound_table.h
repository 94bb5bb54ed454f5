/* The end of the file of an instruction set: its table, bound_kernels_<BOUND_NAME>. The including file sets
 * BOUND_NAME. */
#include "processor.h"

#define BOUND_TEXT_(name) #name
#define BOUND_TEXT(name) BOUND_TEXT_(name)
#define BOUND_USABLE_(name) usable_##name
#define BOUND_USABLE(name) BOUND_USABLE_(name)
#define BOUND_TABLE_(name) bound_kernels_##name
#define BOUND_TABLE(name) BOUND_TABLE_(name)
const bound_kernels BOUND_TABLE(BOUND_NAME) = {
    BOUND_TEXT(BOUND_NAME),
    BOUND_USABLE(BOUND_NAME),
    band_bounds,
};
