"""What the bits of one diagonal prove: that no alignment near it scores better than the whole read without a gap.

Most reads of a good run lie on one diagonal with a few mismatches. A better alignment has a gap, so some of it lies on
another diagonal. There the bases beside one of the mismatches, an *arm* of 8 bases, fit without an error:

* Every mismatch of the diagonal lies on another one in a better alignment, or in an *event*: its gap, or a mismatch or a
  clipped end that it can still afford.
* An event spoils one mismatch with both its arms, or one arm of each of two mismatches. With fewer events than
  mismatches one arm at least is left.
* A single mismatch will do where a better alignment can afford nothing but the gap: the arms then stand off by as many
  bases as the gap may insert.

So where no arm fits on any diagonal nearby, there is no better alignment, and no equal one. What is not proved goes to
the bands.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.alignments cimport ungapped_diagonal
from gassst._core.coordinates cimport coordinate_t
from gassst._core.intrinsics cimport trailing_zeros
from gassst._core.layouts cimport NO_SCORE, hit_t, read_summary_t
from gassst._core.planes cimport (
    AHEAD,
    ambiguous_bases,
    any_masked,
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
from gassst._core.sam_flags cimport REVERSE

from gassst.model.layouts import HIT

cdef enum:
    MOST = 3            # mismatches of what is proved to be best
    KEPT = 16           # mismatches that are looked at
    ARM = 8             # bases; by chance one arm in 2,000 fits on one of 32 diagonals
    REACH = 16          # diagonals on either side: those of the bands that are looked at otherwise

cdef struct costs_t:
    int64_t match
    int64_t each            # what a mismatch loses
    int64_t clip            # the bonus of an end
    int64_t gap             # least loss of a gap
    int64_t event           # least loss of a mismatch, a clipped end, or one gap more
    int64_t open_deletion, extend_deletion, open_insertion, extend_insertion    # an inserted base is no match, too

cdef struct strand_t:
    # A strand of a read, and the reference.
    planes_t reference, reads
    int64_t first, m

cdef struct found_t:
    # Mismatches on a diagonal: how many, and where; KEPT + 1 where there are more, or a base is masked.
    int64_t n
    int64_t[KEPT] at


cdef costs_t costs_of(scoring) except *:
    """Of a params.Scoring."""
    cdef costs_t costs
    costs.match, costs.each, costs.clip = scoring.match, scoring.match + scoring.mismatch, scoring.clip
    (costs.open_deletion, costs.open_insertion) = scoring.gap_open
    (costs.extend_deletion, costs.extend_insertion) = scoring.gap_extend
    costs.extend_insertion += scoring.match
    costs.gap = min(costs.open_deletion + costs.extend_deletion, costs.open_insertion + costs.extend_insertion)
    costs.event = min(costs.each, costs.clip + costs.match, costs.open_deletion, costs.open_insertion)
    return costs


cdef inline strand_t strand_of(planes_t reference, planes_t reads, uint32_t plane_start, uint32_t read_strand,
                               int64_t m) noexcept nogil:
    return strand_t(reference, reads, first_base(plane_start, read_strand, m), m)


cdef inline found_t mismatches(const strand_t *strand, int64_t diagonal) noexcept nogil:
    cdef found_t found
    cdef bases64_t x, y
    cdef uint64_t differ, live
    cdef int64_t at
    found.n = 0
    for at in range(0, strand.m, 64):
        x, y = bases_at(strand.reference, diagonal + at), bases_at(strand.reads, strand.first + at)
        live = first_bases(strand.m - at)
        differ = differences(x, y) & live
        if unknown_bases(x, y) & live:
            found.n = KEPT + 1
            return found
        while differ:
            if found.n == KEPT:
                found.n = KEPT + 1
                return found
            found.at[found.n] = at + trailing_zeros(differ)
            found.n += 1
            differ &= differ - 1
    return found


cdef inline bint clipping_pays(const found_t *found, int64_t m, const costs_t *costs) noexcept nogil:
    """Whether to clip an end with the mismatches nearest to it scores as much as to keep them."""
    cdef int64_t i
    for i in range(found.n):
        if costs.clip + (found.at[i] + 1) * costs.match <= (i + 1) * costs.each:
            return True
        if costs.clip + (m - found.at[i]) * costs.match <= (found.n - i) * costs.each:
            return True
    return False


cdef inline bint arm_fits(const strand_t *strand, int64_t diagonal, int64_t at, int64_t apart) noexcept nogil:
    """Whether the bases up to `apart` before base `at`, or those from `apart` behind it on, fit on a diagonal nearby.

    All diagonals are compared at once: bit i of a word stands for diagonal - REACH + i.
    """
    cdef int64_t begin = at - apart - (ARM - 1), behind = at + apart, j
    cdef bases64_t here = bases_at(strand.reference, diagonal + begin - REACH)
    cdef bases64_t there = bases_at(strand.reference, diagonal + behind - REACH)
    cdef bases64_t before = bases_at(strand.reads, strand.first + begin)
    cdef bases64_t after = bases_at(strand.reads, strand.first + behind)
    cdef uint64_t fits_before = ~<uint64_t>0, fits_after = ~<uint64_t>0
    cdef uint64_t high_before = ~ambiguous_bases(before), high_after = ~ambiguous_bases(after)  # where they count
    for j in range(max(-begin, 0), ARM):
        fits_before &= ~((here.low >> j ^ -(before.low >> j & 1))
                         | ((here.high >> j ^ -(before.high >> j & 1)) & -(high_before >> j & 1)))
    for j in range(min(strand.m - behind, ARM)):
        fits_after &= ~((there.low >> j ^ -(after.low >> j & 1))
                        | ((there.high >> j ^ -(after.high >> j & 1)) & -(high_after >> j & 1)))
    return ((fits_before | fits_after) & first_bases(2 * REACH + 1) & ~(<uint64_t>1 << REACH)) != 0


cdef bint none_with_gap(const strand_t *strand, int64_t diagonal, const found_t *found, int64_t loss,
                        const costs_t *costs) noexcept nogil:
    """Whether it is proved that no alignment with a gap within REACH diagonals, or that touches this one, loses `loss`
    or less. `found` has a mismatch at least."""
    cdef int64_t n = found.n, inserted, clipped, near = 0, i, middle
    cdef int64_t[3] at
    if loss < costs.gap:
        return True
    if (n == 0 or n > KEPT or any_masked(strand.reference, diagonal - REACH, diagonal + strand.m + REACH)
            or loss - costs.open_deletion > REACH * costs.extend_deletion
            or loss - costs.open_insertion > REACH * costs.extend_insertion):
        return False
    if loss < costs.gap + costs.event:      # nothing but the gap
        inserted = max((loss - costs.open_insertion) // costs.extend_insertion, 0)
        middle = found.at[0]
        for i in range(1, n):
            if min(found.at[i], strand.m - found.at[i]) > min(middle, strand.m - middle):
                middle = found.at[i]
        return not arm_fits(strand, diagonal, middle, inserted)
    if n < 3 or loss >= costs.gap + 2 * costs.event:
        return False
    # The gap and another event. No event may spoil two mismatches, and the two together no more than 5 arms of 6.
    inserted = max((loss - costs.event - costs.open_insertion) // costs.extend_insertion, 0)
    clipped = max((loss - costs.gap - costs.clip) // costs.match, 0)
    at[0], at[1], at[2] = found.at[0], found.at[n >> 1], found.at[n - 1]
    for i in range(1, 3):
        if at[i] - at[i - 1] <= inserted:
            return False
        near += at[i] - at[i - 1] < ARM + inserted
    if near > 1 or (clipped and min(at[1], strand.m - 1 - at[1]) < clipped + ARM):
        return False
    for i in range(3):
        if arm_fits(strand, diagonal, at[i], 0):
            return False
    return True


cdef bint is_best(const strand_t *strand, int64_t diagonal, const found_t *found, const costs_t *costs) noexcept nogil:
    """Whether the whole read on a diagonal, with these mismatches, is proved to score more than all other alignments
    within REACH diagonals, and all others that touch this one."""
    return (found.n <= MOST and not clipping_pays(found, strand.m, costs)
            and none_with_gap(strand, diagonal, found, found.n * costs.each, costs))


cdef inline int64_t lost_by_whole(const strand_t *strand, int64_t diagonal, const costs_t *costs,
                                  int64_t limit) noexcept nogil:
    """What a whole read loses on a diagonal, or something above `limit`. A masked base costs 1."""
    cdef int64_t at, loss = 0
    cdef bases64_t x, y
    cdef uint64_t masked, live
    for at in range(0, strand.m, 64):
        x, y = bases_at(strand.reference, diagonal + at), bases_at(strand.reads, strand.first + at)
        live = first_bases(strand.m - at)
        masked = unknown_bases(x, y) & live
        loss += costs.each * count_bits(differences(x, y) & live & ~masked)
        loss += (costs.match + 1) * count_bits(masked)
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
    cdef int64_t loss
    cdef strand_t strand
    whole_array = np.zeros(k, np.uint8)
    cdef uint8_t[::1] whole = whole_array
    with nogil:
        for i in range(k):
            if i + AHEAD < k:
                prefetch_read(reference, diagonals[i + AHEAD])
            if reached[i] != 3:
                continue
            r = strands[i] >> 1
            strand = strand_of(reference, reads, plane_start[r], strands[i], lengths[r])
            loss = strand.m * costs.match + 2 * costs.clip - total[i]
            whole[i] = lost_by_whole(&strand, diagonals[i], &costs, loss) == loss
    return whole_array.view(bool)


cdef inline coordinate_t diagonal_of(const strand_t *strand, coordinate_t diagonal, int edits, uint32_t reach,
                                found_t *found) noexcept nogil:
    """As `ungapped_diagonal`, with the mismatches if there are few; 0 for none."""
    found[0] = mismatches(strand, diagonal)
    if found.n == edits:
        return diagonal
    cdef coordinate_t other = ungapped_diagonal(strand.reference, diagonal, strand.reads, strand.first, strand.m, edits,
                                            reach)
    if other:
        found[0] = mismatches(strand, other)
    return other


def settle(known, const int64_t[::1] reads, int sure, context):
    """Reads that keep the alignment of the search: along one diagonal, and no other scores more.

    Parameters
    ----------
    known : local.realign.Known
        Read: `chosen`, `found.bands`, `found.summary`.
    reads : int64[a]
        Reads that are reported at one place.
    sure : int
        Mismatches with which no proof is needed.
    context : search.context.BatchContext
        Read: `lengths`, `packed`, `reference.planes`, `params.scoring`. Contigs lie more bases apart than a read may
        have errors.

    Returns
    -------
    hits : HIT[s], read_strand : uint32[s]
        Those that are settled, in order, without masked bases; `cigar_start` counts from 0.
    left : int64[a - s]
        Indices into `reads` of the others.
    diagonal : int64[a - s]
        On which their alignments end.
    ungapped : bool[a - s]
        Whether they have no gap.
    alone : bool[a - s]
        Whether the search found them at a single place, with the fewest errors.
    """
    bands, packed = known.found.bands, context.packed
    cdef const uint32_t[::1] read_strand = bands.read_strand
    cdef const coordinate_t[::1] band_start = bands.band_start
    cdef const uint16_t[::1] end = bands.end, edits = bands.edits, reach = bands.reach
    cdef const int64_t[::1] chosen = known.chosen
    cdef const read_summary_t[::1] summary = known.found.summary
    cdef const uint32_t[::1] lengths = context.lengths, plane_start = packed.plane_start
    cdef planes_t reference = planes_of(context.reference.planes), strands = planes_of(packed.planes)
    cdef costs_t costs = costs_of(context.params.scoring)
    cdef Py_ssize_t a = reads.shape[0], i, s = 0, left_over = 0
    cdef int64_t row, at, r
    cdef bint only, stands
    cdef strand_t strand
    cdef found_t found
    hits_array, strand_array = np.zeros(a, HIT), np.empty(a, np.uint32)
    left_array, diagonal_array = np.empty(a, np.int64), np.empty(a, np.int64)
    ungapped_array, alone_array = np.empty(a, np.uint8), np.empty(a, np.uint8)
    cdef hit_t[::1] hits = hits_array
    cdef uint32_t[::1] strand_out = strand_array
    cdef coordinate_t[::1] diagonal = diagonal_array
    cdef int64_t[::1] left = left_array
    cdef uint8_t[::1] ungapped = ungapped_array, alone = alone_array
    with nogil:
        for i in range(a):
            if i + AHEAD < a:
                row = chosen[reads[i + AHEAD]]
                at = band_start[row] + end[row]
                prefetch_read(reference, at)
            r = reads[i]
            row = chosen[r]
            strand = strand_of(reference, strands, plane_start[r], read_strand[row], lengths[r])
            at = diagonal_of(&strand, band_start[row] + end[row], edits[row], reach[row], &found)
            only = summary[r].n_best == 1 and summary[r].second == NO_SCORE and edits[row] == summary[r].best
            stands = at != 0 and found.n == edits[row] and (only or (edits[row] == 0 and summary[r].n_best > 1))
            if stands and (edits[row] <= sure or is_best(&strand, at, &found, &costs)):
                hits[s].read, hits[s].position, hits[s].edits = <uint32_t>r, at, edits[row]
                hits[s].cigar_start, hits[s].cigar_runs = <uint32_t>s, 1
                hits[s].strand = read_strand[row] & 1
                hits[s].flag = <uint16_t>(REVERSE * (read_strand[row] & 1))
                hits[s].score = <int32_t>(strand.m * costs.match - edits[row] * costs.each)
                strand_out[s] = read_strand[row]
                s += 1
                continue
            left[left_over] = i
            diagonal[left_over] = at if at else band_start[row] + end[row]
            ungapped[left_over], alone[left_over] = at != 0, only
            left_over += 1
    return (hits_array[:s], strand_array[:s], left_array[:left_over], diagonal_array[:left_over],
            ungapped_array[:left_over].view(bool), alone_array[:left_over].view(bool))


def diagonals_of_bands(known, const int64_t[::1] rows, int64_t breaking, context):
    """Where the alignments of bands end, and which of them need no band.

    Parameters
    ----------
    known : local.realign.Known
        Read: `found.bands`.
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
        Whether the best alignment that touches this diagonal is proved to have none, and no end clipped.
    """
    bands, packed = known.found.bands, context.packed
    cdef const uint32_t[::1] read_strand = bands.read_strand
    cdef const coordinate_t[::1] band_start = bands.band_start
    cdef const uint16_t[::1] end = bands.end, edits = bands.edits, reach = bands.reach
    cdef const uint32_t[::1] lengths = context.lengths, plane_start = packed.plane_start
    cdef planes_t reference = planes_of(context.reference.planes), strands = planes_of(packed.planes)
    cdef costs_t costs = costs_of(context.params.scoring)
    cdef Py_ssize_t k = rows.shape[0], i
    cdef int64_t row, at, r
    cdef strand_t strand
    cdef found_t found
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
            strand = strand_of(reference, strands, plane_start[r], read_strand[row], lengths[r])
            at = diagonal_of(&strand, band_start[row] + end[row], edits[row], reach[row], &found)
            ungapped[i], diagonal[i] = at != 0, at if at else band_start[row] + end[row]
            plain[i] = (at != 0 and found.n == edits[row]
                        and (edits[row] * costs.each < breaking or is_best(&strand, at, &found, &costs)))
    return diagonal_array, ungapped_array.view(bool), plain_array.view(bool)
