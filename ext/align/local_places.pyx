"""Places of reads with local ends, compared: the best of each read, the rivals of its alignment, those in a window.

Passes over all places of a batch, of which a read has one or a hundred; in NumPy each of them was a dozen passes.
"""

import numpy as np

from libc.stdint cimport INT32_MIN, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from gassst._core.same_place cimport SAME_PLACE, same_place

cdef extern from "key_sort.h" nogil:
    void sort_keys(uint64_t *a, uint64_t *scratch, size_t n)

DEF MOST_KNOWN = 32         # places of a read that the search found
DEF MOST_TOTAL = 0x7FFF     # more than any total is
DEF ROW_BITS = 15           # of a place among those of its read


def apart(const uint32_t[::1] diagonal, const uint32_t[::1] other):
    """bool[k]: which of these diagonals are not near enough to each other to be of one place."""
    cdef Py_ssize_t k = diagonal.shape[0], i
    apart_array = np.empty(k, np.uint8)
    cdef uint8_t[::1] out = apart_array
    with nogil:
        for i in range(k):
            out[i] = not same_place(diagonal[i], other[i])
    return apart_array.view(bool)


def at_one_place(const uint32_t[::1] read_strand, const uint32_t[::1] diagonal, const uint16_t[::1] edits,
                 const uint16_t[::1] worst, const int64_t[::1] start, const int64_t[::1] chosen):
    """Reads all of whose bands that count are at the chosen band's place.

    Parameters
    ----------
    read_strand, diagonal : uint32[h]
        Bands grouped by read, and the diagonals on which their alignments end.
    edits : uint16[h], worst : uint16[n]
        Bands with more errors than the worst of their read do not count.
    start : int64[n + 1]
        Rows of read r are start[r] .. start[r + 1].
    chosen : int64[n]
        Row of each read's band; -1 for none.

    Returns
    -------
    uint8[n]
        1 where all bands of the read are on one strand and end near the chosen one; 0 where there is none.
    """
    cdef Py_ssize_t n = chosen.shape[0], r, row
    alone_array = np.zeros(n, np.uint8)
    cdef uint8_t[::1] alone = alone_array
    with nogil:
        for r in range(n):
            if chosen[r] < 0:
                continue
            alone[r] = 1
            for row in range(start[r], start[r + 1]):
                if edits[row] > worst[r]:
                    continue
                if (read_strand[row] != read_strand[chosen[r]]
                        or not same_place(diagonal[row], diagonal[chosen[r]])):
                    alone[r] = 0
                    break
    return alone_array


cdef struct known_t:
    uint64_t key    # chosen before the others, fewest errors, canonical strand, first diagonal
    uint64_t place  # strand, diagonal on which it ends
    int64_t row


def known_places(const uint32_t[::1] read_strand, const uint32_t[::1] band_start, const uint16_t[::1] end,
                 const uint16_t[::1] edits, const uint16_t[::1] worst, const int64_t[::1] start,
                 const uint8_t[::1] wanted, const int64_t[::1] chosen, const uint8_t[::1] flip):
    """Up to 32 bands of each read that is wanted: the chosen one, then those with the fewest errors.

    Of bands whose alignments end on the same diagonal of one strand, which is one alignment, the first is taken.

    Parameters
    ----------
    read_strand, band_start : uint32[h], end, edits : uint16[h]
        Bands grouped by read.
    worst : uint16[n]
        Bands with more errors do not count.
    start : int64[n + 1]
        Rows of read r are start[r] .. start[r + 1].
    wanted : uint8[n]
    chosen : int64[n]
        Row of each wanted read's band.
    flip : uint8[n]
        From `orient`.

    Returns
    -------
    rows : int64[k]
        Read by read.
    """
    cdef Py_ssize_t n = wanted.shape[0], r, room = 0, done = 0, i, kept
    cdef int64_t row
    cdef known_t places[MOST_KNOWN]
    for r in range(n):
        if wanted[r]:
            room += min(start[r + 1] - start[r], MOST_KNOWN)
    rows_array = np.empty(room, np.int64)
    cdef int64_t[::1] rows = rows_array
    with nogil:
        for r in range(n):
            if not wanted[r]:
                continue
            kept = 0
            for row in range(start[r], start[r + 1]):
                if edits[row] > worst[r]:
                    continue
                kept = keep_known(places, kept, known_t(
                    <uint64_t>(row != chosen[r]) << 63 | <uint64_t>edits[row] << 33
                    | <uint64_t>((read_strand[row] & 1) ^ flip[r]) << 32 | band_start[row],
                    <uint64_t>(read_strand[row] & 1) << 32 | (band_start[row] + end[row]), row))
            for i in range(kept):
                rows[done] = places[i].row
                done += 1
    return rows_array[:done]


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
        if kept == MOST_KNOWN:
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


def within(const uint32_t[::1] read_strand, const uint32_t[::1] diagonal, const int64_t[:, ::1] windows):
    """Which places lie in the windows of their reads.

    Parameters
    ----------
    read_strand, diagonal : uint32[k]
    windows : int64[3, n]
        First and last diagonal and strand by read.

    Returns
    -------
    bool[k]
    """
    cdef Py_ssize_t k = read_strand.shape[0], i
    cdef uint32_t r
    inside_array = np.empty(k, np.uint8)
    cdef uint8_t[::1] inside = inside_array
    with nogil:
        for i in range(k):
            r = read_strand[i] >> 1
            inside[i] = (windows[0, r] <= diagonal[i] and diagonal[i] <= windows[1, r]
                         and (read_strand[i] & 1) == windows[2, r])
    return inside_array.view(bool)


cdef struct tied_t:
    uint64_t place      # canonical strand, diagonal
    uint64_t order      # the one chosen before first, then the highest offset in its band
    int64_t row


def best_of(const uint8_t[::1] eligible, const uint32_t[::1] read_strand, const uint32_t[::1] diagonal,
            const uint32_t[::1] band_start, const int32_t[::1] total, const uint8_t[::1] given,
            const uint8_t[::1] flip, const uint64_t[::1] digest):
    """The best place of every read that has an eligible one.

    Of equals the given one, else one drawn by the hash of the read's bases. Of those on one diagonal, which are one
    place, the given one, else the one in the leftmost band.

    Parameters
    ----------
    eligible : uint8[k]
    read_strand, diagonal, band_start : uint32[k], total : int32[k], given : uint8[k]
        Columns of `local_places.Places`, in any order.
    flip : uint8[n], digest : uint64[n]
        From `orient`.

    Returns
    -------
    int64[m]
        Rows, by read.
    """
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
                    <uint64_t>((rs & 1) ^ flip[r]) << 32 | diagonal[i],
                    <uint64_t>(not given[i]) << 32 | (<uint32_t>0xffffffff - (diagonal[i] - band_start[i])), i)
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


cdef struct line_t:
    uint32_t read_strand
    int64_t begin, end, first_diagonal, last_diagonal


cdef inline bint is_rival(uint32_t read_strand, uint32_t diagonal, int64_t first, int64_t last, int64_t m,
                          const line_t *line) noexcept nogil:
    """Whether a place, which aligns first..last of the strand of m bases, is another place for the same bases as the
    line: half of the shorter stretch."""
    cdef int64_t begin = first, end = last
    if read_strand == line.read_strand and (same_place(diagonal, line.first_diagonal)
                                            or same_place(diagonal, line.last_diagonal)):
        return False
    if read_strand & 1:
        begin, end = m - last, m - first
    return 2 * (min(end, line.end) - max(begin, line.begin)) >= min(end - begin, line.end - line.begin)


def rivals(const uint32_t[::1] read_strand, const uint32_t[::1] diagonal, const int32_t[::1] score,
           const int32_t[::1] total, const uint8_t[::1] reached, const uint16_t[::1] rows,
           const uint32_t[::1] line_strand, const int64_t[::1] line_begin, const int64_t[::1] line_end,
           const uint32_t[::1] first_diagonal, const uint32_t[::1] last_diagonal, const uint32_t[::1] lengths,
           int32_t match):
    """Of every line the next best places for the same part of the read.

    Parameters
    ----------
    read_strand, diagonal : uint32[k], score, total : int32[k], reached : uint8[k], rows : uint16[k]
        Columns of `local_places.Places`, in any order; fewer than 32768 of a read.
    line_strand : uint32[l], line_begin, line_end : int64[l], first_diagonal, last_diagonal : uint32[l]
        Columns of `local_places.Lines`, one a read at most.
    lengths : uint32[n]
    match : int
        Score of a base, from which follows how many a place aligns for certain.

    Returns
    -------
    total, score : int32[l], count : int64[l]
        Of the next best place, and how many there are with that total that are not within 10 diagonals of one another.
    order : int64[m]
        Rows of all rivals, by line, total (highest first), strand, diagonal.
    """
    cdef Py_ssize_t k = read_strand.shape[0], n_lines = line_strand.shape[0], i, l, widest = 1, n_rivals = 0
    cdef int64_t m, last, first
    cdef line_t line
    of_read_array, of_place_array = np.full(lengths.shape[0], -1, np.int32), np.empty(k, np.int32)
    start_array, order_array = np.zeros(n_lines + 1, np.int64), np.empty(k, np.int64)
    best_array = np.zeros((2, n_lines), np.int32)
    count_array = np.zeros(n_lines, np.int64)
    cdef int32_t[::1] of_read = of_read_array, of_place = of_place_array
    cdef int64_t[::1] start = start_array, order = order_array, count = count_array
    cdef int32_t[:, ::1] best = best_array
    with nogil:
        for l in range(n_lines):
            of_read[line_strand[l] >> 1] = <int32_t>l
        for i in range(k):
            l = of_read[read_strand[i] >> 1]
            of_place[i] = -1
            if l < 0:
                continue
            m, last = lengths[read_strand[i] >> 1], rows[i]
            first = 0 if reached[i] & 1 else max(0, last - whole_bases(score[i], match))
            line = line_t(line_strand[l], line_begin[l], line_end[l], first_diagonal[l], last_diagonal[l])
            if is_rival(read_strand[i], diagonal[i], first, last, m, &line):
                of_place[i] = <int32_t>l
                start[l + 1] += 1
        for l in range(n_lines):
            widest = max(widest, start[l + 1])
            start[l + 1] += start[l]
    if widest >> ROW_BITS:
        raise ValueError("too many places of one read")
    cdef uint64_t *keys = <uint64_t *>malloc(2 * widest * 8)
    cdef int64_t *scratch = <int64_t *>malloc(widest * 8)
    try:
        if keys == NULL or scratch == NULL:
            raise MemoryError
        with nogil:
            for i in range(k):
                l = of_place[i]
                if l >= 0:
                    order[start[l] + count[l]] = i
                    count[l] += 1
            for l in range(n_lines):
                n_rivals = start[l + 1] - start[l]
                best[1, l] = INT32_MIN  # no rival
                if n_rivals:
                    by_total(&order[start[l]], n_rivals, &read_strand[0], &diagonal[0], &total[0], keys, scratch)
                    best[0, l], best[1, l] = total[order[start[l]]], score[order[start[l]]]
                    count[l] = places_with(best[0, l], &order[start[l]], n_rivals, &read_strand[0], &diagonal[0],
                                           &total[0])
    finally:
        free(keys)
        free(scratch)
    return *best_array, count_array, order_array[:start[n_lines]]


cdef inline int64_t whole_bases(int32_t score, int32_t match) noexcept nogil:
    """score / match, rounded up."""
    return (score + match - 1) // match if score > 0 else -(-<int64_t>score // match)


cdef void by_total(int64_t *rows, Py_ssize_t n, const uint32_t *read_strand, const uint32_t *diagonal,
                   const int32_t *total, uint64_t *keys, int64_t *scratch) noexcept nogil:
    """Sort rows of one read by total, the highest first, then strand and diagonal."""
    cdef Py_ssize_t i
    cdef int64_t row
    if n < 2:
        return
    for i in range(n):
        row = rows[i]
        scratch[i] = row
        keys[i] = (<uint64_t>(MOST_TOTAL - total[row]) << (33 + ROW_BITS)
                   | <uint64_t>(read_strand[row] & 1) << (32 + ROW_BITS) | <uint64_t>diagonal[row] << ROW_BITS
                   | <uint64_t>i)
    sort_keys(keys, keys + n, n)
    for i in range(n):
        rows[i] = scratch[keys[i] & ((1 << ROW_BITS) - 1)]


cdef int64_t places_with(int32_t best, const int64_t *rows, Py_ssize_t n, const uint32_t *read_strand,
                         const uint32_t *diagonal, const int32_t *total) noexcept nogil:
    """How many places the first of the sorted rows are, those with the best total: a row near the one before is the
    same."""
    cdef Py_ssize_t i = 1
    cdef int64_t count = 1
    while i < n and total[rows[i]] == best:
        count += (read_strand[rows[i]] != read_strand[rows[i - 1]]
                  or <int64_t>diagonal[rows[i]] - diagonal[rows[i - 1]] > SAME_PLACE)
        i += 1
    return count
