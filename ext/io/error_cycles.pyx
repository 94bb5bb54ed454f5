"""Where in the reads the errors are: mismatches, inserted and deleted bases by read cycle, and deaminated bases.

A cycle is a position of the read in the order of sequencing: base 0 of a read on the reverse strand is the last
one of its alignment.
"""

import numpy as np

from libc.stdint cimport int64_t, uint32_t, uint64_t

from gassst._core.common cimport (
    CIGAR_DELETION,
    CIGAR_INSERTION,
    CIGAR_SOFT_CLIP,
    NOT_PRIMARY,
    UNMAPPED,
    bases64_t,
    bases_at,
    cigar_length,
    cigar_op,
    differences,
    first_bases,
    hit_t,
    planes_t,
    prefetch_bases,
    trailing_zeros,
)

cdef enum:
    NOT_COUNTED = UNMAPPED | NOT_PRIMARY
    AHEAD = 8           # alignments whose reference is fetched early,
    PREFETCHED = 192    # bases: as much of it as most reads cover
    ENDS = 25           # bases of each end whose damage is counted: as many as mapDamage draws


cdef struct Errors:
    int64_t reads
    int64_t mismatches
    int64_t insertions
    int64_t deletions

cdef struct Deaminated:
    int64_t c
    int64_t c_to_t
    int64_t g
    int64_t g_to_a

cdef struct Counts:
    Errors *by_cycle
    Deaminated *by_end  # [ENDS][2]: by distance from the 5' and from the 3' end

cdef struct Stretch:  # bases that an alignment pairs with each other; where the first of them lies:
    int64_t at         # on the reference
    int64_t base       # in the planes of the reads
    uint32_t q         # on the strand that is aligned
    uint32_t length


def errors_by_cycle(const hit_t[::1] hits, const uint32_t[::1] cigars, const uint64_t[:, ::1] reference,
                    const uint64_t[:, ::1] planes, const uint32_t[::1] plane_start, const uint32_t[::1] lengths):
    """Errors of the primary alignments by cycle, and their deaminated bases by distance from the ends.

    A deletion counts at the cycle before it: that of the base sequenced last. The errors of an alignment add up
    to its `edits`, as a masked base, of the read or of the reference, is a mismatch.

    Parameters
    ----------
    hits : HIT[h]
        Rows of unmapped reads, secondary and supplementary alignments are passed over.
    cigars : uint32[]
        Runs length << 4 | op, op 0 M, 1 I, 2 D, 4 S: clipped bases are no errors.
    reference, planes : uint64[, 3]
        Planes of the reference and of the reads.
    plane_start, lengths : uint32[n]

    Returns
    -------
    cycles : int64[longest, 4]
        For every cycle: alignments of reads that are long enough to have it, mismatches, inserted bases, deleted
        bases. `longest` is the length of the longest read with an alignment.
    damage : int64[25, 2, 4]
        Of the bases at each distance from the 5' and the 3' end of their read, in the direction of the read: aligned
        with C of the reference, of these read as T, aligned with G, of these read as A. Masked bases are left out.

    Raises
    ------
    ValueError
        A read, a CIGAR or the planes of a read lie outside their arrays.
    """
    cdef Py_ssize_t h = hits.shape[0], i, ahead
    cdef uint32_t longest = 0
    cdef bint fits = plane_start.shape[0] == lengths.shape[0]
    cdef planes_t reference_planes, read_planes
    reference_planes.words, reference_planes.rows = NULL, reference.shape[0]
    read_planes.words, read_planes.rows = NULL, planes.shape[0]
    with nogil:
        for i in range(h):
            if fits and not hits[i].flag & NOT_COUNTED:
                fits = well_formed(&hits[i], cigars, plane_start, lengths, planes.shape[0])
                if fits:
                    longest = max(longest, lengths[hits[i].read])
    if not fits or (longest and not reference.shape[0]):
        raise ValueError("hits, CIGARs and planes of the reads do not fit")
    cycles, damage = np.zeros((longest, 4), np.int64), np.zeros((ENDS, 2, 4), np.int64)
    if not longest:
        return cycles, damage
    cdef int64_t[:, ::1] cycle_cells = cycles
    cdef int64_t[:, :, ::1] end_cells = damage
    cdef Counts counts = Counts(<Errors *>&cycle_cells[0, 0], <Deaminated *>&end_cells[0, 0, 0])
    reference_planes.words, read_planes.words = &reference[0, 0], &planes[0, 0]
    with nogil:
        for i in range(h):
            ahead = min(i + AHEAD, h - 1)
            prefetch_bases(reference_planes, hits[ahead].position, hits[ahead].position + <int64_t>PREFETCHED)
            if not hits[i].flag & NOT_COUNTED:
                count_alignment(&hits[i], &cigars[0], reference_planes, read_planes, plane_start[hits[i].read],
                                lengths[hits[i].read], counts)
        for i in range(<Py_ssize_t>longest - 1, 0, -1):  # whoever has a cycle has all before it
            counts.by_cycle[i - 1].reads += counts.by_cycle[i].reads
    return cycles, damage


cdef bint well_formed(const hit_t *hit, const uint32_t[::1] cigars, const uint32_t[::1] plane_start,
                      const uint32_t[::1] lengths, int64_t rows) noexcept nogil:
    """Read, planes and CIGAR lie in their arrays, and the CIGAR has as many bases as the read."""
    cdef uint64_t bases = 0, at = hit.cigar_start, stop = at + hit.cigar_runs
    if hit.read >= lengths.shape[0] or stop > <uint64_t>cigars.shape[0]:
        return False
    while at < stop:
        if cigar_op(cigars[at]) > CIGAR_DELETION and cigar_op(cigars[at]) != CIGAR_SOFT_CLIP:
            return False
        if cigar_op(cigars[at]) != CIGAR_DELETION:
            bases += cigar_length(cigars[at])
        at += 1
    return (bases == lengths[hit.read] and bases > 0
            and plane_start[hit.read] + 2 * ((bases + 63) >> 6) <= <uint64_t>rows)


cdef void count_alignment(const hit_t *hit, const uint32_t *cigars, planes_t reference, planes_t reads,
                          uint32_t plane_start, uint32_t m, Counts counts) noexcept nogil:
    """Adds the errors of one alignment, and the read itself at its last cycle only."""
    cdef int64_t first = 64 * (plane_start + <int64_t>hit.strand * ((m + 63) >> 6)), at = hit.position
    cdef uint32_t q = 0, i, done, op, length
    cdef Errors *by_cycle = counts.by_cycle
    cdef Stretch stretch
    by_cycle[m - 1].reads += 1
    for i in range(hit.cigar_start, hit.cigar_start + hit.cigar_runs):
        op, length = cigar_op(cigars[i]), cigar_length(cigars[i])
        if op == CIGAR_DELETION:
            by_cycle[cycle_before_gap(q, m, hit.strand)].deletions += length
            at += length
        elif op == CIGAR_INSERTION:
            for done in range(length):
                by_cycle[m - 1 - (q + done) if hit.strand else q + done].insertions += 1
            q += length
        elif op == CIGAR_SOFT_CLIP:
            q += length
        else:
            stretch = Stretch(at, first + q, q, length)
            count_mismatches(reference, reads, stretch, m, hit.strand, by_cycle)
            count_deaminated(reference, reads, part_of(stretch, 0, ENDS), m, False, hit.strand, counts.by_end)
            count_deaminated(reference, reads, part_of(stretch, <int64_t>m - ENDS, m), m, True, hit.strand,
                             counts.by_end)
            q += length
            at += length


cdef inline uint32_t cycle_before_gap(uint32_t q, uint32_t m, bint reverse) noexcept nogil:
    """Cycle sequenced last before the gap between bases q - 1 and q of the read on the forward strand."""
    if reverse:
        return m - 1 - q if q < m else 0
    return q - 1 if q else 0


cdef void count_mismatches(planes_t reference, planes_t reads, Stretch stretch, uint32_t m, bint reverse,
                           Errors *by_cycle) noexcept nogil:
    cdef uint64_t x
    cdef uint32_t done = 0, here
    while done < stretch.length:
        x = differences(bases_at(reference, stretch.at + done), bases_at(reads, stretch.base + done))
        x &= first_bases(stretch.length - done)
        while x:
            here = stretch.q + done + trailing_zeros(x)
            by_cycle[m - 1 - here if reverse else here].mismatches += 1
            x &= x - 1
        done += 64


cdef inline Stretch part_of(Stretch stretch, int64_t begin, int64_t end) noexcept nogil:
    """The part of a stretch with bases `begin` to `end` - 1 of the aligned strand; it may have none."""
    cdef int64_t past = max(begin - <int64_t>stretch.q, 0)
    cdef int64_t left = min(end - <int64_t>stretch.q, <int64_t>stretch.length) - past
    return Stretch(stretch.at + past, stretch.base + past, <uint32_t>(stretch.q + past), <uint32_t>max(left, 0))


cdef void count_deaminated(planes_t reference, planes_t reads, Stretch part, uint32_t m, bint at_right, bint reverse,
                           Deaminated *by_end) noexcept nogil:
    """Adds the deaminated bases of a part at the left or right end of the aligned strand, at most 64 bases."""
    cdef bases64_t r, b
    cdef uint64_t known, c, g, c_to_t, g_to_a
    cdef uint32_t left
    cdef Deaminated *at
    if not part.length:
        return
    r, b = bases_at(reference, part.at), bases_at(reads, part.base)
    known = first_bases(part.length) & ~(r.masked | b.masked)
    c, g = known & r.low & ~r.high, known & ~r.low & r.high
    c_to_t, g_to_a = c & b.low & b.high, g & ~(b.low | b.high)
    if reverse:  # what the machine saw is the complement
        c, c_to_t, g, g_to_a = g, g_to_a, c, c_to_t
    by_end += at_right != reverse
    known = c | g
    while known:
        left = trailing_zeros(known)
        at = by_end + 2 * (m - 1 - part.q - left if at_right else part.q + left)
        at.c += c >> left & 1
        at.c_to_t += c_to_t >> left & 1
        at.g += g >> left & 1
        at.g_to_a += g_to_a >> left & 1
        known &= known - 1
