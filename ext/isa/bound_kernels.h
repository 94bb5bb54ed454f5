/* The vector kernel of the filters, which each instruction set has (bound_band.h). */
#ifndef GASSST_BOUND_KERNELS_H
#define GASSST_BOUND_KERNELS_H

#include "filter_job.h"

enum {
    BAND_WIDTH = 32,                 /* diagonals of a narrow band */
    BAND_LEAD = BAND_WIDTH / 2,      /* of them before the candidate's own */
    BAND_REACH = BAND_LEAD - 1,      /* gap bases that never leave the band */
    BOUND_BLOCK = 512,               /* candidates that go through a kernel at a time, at most */
    BAND_ROWS = 2,                   /* rows of planes that the bases of a block may reach into behind its first */
};

/* A narrow band. */
typedef struct {
    coordinate_t at;        /* of its first diagonal */
    uint32_t read;          /* where the planes of the read strand begin, in words */
    uint32_t length, limit; /* of the read */
} band_site;

/* Planes of 64 bases: three words each. */
typedef struct {
    const uint64_t *reads, *reference;
} band_planes_of;

/* Least errors of the read in each of n narrow bands, or of its first rows where these are more than its limit. The
   caller makes sure that the bands lie inside the reference. */
typedef void bound_kernel(const band_planes_of *planes, const band_site *sites, int n, uint16_t *errors);
#endif
