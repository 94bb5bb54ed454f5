"""Which share of alignments the seeds of a stage miss, exactly, for all numbers of errors at once.

A plan of seeds needs these shares for every read length that turns up: mates that are cut where their fragment ends
bring a hundred.
"""

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
    cdef Py_ssize_t gaps = number - 1, room = m - length, looked_up = (number + every - 1) // every, low = 0, base, e
    cdef Py_ssize_t begun = 0, ended = 0, slots = length + 2
    shares_array = np.zeros(count)
    cdef double[::1] shares = shares_array
    cdef const double[::1] scale = np.arange(1, count + 1) / np.maximum(m - np.arange(count), 1.0)
    # By number, divided by that of all sets of so many errors: sets whose last error is the base before, the sum of all
    # before, and what it was where the seeds begin that have not ended; the last row of these is zero.
    cdef double[:, ::1] sets = np.zeros((2, count + 1)), before = np.zeros((slots + 1, count))
    cdef double[::1] total = np.zeros(count)
    cdef const double *behind = &before[slots, 0]
    with nogil:
        sets[0, 0] = 1
        for base in range(m + 1):
            while ended < looked_up and seed_start(ended * every, gaps, room) + length <= base:
                behind = &before[ended % slots, 0]
                ended += 1
            if base > seed_start((looked_up - 1) * every, gaps, room):
                for e in range(low, min(base + 1, count)):
                    shares[e] += sets[base & 1, e]
            add(&sets[base & 1, 0], &total[0], behind, &scale[0], low, min(base + 1, count), &sets[~base & 1, 1])
            sets[~base & 1, low] = 0
            while low < count - 1 and sets[base & 1, low] == 0 and total[low] == behind[low]:
                low += 1  # there is no such set any more, and so none with one more error further on
            if begun < looked_up and seed_start(begun * every, gaps, room) == base:
                before[begun % slots, :] = total
                begun += 1
    return np.minimum(shares_array, 1.0)


cdef inline Py_ssize_t seed_start(Py_ssize_t seed, Py_ssize_t gaps, Py_ssize_t room) noexcept nogil:
    return seed * room // gaps if gaps else room // 2


cdef inline void add(const double *sets, double *total, const double *behind, const double *scale, Py_ssize_t low,
                     Py_ssize_t stop, double *more) noexcept nogil:
    """`total`: with the sets at one more base; `more`: the sets that have one error more behind it."""
    cdef Py_ssize_t e
    for e in range(low, stop):
        total[e] += sets[e]
        more[e] = max(total[e] - behind[e], 0.0) * scale[e]
