"""What copies of one place weigh, from how a read may lie at a copy with some differences (`gassst/search/copies.py`)."""

import numpy as np

from libc.math cimport exp, fmin, log, pow
from libc.stdint cimport int64_t

LOG_FACTORIALS = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 4097)))])
"""float64[4097]"""
cdef const double[::1] log_factorial = LOG_FACTORIALS


cdef inline double log_choose(int64_t n, int64_t k) noexcept nogil:
    return log_factorial[n] - log_factorial[k] - log_factorial[n - k]


cdef inline double missed_with(const double[::1] missed, int64_t errors) noexcept nogil:
    return missed[errors] if errors < missed.shape[0] else 1.0


def copy_weights(int64_t m, int64_t errors, double odds, int64_t w, const double[::1] missed, Py_ssize_t n):
    """What copies with 0 to n - 1 differences weigh, relative to a place of `m` bases (at most 4,000) with `errors`.

    Of the differences, `hit` ones lie where the read has errors; of these, `same` errors are the base of the copy.
    One more error makes a place less likely by `odds`. Seeds have `w` bases; `missed` float64[e] is the share of
    alignments with as many errors that none leads to, 1 of those with more.

    Returns
    -------
    float64[2, n]
        Where no seed leads to the copy, and where none leads to it nor to the place.
    """
    cdef int64_t differences, hit, same, further, low
    cdef double chance, weight, instead, own, both
    sums_array, hit_array = np.zeros((2, n)), np.empty(n)
    cdef double[:, ::1] sums = sums_array
    cdef double[::1] seed_hit = hit_array
    with nogil:
        for hit in range(n):
            seed_hit[hit] = 1 - pow(1 - fmin(<double>hit / m, 1.0), w)
        for differences in range(min(n - 1, m) + 1):
            for hit in range(max(0, differences - (m - errors)), min(differences, errors) + 1):
                chance = (log_choose(errors, hit) + log_choose(m - errors, differences - hit)
                          - log_choose(m, differences))
                for same in range(hit + 1):
                    further = differences - hit - same
                    # One error in three makes a base look like that of the copy.
                    weight = exp(chance + log_choose(hit, same) + same * log(1 / 3.) + (hit - same) * log(2 / 3.))
                    weight *= pow(odds, further)
                    # A seed misses both where an error of both lies in it, or one of each: as if so many were of both.
                    instead = seed_hit[differences - hit] * seed_hit[same]
                    instead = errors - same + m * (1 - pow(1 - instead, 1. / w))
                    low = <int64_t>instead
                    both = missed_with(missed, low)
                    both += (instead - low) * (missed_with(missed, low + 1) - both)
                    own = missed_with(missed, errors + further)
                    sums[0, differences] += weight * own
                    sums[1, differences] += weight * fmin(both, own)
    return sums_array
