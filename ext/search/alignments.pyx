"""From scored bands to the alignments that are reported.

`local_minima` finds every alignment of an exhaustive search, `ungapped_diagonal` settles what needs no traceback,
`hits_from_bands` turns tracebacks into hits, `reported_rows` adds the unmapped reads.
"""

import numpy as np

from libc.stdint cimport UINT32_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from gassst._core.alignments cimport contigs_t  # its own: named, so that the build sees a change
from gassst._core.cigar cimport CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH, cigar_length, cigar_op, cigar_push
from gassst._core.contigs cimport contig_near
from gassst._core.coordinates cimport coordinate_t
from gassst._core.intrinsics cimport trailing_zeros
from gassst._core.layouts cimport NO_SCORE, hit_t, rating_t
from gassst._core.planes cimport (AHEAD, bases64_t, bases_at, count_differences, differences, first_base,
                                  first_bases, planes_of, planes_t, prefetch_read)
from gassst._core.sam_flags cimport REVERSE, SECONDARY, UNMAPPED

from gassst.model.layouts import HIT


def local_minima(const uint16_t[:, ::1] profile, const uint32_t[::1] read_strand, const coordinate_t[::1] band_start,
                 const uint32_t[::1] lengths, const uint16_t[::1] limit):
    """Every end of an alignment within the limit that is better than its neighbours.

    The bands of one read and strand are laid over each other, taking the smallest number of errors for every
    end; where every seed was looked at this is exactly the last row of the full dynamic programming matrix, cut off
    at the limit. Reported is the leftmost end of every stretch of equal values whose neighbours are higher.

    Parameters
    ----------
    profile : uint16[b, B]
        Errors by end diagonal of every band.
    read_strand : uint32[b], band_start : int64[b]
        Sorted by read and strand, then by `band_start`.
    lengths : uint32[n]
    limit : uint16[n]
        Errors allowed in each read.

    Returns
    -------
    band : int64[k], end : uint16[k]
        Row of `profile` and diagonal offset of each alignment, in the order of read, strand and position.
    reach : uint16[k]
        Further ends of equal value to the right of it.
    """
    cdef Py_ssize_t b = profile.shape[0], width = profile.shape[1], i, j, stop, n = 0, room = max(b, 16)
    cdef Py_ssize_t cells = 0, c, at, run
    cdef uint32_t lim
    cdef int64_t span
    for i in range(b):  # widest connected stretch of bands
        if i == 0 or read_strand[i] != read_strand[i - 1] or band_start[i] > band_start[i - 1] + width:
            run = width
        else:
            run += band_start[i] - band_start[i - 1]
        cells = max(cells, run)
    value_array = np.empty(max(cells, 1), np.uint16)
    origin_array = np.empty(max(cells, 1), np.int64)
    cdef uint16_t[::1] value = value_array
    cdef int64_t[::1] origin = origin_array
    band_list, end_list, reach_list = [], [], []
    cdef int64_t[::1] band_out = np.empty(room, np.int64)
    cdef uint16_t[::1] end_out = np.empty(room, np.uint16), reach_out = np.empty(room, np.uint16)
    i = 0
    while i < b:
        with nogil:
            stop = i + 1
            while (stop < b and read_strand[stop] == read_strand[i]
                   and band_start[stop] <= band_start[stop - 1] + width):
                stop += 1
            span = band_start[stop - 1] - band_start[i] + width
            for c in range(width):
                value[c], origin[c] = profile[i, c], i
            for c in range(width, span):
                value[c] = NO_SCORE
            for j in range(i + 1, stop):
                at = band_start[j] - band_start[i]
                for c in range(width):
                    if profile[j, c] < value[at + c]:
                        value[at + c] = profile[j, c]
                        origin[at + c] = j
            lim = limit[read_strand[i] >> 1]
        if n + span > room:
            band_list.append(np.asarray(band_out[:n]).copy())
            end_list.append(np.asarray(end_out[:n]).copy())
            reach_list.append(np.asarray(reach_out[:n]).copy())
            n = 0
            room = max(room, span)
            band_out, end_out = np.empty(room, np.int64), np.empty(room, np.uint16)
            reach_out = np.empty(room, np.uint16)
        with nogil:
            c = 0
            while c < span:
                if value[c] > lim:  # as nearly all are
                    c += 1
                    continue
                run = c
                while run + 1 < span and value[run + 1] == value[c]:
                    run += 1
                if ((c == 0 or value[c - 1] > value[c])
                        and (run + 1 == span or value[run + 1] > value[c])):
                    band_out[n] = origin[c]
                    end_out[n] = <uint16_t>(band_start[i] + c - band_start[origin[c]])
                    reach_out[n] = <uint16_t>(run - c)
                    n += 1
                c = run + 1
        i = stop
    band_list.append(np.asarray(band_out[:n]).copy())
    end_list.append(np.asarray(end_out[:n]).copy())
    reach_list.append(np.asarray(reach_out[:n]).copy())
    return np.concatenate(band_list), np.concatenate(end_list), np.concatenate(reach_list)


def ungapped_diagonals(bands, context):
    """The diagonal of an ungapped alignment with as few errors as the best one of each band.

    An ungapped alignment is preferred to gapped ones with as many errors. The leftmost optimal end may lie before the
    ungapped one: a mismatch in the last base can be had as an insertion. So `reach` further diagonals are tried.

    Parameters
    ----------
    bands : search.arrays.Bands
        h scored bands. Read: `read_strand`, `band_start`, `end`, `edits`, `reach`.
    context : search.context.BatchContext
        Read: `reference.planes`, `packed`.

    Returns
    -------
    int64[h]
        0 where no alignment with so few errors is ungapped.
    """
    cdef const uint32_t[::1] read_strand = bands.read_strand
    cdef const coordinate_t[::1] band_start = bands.band_start
    cdef const uint16_t[::1] end = bands.end, edits = bands.edits, reach = bands.reach
    cdef const uint32_t[::1] plane_start = context.packed.plane_start, lengths = context.packed.lengths
    cdef planes_t reference = planes_of(context.reference.planes), reads = planes_of(context.packed.planes)
    cdef Py_ssize_t h = read_strand.shape[0], i
    cdef uint32_t r, m
    cdef int64_t first
    found_array = np.zeros(h, np.int64)
    cdef coordinate_t[::1] found = found_array
    with nogil:
        for i in range(h):
            if i + AHEAD < h:
                first = band_start[i + AHEAD] + end[i + AHEAD]
                prefetch_read(reference, first)
            r = read_strand[i] >> 1
            m = lengths[r]
            first = 64 * (plane_start[r] + (read_strand[i] & 1) * ((<int64_t>m + 63) >> 6))
            found[i] = ungapped_diagonal(reference, band_start[i] + end[i], reads, first, m, edits[i], reach[i])
    return found_array


cdef coordinate_t ungapped_diagonal(planes_t reference, coordinate_t diagonal, planes_t reads, int64_t first, int64_t m,
                                    int edits, uint32_t reach) noexcept nogil:
    """`ungapped_diagonals` of one band: of m bases from `first` on, and the diagonals from this one to `reach` behind it."""
    cdef uint32_t shift
    for shift in range(reach + 1):
        if count_differences(reference, diagonal + shift, reads, first, m, edits) == edits:
            return diagonal + shift
    return 0


def losses(bands, context):
    """What the alignments of bands lose where bases are deaminated, so that some mismatches cost less than others.

    Parameters
    ----------
    bands : search.arrays.Bands
        h scored bands, as for `ungapped_diagonals`. With a gap no error counts as deaminated.
    context : search.context.BatchContext
        Read: `library.cost`, `library.costs`, `reference.planes`, `packed`.

    Returns
    -------
    int64[h]
        Phred.
    """
    cdef const uint16_t[:, :, ::1] costs = context.library.costs
    cdef const uint32_t[::1] read_strand = bands.read_strand
    cdef const uint16_t[::1] edits = bands.edits
    cdef const coordinate_t[::1] ungapped = ungapped_diagonals(bands, context)
    cdef const uint32_t[::1] plane_start = context.packed.plane_start, lengths = context.packed.lengths
    cdef planes_t reference = planes_of(context.reference.planes), reads = planes_of(context.packed.planes)
    cdef Py_ssize_t i
    cdef int64_t cost = context.library.cost, m, at, first, five, three, inside = costs.shape[0] - 1
    cdef uint64_t left, known, c_to_t
    cdef bases64_t a, b
    cdef int kind, reverse
    lost_array = np.empty(read_strand.shape[0], np.int64)
    cdef int64_t[::1] lost = lost_array
    with nogil:
        for i in range(read_strand.shape[0]):
            lost[i], m, reverse = cost * edits[i], lengths[read_strand[i] >> 1], read_strand[i] & 1
            first = first_base(plane_start[read_strand[i] >> 1], read_strand[i], m)
            for at in range(0, m if ungapped[i] else 0, 64):
                a, b = bases_at(reference, ungapped[i] + at), bases_at(reads, first + at)
                known = first_bases(m - at) & ~(a.masked | b.masked)
                c_to_t = known & a.low & ~a.high & b.low & b.high
                left = c_to_t | known & ~a.low & a.high & ~(b.low | b.high)
                while left:
                    five = at + trailing_zeros(left)
                    kind = (c_to_t >> trailing_zeros(left) & 1) == reverse  # the machine saw the complement
                    three = m - 1 - five
                    if reverse:
                        five, three = three, five
                    lost[i] += min(costs[min(five, inside), 0, kind], costs[min(three, inside), 1, kind]) - cost
                    left &= left - 1
    return lost_array


cdef Py_ssize_t fit_contig(const uint32_t *cigar, Py_ssize_t *n, int64_t *position, int64_t m, const contigs_t *contigs,
                           uint32_t *out) noexcept nogil:
    """Write the runs of a read of m bases with every column outside its contig as an insertion; move `position` inside.

    `n`, the number of runs, becomes that of those written. Returns the contig: the one that holds the middle of the
    alignment, or the nearest one when the middle hangs over.

    An insertion at the end of the read becomes an aligned stretch as far as the contig reaches: it costs the same,
    as none of its bases can match in an optimal alignment.
    """
    cdef int64_t at = position[0], inside, before
    cdef Py_ssize_t i, k = 0, contig = contig_near(contigs.starts, contigs.lengths, contigs.n, at + (m >> 1))
    cdef int64_t contig_start = contigs.starts[contig], contig_end = contig_start + contigs.lengths[contig]
    cdef uint32_t op, length
    cdef bint placed = False
    for i in range(n[0]):
        op, length = cigar_op(cigar[i]), cigar_length(cigar[i])
        if op == CIGAR_INSERTION and i == n[0] - 1 and n[0] > 1:
            op = CIGAR_MATCH
        if op == CIGAR_MATCH:
            before = min(max(contig_start - at, 0), length)
            inside = min(max(contig_end - max(at, contig_start), 0), length - before)
            k = cigar_push(out, k, CIGAR_INSERTION, <uint32_t>before)
            if inside and not placed:
                position[0] = at + before
                placed = True
            k = cigar_push(out, k, CIGAR_MATCH, <uint32_t>inside)
            k = cigar_push(out, k, CIGAR_INSERTION, <uint32_t>(length - before - inside))
            at += length
        else:
            k = cigar_push(out, k, op, length)
            at += length if op == CIGAR_DELETION else 0
    n[0] = k
    return contig


cdef struct cell_t:
    # Costs of reaching a cell: at all, by an insertion, by a deletion; errors << GAP_BITS | gaps.
    uint32_t any, insertion, deletion

cdef enum:
    GAP_BITS = 12       # a read has fewer gaps
    AN_ERROR = 1 << GAP_BITS
    NOWHERE = 1 << 30
    DIAGONAL = 1        # how a cell is reached, for the way back
    INSERTION = 2
    INSERTION_GOES_ON = 4
    DELETION_GOES_ON = 8


cdef Py_ssize_t fewest_gaps(const uint32_t *cigar, Py_ssize_t n, uint32_t *runs, int64_t *first, planes_t reference,
                            planes_t reads, int64_t base, int64_t m) noexcept nogil:
    """Write the runs of the alignment of a read of m bases that has as many errors as `cigar`, the same end, and the fewest
    gaps that need no further diagonal. `first` is the diagonal of base 0; `runs` may begin before `cigar`.

    Returns the number of runs, at most 2 * n + 1; -1 when there is no memory.
    """
    cdef int64_t d = first[0], low = d, high = d, i, j, width, gaps = 0
    cdef uint32_t differs, gapped, run = 0, op, last = 0
    cdef Py_ssize_t k = 0
    cdef uint8_t how
    for j in range(n):
        runs[j] = cigar[j]
        gaps += cigar_op(runs[j]) != CIGAR_MATCH
        d += (cigar_op(runs[j]) == CIGAR_DELETION) * <int64_t>cigar_length(runs[j])
        d -= (cigar_op(runs[j]) == CIGAR_INSERTION) * <int64_t>cigar_length(runs[j])
        low, high = min(low, d), max(high, d)
    if gaps < 2:
        return n
    width = high - low + 1
    cdef cell_t *cells = <cell_t *>calloc(width + 1, sizeof(cell_t))
    cdef uint8_t *ways = <uint8_t *>malloc((m + 1) * width)
    if cells == NULL or ways == NULL:
        free(cells)
        free(ways)
        return -1
    for j in range(width + 1):
        cells[j].any = 0 if j < width else NOWHERE
        cells[j].insertion = cells[j].deletion = NOWHERE
    for i in range(1, m + 1):
        for j in range(width):
            # cells[j] and behind are those of the row before, and those before it of this one.
            how = 0
            differs = bases_differ(reference, low + j + i - 1, reads, base + i - 1)
            gapped = cells[j + 1].any + 1
            if cells[j + 1].insertion <= gapped:
                gapped, how = cells[j + 1].insertion, INSERTION_GOES_ON
            cells[j].insertion = gapped + AN_ERROR
            gapped = cells[j - 1].any + 1 if j else NOWHERE
            if j and cells[j - 1].deletion <= gapped:
                gapped, how = cells[j - 1].deletion, how | DELETION_GOES_ON
            cells[j].deletion = gapped + AN_ERROR
            cells[j].any += differs * AN_ERROR
            if cells[j].any <= min(cells[j].insertion, cells[j].deletion):
                how |= DIAGONAL
            elif cells[j].insertion <= cells[j].deletion:
                cells[j].any, how = cells[j].insertion, how | INSERTION
            else:
                cells[j].any = cells[j].deletion
            ways[i * width + j] = how
    i, j, op = m, d - low, CIGAR_MATCH
    while i > 0:
        how = ways[i * width + j]
        if op == CIGAR_MATCH and not how & DIAGONAL:
            op = CIGAR_INSERTION if how & INSERTION else CIGAR_DELETION
        if op != last:
            k = push_back(runs, k, last, run)
            run, last = 0, op
        run += 1
        if op == CIGAR_MATCH:
            i -= 1
        elif op == CIGAR_INSERTION:
            op = CIGAR_INSERTION if how & INSERTION_GOES_ON else CIGAR_MATCH
            i, j = i - 1, j + 1
        else:
            op = CIGAR_DELETION if how & DELETION_GOES_ON else CIGAR_MATCH
            j -= 1
    k = push_back(runs, k, last, run)
    first[0] = low + j
    for i in range(k // 2):
        runs[i], runs[k - 1 - i] = runs[k - 1 - i], runs[i]
    free(cells)
    free(ways)
    return k


cdef inline Py_ssize_t push_back(uint32_t *runs, Py_ssize_t k, uint32_t op, uint32_t length) noexcept nogil:
    if length:
        runs[k] = length << 4 | op
        k += 1
    return k


cdef inline bint bases_differ(planes_t reference, int64_t at, planes_t reads, int64_t base) noexcept nogil:
    return differences(bases_at(reference, at), bases_at(reads, base)) & 1


def hits_from_bands(bands, const coordinate_t[::1] ungapped, traced, context):
    """Hits and CIGARs of the reported alignments.

    Parameters
    ----------
    bands : search.arrays.Bands
        k bands in output order. Read: `read_strand`, `edits`.
    ungapped : int64[k]
        From `ungapped_diagonals`: what is not 0 needs no traceback.
    traced : search.arrays.Traced
        The tracebacks of the others, in the same order.
    context : search.context.BatchContext
        Read: `lengths`, `packed`, `reference.planes`, `reference.starts`, `reference.lengths`.

    Returns
    -------
    hits : HIT[k]
        `flag` holds the strand only; `mapq` is 0.
    cigars : uint32[]
        Of alignments with as many errors, the same end and no further diagonal those with the fewest gaps.

    Raises
    ------
    MemoryError
    """
    cdef const uint32_t[::1] read_strand = bands.read_strand, lengths = context.lengths
    cdef const uint16_t[::1] edits = bands.edits, traced_runs = traced.n_runs
    cdef const coordinate_t[::1] traced_diagonal = traced.diagonal
    cdef const uint32_t[::1] traced_start = traced.start, traced_cigars = traced.cigars
    cdef const int64_t[::1] contig_starts = context.reference.starts, contig_lengths = context.reference.lengths
    cdef Py_ssize_t k = read_strand.shape[0], i, t = 0, n_runs = 0, runs = 0
    cdef Py_ssize_t room = 3 * k + 2 * traced_cigars.shape[0] + 2 * traced_start.shape[0]
    cdef const uint32_t[::1] plane_start = context.packed.plane_start
    cdef planes_t reference = planes_of(context.reference.planes), reads = planes_of(context.packed.planes)
    cdef uint32_t[::1] fewest = np.empty(2 * int(traced.n_runs.max(initial=0)) + 1, np.uint32)
    cdef int64_t m
    hits_array = np.zeros(k, HIT)
    cigars_array = np.empty(max(room, 1), np.uint32)
    cdef hit_t[::1] hits = hits_array
    cdef uint32_t[::1] cigars = cigars_array
    cdef contigs_t contigs = contigs_t(&contig_starts[0], &contig_lengths[0], contig_starts.shape[0])
    cdef uint32_t whole
    cdef int64_t position
    cdef const uint32_t *cigar
    with nogil:
        for i in range(k):
            if ungapped[i]:
                position = ungapped[i]
                whole = lengths[read_strand[i] >> 1] << 4
                cigar, runs = &whole, 1
            else:
                position = traced_diagonal[t]
                cigar, runs = &traced_cigars[traced_start[t]], traced_runs[t]
                t += 1
                m = lengths[read_strand[i] >> 1]
                runs = fewest_gaps(cigar, runs, &fewest[0], &position, reference, reads,
                                   first_base(plane_start[read_strand[i] >> 1], read_strand[i], m), m)
                if runs < 0:
                    break
                cigar = &fewest[0]
            hits[i].read = read_strand[i] >> 1
            hits[i].strand = read_strand[i] & 1
            hits[i].flag = REVERSE * (read_strand[i] & 1)
            hits[i].edits = edits[i]
            hits[i].score = -<int32_t>edits[i]
            hits[i].cigar_start = <uint32_t>n_runs
            fit_contig(cigar, &runs, &position, lengths[read_strand[i] >> 1], &contigs, &cigars[n_runs])
            hits[i].position = position
            hits[i].cigar_runs = <uint16_t>runs
            n_runs += runs
    if runs < 0:
        raise MemoryError
    return hits_array, cigars_array[:n_runs].copy()


def reported_rows(const hit_t[::1] hits, const int64_t[::1] start, const rating_t[::1] rated):
    """The rows of all reads: the first of each is primary, and an unmapped read has one.

    Parameters
    ----------
    hits : HIT[k]
        Without those of unmapped reads.
    start : int64[n + 1]
        Hits of read r are start[r] .. start[r + 1].
    rated : RATING[n]
        Of the primaries.

    Returns
    -------
    HIT[h]
    """
    cdef Py_ssize_t n = rated.shape[0], r, i, h = 0
    for r in range(n):
        h += max(start[r + 1] - start[r], 1)
    rows_array = np.zeros(h, HIT)
    cdef hit_t[::1] rows = rows_array
    h = 0
    with nogil:
        for r in range(n):
            if start[r] == start[r + 1]:
                rows[h].read, rows[h].flag = <uint32_t>r, UNMAPPED
                h += 1
            for i in range(start[r], start[r + 1]):
                rows[h] = hits[i]
                if i > start[r]:
                    rows[h].flag |= SECONDARY
                else:
                    rows[h].mapq = rated[r].mapq
                h += 1
    return rows_array
