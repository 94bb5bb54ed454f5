/* The end of the file of an instruction set: its table, best_kernels_<CPU_NAME>. */
#include "processor.h"

#define BEST_TEXT_(name) #name
#define BEST_TEXT(name) BEST_TEXT_(name)
#define BEST_USABLE_(name) usable_##name
#define BEST_USABLE(name) BEST_USABLE_(name)
#define BEST_TABLE_(name) best_kernels_##name
#define BEST_TABLE(name) BEST_TABLE_(name)
const best_kernels BEST_TABLE(CPU_NAME) = {BEST_TEXT(CPU_NAME), BEST_USABLE(CPU_NAME), best_tile_16, best_tile_32};
