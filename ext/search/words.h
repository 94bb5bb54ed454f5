/* Words in reads: at 64 positions at once. */
#ifndef GASSST_WORDS_H
#define GASSST_WORDS_H

#include "planes.h"

enum { REPEATED_BASES = 8 /* that a read has twice where it lies in a tandem repeat */ };

/* `unlike[c]`: which of 64 bases are not the letter c. A masked one is no letter, an ambiguous one that which was read. */
static inline void letters_unlike(bases64_t a, uint64_t unlike[4])
{
    const uint64_t ambiguous = ambiguous_bases(a), unknown = a.masked ^ ambiguous, high = a.high ^ (ambiguous & ~a.low);
    unlike[0] = a.low | high | unknown, unlike[1] = ~a.low | high | unknown;
    unlike[2] = a.low | ~high, unlike[3] = ~a.low | ~high;
}

/* At which of 64 bases `unlike` the letters n codes do not begin. Behind the last base all are equal. */
static inline uint64_t differ_from(const uint64_t unlike[4], const uint8_t *codes, int64_t n)
{
    uint64_t differ = 0;
    while (n--)
        differ = differ >> 1 | unlike[codes[n]];
    return differ;
}

/* Whether one of three words of m bases, the first, the middle and the last one, occurs in them once more; in reads of
 * which two words are `nearest` bases apart at least. */
static inline int repeats_itself(planes_t reads, int64_t first, int64_t m, int nearest)
{
    const int64_t last = m - REPEATED_BASES, at[3] = {0, last / 2, last}, at_once = 64 + 1 - REPEATED_BASES;
    uint8_t codes[3][REPEATED_BASES];
    if (last < nearest)
        return 0;
    for (int w = 0; w < 3; w++) {
        const bases64_t bases = bases_at(reads, first + at[w]);
        for (int j = 0; j < REPEATED_BASES; j++)
            codes[w][j] = (uint8_t)((bases.low >> j & 1) | (bases.high >> j & 1) << 1);
    }
    for (int64_t from = 0; from <= last; from += at_once) {
        const uint64_t live = first_bases(last + 1 - from < at_once ? last + 1 - from : at_once);
        uint64_t unlike[4], found = 0;
        bases64_t bases = bases_at(reads, first + from);
        bases.masked = 0;
        letters_unlike(bases, unlike);
        for (int w = 0; w < 3; w++)
            found |= ~differ_from(unlike, codes[w], REPEATED_BASES) &
                     ~(from <= at[w] && at[w] < from + at_once ? (uint64_t)1 << (at[w] - from) : 0);
        if (found & live)
            return 1;
    }
    return 0;
}

#endif
