"""The mapper, and the ways to map with it: records one by one or many, and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from gassst._core.read_search import hits_of
from gassst.api.arguments import taken
from gassst.api.engine import make_engine
from gassst.api.files import map_files, preparation_of
from gassst.api.hits import Hit, HitArrays, arrays_of
from gassst.errors import UsageError
from gassst.index.choice import load_index
from gassst.index.seed_index import Index, SeedIndex
from gassst.mapping.batch_mapper import BatchMapper
from gassst.model.given import params_of
from gassst.model.params import MapOptions, MapParams, Scoring
from gassst.model.read_batch import ReadBatch
from gassst.model.reference import Reference
from gassst.model.sam_flags import UNMAPPED
from gassst.model.stats import Stats
from gassst.pairing.insert_size import InsertModel
from gassst.reads.in_memory import MATES, batch_of_parts, batch_records
from gassst.reads.input import Paths
from gassst.reads.shapes import Read, fields_of_read
from gassst.reads.source import ReadSource
from gassst.records import writer as sam
from gassst.records.options import OutputOptions, RecordStyle
from gassst.runs.circular import over_origin
from gassst.runs.file_run import FileOptions, FileRun, insert_learned
from gassst.runs.run import MappingRun, MappingWork
from gassst.search.arrays import BatchResult

if TYPE_CHECKING:
    from pysam import AlignedSegment, AlignmentHeader


_Function = TypeVar("_Function", bound=Callable[..., Any])


def _shows(options: type, *kinds: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Has `help` and `inspect` show the arguments that a `TypedDict` stands for, which only type checkers see.

    `kinds` take them, and know the defaults.
    """

    def shown(function: _Function) -> _Function:
        taken = {name: one for kind in kinds for name, one in signature(kind).parameters.items()}
        own = [one for one in signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
        for name in options.__annotations__:  # of a default that a function makes, None is told
            default = taken[name].default if repr(taken[name].default) != "<factory>" else None
            own.append(taken[name].replace(kind=Parameter.KEYWORD_ONLY, default=default))
        function.__signature__ = signature(function).replace(parameters=own)  # type: ignore[attr-defined]
        return function

    return shown


class Mapper:
    """Maps reads to an indexed reference.

    A mapper never changes once it is made: any number of threads and of runs can share it, before and after a fork. It
    pickles where its index has a file: another process opens that file. As a context manager it is closed at the end.

    Parameters
    ----------
    index : Index or path
        An index, the file of one, or a FASTA. Of a FASTA the index `REF.gsi` in its folder is used if it is up to date;
        else an index is built in memory, as by `gassst map`. The logger `gassst` says which.
    **options : MapOptions
        The fields of `gassst.MapParams`, which its help and the page of parameters explain. A long option of `gassst
        map` will do as well, with underscores: `min_score=40` is `scoring=Scoring(min_score=40)`.
        `threads` is used by `map`, `map_arrays` and `map_file`; `map_one` and `map_pair` work in the calling thread.

    Raises
    ------
    TypeError
        An argument of another name.
    ParameterError
        A parameter out of its range.
    UsageError
        An unknown filter.
    InputError
        The file cannot be read, or is not a FASTA.
    IndexFormatError
        The file is not a usable index.
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

    __slots__ = ("__weakref__", "_engine", "_owned", "_uncounted")

    @_shows(MapOptions, MapParams)
    def __init__(self, index: Index | str | os.PathLike[str], **options: Unpack[MapOptions]):
        given = taken("Mapper", options, MapOptions.__annotations__, (MapParams,), {"scoring": Scoring})
        verified = params_of(given).verify()
        self._owned = not isinstance(index, SeedIndex)
        if not isinstance(index, SeedIndex):
            index = load_index(os.fspath(index), verified.threads, meth=verified.meth is not None)
        self._engine = make_engine(index, verified)
        self._uncounted = replace(self._engine, counts_details=False)

    @property
    def index(self) -> Index:
        """The index that reads are mapped to."""
        return self._engine.index

    @property
    def params(self) -> MapParams:
        """The parameters, as they are used."""
        return self._engine.params

    @property
    def reference(self) -> Reference:
        """The reference of the index."""
        return self.index.reference

    def describe(self, command_line: str | None = None) -> dict[str, Any]:
        """What runs: version, command, device and parameters, as `Stats.run` has them."""
        return self._engine.describe(command_line)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process opens the index and the device again. TypeError where the index has no file."""
        return _reopened, (self.index, self.params)

    def __repr__(self) -> str:
        params = self.params
        mode = params.mode or "default mode"
        return f"<Mapper: {self.index!r}, {mode}, sensitivity {params.sensitivity}, {params.threads} threads>"

    def close(self) -> None:
        """Close the index, if it was given by its path. Then nothing can be mapped any more."""
        if self._owned:
            self.index.close()

    def __enter__(self) -> Mapper:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def header(self) -> AlignmentHeader:
        """The SAM header of this reference, as `pysam.AlignmentFile(.., header=)` takes it; `str` of it is its text.

        `header_text` returns the text with read groups, comments or another command line.
        """
        from pysam import AlignmentHeader

        return AlignmentHeader.from_text(self.header_text())

    def header_text(
        self,
        read_group: str | Sequence[str] | None = None,
        command_line: str | None = None,
        sort: bool = False,
        comments: Sequence[str] = (),
    ) -> str:
        """The text of the SAM header of this reference.

        Parameters
        ----------
        read_group : str or list of str, optional
            Whole @RG lines.
        command_line : str, optional
            For the @PG line. None: that of this process.
        sort : bool
            Say that records come by coordinate.
        comments : list of str
            Whole @CO lines.

        Raises
        ------
        UsageError
            A bad read group.
        InputError
            A contig that SAM cannot hold.
        """
        return sam.header_of(self.reference, read_group, command_line, sort, comments).text

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
            Single reads; the first mates of pairs, whose second mates are `reads2`; or, `interleaved`, reads whose
            neighbours with the same name are pairs.
        reads2 : iterable, optional

        Yields
        ------
        pysam.AlignedSegment
            In the order of the reads, of a pair the first mate's before the second's; the primary alignment of
            each read first. The first one comes once 1,024 reads have been taken from the iterables, or all. The
            errors of the library are learned from these, on which mapping qualities depend, and insert sizes.

        Raises
        ------
        TypeError
            At once, where an argument is a text; on iteration, with its number, for an item that is not a read.
        UsageError
            At once, when `reads2` is given and `interleaved`.
        InputError
            On iteration, by the rules for files: `reads.in_memory.batch_of_records`, `batch_of_pairs`.
        """
        return self._segments(self._batches(reads1, reads2, interleaved))

    def _batches(
        self, reads1: Iterable[Read], reads2: Iterable[Read] | None, interleaved: bool
    ) -> Iterator[ReadBatch]:
        if reads2 is not None and interleaved:
            raise UsageError("interleaved pairs come from one source of reads")
        self.index.verify_open()
        preparation = preparation_of(self.params, reads2 is not None or interleaved)
        batches = batch_records(reads1, reads2, self.params.reads_per_batch(), interleaved=interleaved)
        return map(preparation.of, batches)

    def _segments(self, batches: Iterable[ReadBatch]) -> Iterator[AlignedSegment]:
        style = RecordStyle(meth=self.params.meth)
        builder = sam.record_builder(sam.header_of(self.reference), self.reference.arrays, style)
        from pysam import AlignedSegment

        header = self.header

        def segments_of(_: BatchMapper, batch: ReadBatch, result: BatchResult) -> list[AlignedSegment]:
            lines = sam.sam_lines(batch, *result.rows, builder)
            return [AlignedSegment.fromstring(line, header) for line in lines]

        work = MappingWork(self._uncounted)
        with closing(MappingRun(work, segments_of).results(batches)) as results:
            for segments, _ in results:
                yield from segments

    def map_arrays(
        self, reads1: Iterable[Read], reads2: Iterable[Read] | None = None, interleaved: bool = False
    ) -> HitArrays:
        """Map reads, all at once, to columns of NumPy arrays.

        Parameters and errors are those of `map`, but that all errors come at once.
        """
        batches = self._batches(reads1, reads2, interleaved)
        work = MappingWork(self._uncounted)
        run = MappingRun(work, lambda mapper, batch, result: arrays_of(batch, result, mapper.reference))
        with closing(run.results(batches)) as results:
            parts = [arrays for arrays, _ in results]
        return HitArrays.joined(parts, self.reference.names)

    def map_one(
        self,
        read: Read,
        quality: str | bytes | None = None,
        *,
        MD: bool = False,  # noqa: N803 - as mappy has it
        cs: bool = False,
    ) -> list[Hit]:
        """Map one read, in the calling thread.

        The hits are those that `map` finds for it as a single read. `map` learns from 64 reads and more how many
        errors a library has, on which mapping qualities depend; of one read alone nothing is known.

        Where whole reads are aligned (`mode` "global"), this takes microseconds. Where ends may be clipped, so it does
        for all reads but those that stay unmapped, have an adapter, or 20 clipped bases. These take as long as a batch,
        a millisecond, and so does every read where further hits are asked for.

        Parameters
        ----------
        read : read
            As for `map`: mostly a sequence.
        quality : str or bytes, optional
            Of a sequence alone, ASCII, phred + 33; it decides nothing.
        MD, cs : bool
            Fill in these attributes of the hits. This takes a batch of one.

        Returns
        -------
        list of Hit
            The primary hit first; empty if the read is unmapped.

        Raises
        ------
        TypeError, InputError
            As `map`.
        IndexFormatError
            Also on a later call: the file of the index is checked while the first ones run.
        """
        self._watch_index()
        name, sequence, given = fields_of_read(read, 1)
        if quality is None and given is None and self._engine.one_read is not None and not (MD or cs):
            found = self._engine.one_read.places(Hit._make, sequence)
            if found is not None:
                return found[0]
        if quality is not None:
            given = fields_of_read((name, sequence, quality), 1)[2]
        return self._mapped_alone(batch_of_parts([(name, sequence, given)], "records"), MD, cs)[0]

    def map_pair(
        self,
        first: Read,
        second: Read,
        *,
        MD: bool = False,  # noqa: N803
        cs: bool = False,
    ) -> tuple[list[Hit], list[Hit]]:
        """Map one pair, in the calling thread, by the rules of `map`; returns the hits of both mates.

        Insert sizes cannot be learned from one pair: they are those given with the parameters (`insert`), else a window
        wide enough for any usual library. Parameters and errors are those of `map_one`.

        By default this takes microseconds, where `map_one` would take them for both mates.
        """
        self._watch_index()
        one, two = fields_of_read(first, 1, "first"), fields_of_read(second, 1, "second")
        found = None
        if one[2] is None and two[2] is None and self._engine.one_pair is not None and not (MD or cs):
            found = self._engine.one_pair.places(Hit._make, one[1], two[1])
        if found is None:
            found = self._mapped_alone(batch_of_parts([one, (one[0], *two[1:])], *MATES), MD, cs)
        return found[0], found[1]

    def _watch_index(self) -> None:
        self.index.verify_open()
        if self.index.integrity is not None:
            self.index.integrity.watch()

    def _mapped_alone(self, batch: ReadBatch, md: bool, cs: bool) -> list[list[Hit]]:
        """The hits of each read of a batch, mapped in this thread, with the tags that are asked for."""
        engine = self._uncounted
        result, counted = engine.map_batch(batch)
        result = over_origin(engine, batch, result, engine.insert, counted)
        hits = hits_of(len(batch), result.hits, result.cigars, self.reference, Hit._make)
        if not (md or cs):
            return hits
        style = RecordStyle(meth=self.params.meth, cs=cs)
        builder = sam.record_builder(sam.header_of(self.reference), self.reference.arrays, style)
        lines = [line.split("\t") for line in sam.sam_lines(batch, *result.rows, builder)]
        mapped = [line for line in lines if not int(line[1]) & UNMAPPED]
        names = [name for name, is_asked in (("MD", md), ("cs", cs)) if is_asked]
        of_rows: Iterator[dict[str, Any]] = (
            {field[:2]: field[5:] for field in line[11:] if field[:2] in names} for line in mapped
        )
        return [[hit._replace(**next(of_rows)) for hit in of_read] for of_read in hits]

    def seq(self, name: str, start: int = 0, end: int | None = None) -> str:
        """The bases [start, end) of a contig, in upper case. An `end` behind the contig means all of it.

        Raises UsageError where no contig has this name, and unless 0 <= start <= end.
        """
        if name not in self.reference.names:
            raise UsageError(f"no contig has the name {name!r}")
        contig = self.reference.names.index(name)
        length = int(self.reference.lengths[contig])
        end = length if end is None else min(end, length)
        if not 0 <= start <= end:
            raise UsageError(f"contig {name}: {start}..{end} is not within its {length} bases")
        return self.reference.sequence(contig, start, end).decode()

    @property
    def seq_names(self) -> list[str]:
        """The names of the contigs, in the order of the reference."""
        return list(self.reference.names)

    @_shows(FileOptions, FileRun.__init__, ReadSource.of, OutputOptions)
    def map_file(
        self,
        reads: Paths,
        output: str | os.PathLike[str] | None = None,
        *,
        progress: Callable[[Stats], None] | None = None,
        markdup: bool = False,
        **options: Unpack[FileOptions],
    ) -> Stats:
        """Map the reads of one or several files, one after the other, to an alignment file.

        A long option of `gassst map` will do in place of an argument, with underscores: `trim5=3`, `barcode_tag="RX"`.

        Parameters
        ----------
        reads : path or list of paths
            FASTQ or FASTA, plain or compressed, or SAM, BAM and CRAM; "-" is standard input. Of an alignment file the
            primary records are mapped again, with their tags. Where the first one is of a pair, all are read as pairs.
        output : path or None
            SAM, BAM or CRAM by its extension; None or "-" is standard output.
        progress : callable, optional
            Called with the running totals after every batch.
        markdup : bool
            Mark duplicates while records are sorted, by `duplicates` if it is given. Needs `sort`.
        mates : path or list of paths, optional
            Of the second mates, where `reads` holds the first of pairs: as many files, names in the same order.
        interleaved : bool
            Two neighbouring reads of one name are a pair, any other read is single.
        read_group : str, list of str or ReadGroups
            A whole @RG line for all reads, or one for each of `reads`. Without any those of alignment files stay.
        command_line : str, optional
            For the @PG line.
        made_from : str
            For the @PG line, too: a text that tells a later run what decided the content of this file.
        header_lines : tuple of str
            Whole lines that are added to the header; fields of @SQ lines are added to ours.
        input_progress : InputProgress, optional
            Called with how much of the files was read, to show it.
        tags : TagSources, optional
            What of the headers of the reads becomes tags; RG is taken over where there is no `read_group`.
        reference : str, optional
            FASTA to decode CRAM input with.
        details : bool
            Count errors by cycle, coverage and template lengths. Without, `Stats` leaves these empty, and a run takes
            5 % less time.
        allow_truncated : bool
            Take BGZF input without its end-of-file block, which may be cut between two blocks.
        duplicates : DuplicateRules, optional
            How duplicates are marked while records are sorted.
        format, level, sort, eqx, .. : optional
            The other fields of `gassst.records.options.OutputOptions`: the format of the file and the look of records.
        shard : Shard, optional
            Map this part of the reads alone: the records that the whole run has for them. The header says which part
            it is, for `gassst.records.gathering`. Insert sizes are learned from the first reads of all.
        insert : InsertModel, optional
            Of the library, as `learn_insert` finds it. All reads are judged by it.
        head : InsertModel, optional
            The same of the first reads of an input of which a shard is mapped; stretches that are unlike it have a
            library of their own. None: learned.
        selection : Selection, optional
            Which reads of the input are mapped, and what is cut off their ends.
        preparation : Preparation, optional
            Single reads are cut at their 3' adapter, and counted by their names.

        Returns
        -------
        Stats

        Raises
        ------
        TypeError
            For an argument of another name, and for a file that is open already.
        UsageError
            Before any work: `mates` that differ in number from `reads`, one file for both, or `mates` of interleaved
            reads. Also: an output that is an input, two outputs that are one file, duplicates to be marked in a
            part, or insert sizes of another orientation.
        InputError, OutputError
            With one line that names file and record. No file is left under the name `output`.
        """
        watch = partial(nullcontext, progress)
        sample = {"reads": reads, "output": output, "markdup": markdup, "watch": watch, **options}
        (stats,) = map_files(self._engine, [sample])
        return stats

    def map_files(self, samples: Sequence[dict[str, Any]]) -> Iterator[Stats]:
        """Map several samples, and yield what each has counted once its file is complete.

        The next sample is read while workers map the last reads of the one before. Of a sample whose output is
        complete nothing is lost where a later one fails.

        Parameters
        ----------
        samples : sequence of dict
            The arguments of `map_file` by name. Instead of `progress` there may be `watch`: it makes the context in
            which the sample is written, which gives such a function, or None.

        Raises
        ------
        UsageError, InputError, OutputError
            As `map_file`, of the first sample with a fault.
        """
        return map_files(self._engine, samples)

    def learn_insert(self, source: ReadSource) -> InsertModel:
        """The insert sizes, and the rate of errors, that every run on these reads learns from the first of them.

        The model that was given with the parameters, where there is one. Raises InputError.
        """
        return insert_learned(MappingRun(MappingWork(self._engine), lambda *_: None), source)


def _reopened(index: SeedIndex, params: MapParams) -> Mapper:
    return Mapper(index, **vars(params))
