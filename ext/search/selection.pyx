"""Which of the places of a read are reported: distinct ones (`select_best`), or all of them."""

import numpy as np

from libc.stdint cimport UINT8_MAX, UINT32_MAX, UINT64_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free

from gassst._core.coordinates cimport KEY_ROW_BITS, KEY_ROW_MASK, coordinate_t, place_key
from gassst._core.key_sort cimport sort_keys
from gassst._core.layouts cimport NO_SCORE, open_summary, read_summary_t
from gassst._core.rooms cimport enlarged, room_t
from gassst._core.same_place cimport SAME_PLACE
from gassst._core.selection cimport place_t, sought_t  # its own: named, so that the build sees a change

from gassst.model.layouts import READ_SUMMARY


def select_best(found, context, int margin, uint32_t max_hits):
    """Best and second best places of every read, and the rows to report.

    Alignments on one strand that end within 10 bases of a better one (or of an equal one further left) are the same
    place. Among equally good places the primary is drawn by the hash of the read's bases.

    Parameters
    ----------
    found : search.arrays.Grouped
        h scored bands grouped by read.
    context : search.context.BatchContext
        Of n reads. Read: `lengths`, `flip`, `digest`.
    margin : int
        Strata beyond the best that count.
    max_hits : int
        Most rows reported for a read.

    Returns
    -------
    rows : int64[k]
        Reported rows, read by read, the primary first, then by edits, strand and position.
    row_start : int64[n + 1]
        Rows of read r are rows[row_start[r]] .. rows[row_start[r + 1]].
    summary : READ_SUMMARY[n]

    Raises
    ------
    ValueError
        Unless 0 <= margin < 255; a read has too many places.
    """
    cdef const uint32_t[::1] read_strand = found.bands.read_strand, lengths = context.lengths
    cdef const coordinate_t[::1] first = found.bands.band_start
    cdef const uint16_t[::1] end = found.bands.end, edits = found.bands.edits
    cdef const int64_t[::1] start = found.start
    cdef const uint8_t[::1] flip = context.flip
    cdef const uint64_t[::1] digest = context.digest
    cdef Py_ssize_t n = start.shape[0] - 1, r, i, out = 0, size
    cdef sought_t read
    cdef room_t rooms[2]
    cdef place_t *places
    if not 0 <= margin < UINT8_MAX:
        raise ValueError(f"margin {margin}")
    summary_array = np.empty(n, READ_SUMMARY)
    cdef read_summary_t[::1] summary = summary_array
    rows_array = np.empty(read_strand.shape[0] + 1, np.int64)
    row_start_array = np.empty(n + 1, np.int64)
    cdef int64_t[::1] rows = rows_array, row_start = row_start_array
    rooms[0], rooms[1], row_start[0] = room_t(NULL, 0), room_t(NULL, 0), 0
    try:
        with nogil:
            for r in range(n):
                size = start[r + 1] - start[r]
                places = <place_t *>enlarged(&rooms[0], size * sizeof(place_t))
                for i in range(start[r], start[r + 1]):
                    places[i - start[r]] = place_t(first[i], read_strand[i], end[i], edits[i], edits[i], 0)
                read = sought_t(lengths[r], flip[r], digest[r], margin, max_hits)
                select_places(places, size, &read, &rooms[1], &summary[r], &rows[out])
                row_start[r + 1] = out + summary[r].n_reported
                while out < row_start[r + 1]:
                    rows[out] += start[r]
                    out += 1
    finally:
        free(rooms[0].p)
        free(rooms[1].p)
    return rows_array[:out], row_start_array, summary_array


def select_all(found, context, bint strata, uint32_t max_hits):
    """Every place of every read: the primary first, then by position and canonical strand.

    Parameters
    ----------
    found, context
        As for `select_best`, but that there is one place for each end of a read.
    strata : bool
        Only those with as few errors as the best one, at most `max_hits`.

    Returns
    -------
    rows : int64[k], row_start : int64[n + 1], summary : READ_SUMMARY[n]
    """
    cdef const uint32_t[::1] read_strand = found.bands.read_strand
    cdef const coordinate_t[::1] first = found.bands.band_start
    cdef const uint16_t[::1] end = found.bands.end, edits = found.bands.edits
    cdef const int64_t[::1] start = found.start
    cdef const uint8_t[::1] flip = context.flip
    cdef const uint64_t[::1] digest = context.digest
    cdef Py_ssize_t n = start.shape[0] - 1, r, i, j, k, out = 0
    cdef uint32_t best, most = max_hits if strata else UINT32_MAX
    cdef uint64_t primary
    cdef uint64_t *keys  # sorted: end, canonical strand, row
    cdef room_t room = room_t(NULL, 0)
    summary_array = np.empty(n, READ_SUMMARY)
    cdef read_summary_t[::1] summary = summary_array
    rows_array, row_start_array = np.empty(read_strand.shape[0] + 1, np.int64), np.zeros(n + 1, np.int64)
    cdef int64_t[::1] rows = rows_array, row_start = row_start_array
    try:
        with nogil:
            for r in range(n):
                k = start[r + 1] - start[r]
                if k > KEY_ROW_MASK >> 1:
                    with gil:
                        raise ValueError("too many places of one read")
                keys = <uint64_t *>enlarged(&room, 2 * k * sizeof(uint64_t))
                open_summary(&summary[r])
                for j in range(k):
                    i = start[r] + j
                    keys[j] = (<uint64_t>(first[i] + end[i]) << 1 | (read_strand[i] & 1 ^ flip[r])) << KEY_ROW_BITS - 1 | j
                    count_place(&summary[r], edits[i])
                sort_keys(keys, keys + k, k)
                best = summary[r].best
                primary = digest[r] % summary[r].n_best if k else 0
                for j in range(k):  # the primary comes first
                    i = start[r] + <int64_t>(keys[j] & KEY_ROW_MASK >> 1)
                    if edits[i] == best and primary == 0:
                        rows[out], keys[j] = i, UINT64_MAX
                        break
                    primary -= edits[i] == best
                summary[r].n_reported = k > 0
                for j in range(k):
                    i = start[r] + <int64_t>(keys[j] & KEY_ROW_MASK >> 1)
                    if keys[j] != UINT64_MAX and summary[r].n_reported < most and not (strata and edits[i] > best):
                        rows[out + summary[r].n_reported] = i
                        summary[r].n_reported += 1
                out += summary[r].n_reported
                row_start[r + 1] = out
                if summary[r].n_best > 1:
                    summary[r].suboptimal = -<int32_t>best
                elif summary[r].second != NO_SCORE:
                    summary[r].suboptimal = -<int32_t>summary[r].second
    finally:
        free(room.p)
    return rows_array[:out], row_start_array, summary_array


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
    """`select_best` of one read; rows count from its first place. `room` is used."""
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
            if stratum[i] == d and summary.n_reported < read.max_hits:
                rows[summary.n_reported] = keys[i] & KEY_ROW_MASK
                summary.n_reported += 1
    if summary.n_best > 1:
        summary.suboptimal = -<int32_t>best
    elif summary.second != NO_SCORE:
        summary.suboptimal = -<int32_t>summary.second
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


def likeliest_first(const int64_t[::1] rows, const int64_t[::1] start, const int64_t[::1] lost,
                    const uint64_t[::1] digest, const uint16_t[::1] edits, uint32_t most):
    """Rows of every read with its likeliest place first. Of equally likely ones it is drawn by the hash of the bases.

    Parameters
    ----------
    rows : int64[k], start : int64[n + 1]
        Of bands: those of read r are rows[start[r]] .. rows[start[r + 1]].
    lost : int64[k]
        Of each row: Phred.
    digest : uint64[n]
    edits : uint16[h]
        By band.
    most : int
        Most rows of a read.

    Returns
    -------
    rows : int64[m], start : int64[n + 1]
    least : int64[n]
        What the first row of each read loses.
    """
    cdef Py_ssize_t n = digest.shape[0], r, i, out = 0
    cdef int64_t primary
    cdef uint64_t drawn, n_least
    rows_array, start_array = np.empty(rows.shape[0] + 1, np.int64), np.zeros(n + 1, np.int64)
    least_array = np.zeros(n, np.int64)
    cdef int64_t[::1] kept = rows_array, kept_start = start_array, least = least_array
    with nogil:
        for r in range(n):
            primary, n_least = -1, 0
            for i in range(start[r], start[r + 1]):
                if n_least == 0 or lost[i] < least[r]:
                    least[r], n_least = lost[i], 0
                n_least += lost[i] == least[r]
            drawn = digest[r] % n_least if n_least else 0
            for i in range(start[r], start[r + 1]):
                if lost[i] == least[r]:
                    if drawn == 0:
                        primary = i
                        break
                    drawn -= 1
            out += put_first(rows, start[r], start[r + 1], primary, edits, NO_SCORE, most, &kept[out])
            kept_start[r + 1] = out
    return rows_array[:out], start_array, least_array


cdef Py_ssize_t put_first(const int64_t[::1] rows, int64_t start, int64_t stop, int64_t primary,
                          const uint16_t[::1] edits, uint16_t limit, uint32_t most, int64_t *kept) noexcept nogil:
    """Put the primary of a read first, without rows that have more errors; returns how many it has, at most so many."""
    cdef int64_t i
    cdef Py_ssize_t n = 0
    if primary >= 0:
        kept[0], n = rows[primary], 1
    for i in range(start, stop):
        if i != primary and edits[rows[i]] <= limit and n < most:
            kept[n] = rows[i]
            n += 1
    return n
