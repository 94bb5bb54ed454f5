"""Which of the places of a read are reported: distinct ones (`select_places`), or all of them."""

cdef struct sought_t:
    # A read, and how its places are chosen.
    int64_t length
    bint flip
    uint64_t digest
    int margin          # strata beyond the best that count
    uint32_t max_hits   # most rows of the best stratum


cdef int list_places(const place_t *places, Py_ssize_t n, const sought_t *read, bint strata, room_t *room,
                     read_summary_t *summary, int64_t *rows) except -1 nogil:
    """As `select_places`, of a read of which every end of an alignment is a place: the primary first, then all by position
    and canonical strand. Of `strata` only those with as few errors as the best one, at most `max_hits`."""
    cdef Py_ssize_t i, j, k = 0
    cdef uint64_t primary
    cdef uint64_t *keys = <uint64_t *>enlarged(room, 2 * n * sizeof(uint64_t))  # sorted: end, canonical strand, row
    if n > KEY_ROW_MASK >> 1:
        with gil:
            raise ValueError("too many places of one read")
    open_summary(summary)
    for j in range(n):
        keys[j] = ((<uint64_t>(places[j].first + places[j].end) << 1 | (places[j].read_strand & 1 ^ read.flip))
                   << KEY_ROW_BITS - 1 | j)
        count_place(summary, places[j].edits)
    sort_keys(keys, keys + n, n)
    primary = read.digest % summary.n_best if n else 0
    for j in range(n):  # the primary comes first
        i = keys[j] & KEY_ROW_MASK >> 1
        if places[i].edits == summary.best and primary == 0:
            rows[0], keys[j], k = i, UINT64_MAX, 1
            break
        primary -= places[i].edits == summary.best
    for j in range(n):
        i = keys[j] & KEY_ROW_MASK >> 1
        if keys[j] != UINT64_MAX and not (strata and (k >= read.max_hits or places[i].edits > summary.best)):
            rows[k] = i
            k += 1
    summary.n_reported = <uint32_t>k
    note_second(summary)
    return 0


cdef void count_place(read_summary_t *summary, uint16_t edits) noexcept nogil:
    """Count a place among the best, or the second best ones."""
    if edits < summary.best:
        summary.second, summary.n_second = summary.best, summary.n_best
        summary.best, summary.n_best = edits, 1
    elif edits == summary.best:
        summary.n_best += 1
    elif edits < summary.second:
        summary.second, summary.n_second = edits, 1
    else:
        summary.n_second += edits == summary.second


cdef int select_places(const place_t *places, Py_ssize_t n, const sought_t *read, room_t *room, read_summary_t *summary,
                       int64_t *rows) except -1 nogil:
    """The best and second best places of a read, and the `rows` to report, which count from its first place.

    Alignments on one strand that end within 10 bases of a better one (or of an equal one further left) are the same
    place. Among equally good places the primary is drawn by the hash of the read's bases; it comes first, then the others
    by edits, strand and position. `room` is used.
    """
    cdef Py_ssize_t i, k = 0, chosen = 0
    cdef uint32_t best = NO_SCORE, d, kept
    cdef uint64_t *keys  # sorted: canonical strand, end, row
    cdef uint8_t *stratum  # of each place, or UINT8_MAX: at the place of a better row, or reported
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
    keys = <uint64_t *>enlarged(room, n * (2 * sizeof(uint64_t) + 1))
    stratum = <uint8_t *>(keys + 2 * n)
    for i in range(n):
        if places[i].edits <= best + read.margin:
            keys[k] = (place_key((places[i].read_strand & 1) ^ read.flip, places[i].first + places[i].end + read.length)
                       << KEY_ROW_BITS | <uint64_t>i)
            k += 1
    sort_keys(keys, keys + n, k)
    for i in range(k):
        stratum[i] = <uint8_t>(places[keys[i] & KEY_ROW_MASK].edits - best)
    summary.best = <uint16_t>best
    summary.n_best = keep_places(keys, stratum, k, 0)
    if summary.n_best > 1:
        chosen = <Py_ssize_t>(read.digest % summary.n_best)
    i = -1
    while chosen >= 0:
        i += 1
        chosen -= stratum[i] == 0
    rows[0] = keys[i] & KEY_ROW_MASK
    summary.n_reported = 1
    stratum[i] = UINT8_MAX
    for d in range(<uint32_t>read.margin + 1):
        if d:
            kept = keep_places(keys, stratum, k, d)
            if kept and summary.second == NO_SCORE:
                summary.second, summary.n_second = <uint16_t>(best + d), kept
        for i in range(k):
            if stratum[i] == d:
                rows[summary.n_reported] = keys[i] & KEY_ROW_MASK
                summary.n_reported += 1
    note_second(summary)
    return 0


cdef uint32_t keep_places(const uint64_t *keys, uint8_t *stratum, Py_ssize_t k, uint8_t d) noexcept nogil:
    """Of the sorted rows keep those of stratum `d` that are not dropped, and drop those beside them that are worse, or
    as good and further right; returns how many are kept."""
    cdef Py_ssize_t i, j
    cdef uint32_t kept = 0
    for i in range(k):
        if stratum[i] != d:
            continue
        kept += 1
        j = i - 1
        while j >= 0 and (keys[i] >> KEY_ROW_BITS) - (keys[j] >> KEY_ROW_BITS) <= SAME_PLACE:
            if stratum[j] > d:
                stratum[j] = UINT8_MAX
            j -= 1
        j = i + 1
        while j < k and (keys[j] >> KEY_ROW_BITS) - (keys[i] >> KEY_ROW_BITS) <= SAME_PLACE:
            if stratum[j] >= d:
                stratum[j] = UINT8_MAX
            j += 1
    return kept


cdef inline void note_second(read_summary_t *summary) noexcept nogil:
    """The score of the best hit but one."""
    if summary.n_best > 1:
        summary.suboptimal = -<int32_t>summary.best
    elif summary.second != NO_SCORE:
        summary.suboptimal = -<int32_t>summary.second


cdef void put_first(int64_t *rows, int64_t at) noexcept nogil:
    """Put the row `at` before the others, which stay in their order."""
    cdef int64_t row = rows[at]
    while at > 0:
        rows[at] = rows[at - 1]
        at -= 1
    rows[0] = row
