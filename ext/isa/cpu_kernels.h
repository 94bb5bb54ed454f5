/* The kernels of the CPU backend: one table per instruction set, each in its own source file (bands_avx512.c and so on).
 * The caller picks a table at run time; all of them compute the same. */
#ifndef GASSST_CPU_KERNELS_H
#define GASSST_CPU_KERNELS_H
#include "bound_kernels.h"
#include "coordinates.h"

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef int16_t i16;
typedef uint8_t u8;

#define BAND_GLOBAL
#include "band_types.h"
#include "local_types.h"

/* Arrays of four are indexed by the logarithm of the band's words: 1, 2, 4, 8. A function that returns int returns -1
 * when it gets no memory. `rows` is the length of the longest read. */
typedef struct cpu_kernels {
    const char *name;
    int (*usable)(void); /* does this processor have the instructions? */
    void (*score[4])(const band_batch *, const u16 *limits, u16 *best, u16 *end);
    void (*profile[4])(const band_batch *, u64 *errors);
    void (*local_score)(const band_batch *, const local_scoring *, u32 width, const local_ends *);
    int (*local_align)(const band_batch *, const local_scoring *, u32 width, const local_ends *, const local_paths *,
                       u32 rows);
    bound_kernel *bound;
} cpu_kernels;

extern const cpu_kernels cpu_kernels_avx512, cpu_kernels_avx2, cpu_kernels_generic;
#endif
