"""Mates that run through their fragment: how long it is, by the mates alone, and reads cut where it ends."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.cigar cimport CIGAR_MATCH, CIGAR_SOFT_CLIP, cigar_length, cigar_op, cigar_push
from gassst._core.intrinsics cimport popcount
from gassst._core.planes cimport bases64_t, bases_at, count_differences, differences, first_bases, planes_of, planes_t


cdef inline int64_t rows_of(uint32_t length) noexcept nogil:
    """Rows of planes of one strand."""
    return (<int64_t>length + 63) >> 6


cdef uint16_t shared_length(planes_t reads, int64_t one, uint32_t one_length, int64_t other, uint32_t other_length,
                            int shortest, int bases_an_error) noexcept nogil:
    """The one length at which the head of a read is the tail of the other's reverse complement; 0 for none or several.

    `one` and `other`: first bases in the planes, of the other mate on its reverse strand.
    """
    cdef int64_t length = <int64_t>min(one_length, other_length) - 1, found = 0
    cdef bases64_t head = bases_at(reads, one)
    cdef uint64_t unequal
    cdef int most
    while length >= shortest:
        most = <int>(length // bases_an_error)
        unequal = differences(head, bases_at(reads, other + other_length - length)) & first_bases(length)
        if popcount(unequal) <= most and count_differences(reads, one, reads, other + other_length - length, length,
                                                           most) <= most:
            if found:
                return 0
            found = length
        length -= 1
    return <uint16_t>found


def fragment_lengths(packed, const int64_t[::1] first, int shortest, int bases_an_error):
    """Lengths of the fragments that both mates of a pair run through.

    Where a fragment is shorter than its reads, each of them begins with all of it, on opposite strands. So the head of
    one mate is the tail of the other's reverse complement. A tandem repeat looks so at several lengths: it says nothing.

    Parameters
    ----------
    packed : io.read_batch.PackedReads
    first : int64[p]
        Rows of the first mates; the other ones follow them.
    shortest : int
        Bases of the shortest fragment that is looked for.
    bases_an_error : int
        The mates differ in one base of so many at most.

    Returns
    -------
    uint16[p]
        0 where the mates do not show one.
    """
    cdef const uint32_t[::1] lengths = packed.lengths, plane_start = packed.plane_start
    cdef planes_t reads = planes_of(packed.planes)
    cdef Py_ssize_t p = first.shape[0], i
    cdef int64_t a, b
    found_array = np.zeros(p, np.uint16)
    cdef uint16_t[::1] found = found_array
    with nogil:
        for i in range(p):
            a, b = first[i], first[i] + 1
            found[i] = shared_length(reads, 64 * <int64_t>plane_start[a], lengths[a],
                                     64 * (plane_start[b] + rows_of(lengths[b])), lengths[b], shortest, bases_an_error)
    return found_array


def first_bases_of(packed, const int64_t[::1] rows, const uint16_t[::1] kept):
    """Reads cut behind their first bases.

    Parameters
    ----------
    packed : io.read_batch.PackedReads
    rows : int64[k]
        Reads.
    kept : uint16[k]
        Bases that are left of each, at most all.

    Returns
    -------
    lengths : uint32[k], planes : uint64[w + 1, 3], plane_start : uint32[k]
        The fields of `PackedReads`.
    """
    cdef const uint32_t[::1] lengths = packed.lengths, plane_start = packed.plane_start
    cdef planes_t reads = planes_of(packed.planes)
    cdef Py_ssize_t k = rows.shape[0], i, strand, j
    cdef int64_t at = 0, words, base
    cdef uint32_t m
    cdef uint64_t live
    cdef bases64_t bases
    cut_lengths = np.asarray(kept).astype(np.uint32)
    words_of = 2 * ((cut_lengths.astype(np.int64) + 63) >> 6)
    start_array = (np.cumsum(words_of) - words_of).astype(np.uint32)
    planes_array = np.zeros((int(words_of.sum()) + 1, 3), np.uint64)
    cdef uint64_t[:, ::1] planes = planes_array
    with nogil:
        for i in range(k):
            m, words = lengths[rows[i]], rows_of(kept[i])
            for strand in range(2):
                base = 64 * <int64_t>plane_start[rows[i]]
                if strand:
                    base += 64 * rows_of(m) + m - kept[i]
                for j in range(words):
                    bases, live = bases_at(reads, base + 64 * j), first_bases(kept[i] - 64 * j)
                    planes[at, 0], planes[at, 1] = bases.low & live, bases.high & live
                    planes[at, 2] = bases.masked & live
                    at += 1
    return cut_lengths, planes_array, start_array


def with_tails(hits, const uint32_t[::1] cigars, const uint32_t[::1] tails):
    """Alignments of cut reads as alignments of the whole ones: they go on, without a gap, behind the cut.

    An alignment that ends before the cut stays, and more is clipped.

    Parameters
    ----------
    hits : HIT[k]
        Mapped ones. Read: `position`, `strand`, `cigar_start`, `cigar_runs`.
    cigars : uint32[]
    tails : uint32[k]
        Bases that were cut off the read of each hit.

    Returns
    -------
    position : uint32[k], cigars : uint32[], start : uint32[k], n_runs : uint16[k]
        As `local.places.Aligned` has them.
    """
    position, cigar_start, cigar_runs, reverse = (
        np.ascontiguousarray(hits[name]) for name in ("position", "cigar_start", "cigar_runs", "strand")
    )
    cdef Py_ssize_t k = tails.shape[0], i, j, n, done = 0
    cdef uint32_t op
    position_array, start_array, runs_array = position.copy(), np.empty(k, np.uint32), np.empty(k, np.uint16)
    cigars_array = np.empty(int(cigar_runs.sum(dtype=np.int64)) + k, np.uint32)
    cdef const uint32_t[::1] first_run = cigar_start
    cdef const uint16_t[::1] runs = cigar_runs
    cdef const uint8_t[::1] strand = reverse
    cdef uint32_t[::1] position_out = position_array, start = start_array, out = cigars_array
    cdef uint16_t[::1] n_runs = runs_array
    with nogil:
        for i in range(k):
            n, start[i] = 0, <uint32_t>done
            op = cigar_op(cigars[first_run[i] if strand[i] else first_run[i] + runs[i] - 1])
            op = CIGAR_MATCH if op == CIGAR_MATCH else CIGAR_SOFT_CLIP
            if strand[i]:
                n = cigar_push(&out[done], n, op, tails[i])
                position_out[i] -= tails[i] if op == CIGAR_MATCH else 0
            for j in range(first_run[i], first_run[i] + runs[i]):
                n = cigar_push(&out[done], n, cigar_op(cigars[j]), cigar_length(cigars[j]))
            if not strand[i]:
                n = cigar_push(&out[done], n, op, tails[i])
            n_runs[i] = <uint16_t>n
            done += n
    return position_array, cigars_array[:done], start_array, runs_array
