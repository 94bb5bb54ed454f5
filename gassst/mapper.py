"""The mapper: what is known before the first read, and the ways to map one batch, records, or files."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import Any

from gassst.alt import map_batch_with_alt
from gassst.batch import count_places, map_batch
from gassst.errors import UsageError
from gassst.extension.base import Times
from gassst.extension.choose import FasterExtender, make_extender
from gassst.extension.cpu import CpuExtender
from gassst.io import records as sam
from gassst.io.distinct import check_distinct, paths_of, with_indexes
from gassst.io.encoding import Encoded
from gassst.io.input_progress import InputProgress
from gassst.io.read_batch import ReadBatch
from gassst.io.read_groups import ReadGroups, fields_of
from gassst.io.read_records import Record, batch_records
from gassst.io.read_source import ReadSource
from gassst.io.read_streams import Unparsed
from gassst.io.read_tags import NO_TAGS, TagSources
from gassst.io.reads import Paths
from gassst.io.reference import Reference
from gassst.io.shards import PartOfRun, Shard, key_of
from gassst.pairing.insert_size import LEARN_READS, InsertModel
from gassst.params import MapParams
from gassst.run import MappingRun, MappingWork
from gassst.search.arrays import BatchResult
from gassst.search.context import BatchContext
from gassst.search.filters import Cascade
from gassst.seeding.index_file import Integrity
from gassst.seeding.plan import SearchPlan
from gassst.seeding.seed_index import SeedIndex
from gassst.seeding.shards import IndexParts, WholeIndex
from gassst.stats import Stats
from gassst.version import __version__
from gassst.workers.base import Workers
from gassst.workers.layout import processes_for, why_threads
from gassst.workers.processes import ProcessWorkers
from gassst.workers.threads import ThreadWorkers

log = logging.getLogger("gassst")


@dataclass(frozen=True, init=False, eq=False)
class Mapper:
    """Maps reads to an indexed reference.

    A mapper never changes once it is made: any number of threads and of runs can share it.

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

    index: SeedIndex
    params: MapParams
    plan: SearchPlan
    cascade: Cascade
    insert: InsertModel
    """Of pairs, as given with the parameters; where none is given, a run learns its own."""
    parts: WholeIndex
    extender: Any

    def __init__(self, index: SeedIndex | str | os.PathLike[str], **params: Any):
        verified = MapParams(**params).verify()
        if not isinstance(index, SeedIndex):
            index = SeedIndex.open(index, parts=() if verified.servers else None)
        if verified.seed_length is not None and verified.seed_length < index.shortest_seed:
            raise UsageError(f"-w must be at least {index.shortest_seed} bases for this index in parts")
        insert, planes = verified.insert, index.reference.planes
        self._set(
            index=index,
            **_planned(verified, index),
            insert=InsertModel.given(verified.orientation, *insert)
            if insert
            else InsertModel.assumed(verified.orientation),
            parts=_looked_up(index, verified),
            extender=make_extender(planes, device=verified.device, threads=verified.threads),
        )

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _with(self, **fields: Any) -> Mapper:
        """A mapper with other values of these fields; it shares all else, the index and the device among it."""
        other = copy(self)
        other._set(**fields)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process opens the index and the device again. TypeError where the index has no file."""
        return _reopened, (self.index, self.params)

    def for_best_hits(self) -> Mapper:
        """This mapper without `all_hits`, in the mode of pairs: it looks for the best place of every read only."""
        return self._with(**_planned(replace(self.params.for_pairs(), all_hits=False), self.index))

    def map_batch(self, batch: ReadBatch, insert: InsertModel | None = None) -> tuple[BatchResult, Stats]:
        """Map one batch in the calling thread.

        Parameters
        ----------
        batch : ReadBatch
        insert : InsertModel, optional
            Of the pairs in the batch. None: the one given with the parameters, or one wide enough for any usual
            library.
        """
        stats = Stats()
        params = self.params if batch.mate is None else self.params.for_pairs()
        with stats.timed("pack"):
            packed = batch.pack(params.longest_read)
        context = BatchContext.of(self.index, self.parts, self.plan, self.cascade, params, packed)
        mapped = map_batch if self.index.reference.alt is None else map_batch_with_alt
        result = mapped(context, self.extender, stats, batch.mate, insert or self.insert)
        stats.too_long = batch.longer_than(params.longest_read)
        stats.bases += len(batch.bases) - int(packed.lengths.sum())
        stats.count_cycles(result.hits, result.cigars, self.index.reference.planes, packed)
        count_places(stats, result, self.index.reference, batch.mate, params.orientation)
        return result, stats

    @property
    def reference(self) -> Reference:
        """The reference of the index."""
        return self.index.reference

    @property
    def integrity(self) -> Integrity | None:
        """The check of the index that the first run makes."""
        return self.index.integrity

    @property
    def counters(self) -> Times:
        """What the extender has counted in this process up to now."""
        return replace(self.extender.counters)

    @property
    def _reference_arrays(self) -> sam.ReferenceArrays:
        return self.reference.arrays

    def header(
        self,
        read_group: str | Sequence[str] | None = None,
        command_line: str | None = None,
        sort: bool = False,
        comments: Sequence[str] = (),
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
            comments,
            reference.alt,
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
            On iteration, by the rules for files: `read_records.batch_of_records`, `batch_of_pairs`.
        """
        if reads2 is not None and interleaved:
            raise UsageError("interleaved pairs come from one source of reads")
        size = self.params.reads_per_batch()
        return self._segments(batch_records(reads1, reads2, size, interleaved=interleaved))

    def _segments(self, batches: Iterable[ReadBatch]) -> Iterator:
        builder = sam.record_builder(self.header(), self._reference_arrays)

        def segments_of(batch: ReadBatch, result: BatchResult) -> list:
            return sam.to_aligned_segments(batch, result.hits, result.summary, result.cigars, builder)

        with closing(MappingRun(MappingWork(self, segments_of)).results(batches)) as results:
            for segments, _ in results:
                yield from segments

    def map_file(
        self,
        reads: Paths,
        output: str | os.PathLike[str] | None = None,
        *,
        mates: Paths | None = None,
        interleaved: bool = False,
        read_group: str | Sequence[str] | ReadGroups = (),
        command_line: str | None = None,
        progress: Callable[[Stats], None] | None = None,
        input_progress: InputProgress | None = None,
        allow_truncated: bool = False,
        reference: str | None = None,
        tags: TagSources = NO_TAGS,
        shard: Shard | None = None,
        insert: InsertModel | None = None,
        **output_options: Any,
    ) -> Stats:
        """Map the reads of one or several files, one after the other, to an alignment file.

        Parameters
        ----------
        reads : path or list of paths
            FASTQ or FASTA, plain or compressed, or SAM, BAM and CRAM; "-" is standard input. Of an alignment file the
            primary records are mapped again, with their tags. Where the first one is of a pair, all are read as pairs.
        mates : path or list of paths, optional
            Of the second mates, where `reads` holds the first of pairs: as many files, names in the same order.
        interleaved : bool
            Two neighbouring reads of one name are a pair, any other read is single.
        output : path or None
            SAM, BAM or CRAM by its extension; None or "-" is standard output.
        read_group : str, list of str or ReadGroups
            A whole @RG line for all reads, or one for each of `reads`. Without any those of alignment files stay.
        command_line : str, optional
            For the @PG line.
        progress : callable, optional
            Called with the running totals after every batch.
        input_progress : InputProgress, optional
            Told how far the files have been read, for who shows it.
        tags : TagSources, optional
            What of the headers of the reads becomes tags; RG is taken over where there is no `read_group`.
        reference : str, optional
            FASTA to decode CRAM input with.
        allow_truncated : bool
            Take BGZF input without its end-of-file block, which may be cut between two blocks.
        shard : Shard, optional
            Map this part of the reads alone: the records that the whole run has for them. The header says which part
            it is, for `gassst.io.gathering`. Insert sizes are learned from the first reads of all.
        insert : InsertModel, optional
            Of the pairs, as `learn_insert` finds it.
        **output_options
            Of `sam.OutputOptions`.

        Returns
        -------
        Stats

        Raises
        ------
        UsageError
            Before any work: another number of `mates` than of `reads`, one file for both, or `mates` of interleaved
            reads; an output that is an input, or two outputs that are one file; duplicates that are to be marked in a
            part; insert sizes of another orientation.
        InputError, OutputError
            With one line that names file and record. No file is left under the name `output`.
        """
        start = time.monotonic()
        options = sam.OutputOptions(**{"threads": self.params.threads, **output_options})
        written = [*with_indexes(output), *options.unmapped.paths]
        check_distinct(written, [self.index.path, *paths_of(reads), *paths_of(mates or [])])
        source = ReadSource.of(
            reads,
            mates,
            interleaved=interleaved,
            read_group=read_group,
            allow_truncated=allow_truncated,
            reference=reference,
            tags=tags,
            threads=self.params.threads,
        )
        if insert is not None and insert.orientation != self.params.orientation:
            raise UsageError(
                f"insert sizes of mates that face {insert.orientation}, not {self.params.orientation}"
            )
        header = self.header(source.header_groups, command_line, options.sort, source.comments)
        parts = None
        if shard is not None:
            if options.duplicates is not None:
                raise UsageError("--shard: duplicates are marked over all parts, by gassst gather --markdup")
            parts = source.parts(shard.verify())
            run_key = key_of(*self._facts, header.partition("@PG")[0], source.facts, options.facts, insert)
            header = sam.with_note(header, str(PartOfRun(shard, run_key)))
            if input_progress is not None:
                input_progress.expect(sum(part.size for lane in parts for part in lane.slices))
        encoder = sam.RecordEncoder.of(output, header, self._reference_arrays, options)
        processes = self._processes(encoder)
        size = self.params.reads_per_batch(processes)
        batches = source.batches(size, self.params.threads, input_progress, parts)
        mapper = self if processes == 1 else self._for_processes()
        work = MappingWork(mapper, lambda batch, result: encoder.encode(batch, *result.rows))
        with ExitStack() as stack:
            stack.enter_context(closing(batches))
            workers = stack.enter_context(closing(_start(work, processes, self.params.threads)))
            if shard is not None and insert is None:
                insert = _insert_learned(MappingRun(work, workers), source)
            run = MappingRun(work, workers, insert)
            marked = batches if input_progress is None else input_progress.marked(batches)
            arrays = self._reference_arrays
            with sam.AlignmentWriter(output, header, arrays, options, workers, encoder) as writer:
                total = _written(run, marked, writer, progress)
            if writer.duplicates is not None:
                total.duplicates = writer.duplicates.reads
            for counters in workers.accounts():
                mapper.extender.add(counters)
        total.run = mapper.describe(command_line)
        total.run["effective"] = self.effective(total)
        total.run["reference"] = {"names": self.reference.names, "lengths": self.reference.lengths.tolist()}
        total.run["seconds"] = round(time.monotonic() - start, 3)
        total.run["read_groups"] = [fields_of(line) for line in header.splitlines() if line.startswith("@RG")]
        total.run["parameters"]["batch_size"] = size
        if total.pairs:
            total.run["insert"] = run.insert.as_dict()
        total.run["extension"] = asdict(mapper.counters)
        total.run["processes"] = processes
        if shard is not None:
            total.run["shard"] = str(shard)
        return total

    def learn_insert(self, source: ReadSource) -> InsertModel:
        """The insert sizes, and the rate of errors, that every run on these reads learns from the first of them.

        The model that was given with the parameters, where there is one. Raises InputError.
        """
        return _insert_learned(MappingRun(MappingWork(self, lambda *_: None)), source)

    @property
    def _facts(self) -> tuple[object, ...]:
        """What of this mapper records depend on."""
        params = replace(
            self.params,
            threads=1,
            processes=None,
            device=None,
            batch_size=None,
            memory=None,
            servers=(),
            key=None,
        )
        return __version__, self.index.k, tuple(self.reference.md5), params

    def _processes(self, encoder: sam.RecordEncoder) -> int:
        """How many processes map: those asked for, or as many as suit the threads, if nothing speaks against it."""
        params = self.params
        processes = processes_for(params.threads, params.processes)
        if processes == 1:
            return 1
        why = ""
        if params.memory is not None:
            why = "--memory bounds what one process keeps of the index"
        elif not isinstance(self.extender, (CpuExtender, FasterExtender)):
            why = "an OpenCL device has one owner"
        elif encoder.file_format == "cram" and not encoder.options.sort:
            why = "htslib makes CRAM from what is in its own process"
        elif params.processes is None:
            why = why_threads()
        if why:
            log.debug("%d threads of one process: %s", params.threads, why)
        return 1 if why else processes

    def _for_processes(self) -> Mapper:
        """This mapper with compiled code alone: one device would not keep up with several processes."""
        extender = self.extender
        return self._with(extender=extender.compiled) if isinstance(extender, FasterExtender) else self

    def effective(self, stats: Stats) -> dict[str, Any]:
        """What the parameters came to in a run: what `None` among them has meant for a read of mean length."""
        length = round(stats.bases / stats.reads) if stats.reads else 0
        plan = self.plan.plan(min(length, self.params.longest_read))
        return {
            "mode": (self.params.for_pairs() if stats.pairs else self.params).mode or "global",
            "read_length": length,
            "errors": plan.errors,
            "gaps": plan.gaps,
            "seeds": [f"{stage.looked_up} of {stage.length} bases" for stage in plan.stages],
        }

    def describe(self, command_line: str | None = None) -> dict:
        """What ran: version, command, device, parameters."""
        params = asdict(replace(self.params, batch_size=self.params.reads_per_batch()))
        return {
            "version": __version__,
            "command": command_line or " ".join(sys.argv),
            "device": self.extender.describe(),
            "parameters": params,
        }


def _start(work: MappingWork[Any], processes: int, threads: int) -> Workers:
    """Workers of so many processes; where the system grants none, threads do the work."""
    if processes > 1:
        try:
            workers = ProcessWorkers(work, processes, threads)
        except OSError as error:
            log.debug("no worker processes: %s", error.strerror or error)
        else:
            log.debug("%d worker processes of %d threads in all", processes, threads)
            return workers
    return ThreadWorkers(work, threads)


def _insert_learned(run: MappingRun[Any], source: ReadSource) -> InsertModel:
    with closing(source.batches(LEARN_READS)) as batches:
        return run.learn_insert(batches)


def _written(
    run: MappingRun[Encoded],
    batches: Iterable[Unparsed],
    writer: sam.AlignmentWriter,
    progress: Callable[[Stats], None] | None,
) -> Stats:
    """What a run made of the batches, once it is written."""
    total = Stats()
    with closing(run.results(batches)) as results:
        for encoded, stats in results:
            total += stats
            with total.timed("write"):
                writer.write(encoded)
            if progress is not None:
                progress(total)
    return total


def _looked_up(index: SeedIndex, params: MapParams) -> WholeIndex:
    """The index as a run looks seeds up in it."""
    if params.servers:
        from gassst.seeding.lookup_messages import read_key  # sockets, which few runs need
        from gassst.seeding.remote_parts import RemoteParts

        if not index.part_rows:
            raise UsageError(
                f"--servers: {index.path or 'the index'} is in one piece: `gassst index --parts`"
            )
        return RemoteParts(index, params.servers, read_key(params.key or ""))
    if len(index.parts) < len(index.part_rows):
        raise UsageError(f"{index.path}: only some of its parts are open")
    if index.part_rows or params.memory is not None:
        return IndexParts(index, params.memory)
    return WholeIndex(index)


def _reopened(index: SeedIndex, params: MapParams) -> Mapper:
    return Mapper(index, **vars(params))


def _planned(params: MapParams, index: SeedIndex) -> dict[str, Any]:
    """The fields of a mapper that follow from its parameters."""
    plan = SearchPlan(params, index.plan_k, index.reference.unmasked)
    return {"params": params, "plan": plan, "cascade": Cascade.of_run(params, plan)}
