"""Places of reads with local ends, compared: the best of each read, the rivals of its alignment, those in a window.

Passes over all places of a batch, of which a read has one or a hundred; in NumPy each of them was a dozen passes.
"""

import numpy as np

from libc.stdint cimport INT16_MAX, INT32_MIN, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from gassst._core.coordinates cimport COORDINATE_BITS, coordinate_t, place_key
from gassst._core.key_sort cimport sort_keys
from gassst._core.same_place cimport SAME_PLACE, same_place

cdef enum:
    MOST_SCORED = 32        # places of a read: those that the search found, or another look
    # The fields of the key of `sort_by_total`.
    ROW_BITS = 15           # of a place among those of its read
    ROW_MASK = (1 << ROW_BITS) - 1


SCORED = MOST_SCORED
"""Most places of a read that are scored by local alignments, from one look at it."""

cdef struct known_t:
    uint64_t key    # chosen before the others, fewest errors, canonical strand, first diagonal
    uint64_t place  # strand, diagonal on which it ends
    int64_t row


def known_places(found, int worse, const uint8_t[::1] flip):
    """Up to 32 bands of each read that is to be reported: the chosen one, then those with the fewest errors.

    Of bands whose alignments end on the same diagonal of one strand, which is one alignment, the first is taken.

    Parameters
    ----------
    found : search.arrays.GlobalResult
        Of n reads. Read: `bands`, `rows`, `start`.
    worse : int
        Most errors that a band has beyond those of the chosen one.
    flip : uint8[n]
        From `orient`.

    Returns
    -------
    rows : int64[k]
        Of the bands, read by read.
    given : bool[k]
        The chosen ones.
    """
    cdef const uint32_t[::1] read_strand = found.bands.read_strand
    cdef const coordinate_t[::1] band_start = found.bands.band_start
    cdef const uint16_t[::1] end = found.bands.end, edits = found.bands.edits
    cdef const int64_t[::1] reported = found.rows, start = found.start
    cdef Py_ssize_t k = read_strand.shape[0], done = 0, i, kept, row = 0
    cdef int64_t r, chosen
    cdef known_t places[MOST_SCORED]
    rows_array, given_array = np.empty(k, np.int64), np.empty(k, bool)
    cdef int64_t[::1] rows = rows_array
    cdef uint8_t[::1] given = given_array.view(np.uint8)
    with nogil:
        while row < k:
            r, kept = read_strand[row] >> 1, 0
            chosen = reported[start[r]] if start[r] < start[r + 1] else -1
            while row < k and read_strand[row] >> 1 == r:
                if chosen >= 0 and edits[row] <= edits[chosen] + worse:
                    kept = keep_known(places, kept, known_t(
                        <uint64_t>(row != chosen) << 63 | <uint64_t>edits[row] << (COORDINATE_BITS + 1)
                        | place_key((read_strand[row] & 1) ^ flip[r], band_start[row]),
                        place_key(read_strand[row] & 1, band_start[row] + end[row]), row))
                row += 1
            for i in range(kept):
                rows[done], given[done] = places[i].row, places[i].row == chosen
                done += 1
    return rows_array[:done], given_array[:done]


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


def best_of(places, const uint8_t[::1] eligible, context):
    """The best place of every read that has an eligible one.

    Of equals the given one, else one drawn by the hash of the read's bases. Of those on one diagonal, which are one
    place, the given one, else the one in the leftmost band.

    Parameters
    ----------
    places : local.places.Places
        k places, in any order. Read: `read_strand`, `diagonal`, `band_start`, `total`, `given`.
    eligible : uint8[k]
    context : search.context.BatchContext
        Read: `flip`, `digest`.

    Returns
    -------
    int64[m]
        Rows, by read.
    """
    cdef const uint32_t[::1] read_strand = places.read_strand
    cdef const coordinate_t[::1] diagonal = places.diagonal, band_start = places.band_start
    cdef const int32_t[::1] total = places.total
    cdef const uint8_t[::1] given = places.given.view(np.uint8), flip = context.flip
    cdef const uint64_t[::1] digest = context.digest
    cdef Py_ssize_t k = eligible.shape[0], n = flip.shape[0], i, r, found = 0, ties = 0, done = 0
    cdef uint32_t rs
    most_array, count_array = np.full(n, INT32_MIN, np.int32), np.zeros(n, np.int32)
    first_array = np.empty(n, np.int64)  # row of the best one; where there are ties, where they begin
    cdef int32_t[::1] most = most_array, count = count_array
    cdef int64_t[::1] first = first_array
    with nogil:
        for i in range(k):
            r = read_strand[i] >> 1
            if not eligible[i] or (count[r] and total[i] < most[r]):
                continue
            if count[r] == 0 or total[i] > most[r]:
                most[r], count[r], first[r] = total[i], 0, i
            count[r] += 1
        for r in range(n):
            found += count[r] > 0
            if count[r] > 1:
                first[r] = ties
                ties += count[r]
    rows_array = np.empty(found, np.int64)
    cdef int64_t[::1] rows = rows_array
    cdef tied_t *tied = <tied_t *>malloc((ties + 1) * sizeof(tied_t))
    if tied == NULL:
        raise MemoryError
    with nogil:
        for i in range(k if ties else 0):
            rs = read_strand[i]
            r = rs >> 1
            if eligible[i] and count[r] > 1 and total[i] == most[r]:
                tied[first[r]] = tied_t(
                    place_key((rs & 1) ^ flip[r], diagonal[i]),
                    <uint64_t>(not given[i]) << 32 | (<uint32_t>0xffffffff - <uint32_t>(diagonal[i] - band_start[i])), i)
                first[r] += 1
        for r in range(n):
            if count[r] == 1:
                rows[done] = first[r]
            elif count[r] > 1:
                rows[done] = drawn(tied + first[r] - count[r], count[r], digest[r], &given[0])
            done += count[r] > 0
    free(tied)
    return rows_array


cdef int64_t drawn(tied_t *tied, Py_ssize_t n, uint64_t digest, const uint8_t *given) noexcept nogil:
    """One of equally good places of a read."""
    cdef Py_ssize_t i, j, places = 0
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
        if places == 0 or tied[i].place != tied[places - 1].place:
            tied[places] = tied[i]
            places += 1
    for i in range(places):
        if given[tied[i].row]:
            chosen = tied[i].row
    return chosen if chosen >= 0 else tied[<Py_ssize_t>(digest % <uint64_t>places)].row


cdef struct places_t:
    const uint32_t *read_strand
    const coordinate_t *diagonal
    const int32_t *total


cdef struct line_t:
    uint32_t read_strand
    int64_t begin, end, first_diagonal, last_diagonal


cdef inline bint on_a_diagonal_of(coordinate_t diagonal, const line_t *line) noexcept nogil:
    return same_place(diagonal, line.first_diagonal) or same_place(diagonal, line.last_diagonal)


cdef inline bint is_rival(uint32_t read_strand, coordinate_t first_diagonal, coordinate_t diagonal, int64_t first,
                          int64_t last, int64_t m, const line_t *line) noexcept nogil:
    """Whether a place, which aligns first..last of the strand of m bases, is another place for the same bases as the
    line: half of the shorter stretch."""
    cdef int64_t begin = first, end = last
    if read_strand == line.read_strand and (on_a_diagonal_of(diagonal, line) or on_a_diagonal_of(first_diagonal, line)):
        return False
    if read_strand & 1:
        begin, end = m - last, m - first
    return 2 * (min(end, line.end) - max(begin, line.begin)) >= min(end - begin, line.end - line.begin)


cdef struct table_t:
    # The lines and places of a batch.
    const int32_t *first    # by read, its first line; -1 for none
    const int32_t *following    # by line, the next one of its read
    const line_t *lines
    const uint32_t *read_strand
    const coordinate_t *first_diagonal
    const coordinate_t *diagonal
    const uint8_t *reached
    const uint16_t *strand_end
    const int32_t *score
    const uint32_t *lengths
    int32_t match


cdef int32_t next_rivalled(const table_t *t, Py_ssize_t i, int32_t l) noexcept nogil:
    """The first line from `l` on in the chain of its read that has place `i` for a rival; -1 for none."""
    cdef int64_t last = t.strand_end[i], m = t.lengths[t.read_strand[i] >> 1]
    cdef int64_t first = 0 if t.reached[i] & 1 else max(0, last - whole_bases(t.score[i], t.match))
    while l >= 0 and not is_rival(t.read_strand[i], t.first_diagonal[i], t.diagonal[i], first, last, m, &t.lines[l]):
        l = t.following[l]
    return l


def rivals(lines, places, context):
    """Of every line the next best places for the same part of the read.

    Parameters
    ----------
    lines : local.places.Lines
        l lines, of a read one for each of its parts.
    places : local.places.Places
        k places, in any order; fewer than 32768 of a read.
    context : search.context.BatchContext
        Of n reads. Read: `lengths`, `params.scoring.match`.

    Returns
    -------
    total, score : int32[l], count : int64[l]
        Of the next best place, and how many there are with that total that are not within 10 diagonals of one another.
    order : int64[m]
        Rows of all rivals, by line, total (highest first), strand, diagonal.
    of_line : int64[m]
        Their lines. A place may be a rival of several parts.

    Raises
    ------
    ValueError
        A read has too many places.
    """
    cdef const uint32_t[::1] read_strand = places.read_strand
    cdef const coordinate_t[::1] diagonal = places.diagonal, place_first = places.first_diagonal
    cdef const int32_t[::1] score = places.score, total = places.total
    cdef const uint8_t[::1] reached = places.reached
    cdef const uint16_t[::1] strand_end = places.strand_end
    cdef const uint32_t[::1] line_strand = lines.read_strand, lengths = context.lengths
    cdef const int64_t[::1] line_begin = lines.begin, line_end = lines.end
    cdef const coordinate_t[::1] first_diagonal = lines.first_diagonal, last_diagonal = lines.last_diagonal
    cdef places_t columns
    cdef table_t table
    cdef Py_ssize_t k = read_strand.shape[0], n_lines = line_strand.shape[0], i, l, widest = 1, n_rivals = 0
    cdef int32_t at
    of_read_array, following_array = np.full(lengths.shape[0], -1, np.int32), np.full(n_lines, -1, np.int32)
    start_array, best_array = np.zeros(n_lines + 1, np.int64), np.zeros((2, n_lines), np.int32)
    best_array[1] = INT32_MIN  # no rival
    count_array = np.zeros(n_lines, np.int64)
    cdef int32_t[::1] of_read = of_read_array, following = following_array
    cdef int64_t[::1] start = start_array, order, count = count_array
    cdef int32_t[:, ::1] best = best_array
    if not k or not n_lines:
        return *best_array, count_array, np.empty(0, np.int64), np.empty(0, np.int64)
    cdef line_t *own = <line_t *>malloc(n_lines * sizeof(line_t))
    cdef uint64_t *keys = NULL
    cdef int64_t *scratch = NULL
    columns = places_t(&read_strand[0], &diagonal[0], &total[0])
    table = table_t(&of_read[0], &following[0], own, &read_strand[0], &place_first[0], &diagonal[0], &reached[0],
                    &strand_end[0], &score[0], &lengths[0], context.params.scoring.match)
    try:
        if own == NULL:
            raise MemoryError
        with nogil:
            for l in range(n_lines - 1, -1, -1):
                own[l] = line_t(line_strand[l], line_begin[l], line_end[l], first_diagonal[l], last_diagonal[l])
                following[l] = of_read[line_strand[l] >> 1]
                of_read[line_strand[l] >> 1] = <int32_t>l
            for i in range(k):
                at = next_rivalled(&table, i, of_read[read_strand[i] >> 1])
                while at >= 0:
                    start[at + 1] += 1
                    at = next_rivalled(&table, i, following[at])
            for l in range(n_lines):
                widest = max(widest, start[l + 1])
                start[l + 1] += start[l]
        if widest >> ROW_BITS:
            raise ValueError("too many places of one read")
        order_array = np.empty(start[n_lines], np.int64)
        order = order_array
        keys, scratch = <uint64_t *>malloc(2 * widest * 8), <int64_t *>malloc(widest * 8)
        if keys == NULL or scratch == NULL:
            raise MemoryError
        with nogil:
            for i in range(k):
                at = next_rivalled(&table, i, of_read[read_strand[i] >> 1])
                while at >= 0:
                    order[start[at] + count[at]] = i
                    count[at] += 1
                    at = next_rivalled(&table, i, following[at])
            for l in range(n_lines):
                n_rivals = start[l + 1] - start[l]
                if n_rivals:
                    sort_by_total(&order[start[l]], n_rivals, &columns, keys, scratch)
                    best[0, l], best[1, l] = total[order[start[l]]], score[order[start[l]]]
                    count[l] = count_with_total(best[0, l], &order[start[l]], n_rivals, &columns)
    finally:
        free(own)
        free(keys)
        free(scratch)
    return *best_array, count_array, order_array, np.repeat(np.arange(n_lines), np.diff(start_array))


cdef inline int64_t whole_bases(int32_t score, int32_t match) noexcept nogil:
    """score / match, rounded up."""
    return (score + match - 1) // match if score > 0 else -(-<int64_t>score // match)


cdef void sort_by_total(int64_t *rows, Py_ssize_t n, const places_t *places, uint64_t *keys,
                        int64_t *scratch) noexcept nogil:
    """Sort rows of one read by total, the highest first, then strand and diagonal."""
    cdef Py_ssize_t i
    cdef int64_t row
    if n < 2:
        return
    for i in range(n):
        row = rows[i]
        scratch[i] = row
        keys[i] = place_key(places.read_strand[row] & 1, places.diagonal[row]) << ROW_BITS | <uint64_t>i
    sort_keys(keys, keys + n, n)
    for i in range(n):  # as they are in order now, a second key needs their rank alone
        row = keys[i] & ROW_MASK
        keys[i] = <uint64_t>(INT16_MAX - places.total[scratch[row]]) << 2 * ROW_BITS | <uint64_t>i << ROW_BITS | row
    sort_keys(keys, keys + n, n)
    for i in range(n):
        rows[i] = scratch[keys[i] & ROW_MASK]


cdef int64_t count_with_total(int32_t best, const int64_t *rows, Py_ssize_t n, const places_t *places) noexcept nogil:
    """Distinct places with the best total among sorted rows: a row near the one before is the same place."""
    cdef Py_ssize_t i = 1
    cdef int64_t count = 1, row, before
    while i < n and places.total[rows[i]] == best:
        row, before = rows[i], rows[i - 1]
        count += (places.read_strand[row] != places.read_strand[before]
                  or places.diagonal[row] - places.diagonal[before] > SAME_PLACE)
        i += 1
    return count
