"""Output of SAM, BAM and CRAM: header text, and a writer whose files appear only when they are complete.

The records themselves are built by `gassst._core.records` and become bytes in `gassst.records.encoding`;
`AlignmentWriter` says what is in them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib
from gassst._core.records import HitBatch, RecordBuilder
from gassst.errors import UsageError
from gassst.files import bgzf
from gassst.files.contigs import Contigs
from gassst.files.destination import (
    MAX_BAI_CONTIG,
    AlignmentDestination,
    ConvertedDestination,
    Destination,
)
from gassst.files.quiet import QuietHtslib
from gassst.files.sam_header import Header, program_line
from gassst.frozen import frozen, replace
from gassst.index.reference_files import as_uri
from gassst.model.array_types import NDArray
from gassst.model.conversions import conversions_of
from gassst.model.options import verify
from gassst.model.reference import Reference, ReferenceArrays
from gassst.reads.groups import parse_read_group, read_group_ids
from gassst.reads.shards import ShardOfRun
from gassst.records.cram import CramOptions, CramTarget
from gassst.records.encoding import (
    BamEncoder,
    CramFormat,
    Encoded,
    Encoder,
    PiecesFormat,
    RecordWriter,
    SamEncoder,
    bam_header,
)
from gassst.records.options import RECORD_FORMATS, DuplicateRules, OutputOptions, RecordStyle
from gassst.records.unmapped import FileBeside, UnmappedFiles
from gassst.version import __version__
from gassst.workers.threads import Workers

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from gassst._core.records import Reads
    from gassst.records.duplicates import DuplicateCounts, DuplicateSearch


def header(
    contigs: Contigs,
    read_group: str | Sequence[str] | None = None,
    program_version: str = "",
    command_line: str = "",
    sort_order: str = "unsorted",
    comments: Sequence[str] = (),
    alt: NDArray[np.bool_] | None = None,
    fasta: str | None = None,
    made_from: str = "",
    circular: NDArray[np.bool_] | None = None,
) -> Header:
    """A SAM header.

    `sort_order` is "unsorted" (records grouped by read: GO:query) or "coordinate". `read_group` has one line or several
    as bwa takes them (`@RG\\tID:x\\tSM:y`, tabs real or written as backslash and t). `comments` are whole @CO lines.
    Contigs of `alt` (bool[c]) get AH:*, as from bwa, and those of `circular` (bool[c]) TP:circular. `fasta` is the file
    of their sequences, for UR.
    `made_from` is the value of the tag `MADE_FROM`. Raises `UsageError` for a bad read group.
    """
    order = "SO:coordinate" if sort_order == "coordinate" else "SO:unsorted\tGO:query"
    groups = [read_group] if isinstance(read_group, str) else read_group or ()
    lines = [parse_read_group(group) for group in groups]
    lines += [program_line(program_version, command_line, made_from=made_from), *comments]
    uri = None if fasta is None else as_uri(fasta)
    every = np.ones(len(contigs), bool)
    for contigs_with, field in (
        (None if uri is None else every, f"UR:{uri}"), (alt, "AH:*"), (circular, "TP:circular")
    ):  # fmt: skip
        if contigs_with is not None:
            contigs = contigs.with_field(contigs_with, field)
    return Header(f"@HD\tVN:1.6\t{order}\n", contigs, "".join(f"{line}\n" for line in lines))


def header_of(
    reference: Reference,
    read_group: str | Sequence[str] | None = None,
    command_line: str | None = None,
    sort: bool = False,
    comments: Sequence[str] = (),
    fasta: str | None = None,
    made_from: str = "",
) -> Header:
    """`header` of a reference, by this version of gassst; `command_line` None is that of this process."""
    return header(
        reference.contigs,
        read_group,
        __version__,
        command_line or " ".join(sys.argv),
        "coordinate" if sort else "unsorted",
        comments,
        reference.alt,
        fasta,
        made_from,
        reference.circular,
    )


def in_coordinate_order(header_text: str) -> str:
    """The header, or its first line, whose records come sorted instead of grouped by read."""
    first, _, others = header_text.partition("\n")
    fields = [field for field in first.split("\t") if not field.startswith(("SO:", "GO:"))]
    if fields[0] != "@HD":
        return header_text
    return "\t".join([*fields, "SO:coordinate"]) + "\n" + others


def with_note(header_text: str, note: str) -> str:
    """The header, or what is behind its contigs: the line of this program says what else was done."""
    return re.sub("^@PG\tID:gassst\t.*", lambda line: f"{line[0]}\tDS:{note}", header_text, flags=re.M)


def record_builder(
    header: str | Header, reference: ReferenceArrays, style: RecordStyle | None = None
) -> RecordBuilder:
    """What makes records for this header and reference; the read groups are those of the header."""
    verify(style := style or RecordStyle())
    header = Header.of(header)
    style = replace(style, read_groups=tuple(read_group_ids(header.others)))
    return RecordBuilder(header, reference, style)


def sam_lines(
    reads: Reads,
    hits: NDArray[np.void],
    summaries: NDArray[np.void],
    cigars: NDArray[np.uint32],
    builder: RecordBuilder,
) -> list[str]:
    """The records that `AlignmentWriter` would write, as lines of SAM without their ends."""
    conversions = conversions_of(reads, builder.meth)
    batch = HitBatch(reads, hits, summaries, cigars, conversions)
    return str(builder.encode(batch, bam=False), "utf-8").split("\n")[:-1]


@frozen(eq=False)
class RecordEncoder:
    """Makes of batches what an `AlignmentWriter` for the same output writes; any thread may do it.

    Attributes
    ----------
    file_format : str
        One of `RECORD_FORMATS`.
    header : Header
        Its sort order is that of the records.
    builder : RecordBuilder
    options : OutputOptions
    """

    file_format: str
    header: Header
    builder: RecordBuilder
    options: OutputOptions

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str] | None,
        header: str | Header,
        reference: ReferenceArrays,
        options: OutputOptions,
    ) -> RecordEncoder:
        """The parameters are those of `AlignmentWriter`. Raises UsageError for senseless options."""
        options.verify()
        destination = Destination(path)
        file_format = output_format(destination, options.format)
        header = Header.of(header)
        place = ShardOfRun.in_header(header.after)
        is_made_here = file_format == "bam" or (file_format == "sam" and not options.sort)
        if place is not None and is_made_here and not destination.is_stream:
            header = header._replace(after=replace(place, records=0).put_into(header.after))
        if file_format == "paf":  # which has no tag XA, and no order
            if options.sort:
                raise UsageError("PAF cannot be sorted: it is written in the order of the reads")
            options = replace(options, xa=False)
        if file_format == "cram":  # which keeps M alone, and all that tags quote as it is
            options = replace(options, eqx=False)
        if options.sort:
            header = header._replace(before=in_coordinate_order(header.before))
        if options.duplicates is not None:
            header = header._replace(after=with_note(header.after, str(options.duplicates)))
        encoder = cls(file_format, header, record_builder(header, reference, options), options)
        encoder.cram_options.verify_for(file_format)
        return encoder

    @property
    def cram_options(self) -> CramOptions:
        """How CRAM is written, if it is."""
        return CramOptions(self.options.format_options, self.options.level)

    @property
    def is_unsorted_bam(self) -> bool:
        """BAM in the order of the input."""
        return not self.options.sort and self.file_format == "bam"

    @cached_property
    def counted_part(self) -> ShardOfRun | None:
        """That the header says, where there is room for the number of its records."""
        place = ShardOfRun.in_header(self.header.after)
        return place if place is not None and place.records is not None else None

    @cached_property
    def _encoder(self) -> Encoder | None:
        """None for CRAM: htslib makes the records while it writes."""
        if self.options.sort:
            from gassst.records.sorting import RunEncoder

            rules = self.options.duplicates
            return RunEncoder() if rules is None else self._signed(rules)
        if self.is_unsorted_bam:
            return BamEncoder(self.options.level)
        return SamEncoder() if self.file_format in ("sam", "paf") else None

    def _signed(self, rules: DuplicateRules) -> Encoder:
        from gassst.records.duplicates import LibraryNames, signer_for
        from gassst.records.marking import SignedRunEncoder

        libraries = LibraryNames.of(self.header.others, rules.within)
        return SignedRunEncoder(signer_for(rules, libraries, self.builder.lengths))

    def encode(
        self,
        reads: Reads,
        hits: NDArray[np.void],
        summaries: NDArray[np.void],
        cigars: NDArray[np.uint32],
    ) -> Encoded:
        """The records of a batch, ready for `AlignmentWriter.write`. `HitBatch` says what the arrays are."""
        batch = HitBatch(reads, hits, summaries, cigars, conversions_of(reads, self.options.meth))
        unmapped, least_mapq = self.options.unmapped.encode(batch, reads, hits), self.options.least_mapq
        if self._encoder is None:
            return Encoded((batch, least_mapq), unmapped)
        bam = self.options.sort or self.is_unsorted_bam
        is_paf = self.file_format == "paf"
        records = self.builder.encode(batch, bam=bam, least_mapq=least_mapq, paf=is_paf)
        return Encoded(self._encoder.encode(records), unmapped)


class AlignmentWriter:
    """Writes batches as SAM, BAM or CRAM; a context manager.

    The output has its name only after a clean exit: until then it is a hidden file next to it, removed when
    the block is left by an exception. Standard output ("-" or None), devices and pipes are written directly.

    Parameters
    ----------
    path : path or None
        ".sam", ".bam" or ".cram" tells the format unless `options.format` does.
    header : str or Header
        As `header()` makes it, or its text; its read group, if any, goes into every record.
    reference : ReferenceArrays
    options : OutputOptions
    workers : Workers, optional
        That merge and compress sorted BAM. None: threads of this process, as `options` has it.
    encoder : RecordEncoder, optional
        That of these workers. None: one of its own.
    ahead : int
        Batches of SAM or of unsorted BAM that `write` takes before a thread of its own has written them.

    Raises
    ------
    OutputError
        Naming the file, as soon as it cannot be written; from the constructor if it cannot be opened.
    BrokenPipeError
        The reader of a pipe is gone.
    UsageError
        For senseless arguments.

    Notes
    -----
    `gassst._core.records.OWN_TAGS` lists the tags. An unmapped record has MC, MQ and RG only. Secondary records have
    SEQ and QUAL "*". A masked reference base is a mismatch, in MD by its own letter. In a pair RNEXT, PNEXT, MC and MQ
    are those of the mate's primary record. TLEN reaches from this record's 5' end to that one's. An unmapped read lies
    where its mate is.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        header: str | Header,
        reference: ReferenceArrays,
        options: OutputOptions | None = None,
        workers: Workers | None = None,
        encoder: RecordEncoder | None = None,
        ahead: int = 0,
    ):
        options = options or OutputOptions()
        sort, threads = options.sort, options.threads
        self.encoder = encoder or RecordEncoder.of(path, header, reference, options)
        file_format, header, builder = self.encoder.file_format, self.encoder.header, self.encoder.builder
        bam_index = ".csi" if reference.lengths.max(initial=0) > MAX_BAI_CONTIG else ".bai"
        index = {"bam": bam_index, "cram": ".crai", "sam": ""}[file_format] if sort else ""
        destination = AlignmentDestination(path, index)
        self._target: Destination | ConvertedDestination = destination
        self._own_workers: Workers | None = None
        self._duplicates: DuplicateSearch | None = None
        self._beside: list[FileBeside] = []
        self._written = 0
        self._format: RecordWriter
        if sort:
            if workers is None:
                workers = self._own_workers = Workers(max(1, threads))
            self._format = self._sorted_format(header, options, destination, workers)
        elif self.encoder.is_unsorted_bam:
            self._format = PiecesFormat(self._head(header), bgzf.END_OF_FILE, ahead)
        elif file_format in ("sam", "paf"):
            self._format = PiecesFormat(self._head(header), ahead=ahead)
        else:
            self._format = CramFormat(builder, self._cram(destination, reference), threads)
        QuietHtslib.enter()
        self._is_open = True
        try:
            self._beside.append(UnmappedFiles(options.unmapped))
            if options.coverage_path is not None:
                from gassst.records.coverage import CoverageFile

                places = np.asarray(reference.starts), np.asarray(reference.lengths)
                self._beside.append(CoverageFile(options.coverage_path, header.contigs.names, *places))
            if options.duplicates is not None and self._duplicates is not None:
                from gassst.records.duplicate_metrics import metrics_files

                self._beside += metrics_files(options.duplicates, self._duplicates.counts)
            if sort and file_format == "sam":
                self._target = ConvertedDestination(destination, "sam", threads)
            elif sort and file_format == "cram":
                form, folder = self._cram(destination, reference).with_folder()
                self._target = ConvertedDestination(destination, f"cram{form}", threads, folder)
            fd = self._target.open()
            with self._target.errors():
                self._format.begin(fd)
        except BaseException:
            self.abort()
            raise

    def _sorted_format(
        self, header: Header, options: OutputOptions, destination: AlignmentDestination, workers: Workers
    ) -> RecordWriter:
        """Sorted BAM: the output itself, or what samtools makes it of."""
        is_output = self.encoder.file_format == "bam"
        level = options.level if is_output else None
        lengths, memory = self.encoder.builder.lengths, options.sort_memory
        rules = options.duplicates
        if rules is None:
            from gassst.records.sorting import SortedBamFormat

            return SortedBamFormat(lengths, header, level, destination, workers, memory, is_output)
        from gassst.records.duplicates import DuplicateSearch, LibraryNames
        from gassst.records.marking import MarkedBamFormat

        self._duplicates = DuplicateSearch(rules, LibraryNames.of(header.others, rules.within))
        return MarkedBamFormat(
            self._duplicates, lengths, header, level, destination, workers, memory, is_output
        )

    def _cram(self, destination: AlignmentDestination, reference: ReferenceArrays) -> CramTarget:
        return CramTarget(self.encoder.cram_options, destination, self.encoder.header.contigs, reference)

    def _head(self, header: Header) -> Iterator[Buffer]:
        """How unsorted SAM or BAM begins. A header that is to be replaced is stored: its size must not change."""
        if not self.encoder.is_unsorted_bam:
            yield from [] if self.encoder.file_format == "paf" else header.pieces
            return
        level = self.encoder.options.level
        level = bgzf.DEFAULT_LEVEL if level is None else level
        deflate = bgzf.deflater(level if self.encoder.counted_part is None else 0)
        yield from bgzf.blocks(bam_header(header), deflate)

    def write(self, encoded: Encoded) -> int:
        """Writes the records of a batch and returns how many."""
        if not self._is_open:
            raise ValueError("write to a closed file")
        with self._target.errors():
            written = self._format.write(encoded.payload)
        self._written += written
        for file in self._beside:
            file.write(encoded.unmapped, encoded.covered)
        return written

    def close(self) -> None:
        """Completes the files; when that fails they are removed."""
        if not self._is_open:
            return
        try:
            self._complete()
        except BaseException:
            self.abort()
            raise
        self._leave()

    def _complete(self) -> None:
        with self._target.errors():
            self._write_count()
            self._format.close()
        for file in self._beside:
            file.close()
        self._target.commit()
        for file in self._beside:
            file.commit()

    def _write_count(self) -> None:
        """Have the header of a shard say how many records it has. Raises OSError."""
        place = self.encoder.counted_part
        if place is None:
            return
        place = replace(place, records=self._written)
        header = self.encoder.header._replace(after=place.put_into(self.encoder.header.after))
        if self.encoder.options.sort:
            from gassst.records.sorting import SortedBamFormat

            assert isinstance(self._format, SortedBamFormat)
            self._format.header = header
        elif isinstance(self._format, PiecesFormat):
            self._format.replace_header(self._head(header))

    def abort(self) -> None:
        """Closes and removes what was written."""
        if not self._is_open:
            return
        self._format.abort()
        self._target.discard()
        for file in self._beside:
            file.discard()
        self._leave()

    @property
    def nanoseconds_behind(self) -> int:
        """What a thread of its own has spent in writing, beside the calls of `write`."""
        return self._format.nanoseconds_behind if isinstance(self._format, PiecesFormat) else 0

    @property
    def duplicates(self) -> DuplicateCounts | None:
        """What was found of duplicates, once the writer is closed; None where they are not marked."""
        return None if self._duplicates is None else self._duplicates.counts

    def _leave(self) -> None:
        self._is_open = False
        if self._own_workers is not None:
            self._own_workers.close()
        QuietHtslib.leave()

    def __enter__(self) -> AlignmentWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


def output_format(destination: Destination, asked: str | None) -> str:
    """One of `RECORD_FORMATS`: what is asked for, else what the name says; UsageError where neither tells."""
    if asked is not None and asked not in RECORD_FORMATS:
        raise UsageError(f"output format {asked!r}: must be sam, bam, cram or paf")
    extension = os.path.splitext(destination.path)[1][1:].lower()
    if asked is None and extension not in RECORD_FORMATS and not destination.is_stream:
        raise UsageError(f"output {destination.name}: name it .sam, .bam, .cram or .paf, or state the format")
    return asked or (extension if extension in RECORD_FORMATS else "sam")
