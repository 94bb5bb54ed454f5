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


cdef Py_ssize_t promising_buckets(planes_t bases, const reads_t *reads, const costs_t *costs, const columns_t *anchors,
                                  const int64_t *start, Py_ssize_t a, int shift, Py_ssize_t most, const int32_t *least,
                                  int gaps, room_t *rooms) except -1 nogil:
    """The buckets of each read that may hold its best local alignment, a rival of that, or one of another part.

    A bucket is judged by the best ungapped stretch on the diagonal of its longest anchor. Bases that seeds cover say
    less: in runs of one base they cover the same ones on every diagonal. Only stretches of the same bases compete: in a
    large genome the copies of one part would crowd out the only place of another.

    Parameters
    ----------
    start
        Anchors of the i-th of `a` reads are start[i] .. start[i + 1].
    shift
        log2 of the diagonals in a bucket.
    most
        Buckets for each base of a read. One is left out where so many better stretches hold its own one's middle.
    least
        Of each of the `a` reads, what a place scores.
    gaps
        Below 0, reads are left out of which no stretch can be the longer part of such a place, beside a gap. Else anchors
        are, unless their stretch scores `least`. One that has half of that, or is at most so many diagonals from another
        anchor, may be the longer part.

    Returns
    -------
    How many there are: in STRANDS and FIRSTS of `rooms`, read by read, the diagonal of the longest anchor of each.
    """
    cdef const uint32_t *read_strand = anchors.read_strand
    cdef const coordinate_t *diagonal = anchors.diagonal
    cdef const uint16_t *length = anchors.length
    cdef uint32_t *strand_out = <uint32_t *>enlarged(&rooms[STRANDS], start[a] * sizeof(uint32_t))
    cdef coordinate_t *diagonal_out = <coordinate_t *>enlarged(&rooms[FIRSTS], start[a] * sizeof(coordinate_t))
    cdef Py_ssize_t i, j, g, n, k = 0, m, first, behind, row
    cdef int32_t at_least, part, top, gap = min(costs.open_gap[1] + costs.extend_gap[1],
                                                costs.open_gap[2] + costs.extend_gap[2])
    cdef group_t group
    cdef group_t *groups
    cdef uint64_t *keys
    cdef int32_t *held  # by how many, of each base
    cdef bint beside
    for i in range(a):
        n, top, part = start[i + 1] - start[i], 0, (least[i] + gap + 1) >> 1
        groups = <group_t *>enlarged(&rooms[GROUPS], n * sizeof(group_t))
        keys = <uint64_t *>enlarged(&rooms[KEYS], 2 * n * sizeof(uint64_t))
        n = 0
        for j in range(start[i], start[i + 1]):
            at_least = INT32_MIN
            if gaps >= 0:
                beside = (j > start[i] and read_strand[j] == read_strand[j - 1] and diagonal[j] - diagonal[j - 1] <= gaps
                          or j + 1 < start[i + 1] and read_strand[j] == read_strand[j + 1]
                          and diagonal[j + 1] - diagonal[j] <= gaps)
                at_least = part if beside or 2 * length[j] * costs.match >= least[i] else least[i]
            prefetch_read(bases, diagonal[min(j + AHEAD, start[a] - 1)])
            m = reads.lengths[read_strand[j] >> 1]
            group = group_t(j, best_stretch(bases, diagonal[j], reads.planes,
                                            first_base(reads.plane_start[read_strand[j] >> 1], read_strand[j], m), <int>m,
                                            costs[0], at_least))
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
            keys[g] = <uint64_t>(~<uint32_t>groups[g].best.total) << 32 | <uint64_t>g
        held = NULL
        if n > most:
            sort_keys(keys, keys + n, n)
            m = reads.lengths[read_strand[start[i]] >> 1]
            held = <int32_t *>enlarged(&rooms[HELD], (m + 1) * sizeof(int32_t))
            memset(held, 0, (m + 1) * sizeof(int32_t))
        for j in range(n):
            group = groups[<Py_ssize_t>(<uint32_t>keys[j])]
            m = reads.lengths[read_strand[group.row] >> 1]
            first = m - group.best.end if read_strand[group.row] & 1 else group.best.begin
            behind = first + group.best.end - group.best.begin
            if held != NULL and held[(first + behind) >> 1] >= most:
                continue
            for g in range(first, behind if held != NULL else first):
                held[g] += 1
            strand_out[k], diagonal_out[k] = read_strand[group.row], diagonal[group.row]
            k += 1
    return k


def buckets_of(anchors, context, Py_ssize_t most, const int32_t[::1] least not None, int gaps=-1):
    """`promising_buckets` of `anchors`, which have `read_strand`, `diagonal`, `length` and `start`: uint32[k], int64[k]."""
    cdef uint32_t[::1] read_strand = anchors.read_strand
    cdef coordinate_t[::1] diagonal = anchors.diagonal
    cdef uint16_t[::1] length = anchors.length
    cdef const int64_t[::1] start = anchors.start
    cdef columns_t columns = columns_t(&read_strand[0], &diagonal[0], NULL, &length[0])
    cdef reads_t reads = reads_of(context.packed, np.empty(len(context.packed.lengths), np.uint8))
    cdef costs_t costs = costs_of(context.params.scoring)
    cdef room_t rooms[N_ROOMS]
    memset(rooms, 0, sizeof(rooms))
    try:
        k = promising_buckets(planes_of(context.reference.planes), &reads, &costs, &columns, &start[0],
                              start.shape[0] - 1, context.shift, most, &least[0], gaps, rooms)
        return array_of(rooms[STRANDS].p, k, np.uint32), array_of(rooms[FIRSTS].p, k, np.int64)
    finally:
        for i in range(N_ROOMS):
            free(rooms[i].p)
