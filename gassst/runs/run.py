"""One run of a mapper over one input: calls for workers, the order of batches, what it learns of the library."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Generic, Protocol, TypeVar

import numpy as np

from gassst.mapping.batch_mapper import BatchMapper
from gassst.model.params import MAX_READ_LENGTH, STRETCH
from gassst.model.read_batch import ReadBatch
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.reads.batch_sizes import HEAD
from gassst.reads.doubts import doubts_of
from gassst.reads.streams import Unparsed
from gassst.reads.stretches import Stretches, between_templates, spread, whole_stretches
from gassst.runs.circular import over_origin
from gassst.runs.libraries import (
    PROBED,
    Libraries,
    Library,
    PairSample,
    Probe,
    joined_results,
    library_of,
    own_library,
    pair_sample,
)
from gassst.search.arrays import BatchResult
from gassst.workers.threads import Workers

log = logging.getLogger("gassst")
WARNINGS = {  # by the counter of `Stats` that a run warns of at its end
    "renamed": "%d reads have names that SAM cannot hold: cut at 254 characters, with _ for all but printable ASCII",
    "left_out": "%d fields of comments and names are no SAM tags: left out",
    "too_long": f"%d reads are longer than those that are mapped (up to {MAX_READ_LENGTH:,} bases, fewer with "
    "--match above 2): written as unmapped",
}
# Reads that one worker maps at once while insert sizes are learned, at least. From 256 to 4,096 the cost is the
# same in one thread (lab/constants.md); fewer reads are more parts for the others.
LEARN_PART = 256
Finished = TypeVar("Finished")
Finish = Callable[[BatchMapper, ReadBatch, BatchResult], Finished]


class Call(Protocol):
    """What may still be under way, as a `Future`."""

    def done(self) -> bool: ...


SomeCall = TypeVar("SomeCall", bound=Call)


def in_order(calls: Iterable[SomeCall], most: int) -> Iterator[SomeCall]:
    """The calls in their order, each once it is done, or once more than `most` have been made that nobody took.

    Whoever waits for the first reads of a stream gets them before more are read: the first call that is not done at
    once is waited for. An exception of `calls` comes in its turn, after all calls before it.
    """
    waiting: deque[SomeCall] = deque()
    error, may_wait = None, 0
    try:
        for call in calls:
            waiting.append(call)
            while waiting and (waiting[0].done() or len(waiting) > may_wait):
                may_wait = may_wait if waiting[0].done() else most
                yield waiting.popleft()
    except Exception as raised:
        error = raised
    while waiting:
        yield waiting.popleft()
    if error is not None:
        raise error


def most_waiting(workers: Workers, mapper: BatchMapper) -> int:
    """How many calls of a run may be under way or wait to be taken.

    One batch that takes long must not leave the other workers without work; each that waits takes memory. Beside a
    device, which takes a batch in a small part of the time that the host takes for one, as many may wait as are mapped.
    """
    return workers.threads + (workers.threads // 4 + 2 if mapper.on_device is None else 2 * workers.threads)


class MappingWork:
    """The calls that the workers of a run make. Runs of one mapper can share it.

    Parameters
    ----------
    mapper : BatchMapper
    """

    def __init__(self, mapper: BatchMapper):
        self.mapper = mapper
        # Whether the batch before had stretches unlike the first library, in any thread.
        self._changes = False

    def map(
        self, batch: ReadBatch | Unparsed, insert: InsertModel, finish: Finish[Finished]
    ) -> tuple[Finished, Stats]:
        """What becomes of a batch, and its counters. `finish` makes it of the mapper, the batch and its result."""
        stats = Stats()
        stretches = batch if isinstance(batch, Stretches) else None
        with stats.timed("parse"):
            batch = batch.parsed()
        stats.renamed, stats.left_out, stats.doubts = batch.renamed, batch.left_out, doubts_of(batch)
        judged = [] if stretches is None else stretches.judged(batch)
        # What is unlike the first library is mapped once more. Where that was so before, some reads are mapped first.
        found = None if self._changes else self.mapper.map_batch(batch, insert)
        parts = self._libraries(batch, judged, insert, found and found[0])
        self._changes = any(library is not insert for *_, library in parts)
        if self._changes:
            found = None
        results = []
        for start, stop, library in parts:
            part = batch if len(parts) == 1 else batch.part(start, stop)
            result, counted = found or self.mapper.map_batch(part, library)
            results.append(over_origin(self.mapper, part, result, library, counted))
            stats += counted
            stats.libraries.append(Library(library, stop - start))
        result = joined_results(results)
        stats.trimmed = batch.trimmed
        stats.count_copies(batch.copies, result.summary)
        with stats.timed("encode"):
            finished = finish(self.mapper, batch, result)
        return finished, stats

    def _libraries(
        self, batch: ReadBatch, judged: list[tuple[int, int]], first: InsertModel, found: BatchResult | None
    ) -> list[tuple[int, int, InsertModel]]:
        """The parts of a batch by the library that each is judged by, `first` where it is not unlike that.

        `judged`: where stretches begin and end. `found`: what the first library makes of the batch, if that is known.
        """
        unlike = self._unlike(batch, judged, first, found) if judged else []
        if not unlike:
            return [(0, len(batch), first)]
        parts = [(0, judged[0][0], first)] if judged[0][0] else []
        for start, stop in judged:
            library = self._own(batch, start, stop, first) if start in unlike else first
            if parts and parts[-1][2] is library:
                parts[-1] = parts[-1][0], stop, library
            else:
                parts.append((start, stop, library))
        return parts

    def _unlike(
        self, batch: ReadBatch, judged: list[tuple[int, int]], first: InsertModel, found: BatchResult | None
    ) -> list[int]:
        """Where the stretches begin that seem to be of another library."""
        probed, rows, numbers = spread(batch, judged, PROBED)
        if found is None:
            rows, found = np.arange(len(rows)), self.mapper.map_batch(probed, first)[0]
        mate = np.zeros(len(rows), np.uint8) if probed.mate is None else probed.mate
        of_mapper = self.mapper.params.orientations, self.mapper.reference.starts
        probes = Probe.of(found, rows, mate, numbers, *of_mapper)
        judges_inserts = self.mapper.params.insert is None
        stretches = zip(judged, probes, strict=True)
        return [start for (start, _), probe in stretches if probe.is_unlike(first, judges_inserts)]

    def _own(self, batch: ReadBatch, start: int, stop: int, first: InsertModel) -> InsertModel:
        """The library of one stretch."""
        reads, *_ = spread(batch, [(start, stop)], HEAD)
        samples, counts = self.sample(reads)
        learned = library_of(self.mapper.params.orientations, [samples], [counts])
        length = len(reads.bases) // max(len(reads), 1)
        return own_library(learned, first, length, self.mapper.params.insert is None)

    def sample(self, batch: ReadBatch) -> tuple[list[PairSample], Stats]:
        """The reads of a batch that are fit to learn from, by `MapParams.orientations`: each is mapped on its own to
        its best place. And the counts of single reads."""
        mate = np.zeros(len(batch), np.uint8) if batch.mate is None else batch.mate
        mapper = self._for_best_hits[int(batch.mate is None)]
        result, counted = mapper.map_batch(batch)
        of_batch = mate, result.hits, result.cigars, self.mapper.reference.starts
        return [pair_sample(each, *of_batch) for each in self.mapper.params.orientations], counted

    @cached_property
    def _for_best_hits(self) -> tuple[BatchMapper, BatchMapper]:
        """The mappers that sample mates and single reads."""
        return self.mapper.for_best_hits(are_mates=True), self.mapper.for_best_hits(are_mates=False)


class MappingRun(Generic[Finished]):
    """Has batches mapped by workers and yields what becomes of them in their order.

    Everything that changes while reads are mapped belongs to the run, so one `Mapper` can serve several runs at
    once, in any number of threads.

    Parameters
    ----------
    work : MappingWork
    finish : callable
        Makes of the mapper, a batch and its result what the run yields.
    workers : Workers, optional
        Of this work, ended by whoever has made them. None: threads of this process, ended with the run.
    insert : InsertModel, optional
        Of the library, where it is known already.
    head : InsertModel, optional
        Of the first reads of an input of which this is a shard: stretches are judged by it.

    Attributes
    ----------
    insert : InsertModel
        Of the library: given, or learned from the first reads, or assumed until then.
    libraries : Libraries
        That one, and those of stretches that are unlike it.
    """

    def __init__(
        self,
        work: MappingWork,
        finish: Finish[Finished],
        workers: Workers | None = None,
        insert: InsertModel | None = None,
        head: InsertModel | None = None,
    ):
        self.mapper = work.mapper
        self.insert: InsertModel = insert or head or self.mapper.insert
        self._is_known, self._has_head = insert is not None, head is not None
        self._work, self._finish, self._workers = work, finish, workers
        self._threads = self.mapper.params.threads
        self._odd: Counter[str] = Counter()
        self._is_insert_new = False
        self.libraries = Libraries()
        self._batches: Iterable[ReadBatch | Unparsed] = ()
        self._sampled: list[Future[tuple[list[PairSample], Stats]]] = []  # of which is about to be learned

    def results(
        self, batches: Iterable[ReadBatch | Unparsed]
    ) -> Generator[tuple[Finished, Stats], None, None]:
        """What `finish` made of every batch, and its counters, in the order of the batches.

        Closing the generator drops the batches that have not begun, without waiting for those that have. Raises
        IndexFormatError, at the latest after the last batch, where the file of the index is damaged.
        """
        with ExitStack() as stack:
            workers = self._workers or stack.enter_context(closing(Workers(self._threads)))
            self.begin(batches, workers)
            calls = stack.enter_context(closing(self.calls(workers)))
            for call in in_order(calls, most_waiting(workers, self.mapper)):
                yield self.finished(call)
            self.end()

    def begin(self, batches: Iterable[ReadBatch | Unparsed], workers: Workers) -> None:
        """Read the first reads, of which the workers learn the library. `calls` must follow."""
        if self.mapper.integrity is not None:
            self.mapper.integrity.start()
        self._batches = self._read_head(batches, workers)

    def calls(self, workers: Workers) -> Generator[Future[tuple[Finished, Stats]], None, None]:
        """Has the batches mapped, each when the next call is asked for. `finished` and `end` must follow."""
        self._learn()
        batches = self._batches
        for batch in batches if self._is_known else whole_stretches(batches, STRETCH, HEAD):
            yield workers.submit(self._work.map, batch, self.insert, self._finish)

    def finished(self, call: Future[tuple[Finished, Stats]]) -> tuple[Finished, Stats]:
        """What a worker made of a batch; raises what it raised, MemoryError included."""
        finished, stats = call.result()
        self._tell_insert()
        for doubt in stats.doubts:
            log.warning(doubt)
        self.libraries.add(
            stats.libraries, self.insert, stats.bases // max(stats.reads, 1), not self._is_known
        )
        self._odd.update({name: getattr(stats, name) for name in WARNINGS})
        return finished, stats

    def end(self) -> None:
        """After the last batch: warn of odd reads, and hear of the check of the index. Raises IndexFormatError."""
        for counter, text in WARNINGS.items():
            if self._odd[counter]:
                log.warning(text, self._odd[counter])
        if self.mapper.integrity is not None:
            self.mapper.integrity.settle()

    def _tell_insert(self) -> None:
        """Once, when the first batch is done: the sample before it has been told of by then."""
        if self._is_insert_new:
            self._is_insert_new = False
            log.log(logging.INFO if self.insert.pairs else logging.WARNING, "insert sizes: %s", self.insert)

    def learn_insert(self, batches: Iterable[ReadBatch | Unparsed]) -> InsertModel:
        """`insert`, once it is learned from the first of the batches, and nothing else done."""
        with ExitStack() as stack:
            workers = self._workers or stack.enter_context(closing(Workers(self._threads)))
            self._read_head(batches, workers)
            self._learn()
        self._tell_insert()
        return self.insert

    def _read_head(
        self, batches: Iterable[ReadBatch | Unparsed], workers: Workers
    ) -> Iterator[ReadBatch | Unparsed]:
        """Returns the same batches; workers map the first reads, if there is a library to learn.

        Always the same number of reads is learned from, so results do not depend on the size of the batches.
        """
        if self._is_known or self._has_head:
            return iter(batches)
        batches = iter(batches)
        head: list[ReadBatch] = []
        while sum(map(len, head)) < HEAD and (batch := next(batches, None)) is not None:
            head.append(batch.parsed())
        size = max(LEARN_PART, -(-HEAD // self._threads))
        parts = list(_parts(head, HEAD, size))
        self._sampled = [workers.submit(self._work.sample, part) for part in parts]
        self._is_insert_new = any(part.mate is not None for part in parts)
        return chain(head, batches)

    def _learn(self) -> None:
        """What the first reads show of the library. Insert sizes that were given stay."""
        if self._sampled:
            samples, counts = zip(*(future.result() for future in self._sampled), strict=True)
            learned = library_of(self.mapper.params.orientations, samples, counts)
            if self.mapper.params.insert is not None:
                learned, self._is_insert_new = replace(self.insert, errors=learned.errors), False
            self.insert, self._sampled = learned, []


def _parts(head: list[ReadBatch], limit: int, most: int) -> Iterator[ReadBatch]:
    """The first `limit` reads, or one more, in pieces of `most`, or one more: mates are never parted."""
    for batch in head:
        size = between_templates(batch, min(limit, len(batch)))
        limit = max(limit - size, 0)
        start = 0
        while start < size:
            stop = between_templates(batch, min(start + most, size))
            yield batch.part(start, stop)
            start = stop
