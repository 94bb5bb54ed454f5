"""How wide the bands are in which local alignments are looked for, and which targets come next (gassst/local/align.py).

An alignment that touches a diagonal d and leaves the band around it has gaps of half its width or more. So it loses
what they cost.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from gassst._core.coordinates cimport coordinate_t


def expected_widths(const int64_t[::1] loss, const int64_t[::1] widest, const int64_t[::1] leaving,
                    const int64_t[::1] widths):
    """The narrowest band that proves an alignment which loses as much as expected.

    Parameters
    ----------
    loss, widest : int64[k]
        What alignments are expected to lose, and the widths of their widest bands.
    leaving, widths : int64[w]
        Ascending; the least loss of an alignment that leaves a band of each width.

    Returns
    -------
    uint16[k]
    """
    cdef Py_ssize_t k = loss.shape[0], last = widths.shape[0] - 1, i, w
    width_array = np.empty(k, np.uint16)
    cdef uint16_t[::1] width = width_array
    with nogil:
        for i in range(k):
            w = 0
            while w < last and leaving[w] <= loss[i]:
                w += 1
            width[i] = <uint16_t>min(widths[w], widest[i])
    return width_array


def bands_of_width(const uint16_t[::1] width, uint16_t w, targets):
    """The targets whose turn it is, and their bands.

    Parameters
    ----------
    width : uint16[k]
        Targets of this width are looked at in bands of `w` diagonals.
    targets : local.places.Targets
        k of them. A band lies around the diagonal, but begins with `band_start` where it is the widest.

    Returns
    -------
    rows : int64[m], read_strand : uint32[m], first : int64[m]
    """
    cdef const uint32_t[::1] read_strand = targets.read_strand
    cdef const coordinate_t[::1] diagonal = targets.diagonal, band_start = targets.band_start
    cdef const int64_t[::1] widest = targets.width
    cdef Py_ssize_t k = width.shape[0], i, m = 0
    rows_array, strand_array, first_array = np.empty(k, np.int64), np.empty(k, np.uint32), np.empty(k, np.int64)
    cdef int64_t[::1] rows = rows_array
    cdef uint32_t[::1] strand = strand_array
    cdef coordinate_t[::1] first = first_array
    with nogil:
        for i in range(k):
            if width[i] == w:
                rows[m], strand[m] = i, read_strand[i]
                first[m] = band_start[i] if widest[i] <= w else diagonal[i] - (w >> 1)
                m += 1
    return rows_array[:m], strand_array[:m], first_array[:m]


def widen_unproved(uint16_t[::1] width, const int64_t[::1] rows, found, int64_t leaving, context,
                   targets):
    """Double the width of targets of which an alignment that leaves the band may lose no more than the best one in it.

    Parameters
    ----------
    width : uint16[k]
        Of the band in which each target was looked at last. Changed in place, unless it is the widest.
    rows : int64[m]
        The targets that were looked at.
    found : tuple
        score int32[m], reached uint8[m], as `ReadsHandle.local` returns them.
    leaving : int
        Least loss of an alignment that leaves a band of this width.
    context : search.context.BatchContext
        Read: `lengths`, `params.scoring`.
    targets : local.places.Targets
        k of them.
    """
    cdef const int32_t[::1] score = found[0]
    cdef const uint8_t[::1] reached = found[1]
    scoring = context.params.scoring
    cdef const uint32_t[::1] read_strand = targets.read_strand, lengths = context.lengths
    cdef const int64_t[::1] widest = targets.width
    cdef int64_t match = scoring.match, clip = scoring.clip, loss, row
    cdef Py_ssize_t i
    with nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            loss = (match * lengths[read_strand[row] >> 1] - score[i]
                    + clip * (2 - (reached[i] & 1) - (reached[i] >> 1)))
            if loss >= leaving and width[row] < widest[row]:
                width[row] *= 2


def store_scores(const int64_t[::1] rows, const coordinate_t[::1] first, found, into):
    """Copy what `ReadsHandle.local` found in bands that begin with the diagonals `first`.

    Parameters
    ----------
    rows : int64[m]
        Where to.
    first : int64[m]
    found : tuple
        score int32[m], reached uint8[m], rows uint16[m], end uint16[m].
    into : tuple
        score int32[k], reached uint8[k], rows uint16[k], last diagonal int64[k]. Changed in place.
    """
    cdef Py_ssize_t i
    cdef const int32_t[::1] score = found[0]
    cdef const uint8_t[::1] reached = found[1]
    cdef const uint16_t[::1] bases = found[2], end = found[3]
    cdef int32_t[::1] score_out = into[0]
    cdef uint8_t[::1] reached_out = into[1]
    cdef uint16_t[::1] bases_out = into[2]
    cdef coordinate_t[::1] last_out = into[3]
    with nogil:
        for i in range(rows.shape[0]):
            score_out[rows[i]], reached_out[rows[i]], bases_out[rows[i]] = score[i], reached[i], bases[i]
            last_out[rows[i]] = first[i] + end[i]
