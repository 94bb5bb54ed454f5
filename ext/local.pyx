"""Local alignments to hits: cut where a contig ends, scored anew from their bases."""

import numpy as np

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from gassst._types cimport hit_t

from gassst.layouts import HIT

DEF MATCH = 0  # BAM operations
DEF INSERTION = 1
DEF DELETION = 2
DEF CLIPPED = 4

cdef struct costs_t:
    int32_t match, mismatch
    int32_t open_gap[3]  # by operation
    int32_t extend_gap[3]
    int32_t bonus

cdef struct planes_t:
    const uint64_t *words
    int64_t rows

cdef struct column_t:
    uint8_t op
    uint8_t differs
    int32_t score

# Columns of one alignment between its clipped ends, and what of it is kept: from..to-1.
cdef struct alignment_t:
    column_t *columns
    Py_ssize_t n, first, to
    uint32_t clipped     # read bases before the first column
    uint32_t length      # of the read
    int64_t position     # of the first column


cdef inline int base_at(planes_t planes, int64_t at) noexcept nogil:
    """Code of a base, 4 where it is masked or outside."""
    cdef const uint64_t *row
    if at < 0 or at >> 6 >= planes.rows:
        return 4
    row = planes.words + 3 * (at >> 6)
    at &= 63
    if row[2] >> at & 1:
        return 4
    return <int>(row[0] >> at & 1 | (row[1] >> at & 1) << 1)


cdef void expand(const uint32_t *cigar, Py_ssize_t runs, planes_t reference, planes_t reads, int64_t base,
                 const costs_t *costs, alignment_t *a) noexcept nogil:
    """Fill `a` from a CIGAR at a.position; `base` is the first base of the strand in `reads`."""
    cdef Py_ssize_t i
    cdef uint32_t j, op, length
    cdef int64_t at = a.position
    cdef int x, y
    cdef column_t *column
    a.n = a.clipped = 0
    for i in range(runs):
        op, length = cigar[i] & 15, cigar[i] >> 4
        if op == CLIPPED:
            if i == 0:
                a.clipped = length
                base += length
            continue
        for j in range(length):
            column = &a.columns[a.n]
            a.n += 1
            column.op, column.differs = <uint8_t>op, 1
            if op == MATCH:
                x, y = base_at(reads, base), base_at(reference, at)
                column.differs = x != y or x == 4
                column.score = -1 if x == 4 or y == 4 else costs.match if x == y else -costs.mismatch
            else:
                column.score = -costs.extend_gap[op] - (costs.open_gap[op] if j == 0 else 0)
            base += op != DELETION
            at += op != INSERTION
    a.first, a.to = 0, a.n


cdef void cut(int64_t contig_start, int64_t contig_end, int32_t bonus, bint at_start, bint at_end,
              alignment_t *a) noexcept nogil:
    """Of what lies inside the contig keep the stretch with the best score, the longest one of equals."""
    cdef int64_t at = a.position
    cdef int32_t running = 0, best = 0, total
    cdef Py_ssize_t c, begin = 0
    cdef bint open = False
    a.first = a.to = 0
    for c in range(a.n):
        if at >= contig_start and at < contig_end:
            if not open or running < 0:
                begin, running, open = c, bonus if at_start and c == 0 else 0, True
            running += a.columns[c].score
            total = running + (bonus if at_end and c == a.n - 1 else 0)
            if total > 0 and total >= best:
                best, a.first, a.to = total, begin, c + 1
        at += a.columns[c].op != INSERTION


cdef inline uint32_t push(uint32_t *runs, uint32_t n, uint32_t op, uint32_t length) noexcept nogil:
    if length == 0:
        return n
    if n and (runs[n - 1] & 15) == op:
        runs[n - 1] += length << 4
        return n
    runs[n] = length << 4 | op
    return n + 1


cdef void write(const alignment_t *a, uint32_t *cigars, hit_t *hit, uint16_t *begin, uint16_t *end) noexcept nogil:
    """Runs, position, score and edits of what is kept; no runs where nothing is."""
    cdef Py_ssize_t c
    cdef uint32_t q = a.clipped, n = 0, edits = 0
    cdef int64_t at = a.position
    cdef int32_t score = 0
    for c in range(a.first):
        q += a.columns[c].op != DELETION
        at += a.columns[c].op != INSERTION
    begin[0] = <uint16_t>q
    hit.position = <uint32_t>at
    n = push(cigars, n, CLIPPED, q)
    for c in range(a.first, a.to):
        n = push(cigars, n, a.columns[c].op, 1)
        q += a.columns[c].op != DELETION
        edits += a.columns[c].differs
        score += a.columns[c].score
    end[0] = <uint16_t>q
    n = push(cigars, n, CLIPPED, a.length - q)
    hit.cigar_runs = <uint16_t>(n if a.to > a.first else 0)
    hit.edits = <uint16_t>edits
    hit.score = score


cdef Py_ssize_t contig_of(const int64_t[::1] starts, const int64_t[::1] lengths, int64_t middle) noexcept nogil:
    """The contig that holds a coordinate, or the nearest one."""
    cdef Py_ssize_t lo = 0, hi = starts.shape[0] - 1, mid
    while lo < hi:
        mid = (lo + hi + 1) >> 1
        if starts[mid] <= middle:
            lo = mid
        else:
            hi = mid - 1
    if lo + 1 < starts.shape[0] and starts[lo + 1] - middle < middle - (starts[lo] + lengths[lo]):
        lo += 1
    return lo


def finish(const uint32_t[::1] read_strand, const uint32_t[::1] position, const uint32_t[::1] cigars,
           const uint32_t[::1] cigar_start, const uint16_t[::1] cigar_runs, const uint64_t[:, ::1] reference,
           const uint64_t[:, ::1] planes, const uint32_t[::1] plane_start, const uint32_t[::1] lengths,
           const int64_t[::1] contig_starts, const int64_t[::1] contig_lengths, scoring):
    """Hits and CIGARs of local alignments.

    Parameters
    ----------
    read_strand, position : uint32[k]
    cigars : uint32[], cigar_start : uint32[k], cigar_runs : uint16[k]
        From `ReadsHandle.align_local`.
    reference, planes, plane_start, lengths
        Planes of the reference and of the reads.
    contig_starts, contig_lengths : int64[c]
    scoring : params.Scoring

    Returns
    -------
    hits : HIT[k]
        `flag` holds the strand only; `mapq` is 0; no runs where nothing inside a contig is worth aligning.
    cigars : uint32[]
    begin, end : uint16[k]
        The bases of the strand that are aligned.
    """
    cdef Py_ssize_t k = read_strand.shape[0], i, j, widest = 1, size, contig
    cdef int64_t span
    cdef uint32_t r, strand, at = 0
    cdef costs_t costs
    cdef planes_t bases, read_bases
    cdef alignment_t a
    hits_array, cigars_array = np.zeros(k, HIT), np.empty(cigars.shape[0] + 2 * k + 1, np.uint32)
    begin_array, end_array = np.zeros(k, np.uint16), np.zeros(k, np.uint16)
    cdef hit_t[::1] hits = hits_array
    cdef uint32_t[::1] out = cigars_array
    cdef uint16_t[::1] begin = begin_array, end = end_array
    if k == 0:
        return hits_array, cigars_array[:0], begin_array, end_array
    costs.match, costs.mismatch, costs.bonus = scoring.match, scoring.mismatch, scoring.clip
    costs.open_gap[DELETION], costs.open_gap[INSERTION] = scoring.gap_open
    costs.extend_gap[DELETION], costs.extend_gap[INSERTION] = scoring.gap_extend
    bases.words, bases.rows = &reference[0, 0], reference.shape[0]
    read_bases.words, read_bases.rows = &planes[0, 0], planes.shape[0]
    for i in range(k):
        size = 0
        for j in range(cigar_start[i], cigar_start[i] + cigar_runs[i]):
            size += cigars[j] >> 4
        widest = max(widest, size)
    a.columns = <column_t *>malloc(widest * sizeof(column_t))
    if a.columns == NULL:
        raise MemoryError
    with nogil:
        for i in range(k):
            r, strand = read_strand[i] >> 1, read_strand[i] & 1
            a.length, a.position = lengths[r], position[i]
            expand(&cigars[cigar_start[i]], cigar_runs[i], bases, read_bases,
                   64 * (plane_start[r] + <int64_t>strand * ((a.length + 63) >> 6)), &costs, &a)
            span = size = 0
            for j in range(a.n):
                span += a.columns[j].op != INSERTION
                size += a.columns[j].op != DELETION
            contig = contig_of(contig_starts, contig_lengths, a.position + (span >> 1))
            if (a.position < contig_starts[contig]
                    or a.position + span > contig_starts[contig] + contig_lengths[contig]):
                cut(contig_starts[contig], contig_starts[contig] + contig_lengths[contig], costs.bonus,
                    a.clipped == 0, a.clipped + size == a.length, &a)
            hits[i].read, hits[i].strand, hits[i].flag = r, <uint8_t>strand, <uint16_t>(strand << 4)
            hits[i].cigar_start = at
            write(&a, &out[at], &hits[i], &begin[i], &end[i])
            at += hits[i].cigar_runs
    free(a.columns)
    return hits_array, cigars_array[:at].copy(), begin_array, end_array
