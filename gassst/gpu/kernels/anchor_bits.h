/* An anchor on a device: canonical strand, diagonal, offset, length, fate: 1 + 32 + 12 + 12 + 3 bits, the last four unused. In
 * this order they are sorted. When a stage is over, the live ones lie in buckets that were scored. */
#ifndef GASSST_ANCHOR_BITS_H
#define GASSST_ANCHOR_BITS_H

#include "portable.h"

enum { ANCHOR_LIVE, ANCHOR_DROPPED };

INLINE uint64_t anchor_of(uint32_t strand, uint32_t diagonal, uint32_t offset, uint32_t length)
{
    return (uint64_t)strand << 63 | (uint64_t)diagonal << 31 | (uint64_t)offset << 19 | (uint64_t)length << 7;
}

INLINE uint32_t anchor_strand(uint64_t anchor) { return (uint32_t)(anchor >> 63); }
INLINE uint32_t anchor_diagonal(uint64_t anchor) { return (uint32_t)(anchor >> 31); }
INLINE uint32_t anchor_offset(uint64_t anchor) { return (uint32_t)(anchor >> 19) & 0xFFF; }
INLINE uint32_t anchor_length(uint64_t anchor) { return (uint32_t)(anchor >> 7) & 0xFFF; }
INLINE uint32_t anchor_fate(uint64_t anchor) { return (uint32_t)anchor & 7; }

#endif
