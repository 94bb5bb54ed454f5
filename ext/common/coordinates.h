/* Coordinates of the concatenated reference, those of diagonals among them; and keys that order them by read and strand. */
#ifndef GASSST_COORDINATES_H
#define GASSST_COORDINATES_H
#include <stdint.h>

typedef int64_t coordinate_t; /* signed, so that a difference is one, too */

enum {
    COORDINATE_BITS = 36,                /* of a key, which leaves 28 to a read and its strand */
    KEY_ROW_BITS = 63 - COORDINATE_BITS, /* of a row of the read, in keys that begin with its strand alone */
    KEY_ROW_MASK = (1 << KEY_ROW_BITS) - 1,
};
_Static_assert(1 + COORDINATE_BITS + 16 + 8 <= 64, "keys of anchors: strand, diagonal, offset and length of a seed");

static inline uint64_t place_key(uint32_t read_strand, coordinate_t place)
{
    return (uint64_t)read_strand << COORDINATE_BITS | (uint64_t)place;
}

static inline uint32_t strand_of_key(uint64_t key) { return (uint32_t)(key >> COORDINATE_BITS); }
static inline coordinate_t place_of_key(uint64_t key) { return key & ((1ULL << COORDINATE_BITS) - 1); }
#endif
