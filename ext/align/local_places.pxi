"""Places of reads with local ends, compared: the best of each read, the rivals of its alignment.

Passes over all places of a batch, of which a read has one or a hundred; in NumPy each of them was a dozen passes.
"""

cpdef enum:
    MOST_SCORED = 32        # places of a read by local alignments: those that the search found, or another look


cdef struct known_t:
    uint64_t key    # chosen before the others, fewest errors, canonical strand, first diagonal
    uint64_t place  # strand, diagonal on which it ends
    int64_t row


cdef inline known_t known_of(uint32_t read_strand, coordinate_t first, uint16_t end, uint16_t edits, uint8_t flip,
                             int64_t row, bint is_chosen) noexcept nogil:
    """A band of a read, as `keep_known` orders it."""
    return known_t(<uint64_t>(not is_chosen) << 63 | <uint64_t>edits << (COORDINATE_BITS + 1)
                   | place_key((read_strand & 1) ^ flip, first), place_key(read_strand & 1, first + end), row)


cdef struct rival_t:
    # The next best place for the part of a read that a line aligns; no `count` where there is none.
    int32_t total
    int32_t score
    int64_t count       # places with that total that are not within 10 diagonals of one another


cdef struct stretch_of_read_t:
    # Bases begin .. end - 1 of a read as sequenced.
    int64_t begin, end


cdef inline bint overlap(stretch_of_read_t one, int64_t begin, int64_t end) noexcept nogil:
    """Whether two stretches have at least half of the shorter one in common."""
    return 2 * (min(one.end, end) - max(one.begin, begin)) >= min(one.end - one.begin, end - begin)


cdef enum:
    # The fields of the key of `sort_by_total`.
    ROW_BITS = 15           # of a place among those of its read
    ROW_MASK = (1 << ROW_BITS) - 1


cdef Py_ssize_t keep_known(known_t *places, Py_ssize_t kept, known_t place) noexcept nogil:
    """Put a place in its order among `kept` ones; returns how many there are now."""
    cdef Py_ssize_t i, at = kept
    for i in range(kept):
        if places[i].place == place.place:
            if places[i].key <= place.key:
                return kept
            at = i      # its slot is taken over
            break
    if at == kept:
        if kept == MOST_SCORED:
            if places[kept - 1].key <= place.key:
                return kept
            at = kept - 1
        else:
            kept += 1
    while at > 0 and places[at - 1].key > place.key:
        places[at] = places[at - 1]
        at -= 1
    places[at] = place
    return kept


cdef struct tied_t:
    uint64_t place      # canonical strand, diagonal
    uint64_t order      # the one chosen before first, then the highest offset in its band
    int64_t row


def best_of(const local_place_t[::1] places, const uint8_t[::1] flip, const uint64_t[::1] digest):
    """int64[m]: rows of the best places of all reads among `places` (LOCAL_PLACE[k]), as `best_rows`."""
    cdef room_t room = room_t(NULL, 0)
    cdef Py_ssize_t m = 0
    rows_array = np.empty(places.shape[0], np.int64)
    cdef int64_t[::1] rows = rows_array
    if places.shape[0]:
        with nogil:
            m = best_rows(&places[0], places.shape[0], NULL, &flip[0], &digest[0], &room, &rows[0])
        free(room.p)
    return rows_array[:m]


cdef Py_ssize_t best_rows(const local_place_t *places, Py_ssize_t k, const uint8_t *chosen, const uint8_t *flip,
                          const uint64_t *digest, room_t *room, int64_t *rows) except -1 nogil:
    """The best place of every read or, where `chosen` is not NULL, of some: their rows. Returns how many. `room` is used.

    Of equals the given one, else one drawn by the hash of the read's bases. Of those on one diagonal, which are one
    place, the given one, else the one in the leftmost band.
    """
    cdef Py_ssize_t i = 0, j, first, count, done = 0
    cdef uint32_t r
    cdef int32_t most
    cdef tied_t *tied
    while i < k:
        r, count, most, j = places[i].read_strand >> 1, 0, INT32_MIN, i
        while j < k and places[j].read_strand >> 1 == r:
            if count == 0 or places[j].total > most:
                most, count, first = places[j].total, 0, j
            count += places[j].total == most
            j += 1
        if chosen != NULL and not chosen[r]:
            count = 0
        if count == 1:
            rows[done] = first
        elif count > 1:
            tied = <tied_t *>enlarged(room, count * sizeof(tied_t))
            count = 0
            for i in range(first, j):
                if places[i].total == most:
                    tied[count] = tied_t(
                        place_key((places[i].read_strand & 1) ^ flip[r], places[i].diagonal),
                        <uint64_t>(not places[i].given) << 32
                        | (<uint32_t>0xffffffff - <uint32_t>(places[i].diagonal - places[i].band_start)), i)
                    count += 1
            rows[done] = drawn(tied, count, digest[r], places)
        done += count > 0
        i = j
    return done


cdef int64_t drawn(tied_t *tied, Py_ssize_t n, uint64_t digest, const local_place_t *places) noexcept nogil:
    """One of equally good places of a read."""
    cdef Py_ssize_t i, j, distinct = 0
    cdef int64_t chosen = -1
    cdef tied_t x
    for i in range(1, n):
        x, j = tied[i], i
        while j > 0 and (tied[j - 1].place > x.place
                         or tied[j - 1].place == x.place and tied[j - 1].order > x.order):
            tied[j] = tied[j - 1]
            j -= 1
        tied[j] = x
    for i in range(n):
        if distinct == 0 or tied[i].place != tied[distinct - 1].place:
            tied[distinct] = tied[i]
            distinct += 1
    for i in range(distinct):
        if places[tied[i].row].given:
            chosen = tied[i].row
    return chosen if chosen >= 0 else tied[<Py_ssize_t>(digest % <uint64_t>distinct)].row


cdef inline bint on_a_diagonal_of(coordinate_t diagonal, const local_line_t *line) noexcept nogil:
    return same_place(diagonal, line.first_diagonal) or same_place(diagonal, line.last_diagonal)


cdef stretch_of_read_t aligned_for_certain(const local_place_t *place, int64_t m, int32_t match) noexcept nogil:
    """Which bases of a read of m bases a place aligns for certain, by its score."""
    cdef int64_t end = place.strand_end, begin = 0
    if not place.reached & 1:
        begin = max(0, end - whole_bases(place.score, match))
    return stretch_of_read_t(m - end, m - begin) if place.read_strand & 1 else stretch_of_read_t(begin, end)


cdef inline bint is_rival(const local_place_t *place, int64_t m, int32_t match, const local_line_t *line) noexcept nogil:
    """Whether a place, of a read of m bases, is another place for the same bases as the line."""
    if (place.read_strand == line.read_strand
            and (on_a_diagonal_of(place.diagonal, line) or on_a_diagonal_of(place.first_diagonal, line))):
        return False
    return overlap(aligned_for_certain(place, m, match), line.begin, line.end)


cdef Py_ssize_t rivals_of(const local_line_t *line, const local_place_t *places, Py_ssize_t n, int64_t m,
                          int32_t match, room_t *room, rival_t *rival) except -1 nogil:
    """Which of the n places of a read of m bases are the next best ones for the part of it that a line aligns.

    Their rows are put into `room`, int64 each, by total (highest first), strand and diagonal. Returns how many.
    """
    cdef int64_t *order = <int64_t *>enlarged(room, 4 * n * sizeof(int64_t))
    cdef Py_ssize_t i, found = 0
    rival[0] = rival_t(0, INT32_MIN, 0)
    for i in range(n):
        if is_rival(&places[i], m, match, line):
            order[found] = i
            found += 1
    if found >> ROW_BITS:
        with gil:
            raise ValueError("too many places of one read")
    if found:
        sort_by_total(order, found, places, <uint64_t *>(order + n), order + 3 * n)
        rival.total, rival.score = places[order[0]].total, places[order[0]].score
        rival.count = count_with_total(rival.total, order, found, places)
    return found


cdef inline int64_t whole_bases(int32_t score, int32_t match) noexcept nogil:
    """score / match, rounded up."""
    return (score + match - 1) // match if score > 0 else -(-<int64_t>score // match)


cdef void sort_by_total(int64_t *rows, Py_ssize_t n, const local_place_t *places, uint64_t *keys,
                        int64_t *scratch) noexcept nogil:
    """Sort rows of one read by total, the highest first, then strand and diagonal."""
    cdef Py_ssize_t i
    cdef int64_t row
    if n < 2:
        return
    for i in range(n):
        row = rows[i]
        scratch[i] = row
        keys[i] = place_key(places[row].read_strand & 1, places[row].diagonal) << ROW_BITS | <uint64_t>i
    sort_keys(keys, keys + n, n)
    for i in range(n):  # as they are in order now, a second key needs their rank alone
        row = keys[i] & ROW_MASK
        keys[i] = <uint64_t>(INT16_MAX - places[scratch[row]].total) << 2 * ROW_BITS | <uint64_t>i << ROW_BITS | row
    sort_keys(keys, keys + n, n)
    for i in range(n):
        rows[i] = scratch[keys[i] & ROW_MASK]


cdef int64_t count_with_total(int32_t best, const int64_t *rows, Py_ssize_t n, const local_place_t *places) noexcept nogil:
    """Distinct places with the best total among sorted rows: a row near the one before is the same place."""
    cdef Py_ssize_t i = 1
    cdef int64_t count = 1, row, before
    while i < n and places[rows[i]].total == best:
        row, before = rows[i], rows[i - 1]
        count += (places[row].read_strand != places[before].read_strand
                  or places[row].diagonal - places[before].diagonal > SAME_PLACE)
        i += 1
    return count
