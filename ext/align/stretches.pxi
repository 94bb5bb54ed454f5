"""The best ungapped local alignment on a diagonal, from the positions of its mismatches; and where it says a read lies."""

cdef extern from "stretches.h" nogil:
    ctypedef struct costs_t:
        int32_t match, mismatch, bonus
        int32_t open_gap[3]     # by CIGAR operation
        int32_t extend_gap[3]
    ctypedef struct stretch_t:
        int32_t total
        int begin, end
    stretch_t best_stretch(planes_t reference, int64_t diagonal, planes_t reads, int64_t first, int m, costs_t costs,
                           int32_t least)


cdef inline costs_t costs_of(scoring) except *:
    """The costs that a params.Scoring has."""
    cdef costs_t costs
    costs.match, costs.mismatch, costs.bonus = scoring.match, scoring.mismatch, scoring.clip
    costs.open_gap[CIGAR_DELETION], costs.open_gap[CIGAR_INSERTION] = scoring.gap_open
    costs.extend_gap[CIGAR_DELETION], costs.extend_gap[CIGAR_INSERTION] = scoring.gap_extend
    return costs


cdef struct group_t:
    # The anchors of a read in one bucket.
    int64_t row             # of the longest
    stretch_t best          # on its diagonal


def promising_buckets(anchors, context, Py_ssize_t most, const int32_t[::1] least not None, int gaps=-1):
    """The buckets of each read that may hold its best local alignment, a rival of that, or one of another part.

    A bucket is judged by the best ungapped stretch on the diagonal of its longest anchor. Bases that seeds cover say
    less: in runs of one base they cover the same ones on every diagonal. Only stretches of the same bases compete: in a
    large genome the copies of one part would crowd out the only place of another.

    Parameters
    ----------
    anchors : search.arrays.Anchors
        Read: `read_strand`, `diagonal`, `length`, `start`.
    context : search.context.BatchContext
        Read: `shift`, `lengths`, `packed`, `reference.planes`, `params.scoring`.
    most : int
        Buckets for each base of a read. One is left out where so many better stretches hold its own one's middle.
    least : int32[a]
        Of each read, what a place scores.
    gaps : int
        Below 0, reads are left out of which no stretch can be the longer part of such a place, beside a gap. Else anchors
        are, unless their stretch scores `least`. One that has half of that, or is at most so many diagonals from another
        anchor, may be the longer part.

    Returns
    -------
    read_strand : uint32[k], diagonal : int64[k]
        Read by read; the diagonal of the longest anchor.
    """
    packed, scoring = context.packed, context.params.scoring
    cdef const uint32_t[::1] read_strand = anchors.read_strand
    cdef const coordinate_t[::1] diagonal = anchors.diagonal
    cdef const uint16_t[::1] length = anchors.length
    cdef const int64_t[::1] start = anchors.start
    cdef const uint32_t[::1] lengths = context.lengths, plane_start = packed.plane_start
    cdef planes_t bases = planes_of(context.reference.planes), strands = planes_of(packed.planes)
    cdef costs_t costs = costs_of(scoring)
    cdef int shift = context.shift
    cdef Py_ssize_t a = start.shape[0] - 1, i, j, g, n, k = 0, m, first, behind, row
    cdef int32_t at_least, part, top, gap = min(costs.open_gap[1] + costs.extend_gap[1],
                                                  costs.open_gap[2] + costs.extend_gap[2])
    cdef group_t group
    cdef bint beside
    cdef Py_ssize_t widest = max(1, int(np.diff(anchors.start).max(initial=0)))
    strand_array, diagonal_array = np.empty(read_strand.shape[0], np.uint32), np.empty(read_strand.shape[0], np.int64)
    cdef uint32_t[::1] strand_out = strand_array
    cdef coordinate_t[::1] diagonal_out = diagonal_array
    cdef uint64_t[:, ::1] keys = np.empty((2, widest), np.uint64)
    cdef int32_t[::1] held = np.empty(int(context.lengths.max(initial=0)) + 1, np.int32)    # by how many, of each base
    cdef group_t *groups = <group_t *>malloc(widest * sizeof(group_t))
    if groups == NULL:
        raise MemoryError
    with nogil:
        for i in range(a):
            n, top, part = 0, 0, (least[i] + gap + 1) >> 1
            for j in range(start[i], start[i + 1]):
                at_least = INT32_MIN
                if gaps >= 0:
                    beside = (j > start[i] and read_strand[j] == read_strand[j - 1] and diagonal[j] - diagonal[j - 1] <= gaps
                              or j + 1 < start[i + 1] and read_strand[j] == read_strand[j + 1]
                              and diagonal[j + 1] - diagonal[j] <= gaps)
                    at_least = part if beside or 2 * length[j] * costs.match >= least[i] else least[i]
                prefetch_read(bases, diagonal[min(j + AHEAD, diagonal.shape[0] - 1)])
                group = group_t(j, stretch_of_read(bases, strands, read_strand[j], diagonal[j], lengths, plane_start, costs,
                                                   at_least))
                if group.best.total < at_least:
                    continue
                row, top = groups[n - 1].row if n else j, max(top, group.best.total)
                if n == 0 or read_strand[j] != read_strand[row] or diagonal[j] >> shift != diagonal[row] >> shift:
                    groups[n] = group
                    n += 1
                elif length[j] > length[row]:
                    groups[n - 1] = group
            n = n if top >= part or gaps >= 0 else 0
            for g in range(n):
                keys[0, g] = <uint64_t>(~<uint32_t>groups[g].best.total) << 32 | <uint64_t>g
            if n > most:
                sort_keys(&keys[0, 0], &keys[1, 0], n)
                held[:] = 0
            for j in range(n):
                group = groups[<Py_ssize_t>(<uint32_t>keys[0, j])]
                m = lengths[read_strand[group.row] >> 1]
                first = m - group.best.end if read_strand[group.row] & 1 else group.best.begin
                behind = first + group.best.end - group.best.begin
                if n > most and held[(first + behind) >> 1] >= most:
                    continue
                for g in range(first, behind if n > most else first):
                    held[g] += 1
                strand_out[k] = read_strand[group.row]
                diagonal_out[k] = diagonal[group.row]
                k += 1
    free(groups)
    return strand_array[:k].copy(), diagonal_array[:k].copy()


cdef inline stretch_t stretch_of_read(planes_t bases, planes_t strands, uint32_t read_strand, coordinate_t diagonal,
                                      const uint32_t[::1] lengths, const uint32_t[::1] plane_start,
                                      costs_t costs, int32_t least) noexcept nogil:
    cdef uint32_t r = read_strand >> 1
    cdef int64_t m = lengths[r]
    return best_stretch(bases, diagonal, strands, first_base(plane_start[r], read_strand, m), m, costs, least)
