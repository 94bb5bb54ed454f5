"""Survivors of the filters to scores and alignments, in bands (docs/pipeline.md): backend "opencl" or "cpu".

Both run the recurrence of `gassst/kernels/band.h` and return the same bytes. An extender is shared by all
threads; a ReadsHandle belongs to the thread that uses it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from abc import ABC, abstractmethod

import numpy as np

from gassst import opencl
from gassst._nw_cpu import Band, instruction_sets, pack_cigars
from gassst.errors import DeviceError
from gassst.opencl import Times

log = logging.getLogger("gassst")

WORDS = (1, 2, 4, 8)
WIDTHS = (16, 32, 64, 128, 256, 512)  # of the bands of local alignments
BAD_EDITS = 0xFFFF  # band.h


def _u32(array):
    return np.ascontiguousarray(array, np.uint32)


def _u16(array):
    return np.ascontiguousarray(array, np.uint16)


def doubled(scoring):
    """`scoring` (params.Scoring) as kernels/local.h takes it: int16[7], the fields of local_scoring."""
    (deletion, insertion), (longer_deletion, longer_insertion) = scoring.gap_open, scoring.gap_extend
    gaps = (deletion + longer_deletion, longer_deletion, insertion + longer_insertion, longer_insertion)
    return 2 * np.array([scoring.match, scoring.mismatch, *gaps, scoring.clip], np.int16)


def most_gaps(lengths, scoring):
    """Gaps that a local alignment of so many bases has at the most: all of them are paid for by matches and bonus."""
    gain = lengths * scoring.match + 2 * scoring.clip
    least = min(o + e for o, e in zip(scoring.gap_open, scoring.gap_extend, strict=True))
    return np.minimum(gain // least, lengths)


class ReadsHandle(ABC):
    """One batch of reads, ready for any number of calls; a context manager, or closed when it is collected.

    `read_strand` uint32[n] is 2 * read + strand, `band_start` uint32[n] the concatenated coordinate of
    diagonal 0 of each pair's band of 64 * `words` or, of local alignments, `width` diagonals. ValueError for
    arrays that do not fit each other or the batch.
    """

    def __init__(self, packed):
        self.planes = np.ascontiguousarray(packed.planes, np.uint64).reshape(-1, 3)
        self.plane_start = _u32(packed.plane_start)
        self.lengths = _u32(packed.lengths)
        ends = self.plane_start.astype(np.int64) + 2 * ((self.lengths.astype(np.int64) + 63) // 64)
        if len(self.plane_start) != len(self.lengths) or (len(ends) and ends.max() > len(self.planes)):
            raise ValueError("plane_start, lengths and planes of the packed reads do not fit")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self) -> None:  # noqa: B027 - not all backends hold something
        """Gives back what the handle holds; it must not be used after."""

    def score(self, read_strand, band_start, words):
        """Least errors of each band, leftmost diagonal they end on: (best uint16[n], end uint16[n])."""
        pairs = self._pairs(read_strand, band_start, words)
        if not len(pairs[0]):
            return np.empty(0, np.uint16), np.empty(0, np.uint16)
        return self._score(*pairs, words)

    def profile(self, read_strand, band_start, words):
        """Errors of the best alignment that ends on each diagonal: uint16[n, 64 * words]."""
        pairs = self._pairs(read_strand, band_start, words)
        if not len(pairs[0]):
            return np.empty((0, 64 * words), np.uint16)
        return self._profile(*pairs, words)

    def align(self, read_strand, band_start, words, end, edits):
        """Alignments that end on diagonal `end` (uint16[n]) with `edits` (uint16[n]) errors.

        Both as `score` or `profile` gave them, else ValueError. Returns (start uint16[n]: diagonal of the
        first base, cigars uint32[]: BAM runs length << 4 | op with op 0 M, 1 I, 2 D, cigar_start
        uint32[n], cigar_runs uint16[n]). Ties: a diagonal step, else an insertion, else a deletion, from
        the last base to the first, so gaps lie leftmost.
        """
        pairs = self._pairs(read_strand, band_start, words)
        end, edits = _u16(end), _u16(edits)
        n = len(pairs[0])
        if len(end) != n or len(edits) != n or (n and end.max() >= 64 * words):
            raise ValueError("end or edits do not fit the pairs")
        if not n:
            return tuple(np.empty(0, dtype) for dtype in (np.uint16, np.uint32, np.uint32, np.uint16))
        return self._paths(pairs, words, end, edits)

    def _paths(self, pairs, words, end, edits):
        slot_end = np.cumsum(2 * edits.astype(np.int64) + 1)
        if slot_end[-1] >> 32:
            raise ValueError("too many alignments for one call")
        slot_end = _u32(slot_end)
        rows = int(self.lengths[pairs[0] >> 1].max())
        start, n_runs, runs = self._align(*pairs, words, end, edits, slot_end, rows)
        wrong = np.flatnonzero(n_runs == BAD_EDITS)
        if len(wrong):
            raise ValueError(f"pair {wrong[0]} has not {edits[wrong[0]]} edits on diagonal {end[wrong[0]]}")
        cigars, cigar_start = pack_cigars(runs, slot_end, n_runs)
        return start, cigars, cigar_start, n_runs

    def local(self, read_strand, band_start, width, scoring):
        """Best local alignment of each pair within its band, by `scoring` (params.Scoring), ties as in local.h.

        `width` is one of `WIDTHS`. Returns (score int32[n]: without the bonus for ends that are reached, 0 where
        nothing is worth aligning, reached uint8[n]: bit 0 the first, bit 1 the last base of the strand is aligned,
        rows uint16[n]: bases of the strand before the end of the alignment, end uint16[n]: diagonal of its last
        base).
        """
        pairs = self._pairs(read_strand, band_start, width, WIDTHS, "width")
        if not len(pairs[0]):
            return tuple(np.empty(0, dtype) for dtype in (np.int32, np.uint8, np.uint16, np.uint16))
        ends = self._local(*pairs, width, doubled(scoring))
        return *self._without_bonus(pairs[0], ends, scoring), ends[1], ends[2]

    def align_local(self, read_strand, band_start, width, scoring):
        """The alignments that `local` scores.

        Returns (score int32[n] and reached uint8[n] as from `local`, position uint32[n]: concatenated coordinate of
        the first aligned base, cigars uint32[]: BAM runs, clipped bases as op 4, cigar_start uint32[n], cigar_runs
        uint16[n], edits uint16[n]: mismatches, inserted and deleted bases). Where the score is 0 all of the read is
        clipped.
        """
        pairs = self._pairs(read_strand, band_start, width, WIDTHS, "width")
        if not len(pairs[0]):
            types = np.int32, np.uint8, np.uint32, np.uint32, np.uint32, np.uint16, np.uint16
            return tuple(np.empty(0, dtype) for dtype in types)
        lengths = self.lengths[pairs[0] >> 1].astype(np.int64)
        slot_end = np.cumsum(2 * most_gaps(lengths, scoring) + 3)
        if slot_end[-1] >> 32:
            raise ValueError("too many alignments for one call")
        slot_end = _u32(slot_end)
        rows = int(lengths.max())
        found = self._align_local(*pairs, width, doubled(scoring), slot_end, rows)
        ends, position, edits, n_runs, runs = found
        cigars, cigar_start = pack_cigars(runs, slot_end, n_runs)
        return *self._without_bonus(pairs[0], ends, scoring), position, cigars, cigar_start, n_runs, edits

    def _without_bonus(self, read_strand, ends, scoring):
        """Scores in `ends` uint16[3, n] of local.h: halved, less the bonus of each end that is reached; and which
        ends are."""
        key, rows, _ = ends.astype(np.int32)
        first, last = key & 1, (rows == self.lengths[read_strand >> 1]).astype(np.int32)
        score = (key >> 1) - scoring.clip * (first + last)
        return np.where(rows > 0, score, 0).astype(np.int32), np.where(rows > 0, first | last << 1, 0).astype(
            np.uint8
        )

    def _pairs(self, read_strand, band_start, size, sizes=WORDS, what="words"):
        if size not in sizes:
            raise ValueError(f"{what} is one of {sizes}, not {size}")
        read_strand, band_start = _u32(read_strand), _u32(band_start)
        if read_strand.shape != band_start.shape or read_strand.ndim != 1:
            raise ValueError("read_strand and band_start differ in shape")
        if len(read_strand) and read_strand.max() >> 1 >= len(self.lengths):
            raise ValueError("read_strand names a read that is not in the batch")
        return read_strand, band_start

    @abstractmethod
    def _score(self, read_strand, band_start, words): ...

    @abstractmethod
    def _profile(self, read_strand, band_start, words): ...

    @abstractmethod
    def _align(self, read_strand, band_start, words, end, edits, slot_end, rows): ...

    @abstractmethod
    def _local(self, read_strand, band_start, width, costs): ...

    @abstractmethod
    def _align_local(self, read_strand, band_start, width, costs, slot_end, rows): ...


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
        limit = _u16(limit)
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
        self.batch = opencl.DeviceBatch(self.extender.engine, self.worker, *reads)

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
        self._idle: list[opencl.Worker] = []
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

    def borrow(self) -> opencl.Worker:
        """An idle worker, or a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return opencl.Worker(self.engine)

    def take_back(self, worker: opencl.Worker) -> None:
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
