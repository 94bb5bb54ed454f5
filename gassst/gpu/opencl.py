"""The OpenCL backend: bands scored and aligned on one device."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

import numpy as np

from gassst.bands.base import ReadsHandle, Scores
from gassst.bands.cpu import CpuExtender, CpuReads
from gassst.errors import DeviceError
from gassst.gpu import opencl_engine
from gassst.gpu.opencl_batch import DeviceBatch, Worker
from gassst.model.array_types import I64, U16, U32, U64
from gassst.model.read_batch import PackedReads
from gassst.model.times import Times

log = logging.getLogger("gassst")


class OpenCLReads(ReadsHandle):
    """Reads on an OpenCL device. Scores come from the extender's `scorer`, if it has one. DeviceError where the device
    fails."""

    def __init__(self, extender: OpenCLExtender, packed: PackedReads):
        super().__init__(packed)
        self.extender, self.packed, self.times = extender, packed, Times()
        self.worker: Worker | None = extender.borrow()
        self.scores: CpuReads | None = None
        reads = (self.planes, self.plane_start, self.lengths)
        self.batch = DeviceBatch(extender.engine, self.worker, *reads)

    def _run(self, what: str, *arguments: Any) -> Any:
        """The method of this name of the device."""
        bands, is_traced = len(arguments[0]), what.startswith("align")
        found = getattr(self.batch, what)(*arguments)
        self.times += Times(device_scored=bands * (not is_traced), device_traced=bands * is_traced)
        return found

    def _run_scores(self, what: str, *arguments: Any) -> Any:
        """The same, or that of the backend that scores."""
        if self.extender.scorer is None:
            return self._run(what, *arguments)
        if self.scores is None:
            self.scores = self.extender.scorer.open_reads(self.packed)
        return getattr(self.scores, "_" + what)(*arguments)

    def _score(self, *arguments: Any) -> Scores:
        return self._run_scores("score", *arguments)

    def _profile(self, *arguments: Any) -> U16:
        return self._run_scores("profile", *arguments)

    def _align(self, *arguments: Any) -> tuple[U16, U16, U32]:
        return self._run("align", *arguments)

    def _local(self, *arguments: Any) -> U16:
        return self._run_scores("local", *arguments)

    def _align_local(self, *arguments: Any) -> tuple[U16, I64, U16, U16, U32]:
        return self._run("align_local", *arguments)

    def close(self) -> None:
        """Gives queue and buffers back to the extender, and the counters."""
        worker, self.worker = self.worker, None
        if self.scores is not None:
            self.times += self.scores.times
        self.scores = None
        if worker is not None:
            self.times += worker.times
            self.extender.take_back(worker)
        if not self.extender.engine.profiling:
            self.times.kernel = 0  # it would be that of the compiled backends alone

    def __del__(self) -> None:
        if getattr(self, "worker", None) is not None:
            self.close()


MOST_BASES = 1 << 32
"""Of a reference: coordinates on a device have 32 bits."""


class OpenCLExtender:
    """The backend on one OpenCL device. DeviceError when it cannot be set up.

    `scorer` (a CpuExtender) does all but the alignments where the device is itself a CPU: the same work on the same
    cores, without the transfer. Without it the device does all.
    """

    name = "opencl"

    def __init__(
        self,
        reference_planes: U64,
        device: str | None = None,
        threads: int = 2,
        *,
        scorer: CpuExtender | None = None,
        profiling: bool = False,
    ):
        reference = np.ascontiguousarray(reference_planes, np.uint64).reshape(-1, 3)
        if 64 * len(reference) > MOST_BASES:
            raise DeviceError(
                f"a reference of more than {MOST_BASES:,} bases is mapped on the host: --device none"
            )
        info, cl_device = opencl_engine.choose(device, threads)
        self.engine = opencl_engine.Engine(info, cl_device, reference, profiling)
        self.scorer = scorer if info.type == "cpu" else None
        self._idle: list[Worker] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def counters(self) -> Times:
        """Adds up all handles closed so far, and the compiled backend that scores."""
        total = Times()
        total += self.engine.times
        if self.scorer is not None:
            total += self.scorer.counters
        if not self.engine.profiling:
            total.kernel = 0  # it would be that of the compiled backends alone
        return total

    def describe(self) -> str:
        """One line for people."""
        scores = f"; scores: {self.scorer.describe()}" if self.scorer else ""
        return f"OpenCL device {self.engine.info}{scores}"

    def open_reads(self, packed: PackedReads) -> ReadsHandle:
        """`packed` has planes uint64[w, 3], plane_start uint32[n], lengths uint32[n]; uploaded here, once.

        A process that was forked has no device: drivers do not survive that. Compiled code goes on there.
        """
        if os.getpid() != self._process:
            return CpuExtender(self.engine.reference).open_reads(packed)
        return OpenCLReads(self, packed)

    def borrow(self) -> Worker:
        """An idle worker, or a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return Worker(self.engine)

    def take_back(self, worker: Worker) -> None:
        """Keeps the worker for the next handle."""
        self.engine.add(worker.times)
        worker.times = Times()
        with self._lock:
            self._idle.append(worker)
