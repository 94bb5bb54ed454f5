"""The best ungapped local alignment on a diagonal, from the positions of its mismatches."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from gassst._core.planes cimport bases64_t, bases_at, differences, planes_t, prefetch_bases

cdef extern from *:
    int LOWEST "__builtin_ctzll"(uint64_t x) nogil

DEF AHEAD = 12  # diagonals from prefetch to use
DEF READ = 128  # bases that are prefetched


cdef struct costs_t:
    int32_t match, mismatch, bonus

cdef struct stretch_t:
    int32_t total
    int64_t begin, end


cdef stretch_t best_stretch(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int64_t m,
                            costs_t costs) noexcept nogil:
    """The stretch with the highest total; of equals one that reaches the end of the read, else the first."""
    cdef stretch_t best = stretch_t(0, 0, 0)
    cdef int64_t word, at, behind = 0, begin = 0    # `behind` the last mismatch
    cdef int32_t running = costs.bonus
    cdef bases64_t x, y
    cdef uint64_t differ
    for word in range(0, m, 64):
        x, y = bases_at(reference, diagonal + word), bases_at(reads, first + word)
        differ = differences(x, y)
        if m - word < 64:
            differ &= (<uint64_t>1 << (m - word)) - 1
        while differ:
            at = word + LOWEST(differ)
            running += <int32_t>(at - behind) * costs.match
            if running > best.total and at > begin:
                best = stretch_t(running, begin, at)
            running -= 1 if (x.masked | y.masked) >> (at - word) & 1 else costs.mismatch
            behind = at + 1
            if running < 0:
                running, begin = 0, behind
            differ &= differ - 1
    running += <int32_t>(m - behind) * costs.match + costs.bonus
    if running >= best.total and m > begin:
        best = stretch_t(running, begin, m)
    return best


def best_stretches(const uint64_t[:, ::1] reference, const uint64_t[:, ::1] planes, const uint32_t[::1] plane_start,
                   const uint32_t[::1] lengths, const uint32_t[::1] read_strand, const uint32_t[::1] diagonal, scoring):
    """The ungapped alignment with the highest total on each diagonal.

    Parameters
    ----------
    reference, planes, plane_start, lengths
        Planes of reference and reads.
    read_strand, diagonal : uint32[k]
    scoring : params.Scoring

    Returns
    -------
    total : int32[k]
        Score and the bonus of each end of the read that is reached.
    begin, end : uint16[k]
        Bases begin .. end - 1 of the strand are aligned.
    """
    cdef Py_ssize_t k = read_strand.shape[0], i
    cdef int64_t m, first
    cdef uint32_t r
    cdef planes_t bases, reads
    cdef costs_t costs = costs_t(scoring.match, scoring.mismatch, scoring.clip)
    cdef stretch_t found
    total_array, ends_array = np.empty(k, np.int32), np.empty((2, k), np.uint16)
    cdef int32_t[::1] total = total_array
    cdef uint16_t[:, ::1] ends = ends_array
    if k:
        bases.words, bases.rows = &reference[0, 0], reference.shape[0]
        reads.words, reads.rows = &planes[0, 0], planes.shape[0]
    with nogil:
        for i in range(k):
            if i + AHEAD < k:
                prefetch_bases(bases, diagonal[i + AHEAD], diagonal[i + AHEAD] + <int64_t>READ)
            r = read_strand[i] >> 1
            m = lengths[r]
            first = 64 * (plane_start[r] + <int64_t>(read_strand[i] & 1) * ((m + 63) >> 6))
            found = best_stretch(bases, diagonal[i], reads, first, m, costs)
            total[i], ends[0, i], ends[1, i] = found.total, <uint16_t>found.begin, <uint16_t>found.end
    return total_array, *ends_array
