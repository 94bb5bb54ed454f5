"""The OpenCL backend: bands scored and aligned on one device."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
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
    """Reads on an OpenCL device. Scores come from the extender's `scorer`, if it has one; where the device fails and
    there is a spare backend, that one goes on."""

    def __init__(self, extender: OpenCLExtender, packed: PackedReads):
        super().__init__(packed)
        self.extender, self.packed, self.times = extender, packed, Times()
        self.worker: Worker | None = None
        self.batch: DeviceBatch | None = None
        self.compiled: dict[CpuExtender, CpuReads] = {}
        if not extender.failed:
            self._tried(self._open, 0)

    def _open(self) -> None:
        self.worker = worker = self.extender.borrow()
        worker.batches += 1
        reads = (self.planes, self.plane_start, self.lengths)
        self.batch = DeviceBatch(self.extender.engine, worker, *reads)

    def _tried(self, call: Callable[[], Any], bands: int) -> Any:
        """What the call returns; None once the device has failed. Raises DeviceError without a spare backend."""
        began = time.perf_counter_ns()
        try:
            found = call()
        except DeviceError as error:
            self.extender.fail(error)
            return None
        if (
            self.worker is not None and self.worker.batches > 1
        ):  # with its first one a worker sets up its kernels
            self.extender.note(time.perf_counter_ns() - began, bands)
        return found

    def _run(self, what: str, *arguments: Any) -> Any:
        """The device's method of this name, or the spare backend's once the device has failed."""
        if not self.extender.failed:
            bands = len(arguments[0])
            found = self._tried(lambda: getattr(self.batch, what)(*arguments), bands)
            if found is not None:
                is_traced = what.startswith("align")
                self.times += Times(device_scored=bands * (not is_traced), device_traced=bands * is_traced)
                return found
        assert self.extender.spare is not None  # else its failure was raised
        return self._run_compiled(self.extender.spare, what, *arguments)

    def _run_compiled(self, backend: CpuExtender, what: str, *arguments: Any) -> Any:
        """The method of a compiled backend, which gets its handle when it is first needed."""
        if backend not in self.compiled:
            self.compiled[backend] = backend.open_reads(self.packed)
        return getattr(self.compiled[backend], "_" + what)(*arguments)

    def _run_scores(self, what: str, *arguments: Any) -> Any:
        scorer = self.extender.scorer
        return self._run(what, *arguments) if scorer is None else self._run_compiled(scorer, what, *arguments)

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
        worker, self.worker, self.batch = self.worker, None, None
        for compiled in self.compiled.values():
            self.times += compiled.times
        self.compiled = {}
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

    `spare` (a CpuExtender) takes over, with one warning, when the device fails later; without it that is a
    DeviceError. `scorer` (a CpuExtender, maybe the same one) does all but the alignments where the device is itself a
    CPU: the same work on the same cores, without the transfer. Without it the device does all.
    """

    name = "opencl"

    def __init__(
        self,
        reference_planes: U64,
        device: str | None = None,
        threads: int = 2,
        *,
        spare: CpuExtender | None = None,
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
        self.spare, self.scorer, self.failed = spare, scorer if info.type == "cpu" else None, False
        self._idle: list[Worker] = []
        self._lock = threading.Lock()
        self._pace = 0, 0
        self._process = os.getpid()

    @property
    def pace(self) -> tuple[int, int]:
        """Time spent on bands, in ns, transfers included, summed over threads; and how many bands that were."""
        return self._pace

    def note(self, ns: int, bands: int) -> None:
        """Adds to the pace; any thread."""
        with self._lock:
            self._pace = self._pace[0] + ns, self._pace[1] + bands

    @property
    def counters(self) -> Times:
        """Of all handles closed so far, and of the compiled backends that help out."""
        total = Times()
        helpers = {backend for backend in (self.spare, self.scorer) if backend is not None}
        for part in (self.engine.times, *(backend.counters for backend in helpers)):
            total += part
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

    def fail(self, error: DeviceError) -> None:
        """On with the spare backend, with one warning; without one the error is raised."""
        if self.spare is None:
            raise error
        with self._lock:
            first, self.failed = not self.failed, True
        if first:
            log.warning("%s; continuing with the %s", error, self.spare.describe())
