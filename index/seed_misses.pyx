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
    cdef Py_ssize_t gaps = number - 1, room = m - length, seed = 0, start = 0, span = 1, low = 0, next_start, base, e
    cdef double *new
    cdef const double *behind
    shares_array, due_array = np.zeros(count), np.empty(m + 1, np.intp)
    cdef double[::1] shares = shares_array
    cdef const double[::1] scale = np.arange(1, count + 1) / np.maximum(m - np.arange(count), 1.0)
    cdef Py_ssize_t[::1] due = due_array  # 1 + where the last seed begins that ends at or before each base, or 0
    with nogil:
        next_start = room // 2 if gaps == 0 else 0
        for base in range(m + 1):
            while seed < number and next_start + length <= base:
                start = next_start + 1
                seed += every
                next_start = seed * room // gaps if seed < number else m
            due[base] = start
            span = max(span, base + 2 - start if start else 1)
    # By number, divided by that of all sets of so many errors: sets whose last error is the base before, and sums of all
    # before each of the last bases; the row behind these is zero.
    cdef double[:, ::1] sets = np.zeros((2, count + 1)), before = np.zeros((span + 1, count))
    with nogil:
        sets[0, 0] = 1
        for base in range(m + 1):
            new = &before[(base + 1) % span, 0]
            behind = &before[due[base] % span if due[base] else span, 0]
            for e in range(low, min(base + 1, count)):
                shares[e] += sets[base & 1, e] if base >= due[m] else 0
            add(&sets[base & 1, 0], &before[base % span, 0], behind, &scale[0], low, min(base + 1, count), new,
                &sets[~base & 1, 1])
            sets[~base & 1, low] = 0
            while low < count - 1 and sets[base & 1, low] == 0 and new[low] == behind[low]:
                low += 1  # there is no such set any more, and so none with one more error further on
    return np.minimum(shares_array, 1.0)


cdef inline void add(const double *sets, const double *old, const double *behind, const double *scale, Py_ssize_t low,
                     Py_ssize_t stop, double *new, double *more) noexcept nogil:
    """`new`: sums with the sets at one more base; `more`: the sets that have one error more behind it."""
    cdef Py_ssize_t e
    for e in range(low, stop):
        new[e] = old[e] + sets[e]
        more[e] = max(new[e] - behind[e], 0.0) * scale[e]
