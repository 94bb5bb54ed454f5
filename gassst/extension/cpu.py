"""The compiled backend: bands scored and aligned on the CPU, without the GIL."""

from __future__ import annotations

import threading
import time

import numpy as np

from gassst._core.banded import Band, instruction_sets
from gassst.extension.base import ReadsHandle, Times, u16


class CpuReads(ReadsHandle):
    """Reads of the CPU backend; works in the calling thread, without the GIL."""

    def __init__(self, extender: CpuExtender, packed):
        super().__init__(packed)
        self.extender = extender
        reads = (self.planes, self.plane_start, self.lengths)
        self.band = Band(extender.reference, *reads, extender.instruction_set)

    def _timed(self, call, n, *arguments):
        began = time.perf_counter_ns()
        call(*arguments)
        self.extender.add(Times(calls=1, pairs=n, kernel=time.perf_counter_ns() - began))

    def _score(self, read_strand, band_start, words):
        n = len(read_strand)
        best, end = np.empty(n, np.uint16), np.empty(n, np.uint16)
        self._timed(self.band.score, n, read_strand, band_start, words, best, end)
        return best, end

    def _profile(self, read_strand, band_start, words):
        errors = np.empty((len(read_strand), 64 * words), np.uint16)
        self._timed(self.band.profile, len(errors), read_strand, band_start, words, errors)
        return errors

    def _align(self, read_strand, band_start, words, end, edits, slot_end, rows):
        n = len(read_strand)
        start, n_runs = np.empty(n, np.uint16), np.empty(n, np.uint16)
        runs = np.empty(int(slot_end[-1]), np.uint32)
        inputs = (read_strand, band_start, words, rows, end, edits, slot_end)
        self._timed(self.band.align, n, *inputs, start, n_runs, runs)
        return start, n_runs, runs

    def _local(self, read_strand, band_start, width, costs):
        ends = np.empty((3, len(read_strand)), np.uint16)
        self._timed(self.band.local, len(read_strand), read_strand, band_start, width, costs, ends)
        return ends

    def _align_local(self, read_strand, band_start, width, costs, slot_end, rows):
        n = len(read_strand)
        ends, position = np.empty((3, n), np.uint16), np.empty(n, np.uint32)
        edits, n_runs = np.empty(n, np.uint16), np.empty(n, np.uint16)
        runs = np.empty(int(slot_end[-1]), np.uint32)
        inputs = (read_strand, band_start, width, rows, costs, slot_end)
        self._timed(self.band.align_local, n, *inputs, ends, position, edits, n_runs, runs)
        return ends, position, edits, n_runs, runs

    def within(self, read_strand, band_start, words, limit):
        """Filter: keep bool[n], True where the band's least errors are at most `limit` (uint16[n])."""
        pairs = self._pairs(read_strand, band_start, words)
        limit = u16(limit)
        if limit.shape != pairs[0].shape:
            raise ValueError("limit does not fit the pairs")
        keep = np.zeros(len(limit), np.uint8)
        if len(limit):
            self.band.within(*pairs, words, limit, keep)
        return keep.view(bool)


class CpuExtender:
    """The compiled backend. `reference_planes` uint64[rows, 3]; `instruction_set`: of
    `instruction_sets()`."""

    name = "cpu"

    def __init__(self, reference_planes, instruction_set: str | None = None):
        self.reference = np.ascontiguousarray(reference_planes, np.uint64).reshape(-1, 3)
        self.instruction_set = instruction_set or instruction_sets()[0]
        self.counters = Times()
        self._lock = threading.Lock()

    def add(self, times: Times) -> None:
        """Adds to the counters; any thread."""
        with self._lock:
            self.counters += times

    @property
    def pace(self) -> tuple[int, int]:
        """Time spent on bands, in ns, summed over threads; and how many bands that were."""
        with self._lock:
            return self.counters.kernel, self.counters.pairs

    def describe(self) -> str:
        """One line for people."""
        return f"CPU backend ({self.instruction_set})"

    def open_reads(self, packed) -> CpuReads:
        """`packed` has planes uint64[w, 3], plane_start uint32[n], lengths uint32[n]."""
        return CpuReads(self, packed)
