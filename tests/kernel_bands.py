"""The kernels that score and align in bands, with arrays around them: what runs on each instruction set."""

from __future__ import annotations

import numpy as np

from gassst._core.bands import Bands, pack_cigars


def contiguous(read_strand, band_start):
    return np.ascontiguousarray(read_strand, np.uint32), np.ascontiguousarray(band_start, np.int64)


class Reads:
    """Packed reads beside the planes of a reference.

    `read_strand` uint32[n] is 2 * read + strand, `band_start` int64[n] the coordinate of diagonal 0 of a band of
    64 * `words` or `width` diagonals.
    """

    def __init__(self, planes, packed, instruction_set):
        self.lengths = packed.lengths
        reads = np.ascontiguousarray(packed.planes, np.uint64), packed.plane_start, packed.lengths
        self._bands = Bands(np.ascontiguousarray(planes, np.uint64), *reads, instruction_set)

    def score(self, read_strand, band_start, words, limit=None):
        """(least errors uint16[n], their leftmost diagonal uint16[n])"""
        if not len(read_strand):
            return np.empty(0, np.uint16), np.empty(0, np.uint16)
        return self._bands.score(*contiguous(read_strand, band_start), words, limit)

    def profile(self, read_strand, band_start, words):
        """Errors by end diagonal, uint16[n, 64 * words]."""
        if not len(read_strand):
            return np.empty((0, 64 * words), np.uint16)
        return self._bands.profile(*contiguous(read_strand, band_start), words)

    def align(self, read_strand, band_start, width, end, most):
        """Whole reads that end on a diagonal of a band, with `most` errors.

        (position int64[n], edits uint16[n], cigars uint32[], cigar_start uint32[n], cigar_runs uint16[n])
        """
        pairs, end = contiguous(read_strand, band_start), np.ascontiguousarray(end, np.uint16)
        slot_end = np.cumsum(2 * np.asarray(most, np.int64) + 1).astype(np.uint32)
        rows = int(self.lengths[pairs[0] >> 1].max())
        position, edits, n_runs, runs = self._bands.align(*pairs, width, end, slot_end, rows)
        return position, edits, *pack_cigars(runs, slot_end, n_runs), n_runs

    def local(self, read_strand, band_start, width, costs):
        """Key, rows and end of kernels/local.h, uint16[3, n]."""
        return self._bands.local(*contiguous(read_strand, band_start), width, costs)

    def align_local(self, read_strand, band_start, width, costs, slot_end, rows):
        """As `Bands.align_local`."""
        return self._bands.align_local(*contiguous(read_strand, band_start), width, costs, slot_end, rows)
