"""How wide the bands are in which local alignments are looked for, and which rows come next (local_align.py)."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t


def expected(const int64_t[::1] loss, const int64_t[::1] most, const int64_t[::1] leaving,
             const int64_t[::1] widths):
    """The narrowest band that proves an alignment which loses as much as expected.

    Parameters
    ----------
    loss, most : int64[k]
        What alignments are expected to lose, and their widest bands.
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
            width[i] = <uint16_t>min(widths[w], most[i])
    return width_array


def of_width(const uint16_t[::1] width, uint16_t w, const uint32_t[::1] read_strand, const uint32_t[::1] diagonal,
             const uint32_t[::1] band_start, const int64_t[::1] most):
    """The rows whose turn it is, and their bands.

    Parameters
    ----------
    width : uint16[k]
        Rows of this width are looked at in bands of `w` diagonals.
    read_strand, diagonal, band_start : uint32[k], most : int64[k]
        The band lies around the diagonal, but begins with `band_start` where it is the widest.

    Returns
    -------
    rows : int64[m], read_strand, first : uint32[m]
    """
    cdef Py_ssize_t k = width.shape[0], i, m = 0
    with nogil:
        for i in range(k):
            m += width[i] == w
    rows_array, strand_array, first_array = np.empty(m, np.int64), np.empty(m, np.uint32), np.empty(m, np.uint32)
    cdef int64_t[::1] rows = rows_array
    cdef uint32_t[::1] strand = strand_array, first = first_array
    m = 0
    with nogil:
        for i in range(k):
            if width[i] == w:
                rows[m], strand[m] = i, read_strand[i]
                first[m] = band_start[i] if most[i] <= w else diagonal[i] - (w >> 1)
                m += 1
    return rows_array, strand_array, first_array


def widen(uint16_t[::1] width, uint16_t w, int64_t leaving, const int64_t[::1] rows, const int32_t[::1] score,
          const uint8_t[::1] reached, const uint32_t[::1] read_strand, const int64_t[::1] most,
          const uint32_t[::1] lengths, int64_t match, int64_t clip):
    """Twice the width for what lost as much as it costs to leave a band of `w` diagonals, and may be looked at in more.

    Parameters
    ----------
    width : uint16[k]
        Changed in place.
    leaving : int
    rows : int64[m], score : int32[m], reached : uint8[m], read_strand : uint32[m]
        Alignments, as `ReadsHandle.local` has them.
    most : int64[k]
        Their widest bands.
    lengths : uint32[n]
    match, clip : int
        Of params.Scoring.
    """
    cdef Py_ssize_t i
    cdef int64_t loss
    with nogil:
        for i in range(rows.shape[0]):
            loss = match * lengths[read_strand[i] >> 1] - score[i] + clip * (2 - (reached[i] & 1) - (reached[i] >> 1))
            if loss >= leaving and w < most[rows[i]]:
                width[rows[i]] = 2 * w


def put(const int64_t[::1] rows, const uint32_t[::1] first, found, into):
    """Put what `ReadsHandle.local` found in bands from the diagonals `first` on into these rows of columns.

    Parameters
    ----------
    rows : int64[m], first : uint32[m]
    found : tuple
        score int32[m], reached uint8[m], rows uint16[m], end uint16[m].
    into : tuple
        score int32[k], reached uint8[k], rows uint16[k], last diagonal uint32[k]. Changed in place.
    """
    cdef Py_ssize_t i
    cdef const int32_t[::1] score = found[0]
    cdef const uint8_t[::1] reached = found[1]
    cdef const uint16_t[::1] bases = found[2], end = found[3]
    cdef int32_t[::1] score_out = into[0]
    cdef uint8_t[::1] reached_out = into[1]
    cdef uint16_t[::1] bases_out = into[2]
    cdef uint32_t[::1] last_out = into[3]
    with nogil:
        for i in range(rows.shape[0]):
            score_out[rows[i]], reached_out[rows[i]], bases_out[rows[i]] = score[i], reached[i], bases[i]
            last_out[rows[i]] = first[i] + end[i]
