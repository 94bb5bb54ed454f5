"""Places of reads with local ends, compared: the best of each read, the rivals of its alignment.

Passes over all places of a batch, of which a read has one or a hundred; in NumPy each of them was a dozen passes.
"""

cpdef enum:
    MOST_SCORED = 32        # places of a read by local alignments: those that the search found, or another look

cdef enum:
    ROWS_AT_ONCE = 1 << 14  # of whole reads that are aligned


cdef struct row_t:
    # An alignment, and in RIVALS pointers to the next best places for its part of the read.
    hit_t hit
    local_line_t line
    Py_ssize_t first_rival, n_rivals


cdef struct stretch_of_read_t:
    # Bases begin .. end - 1 of a read as sequenced.
    int64_t begin, end


cdef inline bint overlap(stretch_of_read_t one, int64_t begin, int64_t end) noexcept nogil:
    """Whether two stretches have at least half of the shorter one in common."""
    return 2 * (min(one.end, end) - max(one.begin, begin)) >= min(one.end - one.begin, end - begin)


cdef Py_ssize_t best_rows(const local_place_t *places, Py_ssize_t k, const uint8_t *chosen, const uint8_t *flip,
                          const uint64_t *digest, room_t *room, int64_t *rows) except -1 nogil:
    """The best place of every read or, where `chosen` is not NULL, of some: their rows. Returns how many. `room` is used.

    Of equals the given one, else one drawn by the hash of the read's bases. Those on one diagonal are one place.
    """
    cdef Py_ssize_t i, j, first, n, given, done = 0, end = 0
    cdef uint32_t r
    cdef int32_t most
    cdef uint64_t *keys
    while end < k:
        r, most, first, n, given = places[end].read_strand >> 1, INT32_MIN, end, 0, -1
        while end < k and places[end].read_strand >> 1 == r:
            if places[end].total > most:
                most, first, n, given = places[end].total, end, 0, -1
            n += places[end].total == most
            given = end if places[end].given and places[end].total == most else given
            end += 1
        if chosen != NULL and not chosen[r]:
            continue
        rows[done] = first if given < 0 else given
        done += 1
        if n == 1 or given >= 0:
            continue
        keys, n = <uint64_t *>enlarged(room, 2 * n * sizeof(uint64_t)), 0
        for i in range(first, end):
            if places[i].total == most:
                keys[n] = (place_key((places[i].read_strand & 1) ^ flip[r], places[i].diagonal) << KEY_ROW_BITS
                           | <uint64_t>(i - first))
                n += 1
        sort_keys(keys, keys + n, n)
        j = 0
        for i in range(n):
            if i == 0 or keys[i] >> KEY_ROW_BITS != keys[j - 1] >> KEY_ROW_BITS:
                keys[j] = keys[i]
                j += 1
        rows[done - 1] = first + <Py_ssize_t>(keys[digest[r] % <uint64_t>j] & KEY_ROW_MASK)
    return done


cdef stretch_of_read_t aligned_for_certain(const local_place_t *place, int64_t m, int32_t match) noexcept nogil:
    """Which bases of a read of m bases a place aligns for certain, by its score."""
    cdef int64_t end = place.strand_end, begin = 0
    if not place.reached & 1:
        begin = max(0, end - whole_bases(place.score, match))
    return stretch_of_read_t(m - end, m - begin) if place.read_strand & 1 else stretch_of_read_t(begin, end)


cdef bint is_rival(const local_place_t *place, int64_t m, int32_t match, const local_line_t *line) noexcept nogil:
    """Whether a place, of a read of m bases, is another place for the same bases as the line: between the diagonals that
    the line passes it is a part of that."""
    if place.read_strand == line.read_strand and (line.low_diagonal - SAME_PLACE <= place.diagonal
                                                  <= line.high_diagonal + SAME_PLACE):
        return False
    return overlap(aligned_for_certain(place, m, match), line.begin, line.end)


cdef Py_ssize_t rivals_of(const local_line_t *line, const local_place_t *places, Py_ssize_t n, int64_t m,
                          int32_t match, room_t *room, Py_ssize_t kept) except -1 nogil:
    """Which of the n places of a read of m bases are the next best ones for the part of it that a line aligns.

    Pointers to them are put into `room`, behind those that are `kept`, by total (highest first), strand and diagonal.
    Returns how many there are then.
    """
    cdef const local_place_t **order = <const local_place_t **>enlarged(room, (kept + n) * sizeof(local_place_t *)) + kept
    cdef Py_ssize_t i, found = 0
    for i in range(n):
        if is_rival(&places[i], m, match, line):
            order[found] = &places[i]
            found += 1
    if found > 1:
        qsort(order, found, sizeof(local_place_t *), by_total)
    return kept + found


cdef inline bint is_another(const local_place_t **order, Py_ssize_t i) noexcept nogil:
    """Whether a rival is more than 10 diagonals from the one before it."""
    return i == 0 or not (order[i].read_strand == order[i - 1].read_strand
                          and same_place(order[i].diagonal, order[i - 1].diagonal))


cdef int by_total(const void *a, const void *b) noexcept nogil:
    cdef const local_place_t *one = (<const local_place_t **>a)[0]
    cdef const local_place_t *other = (<const local_place_t **>b)[0]
    cdef uint64_t key = place_key(one.read_strand & 1, one.diagonal)
    cdef uint64_t other_key = place_key(other.read_strand & 1, other.diagonal)
    if one.total != other.total:
        return -1 if one.total > other.total else 1
    if key != other_key:
        return -1 if key < other_key else 1
    return -1 if one < other else one > other  # as they are known


cdef inline int64_t whole_bases(int32_t score, int32_t match) noexcept nogil:
    """score / match, rounded up."""
    return (score + match - 1) // match if score > 0 else -(-<int64_t>score // match)
