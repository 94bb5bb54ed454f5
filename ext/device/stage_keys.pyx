"""What a device has found in a stage, as the host's search goes on with it: in the order of the reads, by its keys."""

import numpy as np

from gassst._core.common cimport *


cdef extern from "anchor_bits.h" nogil:
    uint32_t anchor_strand(uint64_t anchor)
    uint32_t anchor_diagonal(uint64_t anchor)


def keys_of(const uint64_t[::1] anchors, const uint32_t[:, ::1] segment, const uint8_t[::1] flip, int shift):
    """The buckets that a stage has seen.

    Parameters
    ----------
    anchors : uint64[]
        As kernels/anchor_bits.h has them.
    segment : uint32[n, 2]
        Where those of each read begin, and how many there are.
    flip : uint8[n]
    shift : int
        log2 of the diagonals of a bucket.

    Returns
    -------
    uint64[]
        As `place_key` makes them.
    """
    cdef Py_ssize_t r, k = 0
    seen_array = np.empty(np.asarray(segment)[:, 1].sum(dtype=np.int64) + 1, np.uint64)
    cdef uint64_t[::1] seen = seen_array
    cdef uint64_t key
    cdef uint32_t j
    with nogil:
        for r in range(segment.shape[0]):
            for j in range(segment[r, 0], segment[r, 0] + segment[r, 1]):
                key = place_key(<uint32_t>r << 1 | (anchor_strand(anchors[j]) ^ flip[r]), anchor_diagonal(anchors[j]) >> shift)
                if k == 0 or seen[k - 1] != key:
                    seen[k] = key
                    k += 1
    return seen_array[:k]


def order_by_read(const uint32_t[::1] read_strand, Py_ssize_t n):
    """int64[h]: rows in the order of their `n` reads, those of each as they are (uint32[h])."""
    cdef Py_ssize_t h = read_strand.shape[0], i
    order_array, next_array = np.empty(h, np.int64), np.zeros(n + 1, np.int64)
    cdef int64_t[::1] order = order_array, next_row = next_array
    with nogil:
        for i in range(h):
            next_row[(read_strand[i] >> 1) + 1] += 1
        for i in range(1, n + 1):
            next_row[i] += next_row[i - 1]
        for i in range(h):
            order[next_row[read_strand[i] >> 1]] = i
            next_row[read_strand[i] >> 1] += 1
    return order_array
