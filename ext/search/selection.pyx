"""The scored bands of a batch: grouped by read, the distinct places among them, and which of these are reported."""

import numpy as np

from libc.stdint cimport UINT8_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from gassst._core.coordinates cimport KEY_ROW_BITS, KEY_ROW_MASK, coordinate_t, place_key
from gassst._core.key_sort cimport sort_keys
from gassst._core.layouts cimport NO_SCORE, NO_SUBOPTIMAL, read_summary_t
from gassst._core.same_place cimport SAME_PLACE
from gassst._core.selection cimport choice_t, read_bands_t, scratch_t  # its own: named, so that the build sees a change

from gassst.model.layouts import READ_SUMMARY


def group_by_read(parts, const uint32_t[::1] lengths):
    """All bands of some parts, grouped by read, within a read in their order.

    Parameters
    ----------
    parts : sequence of search.arrays.Bands
    lengths : uint32[n]

    Returns
    -------
    columns : tuple
        Those of `search.arrays.Bands`.
    ends : int64[h]
        Coordinates behind the last aligned bases.
    start : int64[n + 1]
        Rows of read r are start[r] .. start[r + 1].
    """
    cdef Py_ssize_t n = lengths.shape[0], r, i, h = 0
    cdef const uint32_t[::1] read_strand
    cdef const coordinate_t[::1] band_start
    cdef const uint16_t[::1] end, edits, reach
    cdef const uint8_t[::1] words
    cdef int64_t to
    start_array, next_array = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    cdef int64_t[::1] start = start_array, next_row = next_array
    for part in parts:
        read_strand = part.read_strand
        h += read_strand.shape[0]
        with nogil:
            for i in range(read_strand.shape[0]):
                start[(read_strand[i] >> 1) + 1] += 1
    with nogil:
        for r in range(n):
            start[r + 1] += start[r]
            next_row[r] = start[r]
    columns = tuple(np.empty(h, t) for t in (np.uint32, np.int64, np.uint16, np.uint16, np.uint8, np.uint16))
    ends_array = np.empty(h, np.int64)
    cdef uint32_t[::1] read_strand_out = columns[0]
    cdef coordinate_t[::1] band_start_out = columns[1], ends = ends_array
    cdef uint16_t[::1] end_out = columns[2], edits_out = columns[3], reach_out = columns[5]
    cdef uint8_t[::1] words_out = columns[4]
    for part in parts:
        read_strand, band_start, end = part.read_strand, part.band_start, part.end
        edits, words, reach = part.edits, part.words, part.reach
        with nogil:
            for i in range(read_strand.shape[0]):
                r = read_strand[i] >> 1
                to = next_row[r]
                next_row[r] += 1
                read_strand_out[to], band_start_out[to], end_out[to] = read_strand[i], band_start[i], end[i]
                edits_out[to], words_out[to], reach_out[to] = edits[i], words[i], reach[i]
                ends[to] = band_start[i] + end[i] + lengths[r]
    return columns, ends_array, start_array


def select_best(found, context, int margin, uint32_t max_hits):
    """Best and second best places of every read, and the rows to report.

    Alignments on one strand that end within 10 bases of a better one (or of an equal one further left) are the same
    place. Among equally good places the primary is drawn by the hash of the read's bases.

    Parameters
    ----------
    found : search.backend.Grouped
        h scored bands grouped by read. Read: `bands.read_strand`, `bands.edits`, `ends`, `start`.
    context : search.context.BatchContext
        Of n reads. Read: `flip`, `digest`.
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
    cdef const uint32_t[::1] read_strand = found.bands.read_strand
    cdef const coordinate_t[::1] ends = found.ends
    cdef const uint16_t[::1] edits = found.bands.edits
    cdef const int64_t[::1] start = found.start
    cdef const uint8_t[::1] flip = context.flip
    cdef const uint64_t[::1] digest = context.digest
    cdef Py_ssize_t n = start.shape[0] - 1, h = read_strand.shape[0], r, widest = 1, out = 0, size
    cdef choice_t choice = choice_t(margin, max_hits)
    cdef read_bands_t bands
    cdef scratch_t scratch
    if not 0 <= margin < UINT8_MAX:
        raise ValueError(f"margin {margin}")
    summary_array = np.zeros(n, READ_SUMMARY)
    cdef read_summary_t[::1] summary = summary_array
    rows_array = np.empty(h, np.int64)
    row_start_array = np.zeros(n + 1, np.int64)
    cdef int64_t[::1] rows = rows_array, row_start = row_start_array
    with nogil:
        for r in range(n):
            widest = max(widest, start[r + 1] - start[r])
    if widest > KEY_ROW_MASK:
        raise ValueError("too many places of one read")
    scratch.keys, scratch.stratum = <uint64_t *>malloc(2 * widest * 8), <uint8_t *>malloc(widest)
    scratch.sorting = scratch.keys + widest
    try:
        if scratch.keys == NULL or scratch.stratum == NULL:
            raise MemoryError
        with nogil:
            for r in range(n):
                row_start[r] = out
                summary[r].best = summary[r].second = NO_SCORE
                summary[r].suboptimal = NO_SUBOPTIMAL
                size = start[r + 1] - start[r]
                if size == 1:
                    summary[r].best, summary[r].n_best = edits[start[r]], 1
                    rows[out] = start[r]
                    summary[r].n_reported = 1
                elif size > 1:
                    bands = read_bands_t(&read_strand[start[r]], &ends[start[r]], &edits[start[r]], start[r], size,
                                         flip[r], digest[r])
                    select_places(&bands, &choice, &scratch, &summary[r], &rows[out])
                out += summary[r].n_reported
            row_start[n] = out
    finally:
        free(scratch.keys)
        free(scratch.stratum)
    return rows_array[:out].copy(), row_start_array, summary_array


cdef void select_places(const read_bands_t *bands, const choice_t *choice, const scratch_t *scratch,
                        read_summary_t *summary, int64_t *rows) noexcept nogil:
    """`select_best` of one read."""
    cdef Py_ssize_t i, k = 0, chosen = 0
    cdef uint32_t best = NO_SCORE, d, kept
    cdef uint64_t *keys = scratch.keys
    cdef uint8_t *stratum = scratch.stratum
    for i in range(bands.size):
        best = min(best, bands.edits[i])
    for i in range(bands.size):
        if bands.edits[i] <= best + choice.margin:
            keys[k] = (place_key((bands.read_strand[i] & 1) ^ bands.flip, bands.end_position[i]) << KEY_ROW_BITS
                       | <uint64_t>i)
            k += 1
    sort_keys(keys, scratch.sorting, k)
    for i in range(k):
        stratum[i] = <uint8_t>(bands.edits[keys[i] & KEY_ROW_MASK] - best)
    summary.best = <uint16_t>best
    summary.n_best = keep_places(keys, stratum, k, 0)
    if summary.n_best > 1:
        chosen = <Py_ssize_t>(bands.digest % summary.n_best)
    i = -1
    while chosen >= 0:
        i += 1
        chosen -= stratum[i] == 0
    rows[0] = bands.first + <int64_t>(keys[i] & KEY_ROW_MASK)
    summary.n_reported = 1
    stratum[i] = UINT8_MAX
    for d in range(<uint32_t>choice.margin + 1):
        if d:
            kept = keep_places(keys, stratum, k, d)
            if kept and summary.second == NO_SCORE:
                summary.second, summary.n_second = <uint16_t>(best + d), kept
        for i in range(k):
            if stratum[i] == d and summary.n_reported < choice.max_hits:
                rows[summary.n_reported] = bands.first + <int64_t>(keys[i] & KEY_ROW_MASK)
                summary.n_reported += 1
    summary.suboptimal = suboptimal(summary)


cdef inline int32_t suboptimal(const read_summary_t *summary) noexcept nogil:
    if summary.n_best > 1:
        return -<int32_t>summary.best
    return NO_SUBOPTIMAL if summary.second == NO_SCORE else -<int32_t>summary.second


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


def chosen_first(const int64_t[::1] rows, const int64_t[::1] start, const int64_t[::1] primary,
                 const uint16_t[::1] edits, const uint16_t[::1] limit, uint32_t most):
    """Rows of every read with its primary first.

    Parameters
    ----------
    rows : int64[k]
        Of bands, read by read.
    start : int64[n + 1]
        Rows of read r are rows[start[r]] .. rows[start[r + 1]].
    primary : int64[n]
        Of each read an index into `rows`, -1 where it has none.
    edits : uint16[h]
        By band.
    limit : uint16[n]
        Others with more errors are left out.
    most : int
        Most rows of a read.

    Returns
    -------
    rows : int64[m], start : int64[n + 1]
    """
    cdef Py_ssize_t n = primary.shape[0], r, i, out = 0
    rows_array, start_array = np.empty(rows.shape[0], np.int64), np.zeros(n + 1, np.int64)
    cdef int64_t[::1] kept = rows_array, kept_start = start_array
    with nogil:
        for r in range(n):
            if primary[r] >= 0:
                kept[out] = rows[primary[r]]
                out += 1
            for i in range(start[r], start[r + 1]):
                if i != primary[r] and edits[rows[i]] <= limit[r] and out - kept_start[r] < most:
                    kept[out] = rows[i]
                    out += 1
            kept_start[r + 1] = out
    return rows_array[:out].copy(), start_array
