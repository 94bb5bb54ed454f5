"""The mapper: what is known before the first read, and the ways to map one batch, records, or files."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from gassst.batch import count_places, map_batch
from gassst.errors import ParameterError, UsageError
from gassst.extension.base import Times
from gassst.extension.choose import Extender, FasterExtender, LateExtender, make_extender
from gassst.extension.cpu import CpuExtender
from gassst.extension.devices import is_late, is_named
from gassst.hits import Hit, HitArrays, arrays_of, hits_of
from gassst.io import records as sam
from gassst.io.distinct import check_distinct, paths_of, with_indexes
from gassst.io.encoding import Encoded
from gassst.io.inflate import Inflaters
from gassst.io.input_progress import InputProgress
from gassst.io.read_batch import ReadBatch
from gassst.io.read_groups import ReadGroups, fields_of
from gassst.io.read_records import batch_of_pairs, batch_of_records, batch_records
from gassst.io.read_shapes import Read, Text, parts_of
from gassst.io.read_source import ReadSource
from gassst.io.read_streams import Unparsed
from gassst.io.read_tags import NO_TAGS, TagSources
from gassst.io.reads import Paths
from gassst.io.records import SORT_MEMORY
from gassst.io.reference import Reference
from gassst.io.shards import PartOfRun, Shard, key_of
from gassst.one_read import OneReadSearch
from gassst.pairing.insert_size import LEARN_READS, InsertModel
from gassst.params import DEFAULT_FILTERS, DEFAULT_SCORING, MapParams, Scoring
from gassst.run import MappingRun, MappingWork
from gassst.search.arrays import BatchResult
from gassst.search.context import BatchContext
from gassst.search.filters import Cascade
from gassst.seeding.index_file import Integrity
from gassst.seeding.lookup import IndexParts, WholeIndex
from gassst.seeding.plan import SearchPlan
from gassst.seeding.seed_index import SeedIndex
from gassst.stats import Stats
from gassst.version import __version__
from gassst.workers.base import Workers
from gassst.workers.layout import processes_for, why_threads
from gassst.workers.threads import ThreadWorkers

if TYPE_CHECKING:
    from pysam import AlignedSegment

    from gassst.io.duplicates import DuplicateRules

log = logging.getLogger("gassst")


@dataclass(frozen=True, init=False, eq=False)
class Mapper:
    """Maps reads to an indexed reference.

    A mapper never changes once it is made: any number of threads and of runs can share it, before and after a fork. It
    pickles where its index has a file: another process opens that file. As a context manager it is closed at the end.

    Parameters
    ----------
    index : SeedIndex or path
        An index, or the file of one.
    seed_length, min_identity, gaps, sensitivity, max_hits, all_hits, mode, scoring
        What is looked for: see `params.MapParams`.
    pairing, mate_rescue, insert, orientation, five_prime, alt_aware
        Pairs, split reads and ALT contigs, there too.
    filters : tuple of str
        Of the candidates, there too.
    threads : int
        That `map`, `map_arrays` and `map_file` work with. `map_one` and `map_pair` work in the calling thread.
    processes, batch_size, memory, device
        How `map_file` shares out its work, how many reads are worked on at once, bytes that the index may keep
        resident, and the OpenCL device; there too.

    Raises
    ------
    ParameterError
        A parameter out of its range.
    UsageError
        An unknown filter.
    IndexFormatError
        The file is no usable index.
    DeviceError
        A device was asked for by name that cannot be used.

    Examples
    --------
    >>> with gassst.Mapper("ref.gsi", threads=2) as mapper:
    ...     for hit in mapper.map_one("ACGT..."):
    ...         print(hit.contig, hit.start, hit.end, hit.strand, hit.mapq, hit.cigar)
    ...     for segment in mapper.map([("read1", "ACGT...")]):
    ...         print(segment.reference_name, segment.reference_start, segment.cigarstring)
    """

    index: SeedIndex
    params: MapParams
    plan: SearchPlan
    cascade: Cascade
    insert: InsertModel
    """Of pairs, as given with the parameters; where none is given, a run learns its own."""
    parts: WholeIndex
    extender: Any
    on_device: Any
    """The search of whole batches on a GPU that was asked for (`search.device.DeviceSearch`), or None."""
    one_read: OneReadSearch | None
    """For one read at a time; None where a batch is needed."""
    counts_details: bool
    """Whether `map_batch` counts what statistics alone show: errors by cycle, coverage and template lengths."""
    started: Any
    """A process that looks for the device already (`search.device_process.DeviceProcess`), or None."""
    _owns_index: bool

    def __init__(
        self,
        index: SeedIndex | str | os.PathLike[str],
        *,
        seed_length: int | None = None,
        min_identity: float | None = None,
        gaps: int | None = None,
        sensitivity: int = 2,
        max_hits: int = 1,
        all_hits: bool = False,
        threads: int = 2,
        processes: int | None = None,
        device: str | None = None,
        batch_size: int | None = None,
        memory: int | None = None,
        servers: tuple[str, ...] = (),
        key: str | None = None,
        filters: tuple[str, ...] = DEFAULT_FILTERS,
        mode: str | None = None,
        scoring: Scoring = DEFAULT_SCORING,
        alt_aware: bool = True,
        pairing: bool = True,
        mate_rescue: bool = True,
        five_prime: bool = False,
        insert: tuple[float, float] | None = None,
        orientation: str = "fr",
    ):
        verified = MapParams(
            seed_length=seed_length,
            min_identity=min_identity,
            gaps=gaps,
            sensitivity=sensitivity,
            max_hits=max_hits,
            all_hits=all_hits,
            threads=threads,
            processes=processes,
            device=device,
            batch_size=batch_size,
            memory=memory,
            servers=servers,
            key=key,
            filters=filters,
            mode=mode,
            scoring=scoring,
            alt_aware=alt_aware,
            pairing=pairing,
            mate_rescue=mate_rescue,
            five_prime=five_prime,
            insert=insert,
            orientation=orientation,
        ).verify()
        owns_index = not isinstance(index, SeedIndex)
        if not isinstance(index, SeedIndex):
            index = SeedIndex.open(index, parts=() if servers else None)
        index.verify_open()
        if seed_length is not None and seed_length < index.shortest_seed:
            raise ParameterError(
                "seed_length", f"must be at least {index.shortest_seed} bases for this index in parts"
            )
        extender = self._extender(index.reference.planes, device, threads)
        self._set(
            index=index,
            **_planned(verified, index),
            insert=InsertModel.given(orientation, *insert) if insert else InsertModel.assumed(orientation),
            parts=_looked_up(index, verified),
            extender=extender,
            on_device=None if isinstance(extender, LateExtender) else _device_search(index, extender),
            counts_details=True,
            started=None,
            _owns_index=owns_index,
        )

    def _extender(self, planes: Any, device: str | None, threads: int) -> Extender:
        return make_extender(planes, device=device, threads=threads)

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _with(self, **fields: Any) -> Mapper:
        """A mapper with other values of these fields; it shares all else, the index and the device among it."""
        other = object.__new__(type(self))  # `copy` goes by `__reduce__`, which would open the device again
        other._set(**{**vars(self), **fields})
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process opens the index and the device again. TypeError where the index has no file."""
        return _reopened, (self.index, self.params)

    def close(self) -> None:
        """Close the index, if it was given by its path. Then nothing can be mapped any more."""
        if self._owns_index:
            self.index.close()

    def __enter__(self) -> Mapper:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def for_best_hits(self) -> Mapper:
        """This mapper without `all_hits`, in the mode of pairs: it looks for the best place of every read only."""
        params = replace(self.params.for_pairs(), all_hits=False)
        return self._with(**_planned(params, self.index), counts_details=False)

    def map_batch(self, batch: ReadBatch, insert: InsertModel | None = None) -> tuple[BatchResult, Stats]:
        """Map one batch in the calling thread.

        Parameters
        ----------
        batch : ReadBatch
        insert : InsertModel, optional
            Of the pairs in the batch. None: the one given with the parameters, or one wide enough for any usual
            library.
        """
        self.index.verify_open()
        stats = Stats()
        params = self.params if batch.mate is None else self.params.for_pairs()
        with stats.timed("pack"):
            packed = batch.pack(params.longest_read)
        searched = self.index, self.parts, self.plan, self.cascade, params
        context = BatchContext.of(*searched, packed, self.on_device)
        mapped = map_batch
        if self.index.reference.alt is not None:
            from gassst.alt import map_batch_with_alt as mapped
        result = mapped(context, self.extender, stats, batch.mate, insert or self.insert)
        stats.too_long = batch.longer_than(params.longest_read)
        stats.bases += len(batch.bases) - int(packed.lengths.sum())
        if self.counts_details:
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
        self, reads1: Iterable[Read], reads2: Iterable[Read] | None = None, interleaved: bool = False
    ) -> Iterator[AlignedSegment]:
        """Map reads.

        A read is a sequence, (name, sequence), (name, sequence, quality or None), or a record of dnaio
        (`SequenceRecord`), pysam (`FastxRecord`) or Biopython (`SeqRecord`). Texts are `str` or `bytes`. A
        sequence alone is called by its number, from 1.

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
        TypeError
            At once, where an argument is a text; on iteration, with its number, for what is no read.
        UsageError
            At once, when `reads2` is given and `interleaved`.
        InputError
            On iteration, by the rules for files: `read_records.batch_of_records`, `batch_of_pairs`.
        """
        return self._segments(self._batches(reads1, reads2, interleaved))

    def _batches(
        self, reads1: Iterable[Read], reads2: Iterable[Read] | None, interleaved: bool
    ) -> Iterator[ReadBatch]:
        if reads2 is not None and interleaved:
            raise UsageError("interleaved pairs come from one source of reads")
        self.index.verify_open()
        return batch_records(reads1, reads2, self.params.reads_per_batch(), interleaved=interleaved)

    def _segments(self, batches: Iterable[ReadBatch]) -> Iterator[AlignedSegment]:
        builder = sam.record_builder(self.header(), self._reference_arrays)

        def segments_of(batch: ReadBatch, result: BatchResult) -> list[AlignedSegment]:
            return sam.to_aligned_segments(batch, result.hits, result.summary, result.cigars, builder)

        work = MappingWork(self._with(counts_details=False), segments_of)
        with closing(MappingRun(work).results(batches)) as results:
            for segments, _ in results:
                yield from segments

    def map_arrays(
        self, reads1: Iterable[Read], reads2: Iterable[Read] | None = None, interleaved: bool = False
    ) -> HitArrays:
        """Map reads, all at once, to columns of NumPy arrays.

        Parameters and errors are those of `map`, but that all errors come at once.
        """
        batches = self._batches(reads1, reads2, interleaved)
        work = MappingWork(self, lambda batch, result: arrays_of(batch, result, self.reference))
        with closing(MappingRun(work).results(batches)) as results:
            parts = [arrays for arrays, _ in results]
        return HitArrays.joined(parts, self.reference.names)

    def map_one(self, read: Read, quality: Text | None = None) -> list[Hit]:
        """Map one read, in the calling thread.

        The hits are those that `map` finds for it as a single read. Where whole reads are aligned (`mode`
        "global"), this takes microseconds. Where ends may be clipped, a read with one place and up to four
        mismatches does; any other takes the milliseconds of a batch.

        Parameters
        ----------
        read : read
            As for `map`: mostly a sequence.
        quality : str or bytes, optional
            Of a sequence alone, ASCII, phred + 33; it decides nothing.

        Returns
        -------
        list of Hit
            The primary hit first; empty where the read has no place.

        Raises
        ------
        TypeError, InputError
            As `map`.
        IndexFormatError
            Also on a later call: the file of the index is checked while the first ones run.
        """
        self._watch_index()
        name, sequence, given = parts_of(read, 1)
        if quality is None and given is None and self.one_read is not None:
            found = self.one_read.places(sequence, Hit._make)
            if found is not None:
                return found
        if quality is not None:
            given = parts_of((name, sequence, quality), 1)[2]
        return self._mapped_alone(batch_of_records([(name, sequence, given)]))[0]

    def map_pair(self, first: Read, second: Read) -> tuple[list[Hit], list[Hit]]:
        """Map one pair, in the calling thread, by the rules of `map`; returns the hits of both mates.

        Insert sizes cannot be learned from one pair: they are those given with the parameters (`insert`), else a window
        wide enough for any usual library. Parameters and errors are those of `map_one`.
        """
        self._watch_index()
        one, two = parts_of(first, 1, "first"), parts_of(second, 1, "second")
        hits = self._mapped_alone(batch_of_pairs([one], [(one[0], *two[1:])]))
        return hits[0], hits[1]

    def _watch_index(self) -> None:
        self.index.verify_open()
        if self.index.integrity is not None:
            self.index.integrity.watch()

    def _mapped_alone(self, batch: ReadBatch) -> list[list[Hit]]:
        """The hits of each read of a batch, mapped in this thread."""
        result, _ = self.map_batch(batch)
        return hits_of(arrays_of(batch, result, self.reference), len(batch))

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
        format: str | None = None,
        level: int | None = None,
        sort: bool = False,
        sort_memory: int = SORT_MEMORY,
        duplicates: DuplicateRules | None = None,
        format_options: tuple[str, ...] = (),
        no_unmapped: bool = False,
        unmapped_path: str | os.PathLike[str] | None = None,
        unmapped_mates_path: str | os.PathLike[str] | None = None,
        unmapped_either: bool = False,
        eqx: bool = False,
        xa: bool = False,
        soft_clip_supplementary: bool = False,
        mark_secondary: bool = False,
        baq: bool = False,
        more_tags: tuple[str, ...] = (),
        details: bool = True,
        shard: Shard | None = None,
        insert: InsertModel | None = None,
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
        details : bool
            Count errors by cycle, coverage and template lengths. Without, `Stats` leaves these empty, and a run takes
            5 % less time.
        allow_truncated : bool
            Take BGZF input without its end-of-file block, which may be cut between two blocks.
        format, level, format_options : optional
            Of the file: "sam", "bam" or "cram", by default as its extension says; compression, 0 to 9; and options of
            CRAM ("version=3.0").
        sort, sort_memory, duplicates : optional
            By coordinate, with an index beside the file; bytes of records that are sorted in memory; and how duplicates
            are marked meanwhile (`gassst.io.duplicates.DuplicateRules`).
        no_unmapped, unmapped_path, unmapped_mates_path, unmapped_either : optional
            Leave out unmapped reads, or write them to FASTQ files, of pairs also those of which one mate is unmapped.
        eqx, xa, soft_clip_supplementary, mark_secondary, baq, more_tags : optional
            How records look: see `gassst.io.records.RecordStyle`.
        shard : Shard, optional
            Map this part of the reads alone: the records that the whole run has for them. The header says which part
            it is, for `gassst.io.gathering`. Insert sizes are learned from the first reads of all.
        insert : InsertModel, optional
            Of the pairs, as `learn_insert` finds it.

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
        reads, mates = paths_of(reads), None if mates is None else paths_of(mates)
        self.index.verify_open()
        options = sam.OutputOptions(
            format=format,
            threads=self.params.threads,
            sort=sort,
            sort_memory=sort_memory,
            duplicates=duplicates,
            level=level,
            format_options=format_options,
            no_unmapped=no_unmapped,
            unmapped_path=unmapped_path,
            unmapped_mates_path=unmapped_mates_path,
            unmapped_either=unmapped_either,
            eqx=eqx,
            xa=xa,
            soft_clip_supplementary=soft_clip_supplementary,
            mark_secondary=mark_secondary,
            baq=baq,
            more_tags=more_tags,
        )
        written = [*with_indexes(output), *options.unmapped.paths]
        check_distinct(written, [self.index.path, *reads, *(mates or [])])
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
        is_late = isinstance(self.extender, LateExtender) and not why_threads()
        with_mates = mates is not None or interleaved
        is_served = is_late and self._is_served(with_mates)
        mapper = self._prepared(is_late)
        processes, threads = mapper._processes(encoder), self.params.threads
        size = self.params.reads_per_batch(processes, mapper.on_device is not None, is_served)
        inflaters = Inflaters() if processes > 1 else None  # one process copies no texts: the reader inflates
        batches = source.batches(size, self.params.threads, input_progress, parts, inflaters)
        mapper = mapper if processes == 1 else mapper._for_processes()
        if not details:
            mapper = mapper._with(counts_details=False)
        with ExitStack() as stack:
            stack.enter_context(closing(batches))
            server = mapper._server(is_served, with_mates) if is_late else None
            if server is not None:  # forked before the workers, which inherit its pipes
                stack.enter_context(closing(server))
            if server is not None and is_served:
                mapper, threads = mapper._with(on_device=server), server.threads
            work = MappingWork(mapper, lambda batch, result: encoder.encode(batch, *result.rows))
            workers = stack.enter_context(closing(_start(work, processes, threads)))
            if inflaters is not None:
                inflaters.begin(workers)
            if shard is not None and insert is None:
                insert = _insert_learned(MappingRun(work, workers), source)
            run = MappingRun(work, workers, insert)
            marked = batches if input_progress is None else input_progress.marked(batches)
            arrays = self._reference_arrays
            with sam.AlignmentWriter(output, header, arrays, options, workers, encoder) as writer:
                total = _written(run, marked, writer, progress)
                if server is not None:
                    server.verify()
                    log.debug("%s", server.describe())
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

    def _is_served(self, with_mates: bool) -> bool:
        """Whether a process of its own is to drive the device: it searches single reads, or looks up seeds."""
        from gassst.search.device import is_looked_up, is_searched

        index = self.index
        suits = (
            is_looked_up(index, self.parts)
            if with_mates
            else is_searched(self.params, index, self.parts, self.cascade)
        )
        return suits and index.reference.alt is None

    def _prepared(self, is_late: bool) -> Mapper:
        """This mapper with the device that it was to look for late; with compiled code where a process drives that."""
        if not isinstance(self.extender, LateExtender):
            return self
        if is_late:
            return self._with(extender=self.extender.compiled)
        made = self.extender.made
        return self._with(extender=made, on_device=_device_search(self.index, made))

    def _server(self, is_served: bool, with_mates: bool = False) -> Any:
        """The process that drives the device; one that only looks for it where a run that names it has no use for it.

        None where the system grants no process, and where nobody asked.
        """
        from gassst.search.device_process import Job
        from gassst.search.device_server import DeviceServer
        from gassst.search.device_start import start

        index, params, named = self.index, self.params, is_named(self.params.device)
        is_new = self.started is None or self.started.can_be_told
        # The run of a sample before has found the device that was named, and ended the process.
        if not is_served and not (named and is_new):
            return None
        if not is_served:
            log.info(
                "device %s: neither seeds are looked up nor reads searched there in such a run", params.device
            )
        job = Job.of(index, params, with_mates)
        if self.started is not None and is_new and index.path is not None:
            if is_served:
                self.started.tell(job)
            return DeviceServer(self.started, named)
        try:
            return DeviceServer(start(params.device, params.threads, job if is_served else None), named)
        except OSError as error:
            log.warning("no process to drive the device: %s; on with the host", error.strerror or error)
            return None

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

    def _describe_device(self) -> str:
        on_device = "" if self.on_device is None else f"; {self.on_device.describe()}"
        return self.extender.describe() + on_device

    def describe(self, command_line: str | None = None) -> dict:
        """What ran: version, command, device, parameters."""
        params = asdict(replace(self.params, batch_size=self.params.reads_per_batch()))
        return {
            "version": __version__,
            "command": command_line or " ".join(sys.argv),
            "device": self._describe_device(),
            "parameters": params,
        }


class LateMapper(Mapper):
    """A mapper that looks for a GPU while it maps: so does `gassst map`."""

    def beside(self, started: Any) -> LateMapper:
        """This mapper, which tells the first of its runs that suits to a process that looks for the device already.

        `started`: a `search.device_process.DeviceProcess`, or None.
        """
        return cast(LateMapper, self._with(started=started))

    def _extender(self, planes: Any, device: str | None, threads: int) -> Extender:
        if is_late(device):
            return LateExtender(planes, device or "auto", threads)
        return super()._extender(planes, device, threads)


def _device_search(index: SeedIndex, extender: Any) -> Any:
    """The search on a device that is no CPU, of an index in one piece; the index goes there with the first batch."""
    engine = getattr(extender, "engine", None)
    if engine is None or engine.info.type == "cpu" or index.part_rows:
        return None
    from gassst.search.device import DeviceSearch

    return DeviceSearch(index, engine)


def _start(work: MappingWork[Any], processes: int, threads: int) -> Workers:
    """Workers of so many processes; where the system grants none, threads do the work."""
    if processes > 1:
        from gassst.workers.processes import ProcessWorkers

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
    cascade = Cascade.of_run(params, plan)
    suits = OneReadSearch.suits(index, cascade, params)
    one_read = OneReadSearch(index, plan, cascade, params) if suits else None
    return {"params": params, "plan": plan, "cascade": cascade, "one_read": one_read}
