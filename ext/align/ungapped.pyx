"""Whole reads along one diagonal: where they lie, and what they lose there.

A read that loses less than a gap and less than a clipped end has one best alignment, along its diagonal.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.alignments cimport ungapped_diagonal
from gassst._core.coordinates cimport coordinate_t
from gassst._core.costs cimport costs_of, costs_t
from gassst._core.planes cimport (
    AHEAD,
    bases64_t,
    bases_at,
    count_bits,
    differences,
    first_base,
    first_bases,
    planes_of,
    planes_t,
    prefetch_read,
    unknown_bases,
)


cdef inline int64_t lost_by_whole(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int64_t m,
                                  const costs_t *costs, int64_t limit) noexcept nogil:
    """What a whole read of m bases loses on a diagonal, or something above `limit`. A masked base scores -1."""
    cdef int64_t at, loss = 0
    cdef bases64_t x, y
    cdef uint64_t masked, live
    for at in range(0, m, 64):
        x, y = bases_at(reference, diagonal + at), bases_at(reads, first + at)
        live = first_bases(m - at)
        masked = unknown_bases(x, y) & live
        loss += ((costs.match + costs.mismatch) * count_bits(differences(x, y) & live & ~masked)
                 + (costs.match + 1) * count_bits(masked))
        if loss > limit:
            break
    return loss


def are_whole(places, context):
    """Which places have the score of the whole read along their diagonal: then they need no walk back.

    Parameters
    ----------
    places : local.places.Places
        k places. Read: `read_strand`, `diagonal`, `total`, `reached`.
    context : search.context.BatchContext
        Read: `lengths`, `packed`, `reference.planes`, `params.scoring`.

    Returns
    -------
    bool[k]
    """
    packed = context.packed
    cdef const uint32_t[::1] strands = places.read_strand
    cdef const coordinate_t[::1] diagonals = places.diagonal
    cdef const int32_t[::1] total = places.total
    cdef const uint8_t[::1] reached = places.reached
    cdef const uint32_t[::1] lengths = context.lengths, plane_start = packed.plane_start
    cdef planes_t reference = planes_of(context.reference.planes), reads = planes_of(packed.planes)
    cdef costs_t costs = costs_of(context.params.scoring)
    cdef Py_ssize_t k = strands.shape[0], i
    cdef uint32_t r
    cdef int64_t m, loss
    whole_array = np.zeros(k, np.uint8)
    cdef uint8_t[::1] whole = whole_array
    with nogil:
        for i in range(k):
            if i + AHEAD < k:
                prefetch_read(reference, diagonals[i + AHEAD])
            if reached[i] != 3:
                continue
            r = strands[i] >> 1
            m = lengths[r]
            loss = m * costs.match + 2 * costs.bonus - total[i]
            whole[i] = lost_by_whole(reference, diagonals[i], reads, first_base(plane_start[r], strands[i], m), m, &costs,
                                     loss) == loss
    return whole_array.view(bool)


def diagonals_of_bands(bands, const int64_t[::1] rows, int64_t breaking, context):
    """Where the alignments of bands end, and which of them need no band.

    Parameters
    ----------
    bands : search.arrays.Bands
    rows : int64[k]
        Of these bands, from `local_places.known_places`: read by read.
    breaking : int
        Least loss of an alignment with a gap or a clipped end.
    context : search.context.BatchContext
        Read: `lengths`, `packed`, `reference.planes`, `params.scoring`.

    Returns
    -------
    diagonal : int64[k]
        On which the alignments end.
    ungapped : bool[k]
        Whether they have no gap.
    plain : bool[k]
        Whether the best alignment that touches this diagonal has none, and no end clipped, and loses `edits` mismatches.
    """
    packed = context.packed
    cdef const uint32_t[::1] read_strand = bands.read_strand
    cdef const coordinate_t[::1] band_start = bands.band_start
    cdef const uint16_t[::1] end = bands.end, edits = bands.edits, reach = bands.reach
    cdef const uint32_t[::1] lengths = context.lengths, plane_start = packed.plane_start
    cdef planes_t reference = planes_of(context.reference.planes), strands = planes_of(packed.planes)
    cdef costs_t costs = costs_of(context.params.scoring)
    cdef Py_ssize_t k = rows.shape[0], i
    cdef int64_t row, at, first, m, loss
    cdef uint32_t r
    diagonal_array = np.empty(k, np.int64)
    ungapped_array, plain_array = np.empty(k, np.uint8), np.empty(k, np.uint8)
    cdef coordinate_t[::1] diagonal = diagonal_array
    cdef uint8_t[::1] ungapped = ungapped_array, plain = plain_array
    with nogil:
        for i in range(k):
            if i + AHEAD < k:
                at = band_start[rows[i + AHEAD]] + end[rows[i + AHEAD]]
                prefetch_read(reference, at)
            row = rows[i]
            r = read_strand[row] >> 1
            m = lengths[r]
            first = first_base(plane_start[r], read_strand[row], m)
            at = ungapped_diagonal(reference, band_start[row] + end[row], strands, first, m, edits[row], reach[row])
            ungapped[i], diagonal[i] = at != 0, at if at else band_start[row] + end[row]
            # One that a masked base makes cheaper is scored in a band.
            loss = edits[row] * (costs.match + costs.mismatch)
            plain[i] = (at != 0 and loss < breaking
                        and lost_by_whole(reference, at, strands, first, m, &costs, loss) == loss)
    return diagonal_array, ungapped_array.view(bool), plain_array.view(bool)
