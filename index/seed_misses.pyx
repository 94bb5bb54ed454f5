"""Which share of alignments the seeds of a stage miss, exactly, for all numbers of errors at once.

A plan of seeds needs these shares for every read length that turns up: mates that are cut where their fragment ends
bring a hundred.
"""

import numpy as np


def missed_shares(Py_ssize_t m, Py_ssize_t length, Py_ssize_t number, Py_ssize_t every, Py_ssize_t count):
    """Share of alignments of `m` bases that leave no seed of a stage free of errors, by their number.

    Errors are spread uniformly over the read. Sets of errors that hit every seed are counted by their last error.
    The one before it must not lie so far back that a seed fits between the two.

    Parameters
    ----------
    m
        Bases of the read, at least `length`.
    length, number, every
        As `index.miss_model.Stage` has them.
    count
        0 to `count` - 1 errors, at most `m`.

    Returns
    -------
    float64[count]
    """
    cdef Py_ssize_t gaps = number - 1, room = m - length, seed = 0, start = 0, next_start, base, errors
    cdef double total, scale
    shares_array = np.empty(count)
    due_array = np.empty(m + 1, np.intp)
    sets_array = np.zeros(m + 1)  # by 1 + last error; divided by the number of all sets of so many errors
    before_array = np.zeros(m + 2)  # sums of all sets before each
    cdef double[::1] shares = shares_array, sets = sets_array, before = before_array
    cdef Py_ssize_t[::1] due = due_array  # 1 + where the last seed begins that ends at or before each base, or 0
    with nogil:
        start = 0
        next_start = room // 2 if gaps == 0 else 0
        for base in range(m + 1):
            while seed < number and next_start + length <= base:
                start = next_start + 1
                seed += every
                next_start = seed * room // gaps if seed < number else m
            due[base] = start
        sets[0] = 1
        for errors in range(count):
            total = 0
            for base in range(due[m], m + 1):
                total += sets[base]
            shares[errors] = min(total, 1.0)
            for base in range(m + 1):
                before[base + 1] = before[base] + sets[base]
            scale = (errors + 1) / <double>max(m - errors, 1)
            sets[0] = 0
            for base in range(m):
                sets[base + 1] = max(before[base + 1] - before[due[base]], 0.0) * scale
    return shares_array
