"""Which share of alignments the seeds of a stage miss, exactly, for all numbers of errors at once.

A plan of seeds needs these shares for every read length that turns up: mates that are cut where their fragment ends
bring a hundred.
"""

cdef struct seeds_t:
    # As `index.miss_model.Stage` has them.
    int64_t length, number, disjoint, every


cdef void put_misses(double *shares, double *room, Py_ssize_t m, seeds_t seeds, Py_ssize_t count) noexcept nogil:
    """Put the share of alignments of `m` bases that leave no seed free of errors, with 0 to `count` - 1 of them. Where
    all bases are errors it is 1. `room` is for 2 (m + 2) (count + 1) numbers.
    """
    cdef Py_ssize_t e, possible = min(m, count)
    if seeds.disjoint:
        for e in range(possible):
            shares[e] = pow(1 - pow(1 - e / <double>m, seeds.length), (seeds.number + seeds.every - 1) // seeds.every)
    else:
        put_overlapping(shares, room, m, seeds, possible)
    for e in range(possible, count):
        shares[e] = 1


cdef void put_overlapping(double *shares, double *room, Py_ssize_t m, seeds_t seeds, Py_ssize_t count) noexcept nogil:
    """Errors are spread uniformly over the read. Sets of errors that hit every seed are counted by their last error.
    The one before it must not lie so far back that a seed fits between the two."""
    cdef Py_ssize_t gaps = seeds.number - 1, span = m - seeds.length, low = 0, base, e, begun = 0, ended = 0
    cdef Py_ssize_t looked_up = (seeds.number + seeds.every - 1) // seeds.every, slots = seeds.length + 2
    # By number, divided by that of all sets of so many errors: sets whose last error is the base before (two rows), the
    # sum of all before, and what it was where the seeds begin that have not ended.
    cdef double *sets = room
    cdef double *total = sets + 2 * (count + 1)
    cdef double *none = total + count
    cdef double *scale = none + count
    cdef double *before = scale + count
    cdef const double *behind = none
    memset(room, 0, (4 * count + 2) * sizeof(double))
    memset(shares, 0, count * sizeof(double))
    for e in range(count):
        scale[e] = (e + 1.0) / (m - e)
    sets[0] = 1
    for base in range(m + 1):
        while ended < looked_up and seed_start(ended * seeds.every, gaps, span) + seeds.length <= base:
            behind = before + ended % slots * count
            ended += 1
        if base > seed_start((looked_up - 1) * seeds.every, gaps, span):
            for e in range(low, min(base + 1, count)):
                shares[e] += sets[(base & 1) * (count + 1) + e]
        add(sets + (base & 1) * (count + 1), total, behind, scale, low, min(base + 1, count),
            sets + (~base & 1) * (count + 1) + 1)
        sets[(~base & 1) * (count + 1) + low] = 0
        while low < count - 1 and sets[(base & 1) * (count + 1) + low] == 0 and total[low] == behind[low]:
            low += 1  # there is no such set any more, and so none with one more error further on
        if begun < looked_up and seed_start(begun * seeds.every, gaps, span) == base:
            memcpy(before + begun % slots * count, total, count * sizeof(double))
            begun += 1
    for e in range(count):
        shares[e] = min(shares[e], 1)


cdef inline Py_ssize_t seed_start(Py_ssize_t seed, Py_ssize_t gaps, Py_ssize_t span) noexcept nogil:
    return seed * span // gaps if gaps else span // 2


cdef inline void add(const double *sets, double *total, const double *behind, const double *scale, Py_ssize_t low,
                     Py_ssize_t stop, double *more) noexcept nogil:
    """`total`: with the sets at one more base; `more`: the sets that have one error more behind it."""
    cdef Py_ssize_t e
    for e in range(low, stop):
        total[e] += sets[e]
        more[e] = max(total[e] - behind[e], 0.0) * scale[e]


def stage_misses(Py_ssize_t m, stages, Py_ssize_t count):
    """Share of alignments of `m` bases that the seeds of each stage miss, by errors: float64[stages, count]."""
    cdef seeds_t seeds
    cdef Py_ssize_t i
    missed_array = np.empty((len(stages), count))
    cdef double[:, ::1] missed = missed_array
    cdef double[::1] room = np.empty(2 * (m + 2) * (count + 1))
    for i, (seeds.length, seeds.number, seeds.disjoint, seeds.every) in enumerate(stages):
        put_misses(&missed[i, 0], &room[0], m, seeds, count)
    return missed_array


def judge_stages(Py_ssize_t m, const int64_t[:, ::1] stages not None, const double[::1] share not None,
                 const double[::1] likely not None, int strata, double settled, double lost, double nowhere):
    """What each stage leaves open of reads of `m` bases (float64[k]), and whether it may be the last one (bool[k]).

    `stages` (int64[n, 4], as `index.miss_model.Stage`) are sorted by cost, and the first k are judged: a list with dearer
    ones costs less if it ends with one that may be the last, unless a cheaper one leaves no more open. All n end a list.

    A stage settles the `share` of reads (float64[count], by their errors) of which it misses at most `settled`, or which
    have `strata` fewer errors than it has seeds. The last stage loses at most `lost` of reads with `likely` errors
    (float64[count]) beyond what stage n loses. The share `nowhere` has no place.
    """
    cdef Py_ssize_t n = stages.shape[0], count = share.shape[0], i, e, most
    cdef double least = 2, settles, loses
    open_array, last_array = np.empty(n), np.empty(n, np.uint8)
    cdef double[::1] open_after = open_array, missed = np.empty(count), fewest = np.empty(count)
    cdef double[::1] room = np.empty(2 * (m + 2) * (count + 1))
    cdef uint8_t[::1] is_last = last_array
    with nogil:
        put_misses(&fewest[0], &room[0], m, (<const seeds_t *>&stages[n - 1, 0])[0], count)
        for i in range(n):
            put_misses(&missed[0], &room[0], m, (<const seeds_t *>&stages[i, 0])[0], count)
            most, settles, loses = stages[i, 1] - strata if stages[i, 2] else -1, 0, 0
            for e in range(most + 1, count):
                most += missed[e] <= settled
            for e in range(min(most + 1, count)):
                settles += (1 - missed[e]) * share[e]
            for e in range(count):
                loses += (missed[e] - fewest[e]) * likely[e]
            open_after[i], is_last[i] = 1 - (1 - nowhere) * settles, loses <= lost
            if i == n - 1:
                open_after[i], is_last[i] = -1, True
            if is_last[i] and open_after[i] < least:
                break
            least = min(least, open_after[i])
    return open_array[:i + 1], last_array[:i + 1].view(bool)


def cheapest_path(const double[::1] open_after not None, const double[::1] cost not None, is_last, Py_ssize_t most):
    """The stages, by number, of the list of at most `most` with the least expected cost, in their order.

    A stage costs a read that takes it `cost` (float64[n]), and leaves the share `open_after` of reads (float64[n]) open. A
    list goes on with stages that leave fewer, and ends with one that `is_last` (bool[n]).
    """
    cdef Py_ssize_t n = cost.shape[0], size, i, j
    cdef double through
    cdef double[:, ::1] total = np.tile(cost, (most, 1))    # by stages of a list, and its last one
    cdef int64_t[:, ::1] before = np.full((most, n), -1)
    for size in range(1, most):
        for j in range(n):
            total[size, j] = total[size - 1, j]
            for i in range(n):
                through = total[size - 1, i] + open_after[i] * cost[j]
                if open_after[i] > open_after[j] and through < total[size, j]:
                    total[size, j], before[size, j] = through, i
    path = [int(np.where(is_last, total[most - 1], np.inf).argmin())]
    for size in range(most - 1, 0, -1):
        if before[size, path[0]] >= 0:
            path.insert(0, before[size, path[0]])
    return path
