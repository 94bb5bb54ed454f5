"""The compiled backend: bands scored and aligned on the CPU, without the GIL."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gassst._core.stages import Band, instruction_sets
from gassst.bands.base import ReadsHandle, Scores
from gassst.model.array_types import I64, U16, U32, U64
from gassst.model.read_batch import PackedReads
from gassst.model.times import Times
from gassst.workers.forks import watch_forks

T = TypeVar("T")


class CpuReads(ReadsHandle):
    """Reads of the CPU backend; works in the calling thread, without the GIL."""

    def __init__(self, extender: CpuExtender, packed: PackedReads):
        super().__init__(packed)
        self.extender, self.times = extender, Times()
        reads = (self.planes, self.plane_start, self.lengths)
        self.band = Band(extender.reference, *reads, extender.instruction_set)

    def _timed(self, call: Callable[..., T], read_strand: U32, *arguments: Any) -> T:
        began = time.perf_counter_ns()
        found = call(read_strand, *arguments)
        self.note(1, len(read_strand), time.perf_counter_ns() - began)
        return found

    def note(self, calls: int, pairs: int, nanoseconds: int) -> None:
        """As `ReadsHandle.note`; the extender counts them, too."""
        super().note(calls, pairs, nanoseconds)
        self.extender.add(Times(calls=calls, pairs=pairs, kernel=nanoseconds))

    def _score(self, *arguments: Any) -> Scores:
        return self._timed(self.band.score, *arguments)

    def _profile(self, *arguments: Any) -> U16:
        return self._timed(self.band.profile, *arguments)

    def _align(self, *arguments: Any) -> tuple[U16, U16, U32]:
        return self._timed(self.band.align, *arguments)

    def _local(self, *arguments: Any) -> U16:
        return self._timed(self.band.local, *arguments)

    def _align_local(self, *arguments: Any) -> tuple[U16, I64, U16, U16, U32]:
        return self._timed(self.band.align_local, *arguments)


class CpuExtender:
    """The compiled backend. `reference_planes` uint64[rows, 3]; `instruction_set`: of
    `instruction_sets()`."""

    name = "cpu"

    def __init__(self, reference_planes: U64, instruction_set: str | None = None):
        self.reference = np.ascontiguousarray(reference_planes, np.uint64)
        self.instruction_set = instruction_set or instruction_sets()[0]
        self.counters = Times()
        self._lock = threading.Lock()
        watch_forks(self)

    def after_fork(self) -> None:
        """As `workers.forks.ForkAware`."""
        self._lock = threading.Lock()

    def add(self, times: Times) -> None:
        """Adds to the counters; any thread."""
        with self._lock:
            self.counters += times

    def describe(self) -> str:
        """One line for people."""
        return f"CPU backend ({self.instruction_set})"

    def open_reads(self, packed: PackedReads) -> CpuReads:
        """`packed` has planes uint64[w, 3], plane_start uint32[n], lengths uint32[n]."""
        return CpuReads(self, packed)
