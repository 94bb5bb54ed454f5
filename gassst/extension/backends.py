"""Survivors of the filters to scores and alignments, in bands (docs/pipeline.md): backend "opencl" or "cpu".

Both run the recurrence of `gassst/extension/kernels/band.h` and return the same bytes. An extender is shared by all
threads; a ReadsHandle belongs to the thread that uses it.
"""

from __future__ import annotations

import logging
import os
import threading
import time

import numpy as np

from gassst._core.banded import Band, instruction_sets
from gassst.errors import DeviceError
from gassst.extension import opencl
from gassst.extension.base import ReadsHandle, u16
from gassst.extension.opencl import Times
from gassst.extension.opencl_batch import DeviceBatch, Worker

log = logging.getLogger("gassst")


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

    def describe(self) -> str:
        """One line for people."""
        return f"CPU backend ({self.instruction_set})"

    def open_reads(self, packed) -> CpuReads:
        """`packed` has planes uint64[w, 3], plane_start uint32[n], lengths uint32[n]."""
        return CpuReads(self, packed)


class OpenCLReads(ReadsHandle):
    """Reads on an OpenCL device. Scores come from the extender's `scorer`, if it has one; where the device fails and
    there is a spare backend, that one goes on."""

    def __init__(self, extender: OpenCLExtender, packed):
        super().__init__(packed)
        self.extender, self.packed = extender, packed
        self.worker = self.batch = None
        self.compiled: dict[CpuExtender, CpuReads] = {}
        if not extender.failed:
            self._run("open")

    def _open(self):
        self.worker = self.extender.borrow()
        reads = (self.planes, self.plane_start, self.lengths)
        self.batch = DeviceBatch(self.extender.engine, self.worker, *reads)

    def _run(self, what, *arguments):
        """The device's method of this name, or the spare backend's once the device has failed."""
        if not self.extender.failed:
            try:
                return self._open() if what == "open" else getattr(self.batch, what)(*arguments)
            except DeviceError as error:
                self.extender.fail(error)
        return None if what == "open" else self._run_compiled(self.extender.spare, what, *arguments)

    def _run_compiled(self, backend, what, *arguments):
        """The method of a compiled backend, which gets its handle when it is first needed."""
        if backend not in self.compiled:
            self.compiled[backend] = backend.open_reads(self)
        return getattr(self.compiled[backend], "_" + what)(*arguments)

    def _run_scores(self, what, *arguments):
        scorer = self.extender.scorer
        return self._run(what, *arguments) if scorer is None else self._run_compiled(scorer, what, *arguments)

    def _score(self, *arguments):
        return self._run_scores("score", *arguments)

    def _profile(self, *arguments):
        return self._run_scores("profile", *arguments)

    def _align(self, *arguments):
        return self._run("align", *arguments)

    def _local(self, *arguments):
        return self._run_scores("local", *arguments)

    def _align_local(self, *arguments):
        return self._run("align_local", *arguments)

    def close(self) -> None:
        """Gives queue and buffers back to the extender, and the counters."""
        worker, self.worker, self.batch = self.worker, None, None
        if worker is not None:
            self.extender.take_back(worker)

    def __del__(self):
        if getattr(self, "worker", None) is not None:
            self.close()


class OpenCLExtender:
    """The backend on one OpenCL device. DeviceError when it cannot be set up.

    `spare` (a CpuExtender) takes over, with one warning, when the device fails later; without it that is a
    DeviceError. `scorer` (a CpuExtender, maybe the same one) does all but the alignments where the device is itself a
    CPU: the same work on the same cores, without the way there and back. Without it the device does all.
    """

    name = "opencl"

    def __init__(
        self,
        reference_planes,
        device: str | None = None,
        threads: int = 2,
        *,
        spare=None,
        scorer=None,
        profiling=False,
    ):
        info, cl_device = opencl.choose(device, threads)
        reference = np.ascontiguousarray(reference_planes, np.uint64).reshape(-1, 3)
        self.engine = opencl.Engine(info, cl_device, reference, profiling)
        self.spare, self.scorer, self.failed = spare, scorer if info.type == "cpu" else None, False
        self._idle: list[Worker] = []
        self._lock = threading.Lock()

    @property
    def counters(self) -> Times:
        """Of all handles closed so far, and of the compiled backends that help out."""
        total = Times()
        for part in (
            self.engine.times,
            *(backend.counters for backend in {self.spare, self.scorer} - {None}),
        ):
            total += part
        if not self.engine.profiling:
            total.kernel = 0  # it would be that of the compiled backends alone
        return total

    def describe(self) -> str:
        """One line for people."""
        scores = f"; scores: {self.scorer.describe()}" if self.scorer else ""
        return f"OpenCL device {self.engine.info}{scores}"

    def open_reads(self, packed) -> OpenCLReads:
        """`packed` has planes uint64[w, 3], plane_start uint32[n], lengths uint32[n]; uploaded here, once."""
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
            log.warning("%s; on with the %s", error, self.spare.describe())


Extender = CpuExtender | OpenCLExtender


def make_extender(
    reference_planes, device: str | None = None, threads: int = 2, *, profiling: bool = False
) -> Extender:
    """The backend to use for a reference of planes uint64[rows, 3].

    `device`: None takes the best OpenCL device and falls back to the CPU backend with one warning; "none"
    is the CPU backend; anything else names a device as `opencl.choose` knows it, and DeviceError is
    raised where it cannot be had or fails. GASSST_OPENCL=0 in the environment means "none" whatever
    `device` says. `threads` bounds PoCL's threads. On a device that is a CPU alignments are OpenCL's, scores the CPU
    backend's: `OpenCLExtender` itself has all done on the device.
    """
    cpu = CpuExtender(reference_planes)
    device = device.lower() if device else None
    if os.environ.get("GASSST_OPENCL") == "0" or device == "none":
        if device not in (None, "none"):
            log.warning("GASSST_OPENCL=0: device %r is not used; on with the %s", device, cpu.describe())
        return cpu
    if device is not None:
        return OpenCLExtender(reference_planes, device, threads, scorer=cpu, profiling=profiling)
    try:
        return OpenCLExtender(reference_planes, None, threads, spare=cpu, scorer=cpu, profiling=profiling)
    except DeviceError as error:
        log.warning("%s; on with the %s", error, cpu.describe())
        return cpu
