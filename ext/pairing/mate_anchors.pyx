"""Candidates of mates: those that lie near each other, the best supported ones, those not scored before."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from gassst._core.orientation cimport leads, partner_strand, partner_window, window_t
from gassst._core.hashing cimport mix

cdef extern from "key_sort.h" nogil:
    void sort_keys(uint64_t *a, uint64_t *scratch, size_t n)
    void sort_nearly(uint64_t *a, uint64_t *scratch, size_t n)

DEF REGION = 5          # log2 of the buckets that a hash takes for one


def near(const uint32_t[::1] read_strand, const uint32_t[::1] diagonal, const int64_t[::1] start,
         const uint32_t[::1] active, const uint8_t[::1] mate, const uint8_t[::1] flip,
         const uint32_t[::1] lengths, int orientation, int64_t low, int64_t high, int64_t slack):
    """Anchors that have an anchor of the mate within the window.

    Parameters
    ----------
    read_strand, diagonal, start
        Anchors of a stage (`_anchors.gather`): by read, canonical strand, diagonal.
    active : uint32[a]
        Reads of `start`.
    mate, flip, lengths
        Of the batch.
    orientation, low, high
        Of an InsertModel.
    slack : int
        Diagonals by which gaps may move an alignment away from its seed.

    Returns
    -------
    uint8[c]
        1 where the mate is near.
    """
    cdef Py_ssize_t n = read_strand.shape[0], i, a, c
    cdef window_t w = window_t(orientation, low - slack, high + slack)
    cdef int64_t bounds[2][3]  # of both mates: where the canonical strands begin and end
    cdef int strand
    cdef uint32_t read
    out_array = np.zeros(n, np.uint8)
    cdef uint8_t[::1] out = out_array
    with nogil:
        for i in range(active.shape[0] - 1):
            read = active[i]
            if mate[read] != 1 or active[i + 1] != read + 1:
                continue
            if start[i] == start[i + 1] or start[i + 1] == start[i + 2]:
                continue
            for a in range(2):
                bounds[a][0], bounds[a][2] = start[i + a], start[i + a + 1]
                bounds[a][1] = bounds[a][0]
                while bounds[a][1] < bounds[a][2] and (read_strand[bounds[a][1]] & 1) == flip[read + a]:
                    bounds[a][1] += 1
            for strand in range(2):
                a = strand ^ flip[read]
                c = partner_strand(&w, strand) ^ flip[read + 1]
                mark_near(&w, strand, lengths[read], lengths[read + 1], &diagonal[0],
                          bounds[0][a], bounds[0][a + 1], bounds[1][c], bounds[1][c + 1], &out[0])
    return out_array


cdef void mark_near(const window_t *w, bint reverse, int64_t own, int64_t other, const uint32_t *diagonal,
                    int64_t a, int64_t a_end, int64_t b, int64_t b_end, uint8_t *out) noexcept nogil:
    """Two sorted runs, one window that moves along: each anchor is looked at and marked once."""
    cdef int64_t lo, hi, marked = b
    cdef bint leading = leads(w, reverse, True)
    while a < a_end and b < b_end:
        partner_window(w, leading, own, other, diagonal[a], &lo, &hi)
        while b < b_end and <int64_t>diagonal[b] < lo:
            b += 1
        if b < b_end and <int64_t>diagonal[b] <= hi:
            out[a] = 1
            marked = max(marked, b)
            while marked < b_end and <int64_t>diagonal[marked] <= hi:
                out[marked] = 1
                marked += 1
        a += 1


cdef inline Py_ssize_t end_of_bucket(const uint8_t[::1] chosen, const uint32_t[::1] read_strand,
                                     const uint32_t[::1] diagonal, const uint16_t[::1] length, int shift, Py_ssize_t i,
                                     Py_ssize_t end, uint64_t *support) noexcept nogil:
    """The first anchor behind i..end-1 that is not in the bucket of anchor i; `support`: bases of its chosen ones."""
    cdef Py_ssize_t j = i
    support[0] = 0
    while j < end and read_strand[j] == read_strand[i] and diagonal[j] >> shift == diagonal[i] >> shift:
        support[0] += length[j] * chosen[j]
        j += 1
    return j


def best_buckets(const uint8_t[::1] chosen, const uint32_t[::1] read_strand, const uint32_t[::1] diagonal,
                 const uint16_t[::1] length, const int64_t[::1] start, const uint32_t[::1] active,
                 const uint8_t[::1] limited, const uint8_t[::1] mate, const uint64_t[::1] digest, int shift, int most):
    """Chosen anchors, of limited reads those in the `most` best supported buckets alone.

    Of buckets with equal support those are taken that a hash of the pair and of their place prefers; it is the same
    for buckets within a thousand bases, so that mates keep each other.

    Parameters
    ----------
    chosen : uint8[c]
    read_strand, diagonal : uint32[c], length : uint16[c], start : int64[a + 1]
        Anchors (`_anchors.gather`).
    active : uint32[a]
    limited : uint8[n]
        1 for the reads of pairs for which this holds.
    mate : uint8[n], digest : uint64[n]
    shift : int
        log2 of the bucket span.
    most : int

    Returns
    -------
    uint8[c]
    """
    cdef Py_ssize_t i, j, k, n, a, widest = 0
    cdef uint32_t r
    cdef uint64_t support, pair, key, last
    for a in range(active.shape[0]):
        widest = max(widest, start[a + 1] - start[a])
    out_array = np.array(chosen)
    keys_array, scratch_array = np.empty(widest, np.uint64), np.empty(widest, np.uint64)
    cdef uint8_t[::1] out = out_array
    cdef uint64_t[::1] keys = keys_array, scratch = scratch_array
    with nogil:
        for a in range(active.shape[0]):
            r = active[a]
            if start[a + 1] - start[a] <= most or not limited[r]:
                continue
            pair = digest[r] ^ digest[r + 1 if mate[r] == 1 else r - 1]
            n, i = 0, start[a]
            while i < start[a + 1]:
                j = end_of_bucket(chosen, read_strand, diagonal, length, shift, i, start[a + 1], &support)
                if support:
                    keys[n] = bucket_key(support, pair, diagonal[i] >> shift, n)
                    n += 1
                i = j
            if n <= most:
                continue
            sort_keys(&keys[0], &scratch[0], n)
            last = keys[most - 1]
            n, i = 0, start[a]
            while i < start[a + 1]:
                j = end_of_bucket(chosen, read_strand, diagonal, length, shift, i, start[a + 1], &support)
                if support:
                    key = bucket_key(support, pair, diagonal[i] >> shift, n)
                    n += 1
                    for k in range(i, j):
                        out[k] = chosen[k] & (key <= last)
                i = j
    return out_array


cdef inline uint64_t bucket_key(uint64_t support, uint64_t pair, uint32_t bucket, Py_ssize_t i) noexcept nogil:
    """Ascending from the best: by support, by the hash, by order."""
    cdef uint64_t lot = mix(pair ^ bucket >> REGION) & 0x3fffffff
    return (0x3fff - min(support, <uint64_t>0x3fff)) << 50 | lot << 20 | min(i, 0xfffff)


def few(const uint8_t[::1] near, const int64_t[::1] start, const uint32_t[::1] active, const uint8_t[::1] mate,
        int most):
    """Reads of pairs both mates of which have at most so many anchors that are near.

    Parameters
    ----------
    near : uint8[c], start : int64[a + 1], active : uint32[a]
        Anchors and the reads that they are of; the mates of a pair are both active.
    mate : uint8[n]
    most : int

    Returns
    -------
    uint8[n]
    """
    cdef Py_ssize_t i, j
    cdef int found = 0
    out_array = np.zeros(mate.shape[0], np.uint8)
    cdef uint8_t[::1] out = out_array
    with nogil:
        for i in range(active.shape[0]):
            found = 0
            for j in range(start[i], start[i + 1]):
                found += near[j]
            out[active[i]] = found <= most
        for i in range(mate.shape[0] - 1):
            if mate[i] == 1:
                out[i] = out[i + 1] = out[i] & out[i + 1]
    return out_array


def of_reads(const uint32_t[::1] read_strand, const uint8_t[::1] near, const uint8_t[::1] reads, bint is_near):
    """uint8[c]: anchors that are near, or are not, of the reads that are 1 in `reads` (uint8[n])."""
    cdef Py_ssize_t i, c = read_strand.shape[0]
    out_array = np.empty(c, np.uint8)
    cdef uint8_t[::1] out = out_array
    with nogil:
        for i in range(c):
            out[i] = (near[i] == is_near) & reads[read_strand[i] >> 1]
    return out_array


def fresh(const uint32_t[::1] read_strand, const uint32_t[::1] bucket, *known):
    """Distinct buckets among these that are in none of the known arrays.

    Parameters
    ----------
    read_strand : uint32[k], bucket : uint32[k]
    *known : uint64[]
        `read_strand << 32 | bucket`, sorted.

    Returns
    -------
    read_strand : uint32[n], bucket : uint32[n], keys : uint64[n]
        Sorted.
    """
    cdef Py_ssize_t k = read_strand.shape[0], i, j, n = 0, m
    keys_array, scratch_array = np.empty(k, np.uint64), np.empty(k, np.uint64)
    cdef uint64_t[::1] keys = keys_array, scratch = scratch_array
    cdef const uint64_t[::1] some
    cdef uint64_t last = ~<uint64_t>0
    if k:
        with nogil:
            for i in range(k):
                keys[i] = <uint64_t>read_strand[i] << 32 | bucket[i]
            sort_nearly(&keys[0], &scratch[0], k)
            for i in range(k):
                if keys[i] != last:
                    last = keys[n] = keys[i]
                    n += 1
    for some in known:
        with nogil:
            j, m = 0, 0
            for i in range(n):
                while j < some.shape[0] and some[j] < keys[i]:
                    j += 1
                if j == some.shape[0] or some[j] != keys[i]:
                    keys[m] = keys[i]
                    m += 1
            n = m
    strand_array, bucket_array = np.empty(n, np.uint32), np.empty(n, np.uint32)
    cdef uint32_t[::1] strand_out = strand_array, bucket_out = bucket_array
    with nogil:
        for i in range(n):
            strand_out[i], bucket_out[i] = <uint32_t>(keys[i] >> 32), <uint32_t>keys[i]
    return strand_array, bucket_array, keys_array[:n].copy()


def of_open_pairs(const uint32_t[::1] active, const uint8_t[::1] mate, const uint8_t[::1] open):
    """uint32[k]: both mates of the pairs that are open and of which one is active (uint32[a], ascending)."""
    cdef Py_ssize_t i, k = 0
    cdef uint32_t first
    out_array = np.empty(2 * active.shape[0], np.uint32)
    cdef uint32_t[::1] out = out_array
    with nogil:
        for i in range(active.shape[0]):
            first = active[i] - (mate[active[i]] == 2)
            if mate[first] == 1 and open[first] and (k == 0 or out[k - 2] != first):
                out[k], out[k + 1] = first, first + 1
                k += 2
    return out_array[:k].copy()
