"""Sorted BAM while mapping: workers sort what they make of a batch, and merge and compress these runs at the end.

A run is what one worker makes of one batch. Before the runs in memory exceed the memory that they may take, the oldest
go to disk, merged: workers do so between batches, and mapping goes on. At the end, ranges of coordinates are merged and
compressed in parallel, and the index is made on the way. The keys of a range, from all runs in the order of the input,
are sorted stably. So records that tie stay in the order of the input.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib
from gassst._core.records import BamIndex, EncodedRecords, index_entries
from gassst.files import bgzf
from gassst.files.destination import MAX_BAI_CONTIG, AlignmentDestination
from gassst.files.sam_header import Header
from gassst.files.scratch import Scratch
from gassst.model.array_types import NDArray
from gassst.records.encoding import DescriptorFile, bam_header
from gassst.records.options import SORT_MEMORY
from gassst.records.sorted_runs import AnyRun, RecordRange, Run, RunOnDisk, ranges
from gassst.workers.threads import Workers

if TYPE_CHECKING:
    from gassst.records.duplicates import Marking

RANGE_RECORDS = 1 << 15  # about as many are merged by a worker at once
# Of the memory for runs: from when on runs go to disk, and how much at once. What comes in meanwhile takes the rest.
SPILL_FROM, SPILLED = 0.75, 0.5
INDEXED_LATER = 8  # ranges that wait to be indexed


class RunEncoder:
    """Sorted runs of BAM records."""

    def encode(self, records: EncodedRecords) -> Run:
        return Run.of(records, records.records)


# --- calls of workers ---------------------------------------------------------------------------------------


def spilled(runs: list[Run], part: RecordRange, path: str) -> RunOnDisk:
    """A range of runs in memory, as a run on disk. Raises OSError."""
    return RunOnDisk.written(path, Run.merged(part.pieces(runs)))


class Compressed(NamedTuple):
    """A range as it goes into the file.

    Attributes
    ----------
    entries : void[n]
        What the index has to know of its records.
    blocks : list of bytes
    """

    entries: NDArray[np.void]
    blocks: list[bytes]


def compressed(runs: list[AnyRun], part: RecordRange, marking: Marking | None, level: int) -> Compressed:
    """The records of a range, merged and marked, in blocks. Raises OSError."""
    pieces = part.pieces(runs)
    if marking is None:
        run = Run.merged(pieces)
    else:
        marks = marking.of([piece.templates for piece in pieces])
        run = Run.merged(pieces, marks, marking.tagged)
    blocks = list(bgzf.blocks(run.data.data, bgzf.deflater(level)))
    return Compressed(index_entries(run.data, run.ends), blocks)


# --- the file -----------------------------------------------------------------------------------------------


class SortedBamFormat(DescriptorFile):
    """BAM in the order of coordinates, with an index.

    `header` may be changed until `close` writes it.

    Parameters
    ----------
    lengths : sequence of int
        Bases of the contigs.
    header : str or Header
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
        lengths: Sequence[int] | NDArray[np.int64],
        header: str | Header,
        level: int | None,
        destination: AlignmentDestination,
        workers: Workers,
        memory: int = SORT_MEMORY,
        indexed: bool = True,
    ):
        self._lengths, self.header = lengths, header
        self._level = bgzf.DEFAULT_LEVEL if level is None else level
        self._destination, self._workers, self._memory = destination, workers, memory
        self._indexed = indexed
        self._on_disk: list[RunOnDisk] = []
        self._in_memory: list[Run] = []
        self._resident = 0
        self._spilling: Future[tuple[list[RunOnDisk], int]] | None = None
        self._spiller: ThreadPoolExecutor | None = None
        self._spilled_runs = 0
        self._scratch: Scratch | None = None

    def begin(self, fd: int) -> None:
        self._fd = fd

    def write(self, payload: Run) -> int:
        if len(payload):
            self._in_memory.append(payload)
        self._resident += payload.nbytes
        if self._spilling is not None and (self._spilling.done() or self._resident > self._memory):
            self._end_spill()
        if self._spilling is None and self._resident > SPILL_FROM * self._memory and self._in_memory:
            self._begin_spill()
        return len(payload)

    def close(self) -> None:
        self._end_spill()
        head = list(bgzf.blocks(bam_header(self.header), bgzf.deflater(self._level)))
        self._put(head)
        at = sum(map(len, head))
        index_path = self._destination.index_path if self._indexed else None
        if index_path is None:
            for part in self._merged():
                self._put(part.blocks)
        else:
            self._write_indexed(at).save(index_path)
        self._put([bgzf.END_OF_FILE])
        self._release()
        self._remove_runs()

    def _write_indexed(self, at: int) -> BamIndex:
        """Writes all records from a byte of the file on, and returns the index, which a thread makes meanwhile."""
        longest = int(np.max(self._lengths, initial=0))
        index = BamIndex(len(self._lengths), longest, longest > MAX_BAI_CONTIG, at)
        added: deque[Future[None]] = deque()
        with ThreadPoolExecutor(1, thread_name_prefix="gassst-indexer") as indexer:
            for part in self._merged():
                self._put(part.blocks)
                starts = np.cumsum([at, *map(len, part.blocks)]).astype(np.uint64)
                added.append(indexer.submit(index.add, part.entries, starts, bgzf.BLOCK_SIZE))
                at = int(starts[-1])
                if len(added) > INDEXED_LATER:
                    added.popleft().result()
            for future in added:
                future.result()
        return index

    def abort(self) -> None:
        super().abort()
        self._remove_runs()

    def _merged(self) -> Iterator[Compressed]:
        """All records, in ranges."""
        runs: list[AnyRun] = [*self._on_disk, *self._in_memory]
        marking = self._marking(runs)
        calls = ((runs, part, marking, self._level) for part in ranges(runs, RANGE_RECORDS))
        yield from self._in_order(compressed, calls)

    def _marking(self, runs: list[AnyRun]) -> Marking | None:
        """What tells which records are marked as duplicates: nothing."""
        return None

    def _in_order(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """What workers make of calls, in the order of the calls."""
        waiting: deque[Future[Any]] = deque()
        for args in calls:
            waiting.append(self._workers.submit(function, *args))
            if len(waiting) > 2 * self._workers.threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    # --- runs that go to disk ---------------------------------------------------------------------------

    def _begin_spill(self) -> None:
        """Has the oldest runs made runs on disk, by a thread of its own that waits for workers."""
        sizes = np.cumsum([run.nbytes for run in self._in_memory])
        count = min(int(np.searchsorted(sizes, SPILLED * self._memory)) + 1, len(sizes))
        runs, self._in_memory = self._in_memory[:count], self._in_memory[count:]
        if self._spiller is None:
            self._make_folder()
            self._spiller = ThreadPoolExecutor(1, thread_name_prefix="gassst-spiller")
        self._spilling = self._spiller.submit(self._spilled, runs)

    def _spilled(self, runs: list[Run]) -> tuple[list[RunOnDisk], int]:
        """The same records on disk, and how many bytes of memory they need no more. Raises OSError."""
        parts = enumerate(ranges(runs, RANGE_RECORDS), start=self._spilled_runs)
        calls = [(runs, part, self._file(f"run{i}")) for i, part in parts]
        self._spilled_runs += len(calls)
        return list(self._in_order(spilled, calls)), sum(run.nbytes for run in runs)

    def _end_spill(self) -> None:
        """Waits until the runs that go to disk are there. Raises OSError."""
        if self._spilling is not None:
            future, self._spilling = self._spilling, None
            on_disk, freed = future.result()
            self._on_disk += on_disk
            self._resident -= freed

    def _make_folder(self) -> None:
        """Where `_file` is to be, for a stream: what removes it on a signal is set up by the main thread."""
        if self._destination.is_stream:
            import tempfile

            self._scratch = Scratch(tempfile.gettempdir(), "sort")

    def _file(self, name: str) -> str:
        """The path of a file that is gone when the output is complete, or given up."""
        return self._destination.beside(name) if self._scratch is None else self._scratch.file(name)

    def _remove_runs(self) -> None:
        if self._spiller is not None:
            self._spiller.shutdown(wait=False, cancel_futures=True)
        for run in self._on_disk:
            run.remove()
        self._on_disk, self._in_memory = [], []
        if self._scratch is not None:
            self._scratch.remove()
            self._scratch = None
