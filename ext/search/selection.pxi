"""Which of the places of a read are reported."""

cdef struct sought_t:
    # A read, and how its places are chosen.
    int64_t length
    bint flip
    uint64_t digest
    int margin      # strata beyond the best that count
    int apart       # diagonals up to which two places are the same; -1: each is one of its own


cdef int select_places(const place_t *places, Py_ssize_t n, const sought_t *read, room_t *room, read_summary_t *summary,
                       int64_t *rows) except -1 nogil:
    """The best and second best places of a read, and the `rows` to report, which count from its first place.

    Alignments on one strand that end within `apart` bases of a better one (or of an equal one further left) are the same
    place. Among equally good places the primary is drawn by the hash of the read's bases; it comes first, then the others
    by edits, strand and position. `room` is used.
    """
    cdef Py_ssize_t i, k = 0, chosen
    cdef uint32_t best = NO_SCORE, worst = 0, d, kept
    cdef uint64_t *keys  # sorted: canonical strand, end, row
    cdef uint16_t *stratum  # of each place, or NO_SCORE: at the place of a better row, or reported
    open_summary(summary)
    for i in range(n):
        best = min(best, places[i].edits)
    if n == 1:
        summary.best, summary.n_best, summary.n_reported, rows[0] = <uint16_t>best, 1, 1, 0
    if n < 2:
        return 0
    if n > KEY_ROW_MASK:
        with gil:
            raise ValueError("too many places of one read")
    keys = <uint64_t *>enlarged(room, n * (2 * sizeof(uint64_t) + sizeof(uint16_t)))
    stratum = <uint16_t *>(keys + 2 * n)
    for i in range(n):
        if places[i].edits <= best + read.margin:
            keys[k] = (place_key((places[i].read_strand & 1) ^ read.flip, places[i].first + places[i].end + read.length)
                       << KEY_ROW_BITS | <uint64_t>i)
            k += 1
    sort_keys(keys, keys + n, k)
    for i in range(k):
        stratum[i] = <uint16_t>(places[keys[i] & KEY_ROW_MASK].edits - best)
        worst = max(worst, stratum[i])
    summary.best = <uint16_t>best
    for d in range(worst + 1):
        kept = keep_places(keys, stratum, k, d, read.apart)
        if d == 0:
            summary.n_best, i, chosen = kept, -1, <Py_ssize_t>(read.digest % kept)
            while chosen >= 0:
                i += 1
                chosen -= stratum[i] == 0
            rows[0], summary.n_reported, stratum[i] = keys[i] & KEY_ROW_MASK, 1, NO_SCORE
        elif kept and summary.second == NO_SCORE:
            summary.second, summary.n_second = <uint16_t>(best + d), kept
        for i in range(k):
            if stratum[i] == d:
                rows[summary.n_reported] = keys[i] & KEY_ROW_MASK
                summary.n_reported += 1
    if summary.n_best > 1:
        summary.suboptimal = -<int32_t>best
    elif summary.second != NO_SCORE:
        summary.suboptimal = -<int32_t>summary.second
    return 0


cdef uint32_t keep_places(const uint64_t *keys, uint16_t *stratum, Py_ssize_t k, uint32_t d, int apart) noexcept nogil:
    """Of the sorted rows keep those of stratum `d` that are not dropped, and drop those beside them that are worse, or
    as good and further right; returns how many are kept."""
    cdef Py_ssize_t i, j
    cdef uint32_t kept = 0
    for i in range(k):
        if stratum[i] != d:
            continue
        kept += 1
        j = i - 1
        while j >= 0 and <int64_t>((keys[i] >> KEY_ROW_BITS) - (keys[j] >> KEY_ROW_BITS)) <= apart:
            if stratum[j] > d:
                stratum[j] = NO_SCORE
            j -= 1
        j = i + 1
        while j < k and <int64_t>((keys[j] >> KEY_ROW_BITS) - (keys[i] >> KEY_ROW_BITS)) <= apart:
            if stratum[j] >= d:
                stratum[j] = NO_SCORE
            j += 1
    return kept


cdef void put_first(int64_t *rows, int64_t at) noexcept nogil:
    """Put the row `at` before the others, which stay in their order."""
    cdef int64_t row = rows[at]
    while at > 0:
        rows[at] = rows[at - 1]
        at -= 1
    rows[0] = row


cdef int64_t loss_of(const place_t *place, planes_t reference, const reads_t *reads, const uint16_t[:, :, ::1] costs,
                     int64_t cost) noexcept nogil:
    """What a place loses where bases are deaminated, in Phred: some mismatches `cost` less, as `ErrorRate.costs` says.

    With a gap no error counts as deaminated.
    """
    cdef uint32_t r = place.read_strand >> 1
    cdef int64_t m = reads.lengths[r], first = first_base(reads.plane_start[r], place.read_strand, m)
    cdef int64_t ungapped = ungapped_diagonal(reference, place.first + place.end, reads.planes, first, m, place.edits,
                                              place.reach)
    cdef int64_t lost = cost * place.edits, at, five, three, most = costs.shape[0] - 1
    cdef int kind, reverse = place.read_strand & 1
    cdef uint64_t left, known, c_to_t
    cdef bases64_t a, b
    for at in range(0, m if ungapped else 0, 64):
        a, b = bases_at(reference, ungapped + at), bases_at(reads.planes, first + at)
        known = first_bases(m - at) & ~(a.masked | b.masked)
        c_to_t = known & a.low & ~a.high & b.low & b.high
        left = c_to_t | known & ~a.low & a.high & ~(b.low | b.high)
        while left:
            five = at + trailing_zeros(left)
            kind = (c_to_t >> trailing_zeros(left) & 1) == reverse  # the machine saw the complement
            three = m - 1 - five
            if reverse:
                five, three = three, five
            lost += min(costs[min(five, most), 0, kind], costs[min(three, most), 1, kind]) - cost
            left &= left - 1
    return lost
