/* Bases out of bit planes (docs/pipeline.md): 64 bases a row of three words, base 0 in bit 0.
 *
 * A code of several bases has its first base in the most significant bits, so that codes compare as
 * the bases they stand for do. */
#ifndef GASSST_KMER_CODE_H
#define GASSST_KMER_CODE_H

#include "portable.h"

/* Bit i of x goes to bit 2i. */
INLINE uint64_t spread_bits(uint32_t x)
{
    uint64_t s = x;
    s = (s | s << 16) & 0x0000FFFF0000FFFF;
    s = (s | s << 8) & 0x00FF00FF00FF00FF;
    s = (s | s << 4) & 0x0F0F0F0F0F0F0F0F;
    s = (s | s << 2) & 0x3333333333333333;
    return (s | s << 1) & 0x5555555555555555;
}

/* The 32 two-bit groups of x in the opposite order. */
INLINE uint64_t reverse_bases(uint64_t x)
{
    x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
    x = (x >> 4 & 0x0F0F0F0F0F0F0F0F) | (x & 0x0F0F0F0F0F0F0F0F) << 4;
    return SWAP_BYTES(x);
}

/* Code of 32 bases from 32 bits of the low and of the high plane. */
INLINE uint64_t interleave(uint32_t low, uint32_t high)
{
    return reverse_bases(spread_bits(low) | spread_bits(high) << 1);
}

/* 64 bits of one plane from a coordinate on; reads the row behind only when bits of it are asked for. */
INLINE uint64_t plane_bits(GLOBAL const uint64_t *planes, unsigned plane, uint64_t coordinate)
{
    GLOBAL const uint64_t *row = planes + 3 * (coordinate >> 6) + plane;
    const unsigned shift = coordinate & 63;
    return shift ? row[0] >> shift | row[3] << (64 - shift) : row[0];
}

#endif
