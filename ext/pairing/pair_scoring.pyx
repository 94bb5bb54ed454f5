"""The best pair of places of the mates of a batch, and how sure it is: `choose`."""

import numpy as np

from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc

from gassst._core.orientation cimport leads, partner_strand, partner_window, template_length, window_t
from gassst._core.hashing cimport mix

cdef extern from "key_sort.h" nogil:
    void sort_keys(uint64_t *a, uint64_t *scratch, size_t n)


cdef struct option_t:
    int32_t a
    int32_t b
    double cost    # Phred
    double weight


cdef struct options_t:
    option_t *all
    Py_ssize_t n, room


cdef int add_option(options_t *o, int32_t a, int32_t b, double cost, double weight) noexcept nogil:
    cdef void *p
    if o.n == o.room:
        p = realloc(o.all, 2 * (o.room + 32) * sizeof(option_t))
        if p == NULL:
            return -1
        o.all, o.room = <option_t *>p, 2 * (o.room + 32)
    o.all[o.n] = option_t(a, b, cost, weight)
    o.n += 1
    return 0


DEF EDIT_PHRED = 18.0  # of an error, where the places of a pair are compared: near what 2 % errors tell
DEF SAME_COST = 0.01


def choose(const uint32_t[::1] read_strand, const uint32_t[::1] end_position, const uint16_t[::1] edits,
           const int32_t[::1] contig, const int64_t[::1] start, const uint8_t[::1] mate, const uint8_t[::1] flip,
           const uint32_t[::1] lengths, const uint64_t[::1] digest, const double[::1] odds, insert,
           double unpaired_phred):
    """The best pair of places of every pair of reads.

    Parameters
    ----------
    read_strand : uint32[h], end_position : uint32[h], edits : uint16[h]
        Distinct places grouped by read, the primary of the read alone first.
    contig : int32[h]
        On which each lies.
    start : int64[n + 1]
    mate, flip, lengths, digest
        Of the batch; `digest` draws among equally good pairs.
    odds : float64[n]
        Of each read: how much less likely a place becomes with one error more.
    insert : InsertModel
    unpaired_phred : float
        What mates that are not concordant cost.

    Returns
    -------
    primary : int64[n]
        Row of the place chosen for every read; -1 for reads that have none.
    proper : uint8[n]
        1 for mates of a concordant pair.
    wrong : float64[n]
        Weight of all pairs of places without the chosen one, relative to those with it; 0 for reads whose mate
        has no place, which are to be judged alone: their `proper` is 0 and `decided` as well.
    decided : uint8[n]
        1 where both mates have places, so that `wrong` speaks of the pair.
    """
    cdef Py_ssize_t n = mate.shape[0], r, i, widest = 1
    cdef window_t w = window_t(insert.code, insert.low, insert.high)
    cdef double mean = insert.mean, sd = insert.sd
    cdef options_t options = options_t(NULL, 0, 0)
    primary_array = np.full(n, -1, np.int64)
    proper_array, decided_array = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    wrong_array = np.zeros(n, np.float64)
    cdef int64_t[::1] primary = primary_array
    cdef uint8_t[::1] proper = proper_array, decided = decided_array
    cdef double[::1] wrong = wrong_array
    for r in range(n):
        widest = max(widest, start[r + 1] - start[r])
        if start[r] < start[r + 1]:
            primary[r] = start[r]
    cdef uint64_t *keys = <uint64_t *>malloc(3 * widest * 8)
    cdef int status = 0
    try:
        if keys == NULL:
            raise MemoryError
        with nogil:
            for r in range(n - 1):
                if mate[r] != 1 or start[r] == start[r + 1] or start[r + 1] == start[r + 2]:
                    continue
                decided[r] = decided[r + 1] = 1
                options.n = 0
                status = list_pairs(&read_strand[0], &end_position[0], &edits[0], &contig[0], &start[r], flip[r],
                                    flip[r + 1], lengths[r], lengths[r + 1], odds[r], odds[r + 1], &w, mean, sd,
                                    keys, widest, &options)
                if status:
                    break
                proper[r] = proper[r + 1] = judge(&end_position[0], &edits[0], &start[r], &odds[r], &options,
                                                  unpaired_phred, digest[r] + digest[r + 1], &primary[r], &wrong[r])
        if status:
            raise MemoryError
    finally:
        free(keys)
        free(options.all)
    return primary_array, proper_array, wrong_array, decided_array


cdef inline double power(double base, int exponent) noexcept nogil:
    cdef double x = 1.0
    while exponent > 0:
        if exponent & 1:
            x *= base
        base *= base
        exponent >>= 1
    return x


cdef int list_pairs(const uint32_t *read_strand, const uint32_t *end_position, const uint16_t *edits,
                    const int32_t *contig, const int64_t *start, bint flip_a, bint flip_b, int64_t m_a, int64_t m_b,
                    double odds_a, double odds_b, const window_t *w, double mean, double sd, uint64_t *keys, Py_ssize_t widest,
                    options_t *options) noexcept nogil:
    """All concordant pairs of places of two mates, in the order of the first mate's canonical orientation."""
    cdef uint64_t *b_keys = keys + widest
    cdef Py_ssize_t n_a = start[1] - start[0], n_b = start[2] - start[1], i, j, from_b[2]
    cdef int64_t row, other, lo, hi, d
    cdef int best_a = edits[start[0]], best_b = edits[start[1]]
    cdef bint reverse, strand, leading
    cdef double z, weight
    for i in range(n_a):
        row = start[0] + i
        best_a = min(best_a, edits[row])
        keys[i] = <uint64_t>((read_strand[row] & 1) ^ flip_a) << 63 | <uint64_t>end_position[row] << 31 | <uint64_t>i
    sort_keys(keys, keys + 2 * widest, n_a)
    for i in range(n_b):
        row = start[1] + i
        best_b = min(best_b, edits[row])
        b_keys[i] = <uint64_t>(read_strand[row] & 1) << 63 | <uint64_t>end_position[row] << 31 | <uint64_t>i
    sort_keys(b_keys, keys + 2 * widest, n_b)
    from_b[0], from_b[1] = 0, 0
    while from_b[1] < n_b and b_keys[from_b[1]] >> 63 == 0:
        from_b[1] += 1
    for i in range(n_a):
        row = start[0] + <int64_t>(keys[i] & 0x7fffffff)
        reverse = read_strand[row] & 1
        strand = partner_strand(w, reverse)
        leading = leads(w, reverse, True)
        partner_window(w, leading, m_a, m_b, <int64_t>end_position[row] - m_a, &lo, &hi)
        lo, hi = lo + m_b, hi + m_b
        j = from_b[strand]
        while j < n_b and <bint>(b_keys[j] >> 63) == strand:
            other = start[1] + <int64_t>(b_keys[j] & 0x7fffffff)
            if <int64_t>end_position[other] > hi:
                break
            if <int64_t>end_position[other] < lo:
                # Ascending with `i` on one strand: what lies left of this window lies left of the next one.
                from_b[strand] = j + 1
                j += 1
                continue
            j += 1
            if contig[other] != contig[row]:
                continue
            d = template_length(leading, m_a, m_b, <int64_t>end_position[row] - m_a,
                                <int64_t>end_position[other] - m_b)
            z = (d - mean) / sd
            weight = power(odds_a, edits[row] - best_a) * power(odds_b, edits[other] - best_b) * exp(-0.5 * z * z)
            if add_option(options, <int32_t>(row - start[0]), <int32_t>(other - start[1]),
                          EDIT_PHRED * (edits[row] + edits[other]) + 2.171472409516259 * z * z, weight):
                return -1
    return 0


cdef bint judge(const uint32_t *end_position, const uint16_t *edits, const int64_t *start, const double *odds,
                const options_t *options, double unpaired_phred, uint64_t digest, int64_t *primary,
                double *wrong) noexcept nogil:
    """Chooses; returns whether the chosen places are concordant: also where each is taken for itself, because the
    template length is so far from the mean that chance is the better explanation. All arrays point to the first
    mate's entry.

    Among equals the draw goes by the bases of both mates and the places: which mate is first does not matter.
    """
    cdef double least, sum_a = 0, sum_b = 0, total = 0, with_a, with_b, unpaired, u
    cdef int best_a = edits[start[0]], best_b = edits[start[1]]
    cdef Py_ssize_t i, chosen = -1
    cdef bint concordant = False
    cdef int64_t row
    cdef uint64_t lot, drawn = 0
    for row in range(start[0], start[1]):
        best_a = min(best_a, edits[row])
    for row in range(start[1], start[2]):
        best_b = min(best_b, edits[row])
    for row in range(start[0], start[1]):
        sum_a += power(odds[0], edits[row] - best_a)
    for row in range(start[1], start[2]):
        sum_b += power(odds[1], edits[row] - best_b)
    u = exp(-0.23025850929940458 * unpaired_phred)
    unpaired = EDIT_PHRED * (best_a + best_b) + unpaired_phred
    least = unpaired
    for i in range(options.n):
        total += options.all[i].weight
        least = min(least, options.all[i].cost)
    for i in range(options.n):
        if options.all[i].cost <= least + SAME_COST:
            lot = mix(digest + mix(end_position[start[0] + options.all[i].a])
                      + mix(end_position[start[1] + options.all[i].b]))
            if chosen < 0 or lot < drawn:
                chosen, drawn = i, lot
    if chosen >= 0:
        primary[0] = start[0] + options.all[chosen].a
        primary[1] = start[1] + options.all[chosen].b
    with_a = u * power(odds[0], edits[primary[0]] - best_a) * sum_b
    with_b = u * power(odds[1], edits[primary[1]] - best_b) * sum_a
    total += u * sum_a * sum_b
    for i in range(options.n):
        if options.all[i].a == primary[0] - start[0]:
            with_a += options.all[i].weight
            concordant = concordant or options.all[i].b == primary[1] - start[1]
        if options.all[i].b == primary[1] - start[1]:
            with_b += options.all[i].weight
    wrong[0] = max(total - with_a, 0) / with_a
    wrong[1] = max(total - with_b, 0) / with_b
    return concordant
