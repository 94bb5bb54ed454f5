"""Output of SAM, BAM and CRAM: header text, and a writer whose files appear only when they are complete.

The records themselves are built by `gassst._core.records` and become bytes in `gassst.io.encoding`; their fields and
tags are listed at `AlignmentWriter`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pysam  # must come before _records, which links against the htslib that pysam loads

from gassst._core.records import HitBatch, RecordBuilder
from gassst.errors import InputError, UsageError
from gassst.io import bgzf
from gassst.io.destination import (
    MAX_BAI_CONTIG,
    AlignmentDestination,
    CompressedFile,
    Destination,
    SortedDestination,
)
from gassst.io.encoding import (
    BamEncoder,
    CramEncoder,
    CramFormat,
    Encoded,
    Encoder,
    Format,
    PiecesFormat,
    SamEncoder,
    bam_header,
)
from gassst.io.sorting import SORT_MEMORY, RunEncoder, SortedBamFormat
from gassst.workers.base import Workers
from gassst.workers.threads import ThreadWorkers

if TYPE_CHECKING:
    from gassst._core.records import Reads

MAX_CONTIG = 2**31 - 1  # what BAM can hold
FORMATS = ("sam", "bam", "cram")


class ReferenceArrays(NamedTuple):
    """What a record needs to know of the reference (docs/pipeline.md).

    `exception_*` are runs of masked bases sorted by `exception_start` (concatenated coordinate) with their
    upper-case ASCII letter; the padding between contigs is not among them.
    """

    planes: npt.NDArray[np.uint64]  # [n, 3]
    starts: npt.NDArray[np.int64]  # [contigs]
    lengths: npt.NDArray[np.int64]  # [contigs]
    exception_start: npt.NDArray[np.uint32]
    exception_length: npt.NDArray[np.uint32]
    exception_code: npt.NDArray[np.uint8]


def header(
    reference_names: Sequence[str],
    lengths: Sequence[int],
    md5s: Sequence[str] | None = None,
    read_group: str | None = None,
    program_version: str = "",
    command_line: str = "",
    sort_order: str = "unsorted",
) -> str:
    """SAM header text.

    `sort_order` is "unsorted" (records grouped by read: GO:query) or "coordinate"; `read_group` a line as bwa
    takes it (`@RG\\tID:x\\tSM:y`, tabs real or written as backslash and t).
    Raises `UsageError` for a bad read group, `InputError` for a contig that SAM cannot hold.
    """
    order = "SO:coordinate" if sort_order == "coordinate" else "SO:unsorted\tGO:query"
    lines = [f"@HD\tVN:1.6\t{order}"]
    lines += _contig_lines(reference_names, lengths, md5s)
    if read_group is not None:
        lines.append(parse_read_group(read_group))
    lines.append(_program_line(program_version, command_line))
    return "\n".join(lines) + "\n"


def _contig_lines(names: Sequence[str], lengths: Sequence[int], md5s: Sequence[str] | None) -> Iterator[str]:
    seen = set()
    for i, (name, length) in enumerate(zip(names, lengths, strict=True)):
        if not re.fullmatch(r"[!-)+-<>-~][!-~]*", name):
            raise InputError(f"reference {name!r}: SAM takes printable names not beginning with '*' or '='")
        if name in seen:
            raise InputError(f"reference {name!r}: more than one contig has this name")
        if not 1 <= length <= MAX_CONTIG:
            raise InputError(f"reference {name!r}: SAM takes 1 to {MAX_CONTIG} bases a contig, not {length}")
        seen.add(name)
        yield f"@SQ\tSN:{name}\tLN:{length}" + (f"\tM5:{md5s[i]}" if md5s is not None else "")


def _program_line(version: str, command_line: str) -> str:
    printable = command_line.encode("utf-8", "backslashreplace").decode()
    for character, escaped in (("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        printable = printable.replace(character, escaped)
    fields = ["@PG", "ID:gassst", "PN:gassst"]
    fields += [f"VN:{version}"] * bool(version) + [f"CL:{printable}"] * bool(printable)
    return "\t".join(fields)


def parse_read_group(text: str) -> str:
    """The @RG header line in `text`, in which a tab may be written as backslash and t; else `UsageError`."""
    line = text.replace("\\t", "\t")
    first, *fields = line.split("\t")
    bad = [f for f in fields if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]:[^\x00-\x1f\x7f]+", f)]
    keys = [f[:2] for f in fields]
    if first != "@RG":
        raise UsageError(f"read group {text!r}: must begin with '@RG' and a tab")
    if bad:
        raise UsageError(f"read group {text!r}: {bad[0]!r} is not of the form XX:value")
    if len(set(keys)) < len(keys):
        raise UsageError(f"read group {text!r}: a field occurs twice")
    if "ID" not in keys:
        raise UsageError(f"read group {text!r}: has no ID")
    return line


def _in_coordinate_order(header_text: str) -> str:
    """The header, whose records come sorted instead of grouped by read."""
    first, *others = header_text.split("\n")
    fields = [field for field in first.split("\t") if not field.startswith(("SO:", "GO:"))]
    if fields[0] != "@HD":
        return header_text
    return "\n".join(["\t".join([*fields, "SO:coordinate"]), *others])


def _read_group_id(header_text: str) -> str | None:
    found = re.search(r"^@RG\t(?:.*\t)?ID:([^\t\n]*)", header_text, re.MULTILINE)
    return found[1] if found else None


def record_builder(header_text: str, reference: ReferenceArrays, **options: bool) -> RecordBuilder:
    """What makes records for this header and reference; the read group is that of the header.

    `options`: eqx, xa, soft_clip_supplementary, mark_secondary, as for `AlignmentWriter`.
    """
    return RecordBuilder(
        pysam.AlignmentHeader.from_text(header_text),
        reference.planes,
        reference.starts,
        reference.lengths,
        (reference.exception_start, reference.exception_length, reference.exception_code),
        read_group=_read_group_id(header_text),
        **options,
    )


def to_aligned_segments(
    reads: Reads,
    hits: npt.NDArray[np.void],
    summaries: npt.NDArray[np.void],
    cigars: npt.NDArray[np.uint32],
    builder: RecordBuilder,
) -> list[pysam.AlignedSegment]:
    """The records that `AlignmentWriter.write_batch` would write, as objects independent of the arrays."""
    return builder.aligned_segments(HitBatch(reads, hits, summaries, cigars))


class _QuietHtslib:
    """Keeps htslib from writing to stderr while any writer is open: what goes wrong is raised instead."""

    _depth = 0
    _before = 0

    @classmethod
    def enter(cls) -> None:
        if cls._depth == 0:
            cls._before = pysam.set_verbosity(0)
        cls._depth += 1

    @classmethod
    def leave(cls) -> None:
        cls._depth -= 1
        if cls._depth == 0:
            pysam.set_verbosity(cls._before)


@dataclass(frozen=True)
class RecordEncoder:
    """Makes of batches what an `AlignmentWriter` for the same output writes; any thread or process may do it.

    Attributes
    ----------
    file_format : str
        One of `FORMATS`.
    header : str
        The text, whose sort order is that of the records.
    builder : RecordBuilder
    sort : bool
    level : int or None
    no_unmapped : bool
    unmapped : bool
        Unmapped reads are wanted as FASTQ, too.
    """

    file_format: str
    header: str
    builder: RecordBuilder
    sort: bool = False
    level: int | None = None
    no_unmapped: bool = False
    unmapped: bool = False

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str] | None,
        header: str,
        reference: ReferenceArrays,
        *,
        format: str | None = None,
        sort: bool = False,
        level: int | None = None,
        no_unmapped: bool = False,
        unmapped_path: str | os.PathLike[str] | None = None,
        eqx: bool = False,
        xa: bool = False,
        soft_clip_supplementary: bool = False,
        mark_secondary: bool = False,
        **_of_the_writer: object,
    ) -> RecordEncoder:
        """For the output `path`; the parameters are those of `AlignmentWriter`. Raises UsageError."""
        if level is not None and not 0 <= level <= 9:
            raise UsageError(f"compression level {level}: must be 0 to 9")
        file_format = output_format(Destination(path), format)
        header = _in_coordinate_order(header) if sort else header
        builder = record_builder(
            header,
            reference,
            eqx=eqx,
            xa=xa,
            soft_clip_supplementary=soft_clip_supplementary,
            mark_secondary=mark_secondary,
        )
        return cls(file_format, header, builder, sort, level, no_unmapped, unmapped_path is not None)

    @property
    def is_sorted_here(self) -> bool:
        """By `gassst.io.sorting`, not by samtools."""
        return self.sort and self.file_format == "bam"

    @property
    def is_unsorted_bam(self) -> bool:
        """What is encoded is BAM in the order of the input; samtools makes of it SAM or CRAM in order."""
        return not self.is_sorted_here and (self.sort or self.file_format == "bam")

    @cached_property
    def _encoder(self) -> Encoder:
        if self.is_sorted_here:
            return RunEncoder(self.builder)
        if self.is_unsorted_bam:
            return BamEncoder(self.builder, self.level)
        return SamEncoder(self.builder) if self.file_format == "sam" else CramEncoder()

    def encode(
        self,
        reads: Reads,
        hits: npt.NDArray[np.void],
        summaries: npt.NDArray[np.void],
        cigars: npt.NDArray[np.uint32],
    ) -> Encoded:
        """The records of a batch, ready for `AlignmentWriter.write`. `HitBatch` says what the arrays are."""
        batch = HitBatch(reads, hits, summaries, cigars)
        payload = self._encoder.encode(batch, self.no_unmapped)
        return Encoded(payload, *batch.unmapped_fastq()) if self.unmapped else Encoded(payload)


class AlignmentWriter:
    """Writes batches as SAM, BAM or CRAM; a context manager.

    The output has its name only after a clean exit: until then it is a hidden file beside it, removed when
    the block is left by an exception. Standard output ("-" or None), devices and pipes are written directly.

    Parameters
    ----------
    path: ".sam", ".bam" or ".cram" tells the format unless `format` does; streams that tell none get "sam".
    header: text, as `header()` makes it; its read group, if any, goes into every record.
    threads: for the compression of CRAM and for sorting; SAM and BAM are made by whoever calls `encode`.
    workers: that merge and compress sorted BAM; None: threads of this process.
    encoder: that of these workers; None: one made of the other parameters, from `sort` to `level`.
    sort: by coordinate, with an index beside the file (.bai, .csi for contigs over 2^29 bases, .crai).
    sort_memory: bytes of BAM records that are sorted in memory; beyond, they are kept in files beside the output.
        SAM and CRAM are sorted by samtools when all records are there.
    eqx: CIGARs with = and X for M (CRAM does not keep these: it is read back as M).
    xa: the other hits of a read in tag XA of the first, `chr,+pos,CIGAR,NM;` each (CIGAR always with M),
        instead of records of their own.
    soft_clip_supplementary: supplementary records keep S and all of SEQ and QUAL; else they have H (bwa's -Y).
    mark_secondary: supplementary records have flag 0x100 instead of 0x800 (bwa's -M).
    no_unmapped: leave out unmapped reads; of a pair both or neither, so the unmapped mate of a mapped read stays.
    unmapped_path: FASTQ of the unmapped reads, those of pairs with "/1" and "/2" behind their name, compressed
        if it ends in ".gz" or the like.
    level: of compression, 0 to 9, as `bgzf.deflater` has it; None for a fast one. CRAM, always without reference
        (`no_ref`), has htslib's levels.

    A mapped record has the tags NM MD AS XS (scores of the hit and of the second best, -edits where the whole
    read is aligned) X0 X1 (hits in the best and second stratum) NH HI (rows of the read, and which this is), then
    MC MQ (of a mapped mate), RG, SA (the other parts of a read that is split), XA; an unmapped one MC MQ RG only.
    Secondary records have SEQ and QUAL '*'. A masked reference base is a mismatch, in MD by its own letter.
    In a pair RNEXT, PNEXT, MC and MQ are those of the mate's primary record, TLEN reaches from this record's
    5' end to that one's, and an unmapped read lies where its mate is.

    Raises `OutputError`, naming the file, as soon as it cannot be written (from the constructor if it cannot
    be opened), `BrokenPipeError` when the reader of a pipe is gone, `UsageError` for senseless arguments.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        header: str,
        reference: ReferenceArrays,
        *,
        format: str | None = None,
        threads: int = 1,
        sort: bool = False,
        eqx: bool = False,
        xa: bool = False,
        soft_clip_supplementary: bool = False,
        mark_secondary: bool = False,
        no_unmapped: bool = False,
        unmapped_path: str | os.PathLike[str] | None = None,
        level: int | None = None,
        sort_memory: int = SORT_MEMORY,
        workers: Workers | None = None,
        encoder: RecordEncoder | None = None,
    ):
        self.encoder = encoder or RecordEncoder.of(
            path,
            header,
            reference,
            format=format,
            sort=sort,
            level=level,
            no_unmapped=no_unmapped,
            unmapped_path=unmapped_path,
            eqx=eqx,
            xa=xa,
            soft_clip_supplementary=soft_clip_supplementary,
            mark_secondary=mark_secondary,
        )
        file_format, header, builder = self.encoder.file_format, self.encoder.header, self.encoder.builder
        bam_index = ".csi" if max(reference.lengths, default=0) > MAX_BAI_CONTIG else ".bai"
        index = {"bam": bam_index, "cram": ".crai", "sam": ""}[file_format] if sort else ""
        destination = AlignmentDestination(path, index)
        self._target: Destination | SortedDestination = destination
        self._own_workers: ThreadWorkers | None = None
        self._unmapped: CompressedFile | None = None
        self.records_written = 0
        self.unmapped_written = 0
        self._format: Format
        if self.encoder.is_sorted_here:
            if workers is None:
                workers = self._own_workers = ThreadWorkers(None, threads)
            self._format = SortedBamFormat(builder.header, header, level, destination, workers, sort_memory)
        elif self.encoder.is_unsorted_bam:
            head = bam_header(header, builder.header.references, builder.header.lengths)
            deflate = bgzf.deflater(bgzf.DEFAULT_LEVEL if level is None else level)
            self._format = PiecesFormat(bgzf.blocks(head, deflate), bgzf.END_OF_FILE)
        elif file_format == "sam":
            self._format = PiecesFormat([header.encode()])
        else:
            self._format = CramFormat(builder, destination.name, level, threads)
        _QuietHtslib.enter()
        self._is_open = True
        try:
            if unmapped_path is not None:
                self._unmapped = CompressedFile(unmapped_path)
            if sort and file_format != "bam":
                suffix = "" if level is None else str(level)
                self._target = SortedDestination(destination, file_format, suffix, threads)
            fd = self._target.open()
            with self._target.errors():
                self._format.begin(fd)
        except BaseException:
            self.abort()
            raise

    def encode(
        self,
        reads: Reads,
        hits: npt.NDArray[np.void],
        summaries: npt.NDArray[np.void],
        cigars: npt.NDArray[np.uint32],
    ) -> Encoded:
        """As `RecordEncoder.encode`."""
        return self.encoder.encode(reads, hits, summaries, cigars)

    def write(self, encoded: Encoded) -> int:
        """Writes the records of a batch and returns how many."""
        if not self._is_open:
            raise ValueError("write to a closed file")
        with self._target.errors():
            written = self._format.write(encoded.payload)
        self.records_written += written
        if self._unmapped is not None:
            self._unmapped.write(encoded.unmapped)
            self.unmapped_written += encoded.n_unmapped
        return written

    def write_batch(
        self,
        reads: Reads,
        hits: npt.NDArray[np.void],
        summaries: npt.NDArray[np.void],
        cigars: npt.NDArray[np.uint32],
    ) -> int:
        """Both in turn: `encode`, `write`."""
        return self.write(self.encode(reads, hits, summaries, cigars))

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
            self._format.close()
        if self._unmapped is not None:
            self._unmapped.close()
        self._target.commit()
        if self._unmapped is not None:
            self._unmapped.commit()

    def abort(self) -> None:
        """Closes and removes what was written."""
        if not self._is_open:
            return
        self._format.abort()
        self._target.discard()
        if self._unmapped is not None:
            self._unmapped.discard()
        self._leave()

    def _leave(self) -> None:
        self._is_open = False
        if self._own_workers is not None:
            self._own_workers.close()
        _QuietHtslib.leave()

    def __enter__(self) -> AlignmentWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


def output_format(destination: Destination, asked: str | None) -> str:
    """One of `FORMATS`: what is asked for, else what the name says; UsageError where neither tells."""
    if asked is not None and asked not in FORMATS:
        raise UsageError(f"output format {asked!r}: must be sam, bam or cram")
    extension = os.path.splitext(destination.path)[1][1:].lower()
    if asked is None and extension not in FORMATS and not destination.is_stream:
        raise UsageError(f"output {destination.name}: name it .sam, .bam or .cram, or state the format")
    return asked or (extension if extension in FORMATS else "sam")
