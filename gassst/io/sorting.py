"""Sorted BAM while mapping: workers sort what they make of a batch, and merge and compress these runs at the end.

A run is what one worker makes of one batch. When the runs in memory exceed the memory that they may take, they become
one run on disk. At the end, ranges of coordinates are merged in parallel. The keys of a range, from all runs in the
order of the input, are sorted stably. So records that tie stay in the order of the input.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any

import numpy as np
import pysam
from numpy.typing import NDArray

import gassst.io.htslib  # noqa: F401 - before the compiled modules that link its htslib
from gassst._core.records import (
    BamIndex,
    EncodedRecords,
    HitBatch,
    RecordBuilder,
    gather,
    sort_keys,
)
from gassst.io import bgzf
from gassst.io.destination import MAX_BAI_CONTIG, AlignmentDestination
from gassst.io.encoding import Pieces, PlainFile, bam_header
from gassst.io.scratch import Scratch
from gassst.workers.base import Workers

if TYPE_CHECKING:
    from gassst.io.duplicates import Marks

SORT_MEMORY = 2 << 30
RANGE_RECORDS = 1 << 16  # about as many are merged by a worker at once
SAMPLE = 256  # of the keys of a run, every so many are looked at to find ranges of equal size
NO_TEMPLATES = np.empty(0, np.uint64)
UNPLACED = np.uint64(0x7FFFFFFF << 33)  # least key of records without a coordinate


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run:
    """Sorted records, in memory, or mapped from a file.

    Attributes
    ----------
    keys : uint64[n]
    ends : uint64[n]
        The byte behind each record.
    data : uint8[ends[-1]]
    templates : uint64[n]
        Ordinals of their templates, for marks; empty where none are to come.
    """

    keys: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    data: NDArray[np.uint8]
    templates: NDArray[np.uint64]

    @classmethod
    def of(cls, bam: EncodedRecords, templates: NDArray[np.uint64] = NO_TEMPLATES) -> Run:
        """What a worker makes of the records of a batch."""
        return cls.of_bytes(bam, bam.records, templates)

    @classmethod
    def of_bytes(
        cls, bam: bytes | EncodedRecords, records: int, templates: NDArray[np.uint64] = NO_TEMPLATES
    ) -> Run:
        """The same of so many records. Raises ValueError where there are not as many."""
        keys, ends = sort_keys(bam, records)
        return cls._sorted(keys, ends, np.frombuffer(memoryview(bam), np.uint8), templates)

    @classmethod
    def merged(cls, pieces: list[Run], marks: Marks | None = None) -> Run:
        """The records of all pieces; those that tie in the order of the pieces."""
        sizes = np.cumsum([0, *(piece.data.nbytes for piece in pieces)]).astype(np.uint64)
        ends = [piece.ends + size for piece, size in zip(pieces, sizes[:-1], strict=True)]
        keys, data = [piece.keys for piece in pieces], [piece.data for piece in pieces]
        templates = [piece.templates for piece in pieces]
        whole = [np.concatenate(column) for column in (keys, ends, data, templates)]
        return cls._sorted(whole[0], whole[1], whole[2], whole[3], marks)

    @classmethod
    def _sorted(
        cls,
        keys: NDArray[np.uint64],
        ends: NDArray[np.uint64],
        data: NDArray[np.uint8],
        templates: NDArray[np.uint64],
        marks: Marks | None = None,
    ) -> Run:
        order = np.argsort(keys, kind="stable")
        sizes = np.diff(ends, prepend=np.uint64(0))
        if marks is None:
            records = gather(data, ends, order)
        else:
            records = gather(data, ends, order, marks.of_record, marks.are_tagged)
            sizes += marks.growth()
        return cls(
            keys[order],
            np.cumsum(sizes[order], dtype=np.uint64),
            np.frombuffer(memoryview(records), np.uint8),
            templates[order] if len(templates) else templates,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """As buffers, which may stay where they are (`workers.shared_memory`)."""
        arrays = self.keys, self.ends, self.data, self.templates
        return _run_of, tuple(PickleBuffer(array.view(np.uint8).data) for array in arrays)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.ends.nbytes + self.data.nbytes + self.templates.nbytes

    def part(self, first: int, last: int) -> Run:
        """Records `first` to `last` - 1."""
        start = int(self.ends[first - 1]) if first else 0
        stop = int(self.ends[last - 1]) if last else 0
        ends = self.ends[first:last] - np.uint64(start)
        return Run(self.keys[first:last], ends, self.data[start:stop], self.templates[first:last])


def _run_of(keys: Any, ends: Any, data: Any, templates: Any) -> Run:
    numbers = (np.frombuffer(column, np.uint64) for column in (keys, ends, templates))
    keys, ends, templates = numbers
    return Run(keys, ends, np.frombuffer(data, np.uint8), templates)


class RunEncoder:
    """Sorted runs of BAM records."""

    def __init__(self, builder: RecordBuilder):
        self._builder = builder

    def encode(self, batch: HitBatch, skip_unmapped: bool) -> Run:
        return Run.of(self._builder.encode(batch, bam=True, skip_unmapped=skip_unmapped))


# --- calls of workers ---------------------------------------------------------------------------------------


def merged(_work: object, pieces: list[Run]) -> Run:
    """The records of all pieces in order."""
    return Run.merged(pieces)


def compressed(
    _work: object, pieces: list[Run], marks: Marks | None, level: int
) -> tuple[NDArray[np.uint8], Pieces]:
    """The records of all pieces in order, as they are and in blocks."""
    run = Run.merged(pieces, marks)
    return run.data, Pieces(len(run), list(bgzf.blocks(run.data.data, bgzf.deflater(level))))


# --- ranges of coordinates ----------------------------------------------------------------------------------


def ranges(runs: list[Run]) -> Iterator[list[Run]]:
    """All records in ranges that follow each other, each as its pieces of the runs in their order.

    A coordinate is in one range only, whatever lies there; records without one are all equal, and are not merged.
    """
    begin = np.zeros(len(runs), np.int64)
    for key in [*_splitters(runs), UNPLACED]:
        end = np.array([np.searchsorted(run.keys, key) for run in runs], np.int64)
        if (end > begin).any():
            yield _pieces(runs, begin, end)
        begin = end
    for run, first in zip(runs, begin.tolist(), strict=True):
        for start in range(first, len(run), RANGE_RECORDS):
            yield [run.part(start, min(start + RANGE_RECORDS, len(run)))]


def _pieces(runs: list[Run], begin: NDArray[np.int64], end: NDArray[np.int64]) -> list[Run]:
    bounds = zip(runs, begin.tolist(), end.tolist(), strict=True)
    return [run.part(first, last) for run, first, last in bounds if last > first]


def _splitters(runs: list[Run]) -> list[np.uint64]:
    """Keys at which ranges of about `RANGE_RECORDS` records begin, ascending."""
    sample = np.sort(np.concatenate([np.empty(0, np.uint64), *(run.keys[::SAMPLE] for run in runs)]))
    return list(np.unique(sample[:: RANGE_RECORDS // SAMPLE][1:]))


# --- the file -----------------------------------------------------------------------------------------------


class SortedBamFormat(PlainFile):
    """BAM in the order of coordinates, with an index.

    Parameters
    ----------
    contigs : pysam.AlignmentHeader
    header : str
        Its text.
    level : int or None
        Of compression, as `AlignmentWriter` takes it.
    destination : AlignmentDestination
        Runs on disk lie in its hidden folder; where it is a stream, in one of their own in $TMPDIR.
    workers : Workers
        That merge and compress.
    memory : int
        Bytes that runs may take in memory.
    indexed : bool
        Whether the index is that of the destination.
    """

    def __init__(
        self,
        contigs: pysam.AlignmentHeader,
        header: str,
        level: int | None,
        destination: AlignmentDestination,
        workers: Workers,
        memory: int = SORT_MEMORY,
        indexed: bool = True,
    ):
        self._contigs, self._header = contigs, header
        self._level = bgzf.DEFAULT_LEVEL if level is None else level
        self._destination, self._workers, self._memory = destination, workers, memory
        self._indexed = indexed
        self._on_disk: list[Run] = []
        self._in_memory: list[Run] = []
        self._resident = 0
        self._scratch: Scratch | None = None

    def begin(self, fd: int) -> None:
        self._fd = fd

    def write(self, payload: Run) -> int:
        self._in_memory.append(payload)
        self._resident += payload.nbytes
        if self._resident > self._memory:
            self._spill()
        return len(payload)

    def close(self) -> None:
        contigs = self._contigs
        head = list(
            bgzf.blocks(
                bam_header(self._header, contigs.references, contigs.lengths), bgzf.deflater(self._level)
            )
        )
        self._put(head)
        longest = max(contigs.lengths, default=0)
        at = sum(map(len, head))
        index = BamIndex(contigs.nreferences, longest, longest > MAX_BAI_CONTIG, at)
        for data, blocks in self._in_order(compressed, self._calls(self._on_disk + self._in_memory)):
            self._put(blocks.pieces)
            starts = np.cumsum([at, *map(len, blocks.pieces)]).astype(np.uint64)
            index.add(data, starts, bgzf.BLOCK_SIZE)
            at = int(starts[-1])
        self._put([bgzf.END_OF_FILE])
        if self._indexed and self._destination.index_path is not None:
            index.save(self._destination.index_path)
        self._release()
        self._remove_runs()

    def abort(self) -> None:
        super().abort()
        self._remove_runs()

    def _calls(self, runs: list[Run]) -> Iterator[tuple[list[Run], Marks | None, int]]:
        """All records in ranges, as `compressed` takes them."""
        return ((pieces, None, self._level) for pieces in ranges(runs))

    def _in_order(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """What workers make of calls, in the order of the calls."""
        waiting: deque[Future[Any]] = deque()
        for args in calls:
            waiting.append(self._workers.submit(function, *args))
            if len(waiting) > 2 * self._workers.threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _spill(self) -> None:
        """Makes one run on disk of those in memory."""
        name = self._file(f"run{len(self._on_disk)}")
        ends_of = [name + end for end in (".keys", ".ends", "", ".templates")]
        with ExitStack() as stack:
            keys, ends, data, templates = (stack.enter_context(open(path, "wb")) for path in ends_of)
            at = 0
            for run in self._in_order(merged, ((pieces,) for pieces in ranges(self._in_memory))):
                keys.write(run.keys)
                ends.write(run.ends + np.uint64(at))
                data.write(run.data)
                templates.write(run.templates)
                at += run.data.nbytes
        self._on_disk.append(
            Run(
                mapped(name + ".keys", np.uint64),
                mapped(name + ".ends", np.uint64),
                mapped(name, np.uint8),
                mapped(name + ".templates", np.uint64),
            )
        )
        self._in_memory, self._resident = [], 0

    def _file(self, name: str) -> str:
        """The path of a file that is gone when the output is complete, or given up."""
        if not self._destination.is_stream:
            return self._destination.beside(name)
        if self._scratch is None:
            import tempfile

            self._scratch = Scratch(tempfile.gettempdir(), "sort")
        return self._scratch.file(name)

    def _remove_runs(self) -> None:
        self._on_disk, self._in_memory = [], []
        if self._scratch is not None:
            self._scratch.remove()
            self._scratch = None


def mapped(path: str, dtype: Any) -> NDArray:
    """The numbers in a file, which may be empty."""
    return np.memmap(path, dtype, "r") if os.path.getsize(path) else np.empty(0, dtype)
