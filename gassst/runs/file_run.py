"""One run over files: it owns what is read, the device, the workers, what is written, and the statistics."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from gassst.errors import UsageError
from gassst.files.destination import Destination
from gassst.files.inflate import Inflaters
from gassst.files.input_progress import InputProgress
from gassst.files.sam_header import fields_of, lines_of
from gassst.files.slices import LaneShard
from gassst.frozen import NamedTuple, TypedDict
from gassst.mapping.batch_mapper import BatchMapper
from gassst.model.options import deciding
from gassst.model.params import STRETCH
from gassst.model.read_batch import ReadBatch
from gassst.model.sam_flags import SECONDARY, SUPPLEMENTARY, UNMAPPED
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.reads.batch_sizes import ALONE, HEAD, Neighbours
from gassst.reads.input import ClosableBatches, Paths
from gassst.reads.shards import Shard, ShardOfRun, key_of
from gassst.reads.source import ReadSource, SourceOptions
from gassst.records import writer as sam
from gassst.records.coverage import Covered
from gassst.records.cram import CramOptions, warn_of_packed
from gassst.records.encoding import Encoded
from gassst.records.options import OutputChoices, OutputOptions
from gassst.records.spans import reference_spans
from gassst.runs.run import MappingRun, MappingWork, most_waiting
from gassst.search.arrays import BatchResult
from gassst.version import __version__
from gassst.workers.threads import Workers

log = logging.getLogger("gassst")

MappedBatch = Future[tuple[Encoded, Stats]]
Watch = Callable[[], AbstractContextManager[Callable[[Stats], None] | None]]


class RunOptions(TypedDict, total=False):
    """The options of a run beside those of its source and its output. `Mapper.map_file` says what each means."""

    command_line: str | None
    made_from: str
    header_lines: tuple[str, ...]
    details: bool
    shard: Shard | None
    insert: InsertModel | None
    head: InsertModel | None
    input_progress: InputProgress | None


class FileOptions(SourceOptions, OutputChoices, RunOptions, total=False):
    """All arguments of `Mapper.map_file` by name: of the source, of the output, and of the run."""

    mates: Paths | None


class RunWorkers(NamedTuple):
    """Who maps the batches of runs that need the same.

    Attributes
    ----------
    work : MappingWork
        Their calls.
    workers : Workers
    """

    work: MappingWork
    workers: Workers

    @property
    def most_waiting(self) -> int:
        """As `run.most_waiting`."""
        return most_waiting(self.workers, self.work.mapper)

    def end_run(self) -> None:
        """A run is over. Raises DeviceError where a device that was named cannot be had, or has failed."""
        device = self.work.mapper.on_device
        if device is not None:
            device.end_run()


class FileRun:
    """Maps the reads of a source to an alignment file, once. `file_runs.map_all` says in which order.

    Parameters
    ----------
    mapper : BatchMapper
    source : ReadSource
    output : path or None
    options : OutputOptions
    command_line, made_from, header_lines, details, shard, insert, head, input_progress
        As of `Mapper.map_file`.
    watch : callable
        Makes the context in which the run is written. That gives what is called with the running totals after every
        batch, or None.
    neighbours : Neighbours
        Which other runs go with this one to `file_runs.map_all`.

    Raises
    ------
    UsageError, InputError, DeviceError
        What can be known before the first read is mapped. Nothing has been written then.
    """

    def __init__(
        self,
        mapper: BatchMapper,
        source: ReadSource,
        output: str | os.PathLike[str] | None,
        options: OutputOptions,
        *,
        command_line: str | None = None,
        made_from: str = "",
        header_lines: tuple[str, ...] = (),
        details: bool = True,
        shard: Shard | None = None,
        insert: InsertModel | None = None,
        head: InsertModel | None = None,
        input_progress: InputProgress | None = None,
        watch: Watch = nullcontext,
        neighbours: Neighbours = ALONE,
    ):
        self._began = time.monotonic()
        if insert is not None and insert.orientation not in mapper.params.orientations:
            raise UsageError(
                f"the insert sizes are of orientation {insert.orientation}, not {mapper.params.orientation}"
            )
        self._source, self._output, self._options = source, output, options
        self._command_line, self._shard, self._insert, self._head = command_line, shard, insert, head
        self._input_progress, self._watch, self._neighbours = input_progress, watch, neighbours
        # Parts of a run have one header, wherever their machines keep the FASTA.
        is_cram = sam.output_format(Destination(output), options.format) == "cram" and shard is None
        fasta = mapper.index.fasta if is_cram else None
        if fasta is not None:
            warn_of_packed(fasta, CramOptions(tuple(options.format_options)))
        self._header = sam.header_of(
            mapper.reference,
            source.header_groups,
            command_line,
            options.sort,
            source.comments,
            fasta,
            made_from,
        )
        self._header = self._header.with_lines(header_lines)
        self._batches: ClosableBatches | None = None
        self._has_begun = False
        self._parts: list[LaneShard] | None = None
        if shard is not None:
            self._parts = self._parts_of(shard)
            note = str(ShardOfRun(shard, self._key(mapper)))
            self._header = self._header._replace(after=sam.with_note(self._header.after, note))
        self._encoder = sam.RecordEncoder.of(output, self._header, mapper.reference.arrays, options)
        device = None if mapper.on_device is None else mapper.on_device.for_run()
        mapper = replace(mapper, on_device=device)
        self._batch_size = mapper.params.reads_per_batch(device is not None)
        self._mapper = mapper if details else replace(mapper, counts_details=False)

    def _parts_of(self, shard: Shard) -> list[LaneShard]:
        """What the shard has of each lane."""
        if self._options.coverage_path is not None:
            raise UsageError("--coverage counts all reads: it does not go with --shard")
        if self._options.duplicates is not None:
            raise UsageError("--shard: duplicates are marked over all shards, by `gassst gather --markdup`")
        lanes = self._source.lane_shards(shard.verify(), None if self._insert is not None else STRETCH)
        if self._input_progress is not None:
            self._input_progress.expect(sum(each.size for lane in lanes for each in lane.slices))
        return lanes

    def _key(self, mapper: BatchMapper) -> str:
        """The same for all shards of one run, and for no other: of what their records depend on."""
        before, contigs, after = self._header
        mapped = __version__, mapper.index.k, contigs.digest, deciding(mapper.params)
        return key_of(
            *mapped, before, after.partition("@PG")[0], self._source.facts, self._options.facts, self._insert
        )

    @property
    def needs(self) -> tuple[object, ...]:
        """What a crew must have for this run: runs that tell something equal can share one."""
        mapper = self._mapper
        return mapper.index, mapper.params, mapper.counts_details, mapper.on_device

    @contextmanager
    def crew(self) -> Iterator[RunWorkers]:
        """Who maps this run, and those after it that need the same."""
        work, device, threads = MappingWork(self._mapper), self._mapper.on_device, self._mapper.params.threads
        if device is not None:
            threads += device.more_threads
        with closing(Workers(threads)) as workers:
            yield RunWorkers(work, workers)

    def open(self, crew: RunWorkers) -> None:
        """Open the reads. `close` must follow. Raises InputError."""
        self._batches = self._opened(crew)
        finish = partial(records_of, self._encoder)
        self._run = MappingRun(crew.work, finish, crew.workers, self._insert, self._head_for(crew))

    def begin(self, crew: RunWorkers) -> None:
        """Read the first reads, and have insert sizes learned from them. Raises InputError."""
        assert self._batches is not None
        # Who shows how far the run has come is told of every batch.
        progress, batches = self._input_progress, self._batches
        self._run.begin(batches if progress is None else progress.marked(batches), crew.workers)
        self._has_begun = True

    def close(self) -> None:
        """Close the reads."""
        if self._batches is not None:
            self._batches.close()

    def _opened(self, crew: RunWorkers) -> ClosableBatches:
        """What the run reads. Raises InputError."""
        inflaters = Inflaters(crew.workers) if crew.workers.threads > 1 else None
        size, threads = self._batch_size, self._mapper.params.threads
        progress, neighbours = self._input_progress, self._neighbours
        return self._source.batches(size, threads, progress, self._parts, inflaters, neighbours)

    def calls(self, crew: RunWorkers) -> Generator[MappedBatch, None, None]:
        """Has the batches mapped, each when the next call is asked for: `write` makes the file of them.

        Begins, unless the run has begun. Raises InputError.
        """
        if not self._has_begun:
            self.begin(crew)
        yield from self._run.calls(crew.workers)

    def write(self, crew: RunWorkers, calls: Iterable[MappedBatch]) -> Stats:
        """Write what becomes of all the `calls` of this run, in their order.

        Raises as `Mapper.map_file`, also what `calls` raises; then no file is left.
        """
        self._began = time.monotonic()
        self._date = time.strftime("%Y-%m-%d %H:%M:%S %z")
        total, device, inputs = Stats(), self._mapper.on_device, self._input_progress
        with self._watch() as progress, self._writer(crew.workers) as writer:
            for call in calls:
                encoded, stats = self._run.finished(call)
                total += stats
                with total.timed("write"):
                    writer.write(encoded)
                if progress is not None:
                    progress(total)
                if device is not None:
                    share = None if inputs is None else inputs.share_done(total.reads)
                    device.note_done(total.reads, share)
            self._run.end()
            crew.end_run()
        total.nanoseconds["write"] += writer.nanoseconds_behind
        if writer.duplicates is not None:
            total.duplicates = writer.duplicates.reads
        total.run = self._facts(total, crew.work.mapper, self._run.insert)
        return total

    def _head_for(self, crew: RunWorkers) -> InsertModel | None:
        """What a shard is to know of the first reads of all, if the library is not given."""
        if self._shard is None or self._insert is not None or self._head is not None:
            return self._head
        return insert_learned(MappingRun(crew.work, lambda *_: None, crew.workers), self._source)

    def _writer(self, workers: Workers) -> sam.AlignmentWriter:
        arrays = self._mapper.reference.arrays
        # With few workers the main thread keeps up with them, and a thread more would take a core from them.
        ahead = self._mapper.params.threads // 4
        return sam.AlignmentWriter(
            self._output, self._header, arrays, self._options, workers, self._encoder, ahead
        )

    def _facts(self, total: Stats, mapper: BatchMapper, insert: InsertModel) -> dict[str, Any]:
        """What ran and what it came to, for `Stats.run`; `mapper` is that of the workers."""
        facts = mapper.describe(self._command_line)
        facts["effective"] = _effective(mapper, total)
        reference = mapper.reference
        facts["reference"] = {"names": reference.contigs.names, "lengths": reference.lengths}
        facts["index"] = mapper.index.path
        facts["host"] = os.uname().nodename
        facts["date"] = self._date
        facts["seconds"] = round(time.monotonic() - self._began, 3)
        facts["read_groups"] = [fields_of(line) for line in lines_of(self._header.others, "@RG")]
        facts["libraries"] = self._run.libraries.facts()
        facts["parameters"]["batch_size"] = self._batch_size
        if total.pairs or insert.pairs:  # a shard may have no read
            facts["insert"] = insert.as_dict()
        # Kernels are compiled for a device, not for a batch.
        compiled = 0 if mapper.on_device is None else mapper.on_device.compiled
        facts["extension"] = asdict(total.extension) | {"compile": compiled}
        if self._shard is not None:
            facts["shard"] = str(self._shard)
        return facts


def insert_learned(run: MappingRun[Any], source: ReadSource) -> InsertModel:
    """The insert sizes that the run learns from the first reads of the source. Raises InputError."""
    with closing(source.batches(HEAD)) as batches:
        return run.learn_insert(batches)


def records_of(
    encoder: sam.RecordEncoder, mapper: BatchMapper, batch: ReadBatch, result: BatchResult
) -> Encoded:
    """What the workers make of a batch: the bytes of its records."""
    encoded = encoder.encode(batch, *result.rows)
    if encoder.options.coverage_path is None:
        return encoded
    return replace(encoded, covered=_covered(result))


def _covered(result: BatchResult) -> Covered:
    """What the alignments of a batch cover."""
    hits = result.hits
    rows = hits["flag"] & (UNMAPPED | SECONDARY) == 0
    span = reference_spans(hits, result.cigars)[rows]
    start, is_primary = hits["position"][rows].astype(np.int64), hits["flag"][rows] & SUPPLEMENTARY == 0
    is_sure = hits["mapq"][rows] > 0
    return Covered(start, start + span, is_primary & is_sure, is_primary & ~is_sure)


def _effective(mapper: BatchMapper, stats: Stats) -> dict[str, Any]:
    """What the parameters came to in a run: what `None` among them has meant for a read of mean length."""
    params = mapper.params.for_pairs() if stats.pairs else mapper.params.for_single()
    length = round(stats.bases / stats.reads) if stats.reads else 0
    plan = mapper.plan.plan(min(length, params.longest_read))
    return {
        "mode": params.mode,
        "read_length": length,
        "errors": plan.errors,
        "gaps": plan.gaps,
        "seeds": [f"{stage.looked_up} of {stage.length} bases" for stage in plan.stages],
    }
