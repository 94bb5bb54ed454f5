/* One instruction set, all band widths: included by nw_cpu.h with ISA, LANES and BAND_FN set. */
#define WORDS 1
#include "nw_cpu_loops.h"
#undef WORDS
#define WORDS 2
#include "nw_cpu_loops.h"
#undef WORDS
#define WORDS 4
#include "nw_cpu_loops.h"
#undef WORDS
#define WORDS 8
#include "nw_cpu_loops.h"
#undef WORDS
