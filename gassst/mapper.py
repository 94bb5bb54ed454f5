"""The mapper: batches of reads through worker threads, results in the order of the reads."""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from copy import copy
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from gassst.errors import UsageError
from gassst.extension.backends import make_extender
from gassst.io import records as sam
from gassst.io.input_progress import InputProgress
from gassst.io.reads import Paths, ReadBatch, Record, batch_records, open_pairs, open_reads
from gassst.pairing.insert_size import LEARN_READS, InsertModel, template_lengths
from gassst.params import MAX_READ_LENGTH, MapParams
from gassst.search.filters import Cascade
from gassst.search.paired import PairSearch
from gassst.search.single import BatchResult, BatchSearch
from gassst.seeding.plan import SearchPlan
from gassst.seeding.seed_index import SeedIndex
from gassst.seeding.shards import IndexParts, WholeIndex
from gassst.stats import Stats
from gassst.version import __version__

log = logging.getLogger("gassst")
Mapped = tuple[ReadBatch, BatchResult, Stats]


class Mapper:
    """Maps reads to an indexed reference.

    Parameters
    ----------
    index : SeedIndex or path
        An index, or the file of one.
    **params
        Fields of `MapParams`.

    Raises
    ------
    UsageError
        A parameter out of its range, or an unknown filter.
    IndexFormatError
        The file is no usable index.
    DeviceError
        A device was asked for by name that cannot be used.

    Examples
    --------
    >>> mapper = gassst.Mapper("ref.gsi", threads=2)
    >>> for segment in mapper.map([("read1", "ACGT...", None)]):
    ...     print(segment.reference_name, segment.reference_start, segment.cigarstring)
    """

    def __init__(self, index: SeedIndex | str | Path, **params: Any):
        verified = MapParams(**params).verify()
        self.index = SeedIndex.open(index) if isinstance(index, (str, Path)) else index
        self._plan(verified)
        memory = self.params.memory
        orientation, insert = self.params.orientation, self.params.insert
        self.insert = InsertModel.given(orientation, *insert) if insert else InsertModel.assumed(orientation)
        self.parts = WholeIndex(self.index) if memory is None else IndexParts(self.index, memory)
        self.extender = make_extender(
            self.index.reference.planes, device=self.params.device, threads=self.params.threads
        )

    def _plan(self, params: MapParams) -> None:
        self.params = params
        self.plan = SearchPlan(params, self.index.k, len(self.index.positions))
        self.cascade = Cascade(params.filters, self.plan.gaps, self.plan.shift)

    def map_batch(self, batch: ReadBatch) -> tuple[BatchResult, Stats]:
        """Map one batch in the calling thread."""
        stats = Stats()
        with stats.timed("pack"):
            packed = batch.pack()
        result = self._search(batch, packed, stats).run()
        stats.count_cycles(result.hits, result.cigars, self.index.reference.planes, packed)
        return result, stats

    def _search(self, batch: ReadBatch, packed, stats: Stats) -> BatchSearch:
        params = self.params if batch.mate is None else self.params.for_pairs()
        arguments = self.index, self.plan, self.cascade, self.extender, params, packed, stats, self.parts
        if batch.mate is None:
            return BatchSearch(*arguments)
        return PairSearch(*arguments, mate=batch.mate, insert=self.insert)

    def _learn_insert(self, batches: Iterable[ReadBatch]) -> Iterator[ReadBatch]:
        """The same batches, after the insert sizes have been learned from the pairs among the first reads.

        From as many reads whatever the size of the batches, so that results do not depend on it.
        """
        batches = iter(batches)
        head: list[ReadBatch] = []
        while sum(map(len, head)) < LEARN_READS and (batch := next(batches, None)) is not None:
            head.append(batch)
        if any(batch.mate is not None for batch in head):
            self.insert = InsertModel.learned(self.params.orientation, self._templates(head))
            log.log(logging.INFO if self.insert.pairs else logging.WARNING, "insert sizes: %s", self.insert)
        return chain(head, batches)

    def _templates(self, head: list[ReadBatch]) -> np.ndarray:
        """Template lengths among the first reads, each of them mapped on its own to its best place."""
        mapper = copy(self)
        mapper._plan(replace(self.params, all_hits=False))
        found, left = [np.empty(0, np.int64)], LEARN_READS
        for batch in head:
            batch = batch.head(min(left, len(batch)))
            left -= len(batch)
            if batch.mate is None:
                continue
            hits = mapper.map_batch(replace(batch, mate=None))[0].hits
            first = np.flatnonzero(batch.mate[:-1] == 1)
            lengths, starts = np.diff(batch.offsets).astype(np.int64), self.index.reference.starts
            found.append(template_lengths(self.params.orientation, first, hits, lengths, starts))
        return np.concatenate(found)

    def _results(self, batches: Iterable[ReadBatch]) -> Generator[Mapped, None, None]:
        """Results in the order of the batches; no more batches are in memory than the threads need.

        Whoever iterates closes it: what is then not begun is dropped, what has begun is not waited for.
        """
        waiting: deque[tuple[ReadBatch, Future[tuple[BatchResult, Stats]]]] = deque()
        if self.params.insert is None:
            batches = self._learn_insert(batches)
        pool = ThreadPoolExecutor(self.params.threads, thread_name_prefix="gassst")
        try:
            for batch in batches:
                waiting.append((batch, pool.submit(self.map_batch, batch)))
                while len(waiting) > self.params.threads + 1 or (waiting and waiting[0][1].done()):
                    yield self._next(waiting)
            while waiting:
                yield self._next(waiting)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def _next(waiting: deque[tuple[ReadBatch, Future[tuple[BatchResult, Stats]]]]) -> Mapped:
        batch, future = waiting.popleft()
        return batch, *future.result()  # what a worker raised, MemoryError included, is raised here

    @property
    def _reference_arrays(self) -> sam.ReferenceArrays:
        reference = self.index.reference
        planes, starts, lengths = reference.planes, reference.starts, reference.lengths
        return sam.ReferenceArrays(planes, starts, lengths, *reference.exceptions)

    def header(
        self, read_group: str | None = None, command_line: str | None = None, sort: bool = False
    ) -> str:
        """SAM header of this reference."""
        reference = self.index.reference
        return sam.header(
            reference.names,
            reference.lengths.tolist(),
            reference.md5,
            read_group,
            __version__,
            command_line or " ".join(sys.argv),
            "coordinate" if sort else "unsorted",
        )

    def map(
        self, reads1: Iterable[Record], reads2: Iterable[Record] | None = None, interleaved: bool = False
    ) -> Iterator:
        """Map reads given as (name, sequence, quality or None).

        Parameters
        ----------
        reads1 : iterable
            Single reads; the first mates of pairs, whose second mates are `reads2`; or, `interleaved`, reads of
            which two neighbours of one name are a pair.
        reads2 : iterable, optional

        Yields
        ------
        pysam.AlignedSegment
            In the order of the reads, of a pair the first mate's before the second's; the primary alignment of
            each read first.

        Raises
        ------
        UsageError
            At once, when `reads2` is given and `interleaved`.
        InputError
            On iteration, by the rules for files: `reads.ReadBatch.from_records`, `from_pairs`.
        """
        if reads2 is not None and interleaved:
            raise UsageError("interleaved pairs come from one source of reads")
        size = self.params.batch_size
        return self._segments(batch_records(reads1, reads2, size, MAX_READ_LENGTH, interleaved=interleaved))

    def _segments(self, batches: Iterable[ReadBatch]) -> Iterator:
        builder = sam.record_builder(self.header(), self._reference_arrays)
        with closing(self._results(batches)) as results:
            for batch, result, _ in results:
                yield from sam.to_aligned_segments(batch, result.hits, result.summary, result.cigars, builder)

    def map_file(
        self,
        reads: Paths,
        output: str | Path | None = None,
        *,
        mates: Paths | None = None,
        interleaved: bool = False,
        read_group: str | None = None,
        command_line: str | None = None,
        progress: Callable[[Stats], None] | None = None,
        input_progress: InputProgress | None = None,
        **output_options: Any,
    ) -> Stats:
        """Map the reads of one or several files, one after the other, to an alignment file.

        Parameters
        ----------
        reads : path or list of paths
            FASTQ or FASTA, plain or compressed; "-" is standard input.
        mates : path or list of paths, optional
            Of the second mates, where `reads` holds the first of pairs: as many files, names in the same order.
        interleaved : bool
            Two neighbouring reads of one name are a pair, any other read is single.
        output : path or None
            SAM, BAM or CRAM by its extension; None or "-" is standard output.
        read_group : str, optional
            A whole @RG line.
        command_line : str, optional
            For the @PG line.
        progress : callable, optional
            Called with the running totals after every batch.
        input_progress : InputProgress, optional
            Told how far the files have been read, for who shows it.
        **output_options
            Of `sam.AlignmentWriter`.

        Returns
        -------
        Stats

        Raises
        ------
        UsageError
            Before any work: another number of `mates` than of `reads`, one file for both, or `mates` of interleaved
            reads.
        InputError, OutputError
            With one line that names file and record. No file is left under the name `output`.
        """
        batches = self._opened(reads, mates, interleaved, input_progress)
        sort = bool(output_options.get("sort"))
        header = self.header(read_group, command_line, sort)
        total = Stats()
        options = {"threads": self.params.threads, **output_options}
        with (
            sam.AlignmentWriter(output, header, self._reference_arrays, **options) as writer,
            closing(self._results(batches)) as results,
        ):
            for batch, result, stats in results:
                total += stats
                with total.timed("write"):
                    writer.write_batch(batch, result.hits, result.summary, result.cigars)
                if progress is not None:
                    progress(total)
        total.run = self.describe(command_line)
        if total.pairs:
            total.run["insert"] = self.insert.as_dict()
        total.run["extension"] = asdict(self.extender.counters)
        return total

    def _opened(
        self, reads: Paths, mates: Paths | None, interleaved: bool, progress: InputProgress | None
    ) -> Iterable[ReadBatch]:
        size = self.params.batch_size
        if mates is None:
            batches = open_reads(reads, size, MAX_READ_LENGTH, interleaved=interleaved, progress=progress)
        elif interleaved:
            raise UsageError("interleaved pairs have no files of second mates")
        else:
            batches = open_pairs(reads, mates, size, MAX_READ_LENGTH, progress=progress)
        return batches if progress is None else progress.marked(batches)

    def describe(self, command_line: str | None = None) -> dict:
        """What ran: version, command, device, parameters."""
        params = asdict(self.params)
        return {
            "version": __version__,
            "command": command_line or " ".join(sys.argv),
            "device": self.extender.describe(),
            "parameters": params,
        }
