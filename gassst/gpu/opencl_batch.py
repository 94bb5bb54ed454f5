"""Batches of banded alignments on an OpenCL device: what a thread has there, and what it does with a batch of reads."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gassst.bands.base import Scores
from gassst.errors import DeviceError
from gassst.gpu.opencl_engine import LOCAL_SOURCES, SOURCES, Engine, OutOfDeviceMemory, scalar_types
from gassst.model.array_types import COORDINATE, I16, I64, U16, U32, U64
from gassst.model.layouts import NO_SCORE
from gassst.model.times import Times

log = logging.getLogger("gassst")

BAND_TILE = 32  # as in band.h: pairs whose traceback words lie side by side where LANES is 1
SMALLEST_CHUNK = 256  # pairs; a device that has no room for so few has failed
MAX_CHUNK = 1 << 22


class Worker:
    """One thread's queue, kernels and buffers; buffers grow and are kept from batch to batch."""

    def __init__(self, engine: Engine):
        cl = engine.cl
        self.engine, self.cl = engine, cl
        properties = cl.command_queue_properties.PROFILING_ENABLE if engine.profiling else 0
        with engine.errors():
            self.queue = cl.CommandQueue(engine.context, properties=properties)
        self.buffers: dict[str, Any] = {}
        self.kernels: dict[tuple[str, int], Any] = {}
        self.events: list[tuple[str, Any]] = []
        self.shared: list[Any] = []  # arrays that commands may still read
        self.times = Times()
        self.batches = 0

    def kernel(self, name: str, words: int, arguments: tuple[Any, ...]) -> Any:
        """This worker's own kernel object: their arguments are state, so threads must not share them.

        Every launch of a kernel has arguments of the same types.
        """
        if (name, words) not in self.kernels:
            names = LOCAL_SOURCES if name.startswith("local") else SOURCES
            made = self.cl.Kernel(self.engine.program(words, names), name)
            made.set_scalar_arg_dtypes(scalar_types(arguments))
            self.kernels[name, words] = made
        return self.kernels[name, words]

    def buffer(self, name: str, size: int) -> Any:
        """A device buffer of at least `size` bytes under this name; what was in it is gone."""
        held = self.buffers.get(name)
        if held is None or held.size < size:
            self.buffers[name] = held = None  # given back before a larger one is asked for
            flags = self.cl.mem_flags.READ_WRITE
            self.buffers[name] = held = self.cl.Buffer(self.engine.context, flags, max(size, 64))
        return held

    def upload(self, name: str, array: NDArray[Any]) -> Any:
        """A buffer with what is in `array`: the array itself, or the buffer of this name, into which it is copied.

        The array must neither change nor go until all is done.
        """
        if self.engine.shares_memory and array.nbytes:
            self.shared.append(self.engine.in_place(array))
            return self.shared[-1]
        buffer = self.buffer(name, array.nbytes)
        if array.nbytes:
            self._note("upload", self.cl.enqueue_copy(self.queue, buffer, array, is_blocking=False))
        return buffer

    def download(self, *pairs: Any) -> None:
        """Waits for all before it, then copies to each array from its buffer: pairs of them."""
        for i, (array, buffer) in enumerate(pairs, 1):
            last = i == len(pairs)  # the queue is in order, so this one is waited for alone
            self._note("download", self.cl.enqueue_copy(self.queue, array, buffer, is_blocking=last))

    def launch(self, name: str, words: int, items: int, *arguments: Any) -> None:
        """So many work-items, in work-groups that suit the device."""
        local = 64 if self.engine.lanes == 1 else 1
        kernel = self.kernel(name, words, arguments)
        event = kernel(self.queue, (-(-items // local) * local,), (local,), *arguments)
        self._note("kernel", event)

    def _note(self, stage: str, event: Any) -> None:
        self.events.append((stage, event))  # an upload's event waits for it when it is let go of

    def settle(self) -> None:
        """All commands have finished: their times go to the counters."""
        for stage, event in self.events if self.engine.profiling else ():
            event.wait()
            setattr(self.times, stage, getattr(self.times, stage) + event.profile.end - event.profile.start)
        self.events.clear()
        self.shared.clear()

    def forget(self) -> None:
        """After a failure: waits for what still runs and gives all buffers but the reads back."""
        self.events.clear()
        try:
            self.queue.finish()
        except self.cl.Error as error:
            log.debug("OpenCL queue: %s", error)
        self.shared.clear()
        self.buffers = {name: buffer for name, buffer in self.buffers.items() if name.startswith("read_")}


class DeviceBatch:
    """One batch of reads on the device. `ReadsHandle` has verified the arrays of every call."""

    def __init__(self, engine: Engine, worker: Worker, planes: U64, plane_start: U32, lengths: U32):
        self.engine, self.worker, self.cl = engine, worker, engine.cl
        self.chunk = MAX_CHUNK
        self.lengths = lengths
        self.kept: tuple[NDArray[Any], ...] = (planes, plane_start, lengths)
        with engine.errors():
            self.reads = [
                worker.upload("read_planes", planes),
                worker.upload("read_row", plane_start),
                worker.upload("read_length", lengths),
            ]
            worker.queue.finish()
            worker.settle()

    def score(self, read_strand: U32, band_start: I64, words: int, limit: U16 | None = None) -> Scores:
        """(best uint16[n], end uint16[n])."""
        n = len(read_strand)
        best, end = np.empty(n, np.uint16), np.empty(n, np.uint16)

        def run(part: slice) -> None:
            both = np.empty((2, part.stop - part.start), np.uint16)
            out = self.worker.buffer("small_out", both.nbytes)
            self._launch("score", words, part, read_strand, band_start, out)
            self.worker.download((both, out))
            best[part], end[part] = both

        self._in_chunks(n, MAX_CHUNK, run)
        if limit is not None:
            above = best > limit[read_strand >> 1]
            best[above], end[above] = NO_SCORE, 0
        return best, end

    def profile(self, read_strand: U32, band_start: I64, words: int) -> U16:
        """uint16[n, 64 * words]."""
        errors = np.empty((len(read_strand), 64 * words), np.uint16)

        def run(part: slice) -> None:
            out = self.worker.buffer("large_out", errors[part].nbytes)
            self._launch("profile", words, part, read_strand, band_start, out)
            self.worker.download((errors[part], out))

        self._in_chunks(len(errors), max(1, self.engine.trace_bytes // (128 * words)), run)
        return errors

    def align(
        self,
        read_strand: U32,
        band_start: I64,
        words: int,
        end: U16,
        edits: U16,
        slot_end: U32,
        rows: int,
    ) -> tuple[U16, U16, U32]:
        """(start uint16[n], n_runs uint16[n], runs uint32[slot_end[-1]]) as `_banded.Band.align` has them."""
        n, worker = len(read_strand), self.worker
        start, n_runs = np.empty(n, np.uint16), np.empty(n, np.uint16)
        runs = np.empty(int(slot_end[-1]), np.uint32)

        def run(part: slice) -> None:
            first = int(slot_end[part.start - 1]) if part.start else 0
            both, slots = np.stack([end[part], edits[part]]), slot_end[part] - np.uint32(first)
            trace = worker.buffer("trace", self._trace_size(part.stop - part.start, words, rows))
            inputs = np.uint32(rows), worker.upload("end_edits", both), worker.upload("slot_end", slots)
            out = worker.buffer("small_out", both.nbytes), worker.buffer("large_out", int(slots[-1]) * 4)
            self._launch("align", words, part, read_strand, band_start, *inputs, trace, *out)
            worker.download((both, out[0]), (runs[first : first + int(slots[-1])], out[1]))
            start[part], n_runs[part] = both

        per_pair = 16 * words * rows + 4 * -(-len(runs) // n)
        self._in_chunks(n, max(1, self.engine.trace_bytes // per_pair), run)
        return start, n_runs, runs

    def local(self, read_strand: U32, band_start: I64, width: int, costs: I16) -> U16:
        """uint16[3, n] as `_banded.Band.local` has it."""
        n = len(read_strand)
        ends = np.empty((3, n), np.uint16)

        def run(part: slice) -> None:
            found = np.empty((3, part.stop - part.start), np.uint16)
            out = self.worker.buffer("small_out", found.nbytes)
            inputs = np.uint32(width), self._costs(costs)
            self._launch("local_scores", width, part, read_strand, band_start, *inputs, out)
            self.worker.download((found, out))
            ends[:, part] = found

        self._in_chunks(n, MAX_CHUNK, run)
        return ends

    def align_local(
        self, read_strand: U32, band_start: I64, width: int, costs: I16, slot_end: U32, rows: int
    ) -> tuple[U16, I64, U16, U16, U32]:
        """(ends, position, edits, n_runs, runs) as `_banded.Band.align_local` has them."""
        n, worker = len(read_strand), self.worker
        ends, position = np.empty((3, n), np.uint16), np.empty(n, COORDINATE)
        small, runs = np.empty((2, n), np.uint16), np.empty(int(slot_end[-1]), np.uint32)

        def run(part: slice) -> None:
            first, size = int(slot_end[part.start - 1]) if part.start else 0, part.stop - part.start
            slots = slot_end[part] - np.uint32(first)
            trace = worker.buffer("trace", self._local_trace_size(size, width, rows))
            inputs = (
                np.uint32(width),
                self._costs(costs),
                np.uint32(rows),
                worker.upload("slot_end", slots),
                trace,
            )
            found = np.empty((3, size), np.uint16), np.empty(size, np.uint32), np.empty((2, size), np.uint16)
            out = [worker.buffer(f"local_out{i}", array.nbytes) for i, array in enumerate(found)]
            large = worker.buffer("large_out", int(slots[-1]) * 4)
            items = self.engine.items("local_alignments", size, rows, width)
            self._launch(
                "local_alignments", width, part, read_strand, band_start, *inputs, *out, large, items=items
            )
            cigars = runs[first : first + int(slots[-1])]
            worker.download(*zip(found, out, strict=True), (cigars, large))
            ends[:, part], position[part], small[:, part] = found

        per_pair = (width * rows if self.engine.lanes == 1 else 0) + 4 * -(-len(runs) // n)
        self._in_chunks(n, max(1, self.engine.trace_bytes // per_pair), run)
        return ends, position, *small, runs

    def _costs(self, costs: I16) -> Any:
        self.kept = (*self.kept[:3], costs)  # an upload's array must live until it is done
        return self.worker.upload("costs", costs)

    def _trace_size(self, pairs: int, words: int, rows: int) -> int:
        """Bytes of whole tiles: all lanes of a group write."""
        tile = BAND_TILE if self.engine.lanes == 1 else self.engine.lanes
        return -(-pairs // tile) * tile * 16 * words * rows

    def _local_trace_size(self, pairs: int, width: int, rows: int) -> int:
        """Bytes of whole tiles, or of what each of a CPU's work-items overwrites group by group."""
        engine = self.engine
        if engine.lanes == 1:
            return -(-pairs // BAND_TILE) * BAND_TILE * width * rows
        return engine.items("local_alignments", pairs, rows, width) * engine.local_lanes * width * rows

    def _launch(
        self,
        name: str,
        words: int,
        part: slice,
        read_strand: U32,
        band_start: I64,
        *arguments: Any,
        items: int | None = None,
    ) -> None:
        worker, n = self.worker, part.stop - part.start
        items = items or self.engine.items(name, n)
        columns = read_strand[part], band_start[part].astype(np.uint32)  # a device has coordinates of 32 bits
        pairs = worker.upload("pairs", np.stack(columns))  # one command
        rows = np.uint64(len(self.engine.reference))
        batch = self.engine.planes, rows, *self.reads, pairs, np.uint32(n)
        worker.launch(name, words, items, *batch, *arguments)

    def _in_chunks(self, n: int, most: int, run: Callable[[slice], None]) -> None:
        """run(slice) over 0..n; where the device has no memory, with half as many pairs from there on."""
        chunk, first = min(most, self.chunk), 0
        while first < n:
            part = slice(first, min(n, first + chunk))
            try:
                with self.engine.errors():
                    run(part)
                    self.worker.settle()
            except OutOfDeviceMemory as error:
                chunk = self._smaller(part.stop - part.start, error)
                continue
            first = part.stop
        self.worker.times.calls += 1
        self.worker.times.pairs += n

    def _smaller(self, pairs: int, error: Exception) -> int:
        self.worker.forget()
        if pairs <= SMALLEST_CHUNK:
            raise DeviceError(f"{error}, even for {pairs} pairs") from error
        self.chunk = pairs // 2
        log.debug("%s: on with %d pairs at a time", error, self.chunk)
        return self.chunk
