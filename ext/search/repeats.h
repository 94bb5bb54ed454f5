/* Reads that repeat bases of their own: others lie in no tandem repeat. */
#ifndef GASSST_REPEATS_H
#define GASSST_REPEATS_H

#include "planes.h"

enum { REPEATED_BASES = 8 /* that a read has twice where it lies in a tandem repeat */ };

/* The bases of a word, one bit of each in all bits of an element. */
typedef struct {
    uint64_t low[REPEATED_BASES], high[REPEATED_BASES];
} word_t;

static inline word_t word_at(planes_t reads, int64_t first)
{
    const bases64_t bases = bases_at(reads, first);
    word_t word;
    for (int j = 0; j < REPEATED_BASES; j++) {
        word.low[j] = 0 - (bases.low >> j & 1);
        word.high[j] = 0 - (bases.high >> j & 1);
    }
    return word;
}

/* All bits, but for one if there is such a bit. */
static inline uint64_t without(int64_t at)
{
    return 0 <= at && at < 64 ? ~((uint64_t)1 << at) : ~(uint64_t)0;
}

/* Whether one of three words of m bases, the first, the middle and the last one, occurs in them once more; in reads of
 * which two words are `nearest` bases apart at least. Bases of a word are compared before anything is decided: to stop at
 * the first that differs costs more in mispredicted branches. */
static inline int repeats_itself(planes_t reads, int64_t first, int64_t m, int nearest)
{
    const int64_t last = m - REPEATED_BASES;
    if (last < nearest)
        return 0;
    const word_t word = word_at(reads, first), middle = word_at(reads, first + last / 2), end = word_at(reads, first + last);
    for (int64_t at = 0; at <= last; at += 64) {
        const bases64_t here = bases_at(reads, first + at), behind = bases_at(reads, first + at + 64);
        uint64_t found = without(-at), found_middle = without(last / 2 - at), found_last = without(last - at);
        for (int j = 0; j < REPEATED_BASES; j++) {
            const uint64_t low = funnel_shift(here.low, behind.low, j), high = funnel_shift(here.high, behind.high, j);
            found &= ~((low ^ word.low[j]) | (high ^ word.high[j]));
            found_middle &= ~((low ^ middle.low[j]) | (high ^ middle.high[j]));
            found_last &= ~((low ^ end.low[j]) | (high ^ end.high[j]));
        }
        if ((found | found_middle | found_last) & first_bases(last + 1 - at))
            return 1;
    }
    return 0;
}

#endif
