/* One instruction set, all band widths: included by banded.h with ISA, LANES and BAND_FN set. */
#define WORDS 1
#include "banded_loops.h"
#undef WORDS
#define WORDS 2
#include "banded_loops.h"
#undef WORDS
#define WORDS 4
#include "banded_loops.h"
#undef WORDS
#define WORDS 8
#include "banded_loops.h"
#undef WORDS
