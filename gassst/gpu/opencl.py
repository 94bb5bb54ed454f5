"""The OpenCL backend: bands scored and aligned on one device, with the recurrences of band.h and local.h."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gassst.errors import DeviceError
from gassst.gpu import platforms
from gassst.gpu.bands import CpuExtender, Pairs, ReadsHandle, Scores
from gassst.gpu.device import KERNELS, Commands, Engine, OutOfDeviceMemory
from gassst.model.array_types import COORDINATE, I16, I64, U16, U32, U64
from gassst.model.layouts import NO_SCORE
from gassst.model.read_batch import PackedReads
from gassst.model.times import Times

if TYPE_CHECKING:
    from gassst.gpu.device import Array, Memory

log = logging.getLogger("gassst")

BANDS = KERNELS / "band.h", KERNELS / "bands.cl"
LOCAL = *BANDS, KERNELS / "local.cl"
BAND_TILE = 32  # as in band.h: pairs whose traceback words lie side by side
GROUP = 64  # pairs of a work-group
TRACE_BYTES = 256 << 20
SMALLEST_CHUNK = 256  # pairs; a device that has no room for so few has failed
MAX_CHUNK = 1 << 22
MOST_BASES = 1 << 32
"""Of a reference: coordinates on a device have 32 bits."""


class BandProcessing(Commands):
    """The bands of one batch of reads after the other. `ReadsHandle` has verified the arrays of every call."""

    def __init__(self, engine: Engine):
        super().__init__(engine)
        self.engine = engine
        # Half of what may be asked for at once: several threads want their share.
        self.trace_bytes = min(TRACE_BYTES, engine.device.max_mem_alloc_size // 4)
        self.times, self.chunk = Times(), MAX_CHUNK
        self.reads: list[Memory] = []

    def open(self, planes: U64, plane_start: U32, lengths: U32) -> None:
        """Uploads a batch of reads."""
        self.chunk = MAX_CHUNK
        with self.device.errors():
            self.reads = [
                self.upload("read_planes", planes.ravel()),
                self.upload("read_row", plane_start),
                self.upload("read_length", lengths),
            ]
            self.wait()

    def score(self, read_strand: U32, band_start: I64, words: int, limit: U16 | None) -> Scores:
        """(best uint16[n], end uint16[n])."""
        best, end = self._ends("score", (read_strand, band_start), words, 2)
        if limit is not None:
            above = best > limit[read_strand >> 1]
            best[above], end[above] = NO_SCORE, 0
        return best, end

    def local(self, read_strand: U32, band_start: I64, width: int, costs: I16) -> U16:
        """uint16[3, n] as `_core.bands.Bands.local` has it."""
        return self._ends("local_scores", (read_strand, band_start), width, 3, costs)

    def _ends(self, name: str, pairs: Pairs, size: int, rows: int, *costs: I16) -> U16:
        """uint16[rows, n] of a kernel."""
        ends = np.empty((rows, len(pairs[0])), np.uint16)

        def run(part: slice, n: int) -> None:
            out, inputs = self.buffer("ends", 2 * rows * n), [self.upload("costs", each) for each in costs]
            self._launch(name, size, pairs[0][part], pairs[1][part], *inputs, out)
            (found,) = self._fetched(("ends", out, rows * n, np.uint16))
            ends[:, part] = found.reshape(rows, n)

        self._in_chunks(ends.shape[1], MAX_CHUNK, run)
        return ends

    def profile(self, read_strand: U32, band_start: I64, words: int) -> U16:
        """uint16[n, 64 * words]."""
        errors = np.empty((len(read_strand), 64 * words), np.uint16)

        def run(part: slice, n: int) -> None:
            out = self.buffer("profile", 128 * words * n)
            self._launch("profile", words, read_strand[part], band_start[part], out)
            (found,) = self._fetched(("profile", out, errors[part].size, np.uint16))
            errors[part] = found.reshape(n, -1)

        self._in_chunks(len(errors), self.trace_bytes // (128 * words), run)
        return errors

    def align(
        self, read_strand: U32, band_start: I64, words: int, end: U16, edits: U16, slot_end: U32, rows: int
    ) -> tuple[U16, U16, U32]:
        """(start uint16[n], n_runs uint16[n], runs uint32[slot_end[-1]]) as `_core.bands.Bands.align` has them."""
        found, runs = np.empty((2, len(read_strand)), np.uint16), np.empty(int(slot_end[-1]), np.uint32)

        def run(part: slice, n: int) -> None:
            slots, mine = _slots(slot_end, part)
            out, cigars = self.buffer("scores", 4 * n), self.buffer("runs", 4 * int(slots[-1]))
            inputs = (
                self.upload("end_edits", np.concatenate((end[part], edits[part]))),
                self.upload("slot_end", slots),
            )
            trace = self.buffer("trace", _tiles(n) * 16 * words * rows)
            pairs = read_strand[part], band_start[part]
            self._launch("align", words, *pairs, np.uint32(rows), *inputs, trace, out, cigars)
            small, runs[mine] = self._fetched(
                ("scores", out, 2 * n, np.uint16), ("runs", cigars, len(runs[mine]), np.uint32)
            )
            found[:, part] = small.reshape(2, n)

        per_pair = 16 * words * rows + 4 * -(-len(runs) // found.shape[1])
        self._in_chunks(found.shape[1], self.trace_bytes // per_pair, run)
        return found[0], found[1], runs

    def align_local(
        self, read_strand: U32, band_start: I64, width: int, costs: I16, slot_end: U32, rows: int
    ) -> tuple[U16, I64, U16, U16, U32]:
        """(ends, position, edits, n_runs, runs) as `_core.bands.Bands.align_local` has them."""
        n_pairs = len(read_strand)
        ends, position = np.empty((3, n_pairs), np.uint16), np.empty(n_pairs, COORDINATE)
        small, runs = np.empty((2, n_pairs), np.uint16), np.empty(int(slot_end[-1]), np.uint32)

        def run(part: slice, n: int) -> None:
            slots, mine = _slots(slot_end, part)
            inputs = self.upload("costs", costs), np.uint32(rows), self.upload("slot_end", slots)
            numbers = {"ends": 3 * n, "position": n, "scores": 2 * n, "runs": int(slots[-1])}
            types: list[type[np.generic]] = [np.uint16, np.uint32, np.uint16, np.uint32]
            out = [self.buffer(name, 4 * number) for name, number in numbers.items()]
            trace = self.buffer("trace", _tiles(n) * width * rows)
            pairs = read_strand[part], band_start[part]
            self._launch("local_alignments", width, *pairs, *inputs, trace, *out)
            found = self._fetched(*zip(numbers, out, numbers.values(), types, strict=True))
            ends[:, part], position[part] = found[0].reshape(3, n), found[1]
            small[:, part], runs[mine] = found[2].reshape(2, n), found[3]

        per_pair = width * rows + 4 * -(-len(runs) // n_pairs)
        self._in_chunks(n_pairs, self.trace_bytes // per_pair, run)
        return ends, position, small[0], small[1], runs

    def _launch(self, name: str, size: int, read_strand: U32, band_start: I64, *arguments: object) -> None:
        """`size`: words of the bands, or diagonals of those of local alignments."""
        engine, n, is_local = self.engine, len(read_strand), name.startswith("local")
        self.paths, words = (LOCAL, f"-DWORDS=1 -DWIDTH={size}") if is_local else (BANDS, f"-DWORDS={size}")
        pairs = self.upload("pairs", np.concatenate((read_strand, band_start.astype(np.uint32))))
        batch = engine.planes, np.uint64(len(engine.reference)), *self.reads, pairs, np.uint32(n)
        self.note(name, (words,), (-(-n // GROUP) * GROUP,), (GROUP,), *batch, *arguments)

    def _fetched(self, *wanted: tuple[str, Memory, int, type[np.generic]]) -> list[Array]:
        """What is in some buffers, until the next call; of each its name, and how many numbers of which type."""
        found = [self.download(*one) for one in wanted]
        self.wait()
        self.times += self.spent()
        return found

    def _in_chunks(self, n: int, most: int, run: Callable[[slice, int], None]) -> None:
        """run(slice, its length) over 0..n; where the device has no memory, with half as many pairs from there on."""
        chunk, first = min(max(1, most), self.chunk), 0
        while first < n:
            part = slice(first, min(n, first + chunk))
            try:
                with self.device.errors():
                    run(part, part.stop - first)
            except OutOfDeviceMemory as error:
                chunk = self._smaller(part.stop - first, error)
                continue
            first = part.stop
        self.times += Times(calls=1, pairs=n)

    def _smaller(self, pairs: int, error: Exception) -> int:
        """After a failure: waits for what still runs, and gives all buffers but the reads back."""
        try:
            self.queue.finish()
        except self.cl.Error as failure:
            log.debug("OpenCL queue: %s", failure)
        self.forget()
        self.buffers = {name: buffer for name, buffer in self.buffers.items() if name.startswith("read_")}
        self.pool.free_held()
        if pairs <= SMALLEST_CHUNK:
            raise DeviceError(f"{error}, even for {pairs} pairs") from error
        self.chunk = pairs // 2
        log.debug("%s: on with %d pairs at a time", error, self.chunk)
        return self.chunk


def _slots(slot_end: U32, part: slice) -> tuple[U32, slice]:
    """Where the runs of some pairs end among theirs, and where theirs lie among all."""
    first = slot_end[part.start - 1] if part.start else np.uint32(0)
    return slot_end[part] - first, slice(int(first), int(slot_end[part.stop - 1]))


def _tiles(pairs: int) -> int:
    """Pairs of whole tiles."""
    return -(-pairs // BAND_TILE) * BAND_TILE


class OpenCLReads(ReadsHandle):
    """Reads on an OpenCL device. Scores come from the extender's `scorer`, if it has one. DeviceError where the device
    fails."""

    def __init__(self, extender: OpenCLExtender, packed: PackedReads):
        super().__init__(packed)
        self.extender, self.times = extender, Times()
        self.bands: BandProcessing | None = extender.borrow()
        self.scorer = extender.scorer.open_reads(packed) if extender.scorer is not None else None
        self.bands.open(self.planes, self.plane_start, self.lengths)

    def _call(self, kernel: str, read_strand: U32, *arguments: Any) -> Any:
        """The device aligns, and what scores is asked for the rest. Bands of the device are counted."""
        if kernel.startswith("align"):
            self.times += Times(device_traced=len(read_strand))
        elif self.scorer is not None:
            return self.scorer._call(kernel, read_strand, *arguments)
        else:
            self.times += Times(device_scored=len(read_strand))
        return getattr(self.bands, kernel)(read_strand, *arguments)

    def close(self) -> None:
        """Gives queue and buffers back to the extender, and the counters."""
        bands, self.bands = self.bands, None
        if bands is None:
            return
        if self.scorer is not None:
            bands.times += self.scorer.times
        self.times += self.extender.take_back(bands)

    def __del__(self) -> None:
        if getattr(self, "bands", None) is not None:
            self.close()


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
    ):
        reference = np.ascontiguousarray(reference_planes, np.uint64).reshape(-1, 3)
        if 64 * len(reference) > MOST_BASES:
            raise DeviceError(
                f"a reference of more than {MOST_BASES:,} bases is mapped on the host: --device none"
            )
        info, cl_device = platforms.choose(device, threads)
        self.engine = Engine(info, cl_device, reference)
        self.engine.program(BANDS, ("-DWORDS=1",))
        self.scorer = scorer if info.type == "cpu" else None
        self._idle: list[BandProcessing] = []
        self._counters = Times()
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def counters(self) -> Times:
        """Adds up all handles closed so far."""
        total = Times(compile=self.engine.compiled)
        total += self._counters
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

    def borrow(self) -> BandProcessing:
        """What nobody uses, or something new."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return BandProcessing(self.engine)

    def take_back(self, bands: BandProcessing) -> Times:
        """Keeps it for the next handle; returns its times."""
        times, bands.times = bands.times, Times()
        with self._lock:
            self._counters += times
            self._idle.append(bands)
        return times
