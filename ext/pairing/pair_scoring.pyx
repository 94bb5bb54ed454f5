"""The best pair of places of the mates of a batch, and how sure it is."""

import numpy as np

from libc.math cimport exp, log
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc

from gassst._core.contigs cimport contigs_before
from gassst._core.coordinates cimport KEY_ROW_BITS, KEY_ROW_MASK, coordinate_t, place_key
from gassst._core.hashing cimport mix
from gassst._core.key_sort cimport sort_keys
from gassst._core.orientation cimport leads, partner_strand, partner_window, template_length
from gassst._core.orientation cimport window_t, windows_of, windows_t

cdef extern from *:
    """
    /* Costs that differ by less are equal: what is left is rounding. */
    static const double SAME_COST = 0.01;
    /* 5 / ln 10: Phred of half a squared deviate. */
    static const double SQUARE_TO_PHRED = 2.171472409516259;
    /* ln 10 / 10: the natural logarithm of one Phred. */
    static const double PHRED_TO_LOG = 0.23025850929940458;
    """
    const double SAME_COST
    const double SQUARE_TO_PHRED
    const double PHRED_TO_LOG

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


cdef struct mate_t:
    # The places of one mate.
    const uint32_t *read_strand
    const coordinate_t *end
    const uint16_t *edits
    const int32_t *contig
    int64_t first           # row of the first one
    Py_ssize_t n
    int best                # fewest errors
    int64_t length          # of the read
    bint flip
    double odds


cdef struct insert_t:
    windows_t windows  # of each orientation of the library
    double[3] mean, sd
    double[3] weight   # of a pair whose template length is the mean, relative to a library of the first one alone
    double unpaired_phred
    double edit_phred


def places_of_rows(found, selected, const uint32_t[::1] lengths, const int64_t[::1] borders):
    """The selected places of reads, as `choose_pairs` takes them.

    Parameters
    ----------
    found : search.backend.Grouped
        Read: `bands`.
    selected : search.backend.Selected
        Read: `rows` int64[k].
    lengths : uint32[n]
    borders : int64[c + 1]
        Contig i owns the places whose middle lies in borders[i] .. borders[i + 1].

    Returns
    -------
    read_strand : uint32[k], ends : int64[k], edits : uint16[k]
    contig : int32[k]
        One more than the contig of the middle; what lies before the first border counts as 0.
    """
    cdef const uint32_t[::1] read_strand = found.bands.read_strand
    cdef const coordinate_t[::1] band_start = found.bands.band_start
    cdef const uint16_t[::1] end = found.bands.end, edits = found.bands.edits
    cdef const int64_t[::1] rows = selected.rows
    cdef Py_ssize_t k = rows.shape[0], i
    cdef int64_t m, middle, lowest = 0, highest = -1
    cdef int32_t c = 0
    strand_array, end_array = np.empty(k, np.uint32), np.empty(k, np.int64)
    edits_array, contig_array = np.empty(k, np.uint16), np.empty(k, np.int32)
    cdef uint32_t[::1] strand_out = strand_array
    cdef coordinate_t[::1] end_out = end_array
    cdef uint16_t[::1] edits_out = edits_array
    cdef int32_t[::1] contig = contig_array
    with nogil:
        for i in range(k):
            strand_out[i], edits_out[i] = read_strand[rows[i]], edits[rows[i]]
            m = lengths[strand_out[i] >> 1]
            end_out[i] = band_start[rows[i]] + end[rows[i]] + m
            middle = end_out[i] - ((m + 1) >> 1)
            if middle < lowest or middle > highest:
                c = <int32_t>contigs_before(&borders[0], borders.shape[0], middle)
                lowest = borders[c - 1] if c else INT64_MIN
                highest = borders[c] - 1 if c < borders.shape[0] else INT64_MAX
            contig[i] = c
    return strand_array, end_array, edits_array, contig_array


def choose_pairs(places, const double[::1] odds, reads, double unpaired_phred, double edit_phred):
    """The best pair of places of every pair of reads.

    Parameters
    ----------
    places : pairing.pair_scoring.PlacesByRead
        h places of n reads.
    odds : float64[n]
        Of each read: how much less likely a place becomes with one error more.
    reads : pairing.pair_scoring.PairedReads
    unpaired_phred, edit_phred : float
        What mates that are not concordant cost, and an error of either.

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
    cdef const uint32_t[::1] read_strand = places.read_strand, lengths = reads.lengths
    cdef const coordinate_t[::1] ends = places.ends
    cdef const uint16_t[::1] edits = places.edits
    cdef const int32_t[::1] contig = places.contig
    cdef const int64_t[::1] start = places.start
    cdef const uint8_t[::1] mate = reads.mate, flip = reads.flip
    cdef const uint64_t[::1] digest = reads.digest
    cdef Py_ssize_t n = mate.shape[0], r, i, widest = 1
    cdef insert_t insert
    cdef options_t options = options_t(NULL, 0, 0)
    cdef mate_t mates[2]
    primary_array = np.full(n, -1, np.int64)
    proper_array, decided_array = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    wrong_array = np.zeros(n, np.float64)
    cdef int64_t[::1] primary = primary_array
    cdef uint8_t[::1] proper = proper_array, decided = decided_array
    cdef double[::1] wrong = wrong_array
    insert.windows, insert.unpaired_phred, insert.edit_phred = windows_of(reads.insert), unpaired_phred, edit_phred
    for i, (library, share) in enumerate(reads.insert.shares):
        insert.mean[i], insert.sd[i] = library.mean, library.sd
        insert.weight[i] = share * insert.sd[0] / library.sd
    for r in range(n):
        widest = max(widest, start[r + 1] - start[r])
        if start[r] < start[r + 1]:
            primary[r] = start[r]
    cdef sorted_t keys = sorted_t(<uint64_t *>malloc(3 * widest * 8), NULL, NULL)
    cdef int status = 0
    keys.b, keys.scratch = keys.a + widest, keys.a + 2 * widest
    try:
        if keys.a == NULL:
            raise MemoryError
        with nogil:
            for r in range(n - 1):
                if mate[r] != 1 or start[r] == start[r + 1] or start[r + 1] == start[r + 2]:
                    continue
                decided[r] = decided[r + 1] = 1
                for i in range(2):
                    mates[i] = mate_t(&read_strand[start[r + i]], &ends[start[r + i]], &edits[start[r + i]],
                                      &contig[start[r + i]], start[r + i], start[r + i + 1] - start[r + i], 0,
                                      lengths[r + i], flip[r + i], odds[r + i])
                    mates[i].best = fewest_errors(&mates[i])
                options.n = 0
                sort_places(&mates[0], mates[0].flip, keys.a, keys.scratch)
                sort_places(&mates[1], False, keys.b, keys.scratch)
                for i in range(insert.windows.n):
                    status |= list_pairs(&mates[0], &mates[1], &insert, <int>i, &keys, &options)
                if status:
                    break
                proper[r] = proper[r + 1] = choose_pair(&mates[0], &mates[1], &options, &insert,
                                                        digest[r] + digest[r + 1], &primary[r], &wrong[r])
        if status:
            raise MemoryError
    finally:
        free(keys.a)
        free(options.all)
    return primary_array, proper_array, wrong_array, decided_array


cdef struct sorted_t:
    # Keys of the places of both mates: strand, end, place; with room for sorting.
    uint64_t *a
    uint64_t *b
    uint64_t *scratch


cdef inline int fewest_errors(const mate_t *mate) noexcept nogil:
    cdef int best = mate.edits[0]
    cdef Py_ssize_t i
    for i in range(1, mate.n):
        best = min(best, mate.edits[i])
    return best


cdef inline double power(double base, int exponent) noexcept nogil:
    cdef double x = 1.0
    while exponent > 0:
        if exponent & 1:
            x *= base
        base *= base
        exponent >>= 1
    return x


cdef inline double likelihood(const mate_t *mate, Py_ssize_t i) noexcept nogil:
    """Of a place, relative to the best one of its read."""
    return power(mate.odds, mate.edits[i] - mate.best)


cdef void sort_places(const mate_t *mate, bint flip, uint64_t *keys, uint64_t *scratch) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(mate.n):
        keys[i] = place_key((mate.read_strand[i] & 1) ^ flip, mate.end[i]) << KEY_ROW_BITS | <uint64_t>i
    sort_keys(keys, scratch, mate.n)


cdef int list_pairs(const mate_t *a, const mate_t *b, const insert_t *insert, int which, const sorted_t *keys,
                    options_t *options) noexcept nogil:
    """All pairs of places of two mates that are concordant in one orientation of the library, in the order of the first
    mate's canonical orientation; -1 when out of memory."""
    cdef Py_ssize_t i, j, own, other
    cdef Py_ssize_t[2] from_b
    cdef int64_t lo, hi, d
    cdef bint reverse, strand, leading
    cdef double z, weight
    cdef const window_t *window = &insert.windows.each[which]
    cdef double rarer = -log(insert.weight[which]) / PHRED_TO_LOG
    from_b[0], from_b[1] = 0, 0
    while from_b[1] < b.n and keys.b[from_b[1]] >> 63 == 0:
        from_b[1] += 1
    for i in range(a.n):
        own = keys.a[i] & KEY_ROW_MASK
        reverse = a.read_strand[own] & 1
        strand = partner_strand(window, reverse)
        leading = leads(window, reverse, True)
        partner_window(window, leading, a.length, b.length, a.end[own] - a.length, &lo, &hi)
        lo, hi = lo + b.length, hi + b.length
        j = from_b[strand]
        while j < b.n and <bint>(keys.b[j] >> 63) == strand:
            other = keys.b[j] & KEY_ROW_MASK
            if b.end[other] > hi:
                break
            if b.end[other] < lo:
                # Ascending with `i` on one strand: what lies left of this window lies left of the next one.
                from_b[strand] = j + 1
                j += 1
                continue
            j += 1
            if b.contig[other] != a.contig[own]:
                continue
            d = template_length(leading, a.length, b.length, a.end[own] - a.length,
                                b.end[other] - b.length)
            z = (d - insert.mean[which]) / insert.sd[which]
            weight = insert.weight[which] * likelihood(a, own) * likelihood(b, other) * exp(-0.5 * z * z)
            if add_option(options, <int32_t>own, <int32_t>other,
                          insert.edit_phred * (a.edits[own] + b.edits[other]) + SQUARE_TO_PHRED * z * z + rarer, weight):
                return -1
    return 0


cdef bint choose_pair(const mate_t *a, const mate_t *b, const options_t *options, const insert_t *insert,
                      uint64_t digest, int64_t *primary, double *wrong) noexcept nogil:
    """Choose the places of two mates; returns whether they are concordant: also where each is taken for itself, because
    the template length is so far from the mean that chance is the better explanation. `primary` and `wrong` are those
    of both mates.

    Among equals the draw goes by the bases of both mates and the places: which mate is first does not matter.
    """
    cdef double least, sum_a = 0, sum_b = 0, total = 0, with_a, with_b, unpaired
    cdef Py_ssize_t i, chosen = -1, own, other
    cdef bint concordant = False
    cdef uint64_t lot, drawn = 0
    for i in range(a.n):
        sum_a += likelihood(a, i)
    for i in range(b.n):
        sum_b += likelihood(b, i)
    unpaired = exp(-PHRED_TO_LOG * insert.unpaired_phred)
    least = insert.edit_phred * (a.best + b.best) + insert.unpaired_phred
    for i in range(options.n):
        total += options.all[i].weight
        least = min(least, options.all[i].cost)
    for i in range(options.n):
        if options.all[i].cost <= least + SAME_COST:
            lot = mix(digest + mix(a.end[options.all[i].a]) + mix(b.end[options.all[i].b]))
            if chosen < 0 or lot < drawn:
                chosen, drawn = i, lot
    if chosen >= 0:
        primary[0] = a.first + options.all[chosen].a
        primary[1] = b.first + options.all[chosen].b
    own, other = primary[0] - a.first, primary[1] - b.first
    with_a = unpaired * likelihood(a, own) * sum_b
    with_b = unpaired * likelihood(b, other) * sum_a
    total += unpaired * sum_a * sum_b
    for i in range(options.n):
        if options.all[i].a == own:
            with_a += options.all[i].weight
            concordant = concordant or options.all[i].b == other
        if options.all[i].b == other:
            with_b += options.all[i].weight
    wrong[0] = max(total - with_a, 0) / with_a
    wrong[1] = max(total - with_b, 0) / with_b
    return concordant
