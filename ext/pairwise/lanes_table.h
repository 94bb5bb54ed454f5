/* The end of the file of an instruction set: its table, lanes_<LANES_ISA>. */
#include "processor.h"

#define LANES_TEXT_(name) #name
#define LANES_TEXT(name) LANES_TEXT_(name)
#define LANES_JOIN_(a, b) a##b
#define LANES_JOIN(a, b) LANES_JOIN_(a, b)
const lanes_kernels LANES_JOIN(lanes_, LANES_ISA) = {
    LANES_TEXT(LANES_ISA),
    LANES_JOIN(usable_, LANES_ISA),
    {LANES_BYTES, LANES_BYTES / 2, LANES_BYTES / 4},
    {shared_8, shared_16, shared_32},
    {own_8, own_16, own_32},
    {&trace_16, &trace_32},
};
