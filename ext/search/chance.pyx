"""How many letters a word is worth: bases that a repeat foretells say little of where a read lies.

Genomes are full of words of low complexity: chance finds one far more often than a word of random bases. How likely it
is follows from itself, from how often each base was behind the one before it (the estimator of Krichevsky and
Trofimov, for a Markov chain). One formula holds for any genome.
"""

import numpy as np

from libc.math cimport exp, fmin, log
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

from gassst._core.planes cimport bases64_t, bases_at, count_bits, first_bases, planes_of, planes_t, unknown_bases
from gassst.model.params import MAX_READ_LENGTH


def _sums(double first):
    """int64[]: logarithms of first, first + 1 and so on, added up. Of whole numbers, so that their order is no matter."""
    logs = np.log(first + np.arange(MAX_READ_LENGTH))
    return np.rint(2.0**32 * np.concatenate([[0.0], np.cumsum(logs)])).astype(np.int64)


cdef const int64_t[::1] of_pairs = _sums(0.5), of_bases = _sums(2.0)


cdef double word_letters(planes_t reads, int64_t first, int64_t m, double most) noexcept nogil:
    """`letters_of` the word of bases first .. first + m - 1."""
    cdef int64_t counts[4][4]
    cdef int64_t i, x, y, row, column, known = 0, likely = 0, by_row = 0, by_column = 0
    cdef uint64_t inside, before
    cdef bases64_t a, b
    memset(counts, 0, sizeof(counts))
    for i in range(0, m - 1, 64):
        a, b = bases_at(reads, first + i), bases_at(reads, first + i + 1)
        inside = first_bases(m - 1 - i) & ~unknown_bases(a, b)
        for x in range(4):
            before = inside & (a.low ^ (x & 1) - 1) & (a.high ^ (x >> 1) - 1)
            for y in range(4):
                counts[x][y] += count_bits(before & (b.low ^ (y & 1) - 1) & (b.high ^ (y >> 1) - 1))
    for x in range(4):
        row = column = 0
        for y in range(4):
            likely += of_pairs[counts[x][y]]
            row += counts[x][y]
            column += counts[y][x]
        known, by_row, by_column = known + row, by_row + of_bases[row], by_column + of_bases[column]
    # As the strand says that foretells more. What no neighbour foretells is worth as much as any base.
    likely -= min(by_row, by_column)
    return fmin(most, exp(((m - known) * log(most) - likely * 2.0**-32) / m)) if m else most


def letters_of(const uint32_t[::1] reads, const int64_t[::1] begin, const int64_t[::1] end, packed, double most):
    """How many letters words of reads are worth: one of m bases is found at a place as often as m of so many letters.

    Word i has the bases begin[i] .. end[i] - 1 of a read as sequenced, `packed` are the reads. `most`: letters of the
    index, of which no word is worth more. Returns float64[k], the same for reverse complements.
    """
    cdef const uint32_t[::1] plane_start = packed.plane_start
    cdef planes_t planes = planes_of(packed.planes)
    cdef Py_ssize_t i
    letters_array = np.empty(reads.shape[0])
    cdef double[::1] letters = letters_array
    with nogil:
        for i in range(reads.shape[0]):
            letters[i] = word_letters(planes, 64 * <int64_t>plane_start[reads[i]] + begin[i], end[i] - begin[i], most)
    return letters_array
