/* What banded.pxi calls: the table of kernels of each instruction set. */
#ifndef GASSST_BANDED_H
#define GASSST_BANDED_H
#include "cpu_kernels.h"

/* The fastest first; the last runs on every processor. */
static const cpu_kernels *const cpu_tables[] = {
#ifdef __x86_64__
    &cpu_kernels_avx512,
    &cpu_kernels_avx2,
#endif
    &cpu_kernels_generic,
};
enum { CPU_TABLES = sizeof cpu_tables / sizeof cpu_tables[0] };
#endif
