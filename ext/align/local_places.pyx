"""Places of reads with local ends, compared: the best of each read, the rivals of its alignment, those in a window.

Passes over all places of a batch, of which a read has one or a hundred; in NumPy each of them was a dozen passes.
"""

import numpy as np

from libc.stdint cimport INT16_MAX, INT32_MIN, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from gassst._core.coordinates cimport COORDINATE_BITS, coordinate_t, place_key
from gassst._core.key_sort cimport sort_keys
from gassst._core.layouts cimport local_line_t, local_place_t
from gassst._core.rooms cimport enlarged, room_t
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


def best_of(const local_place_t[::1] places, context):
    """The best place of every read.

    Of equals the given one, else one drawn by the hash of the read's bases. Of those on one diagonal, which are one
    place, the given one, else the one in the leftmost band.

    Parameters
    ----------
    places : LOCAL_PLACE[k]
        Read by read.
    context : search.context.BatchContext
        Read: `flip`, `digest`.

    Returns
    -------
    int64[m]
        Rows, by read.
    """
    cdef const uint8_t[::1] flip = context.flip
    cdef const uint64_t[::1] digest = context.digest
    cdef room_t room = room_t(NULL, 0)
    cdef Py_ssize_t k = places.shape[0], m = 0
    rows_array = np.empty(k, np.int64)
    cdef int64_t[::1] rows = rows_array
    try:
        if k:
            with nogil:
                m = best_rows(&places[0], k, NULL, &flip[0], &digest[0], &room, &rows[0])
    finally:
        free(room.p)
    return rows_array[:m]


cdef Py_ssize_t best_rows(const local_place_t *places, Py_ssize_t k, const uint8_t *chosen, const uint8_t *flip,
                          const uint64_t *digest, room_t *room, int64_t *rows) except -1 nogil:
    """As `best_of`, of all reads or, where `chosen` is not NULL, of some. Returns how many. `room` is used."""
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


cdef inline bint is_rival(const local_place_t *place, int64_t m, int32_t match, const local_line_t *line) noexcept nogil:
    """Whether a place, of a read of m bases, is another place for the same bases as the line: half of the shorter
    stretch."""
    cdef int64_t end = place.strand_end, begin = 0
    if (place.read_strand == line.read_strand
            and (on_a_diagonal_of(place.diagonal, line) or on_a_diagonal_of(place.first_diagonal, line))):
        return False
    if not place.reached & 1:
        begin = max(0, end - whole_bases(place.score, match))
    if place.read_strand & 1:
        begin, end = m - end, m - begin
    return 2 * (min(end, line.end) - max(begin, line.begin)) >= min(end - begin, line.end - line.begin)


def rivals(const local_line_t[::1] lines, const local_place_t[::1] places, context):
    """Of every line the next best places for the same part of the read.

    Parameters
    ----------
    lines : LOCAL_LINE[l], places : LOCAL_PLACE[k]
        Read by read; fewer than 32768 places of a read.
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
    cdef const uint32_t[::1] lengths = context.lengths
    cdef int32_t match = context.params.scoring.match
    cdef const local_place_t *own
    cdef Py_ssize_t k = places.shape[0], n_lines = lines.shape[0], first = 0, stop = 0, done = 0, i, l, n
    cdef uint32_t r
    cdef room_t rooms[2]
    cdef int64_t *order
    cdef uint64_t *keys
    best_array, count_array = np.zeros((2, n_lines), np.int32), np.zeros((2, n_lines), np.int64)
    cdef int32_t[:, ::1] best = best_array
    cdef int64_t[:, ::1] count = count_array
    rooms[0], rooms[1] = room_t(NULL, 0), room_t(NULL, 0)
    try:
        with nogil:
            order = <int64_t *>enlarged(&rooms[0], 0)
            for l in range(n_lines):
                r = lines[l].read_strand >> 1
                if l == 0 or r != lines[l - 1].read_strand >> 1:
                    first = stop
                    while first < k and places[first].read_strand >> 1 < r:
                        first += 1
                    stop = first
                    while stop < k and places[stop].read_strand >> 1 == r:
                        stop += 1
                order = <int64_t *>enlarged(&rooms[0], (done + stop - first) * sizeof(int64_t))
                n = 0
                for i in range(first, stop):
                    if is_rival(&places[i], lengths[r], match, &lines[l]):
                        order[done + n] = i
                        n += 1
                if n >> ROW_BITS:
                    with gil:
                        raise ValueError("too many places of one read")
                best[1, l] = INT32_MIN  # no rival
                if n:
                    keys = <uint64_t *>enlarged(&rooms[1], 3 * n * sizeof(uint64_t))
                    sort_by_total(order + done, n, &places[0], keys, <int64_t *>(keys + 2 * n))
                    own = &places[order[done]]
                    best[0, l], best[1, l] = own.total, own.score
                    count[0, l], count[1, l] = count_with_total(own.total, order + done, n, &places[0]), n
                    done += n
        order_array = np.empty(done, np.int64)
        copied(order_array, order)
    finally:
        free(rooms[0].p)
        free(rooms[1].p)
    return *best_array, count_array[0], order_array, np.repeat(np.arange(n_lines), count_array[1])


cdef void copied(int64_t[::1] to, const int64_t *rows) noexcept:
    if to.shape[0]:
        memcpy(&to[0], rows, to.shape[0] * sizeof(int64_t))


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
