/* What banded.pxi calls: the table of kernels of each instruction set, and the packing of CIGARs. */
#ifndef GASSST_BANDED_H
#define GASSST_BANDED_H
#include <string.h>
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

/* Runs of all pairs from their slots to one contiguous array; cigar_start gets each pair's place in it. */
static inline void nw_pack(const u32 *runs, const u32 *slot_end, const u16 *n_runs, u32 n, u32 *cigars,
                           u32 *cigar_start)
{
    u32 at = 0;
    for (u32 p = 0; p < n; p++) {
        cigar_start[p] = at;
        memcpy(cigars + at, runs + slot_end[p] - n_runs[p], n_runs[p] * sizeof(u32));
        at += n_runs[p];
    }
}
#endif
