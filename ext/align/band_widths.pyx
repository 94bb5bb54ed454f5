"""How wide the bands are in which local alignments are looked for, and which targets come next (gassst/local/align.py).

An alignment that touches a diagonal d and leaves the band around it has gaps of half its width or more. Where it loses
no more than the best one in the band, an arm of bases near an end of the read fits without an error on a diagonal
further away (gassst/local/arms.py). The bits of all these diagonals are compared at once.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.planes cimport any_masked, bases64_t, bases_at, first_base, first_bases, planes_of, planes_t

from gassst.local.arms import INNER

cdef enum:
    FEW = 3     # bases after which most diagonals of an arm are ruled out

cdef struct strand_t:
    # A strand of a read, and the reference.
    planes_t reference, reads
    int64_t first, m


cdef struct arms_t:
    int64_t bases, number   # as in gassst/local/arms.py
    int64_t inner, outer    # the nearest and the furthest diagonals of an arm


cdef inline bint arm_fits(const strand_t *strand, int64_t diagonal, int64_t at, const arms_t *arms) noexcept nogil:
    """Whether the bases of an arm, from `at` on, fit without an error on a diagonal that is inner .. outer away.

    All diagonals of a side are bits of one word; those of both sides are, where they are few.
    """
    cdef bases64_t read = bases_at(strand.reads, strand.first + at)
    cdef bases64_t before = bases_at(strand.reference, diagonal - arms.outer + at), behind
    cdef bint two = 2 * arms.outer + arms.bases > 64
    cdef uint64_t beside = first_bases(arms.outer - arms.inner + 1), fits = beside, others = 0, low, high
    cdef int64_t j
    if two:
        others, behind = beside, bases_at(strand.reference, diagonal + arms.inner + at)
    else:
        fits |= beside << (arms.outer + arms.inner)
    for j in range(arms.bases):
        low, high = -(read.low >> j & 1), -(read.high >> j & 1)
        fits &= ~((before.low >> j ^ low) | (before.high >> j ^ high))
        if two:
            others &= ~((behind.low >> j ^ low) | (behind.high >> j ^ high))
        if j >= FEW and not fits | others:
            return False
    return True


cdef bint no_arm_fits(const strand_t *strand, int64_t diagonal, const arms_t *arms) noexcept nogil:
    """Whether no arm fits on a diagonal that is inner .. outer away, where no base is masked."""
    cdef int64_t i
    if (arms.bases * arms.number > strand.m
            or any_masked(strand.reference, diagonal - arms.outer, diagonal + strand.m + arms.outer)
            or any_masked(strand.reads, strand.first, strand.first + strand.m - 1)):
        return False
    for i in range(arms.number):
        if (arm_fits(strand, diagonal, i * arms.bases, arms)
                or arm_fits(strand, diagonal, strand.m - (i + 1) * arms.bases, arms)):
            return False
    return True


def expected_widths(const int64_t[::1] loss, const int64_t[::1] widest, const int64_t[::1] proved,
                    const int64_t[::1] widths):
    """The narrowest band that proves an alignment which loses as much as expected.

    Parameters
    ----------
    loss, widest : int64[k]
        What alignments are expected to lose, and the widths of their widest bands.
    proved, widths : int64[w]
        Ascending; the least loss that `widen_unproved` does not prove in a band of each width.

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
            while w < last and proved[w] <= loss[i]:
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
    rows : int64[m], read_strand, first : uint32[m]
    """
    cdef const uint32_t[::1] read_strand = targets.read_strand, diagonal = targets.diagonal
    cdef const uint32_t[::1] band_start = targets.band_start
    cdef const int64_t[::1] widest = targets.width
    cdef Py_ssize_t k = width.shape[0], i, m = 0
    rows_array, strand_array, first_array = np.empty(k, np.int64), np.empty(k, np.uint32), np.empty(k, np.uint32)
    cdef int64_t[::1] rows = rows_array
    cdef uint32_t[::1] strand = strand_array, first = first_array
    with nogil:
        for i in range(k):
            if width[i] == w:
                rows[m], strand[m] = i, read_strand[i]
                first[m] = band_start[i] if widest[i] <= w else diagonal[i] - (w >> 1)
                m += 1
    return rows_array[:m], strand_array[:m], first_array[:m]


def widen_unproved(uint16_t[::1] width, const int64_t[::1] rows, found, int64_t leaving,
                   const int64_t[:, ::1] proofs, context, targets):
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
    proofs : int64[t, 3]
        From `local.arms.proofs`, for bands of this width.
    context : search.context.BatchContext
        Read: `lengths`, `packed`, `reference.planes`, `params.scoring`.
    targets : local.places.Targets
        k of them.
    """
    cdef const int32_t[::1] score = found[0]
    cdef const uint8_t[::1] reached = found[1]
    scoring, packed = context.params.scoring, context.packed
    cdef const uint32_t[::1] read_strand = targets.read_strand, diagonal = targets.diagonal
    cdef const uint32_t[::1] lengths = context.lengths, plane_start = packed.plane_start
    cdef const int64_t[::1] widest = targets.width
    cdef int64_t match = scoring.match, clip = scoring.clip, loss, row
    cdef int64_t opened = min(scoring.gap_open), extended = min(scoring.gap_extend)
    cdef arms_t arms
    cdef strand_t strand
    cdef Py_ssize_t i, t
    arms.inner = INNER
    strand.reference, strand.reads = planes_of(context.reference.planes), planes_of(packed.planes)
    with nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            loss = (match * lengths[read_strand[row] >> 1] - score[i]
                    + clip * (2 - (reached[i] & 1) - (reached[i] >> 1)))
            if loss < leaving or width[row] >= widest[row]:
                continue
            t = 0
            while t < proofs.shape[0] and proofs[t, 2] <= loss:
                t += 1
            if t < proofs.shape[0]:
                strand.m = lengths[read_strand[row] >> 1]
                strand.first = first_base(plane_start[read_strand[row] >> 1], read_strand[row], strand.m)
                arms.bases, arms.number, arms.outer = proofs[t, 0], proofs[t, 1], (loss - opened) // extended
                if no_arm_fits(&strand, diagonal[row], &arms):
                    continue
            width[row] *= 2


def store_scores(const int64_t[::1] rows, const uint32_t[::1] first, found, into):
    """Copy what `ReadsHandle.local` found in bands that begin with the diagonals `first`.

    Parameters
    ----------
    rows : int64[m]
        Where to.
    first : uint32[m]
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
