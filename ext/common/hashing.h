/* One hash of 64 bits, for draws that depend on nothing but what is hashed. */
#ifndef GASSST_HASHING_H
#define GASSST_HASHING_H

#include <stdint.h>

static inline uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 32) * (uint64_t)0xd6e8feb86659fd93;
    h = (h ^ h >> 32) * (uint64_t)0xd6e8feb86659fd93;
    return h ^ h >> 32;
}

#endif
