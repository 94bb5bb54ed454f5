"""Output of SAM, BAM and CRAM: header text, and a writer whose files appear only when they are complete.

The records themselves are built by `gassst._records`; their fields and tags are listed at `AlignmentWriter`.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pysam  # must come before _records, which links against the htslib that pysam loads
from xopen import xopen

from gassst._records import HitBatch, RecordBuilder, RecordWriter
from gassst.errors import InputError, OutputError, UsageError

if TYPE_CHECKING:
    from gassst._records import Reads

MAX_CONTIG = 2**31 - 1  # what BAM can hold
MAX_BAI_CONTIG = 2**29  # beyond it only a CSI index works
FORMATS = {"sam": "w", "bam": "wb", "cram": "wc"}  # and htslib's mode
SORT_MEMORY = 1 << 30


class ReferenceArrays(NamedTuple):
    """What a record needs to know of the reference (docs/pipeline.md).

    `exception_*` are runs of masked bases sorted by `exception_start` (concatenated coordinate) with their upper-case
    ASCII letter; the padding between contigs is not among them.
    """

    planes: npt.NDArray[np.uint64]  # [n, 3]
    starts: npt.NDArray[np.int64]  # [contigs]
    lengths: npt.NDArray[np.int64]  # [contigs]
    exception_start: npt.NDArray[np.uint32]
    exception_length: npt.NDArray[np.uint32]
    exception_code: npt.NDArray[np.uint8]


# -- header ---------------------------------------------------------------------------------------------------------


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

    `sort_order` is "unsorted" (records grouped by read: GO:query) or "coordinate"; `read_group` a line as bwa takes it
    (`@RG\\tID:x\\tSM:y`, tabs real or written as backslash and t).
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
            raise InputError(f"reference {name!r}: SAM takes printable names that begin with neither '*' nor '='")
        if name in seen:
            raise InputError(f"reference {name!r}: more than one contig has this name")
        if not 1 <= length <= MAX_CONTIG:
            raise InputError(f"reference {name!r}: SAM takes contigs of 1 to {MAX_CONTIG} bases, this has {length}")
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
    """The @RG header line in `text`, where a tab may be written as backslash and t; `UsageError` if it is not one."""
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


def _read_group_id(header_text: str) -> str | None:
    found = re.search(r"^@RG\t(?:.*\t)?ID:([^\t\n]*)", header_text, re.MULTILINE)
    return found[1] if found else None


# -- records --------------------------------------------------------------------------------------------------------


def record_builder(
    header_text: str, reference: ReferenceArrays, *, eqx: bool = False, xa: bool = False
) -> RecordBuilder:
    """What makes records for this header and reference; the read group is that of the header."""
    planes, starts, lengths, *exceptions = reference
    parsed = pysam.AlignmentHeader.from_text(header_text)
    group = _read_group_id(header_text)
    return RecordBuilder(parsed, planes, starts, lengths, tuple(exceptions), eqx=eqx, xa=xa, read_group=group)


def to_aligned_segments(
    reads: Reads,
    hits: npt.NDArray[np.void],
    summaries: npt.NDArray[np.void],
    cigars: npt.NDArray[np.uint32],
    builder: RecordBuilder,
) -> list[pysam.AlignedSegment]:
    """The records that `AlignmentWriter.write_batch` would write, as pysam objects that outlive the arrays."""
    return builder.aligned_segments(HitBatch(reads, hits, summaries, cigars))


# -- where a file goes ----------------------------------------------------------------------------------------------


class _Destination:
    """A file that takes its name when it is complete, or, as it is, standard output, a device or a named pipe."""

    def __init__(self, path: str | os.PathLike[str] | None):
        self.path = "-" if path is None else os.fspath(path)
        self.is_stdout = self.path == "-"
        self.name = "standard output" if self.is_stdout else self.path
        self.is_stream = self.is_stdout or _exists_irregular(self.path)
        self.final = self.path if self.is_stream else os.path.realpath(self.path)
        self.directory, base = os.path.split(self.final)
        # The end of the name stays as it is: a compressor is chosen by it.
        self.working = self.final if self.is_stream else self.sibling(f".{secrets.token_hex(4)}.{base[-100:]}")

    def sibling(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def open(self) -> int:
        with self.errors():
            if self.is_stdout:
                return os.dup(1)
            create = 0 if self.is_stream else os.O_CREAT | os.O_EXCL
            return os.open(self.working, os.O_WRONLY | create, 0o666)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turns an OSError into an OutputError of this file; a reader that went away stays a BrokenPipeError."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"cannot write {self.name}: {error.strerror or error}") from error

    def commit(self) -> None:
        if not self.is_stream:
            with self.errors():
                os.replace(self.working, self.final)

    def discard(self) -> None:
        if not self.is_stream:
            with suppress(FileNotFoundError):
                os.unlink(self.working)


def _exists_irregular(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    # Renaming over /dev/stdout would not reach the file that the shell opened.
    return not stat.S_ISREG(mode) or path.startswith(("/dev/", "/proc/"))


class _SortedDestination:
    """Takes unsorted BAM in a folder of its own beside the output; on commit it is sorted, indexed, moved in place."""

    def __init__(self, destination: _Destination, file_format: str, level: str, threads: int, longest_contig: int):
        self._destination, self._format, self._level, self._threads = destination, file_format, level, threads
        bam_index = ".csi" if longest_contig > MAX_BAI_CONTIG else ".bai"
        self._index = {"bam": bam_index, "cram": ".crai", "sam": ""}[file_format]
        self.errors = destination.errors
        with self.errors():
            place = None if destination.is_stream else destination.directory
            self._folder = tempfile.mkdtemp(prefix=".gassst-sort-", dir=place)
        self._unsorted, self._sorted = (os.path.join(self._folder, name) for name in ("unsorted.bam", "sorted"))
        self._stream = destination.open() if destination.is_stream else None

    def open(self) -> int:
        with self.errors():
            return os.open(self._unsorted, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)

    def commit(self) -> None:
        self._sort()
        with self.errors():
            if self._stream is None:
                self._move()
            else:
                self._copy()
        self.discard()

    def _sort(self) -> None:
        threads = max(1, self._threads)
        options = ["--no-PG", "-m", str(SORT_MEMORY // threads), "-@", str(threads - 1)]
        options += ["-T", os.path.join(self._folder, "chunk"), "-O", self._output_format()]
        output = self._sorted
        if self._index and self._stream is None:
            options.append("--write-index")
            output = f"{output}##idx##{self._sorted}{self._index}"
        try:
            pysam.sort(*options, "-o", output, self._unsorted)
        except pysam.SamtoolsError as error:
            reason = str(error.value).strip().splitlines()[-1]
            raise OutputError(f"cannot sort {self._destination.name}: {reason}") from error

    def _output_format(self) -> str:
        level = f",level={self._level}" if self._level and self._format != "sam" else ""
        return self._format + level + (",no_ref=1" if self._format == "cram" else "")

    def _move(self) -> None:
        final = self._destination.final
        os.replace(self._sorted, final)
        if self._index:
            os.replace(self._sorted + self._index, final + self._index)
            os.utime(final + self._index)  # samtools warns of an index older than its file

    def _copy(self) -> None:
        stream, self._stream = self._stream, None
        with open(self._sorted, "rb") as source, os.fdopen(stream, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)

    def discard(self) -> None:
        if self._stream is not None:
            os.close(self._stream)
            self._stream = None
        shutil.rmtree(self._folder, ignore_errors=True)


class _UnmappedFile:
    """FASTQ of unmapped reads, compressed as its name says."""

    def __init__(self, path: str | os.PathLike[str]):
        self._destination = _Destination(path)
        if self._destination.is_stdout:
            raise UsageError("unmapped reads cannot go to standard output")
        with self._destination.errors():
            self._file = xopen(self._destination.working, "wb", threads=0)

    def write(self, text: bytes) -> None:
        with self._destination.errors():
            self._file.write(text)

    def close(self) -> None:
        with self._destination.errors():
            self._file.close()

    def commit(self) -> None:
        self._destination.commit()

    def discard(self) -> None:
        with suppress(OSError):
            self._file.close()
        self._destination.discard()


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


# -- the writer -----------------------------------------------------------------------------------------------------


class AlignmentWriter:
    """Writes batches as SAM, BAM or CRAM; a context manager.

    The output has its name only after a clean exit: until then it is a hidden file beside it, removed when the block is
    left by an exception. Standard output ("-" or None), devices and named pipes are written as they are.

    Parameters
    ----------
    path: where to; ".sam", ".bam" or ".cram" tells the format unless `format` does ("sam" for streams without either).
    header: text, as `header()` makes it; its read group, if any, goes into every record.
    threads: for compression and sorting.
    sort: by coordinate, with an index beside the file (.bai, .csi for contigs over 2^29 bases, .crai).
    eqx: CIGARs with = and X for M (CRAM does not keep these: it is read back as M).
    xa: the other hits of a read in tag XA of the first, `chr,+pos,CIGAR,NM;` each, instead of rows of their own.
    no_unmapped: leave out unmapped reads. unmapped_path: write these to FASTQ as well (".gz" and the like: compressed).
    level: of compression, 0 to 9; None for htslib's default. CRAM is written without reference (`no_ref`).

    A mapped record has the tags NM MD AS (= -NM) XS (-edits of the second-best hit) X0 X1 (hits in the best and second
    stratum) NH HI (rows of the read, and which this is), then RG, XA; an unmapped one RG only. Secondary records have
    SEQ and QUAL '*'. A masked reference base is a mismatch, in MD under its own letter.

    Raises `OutputError`, naming the file, as soon as it cannot be written (from the constructor when it cannot be
    opened), `BrokenPipeError` when whoever reads a pipe is gone, `UsageError` for arguments that make no sense.
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
        no_unmapped: bool = False,
        unmapped_path: str | os.PathLike[str] | None = None,
        level: int | None = None,
    ):
        if level is not None and not 0 <= level <= 9:
            raise UsageError(f"compression level {level}: must be 0 to 9")
        destination = _Destination(path)
        file_format = _format_of(destination, format)
        suffix = "" if level is None or file_format == "sam" else str(level)
        longest = int(max(reference.lengths, default=0))
        self._no_unmapped = no_unmapped
        self._target: _Destination | _SortedDestination | None = None
        self._records: RecordWriter | None = None
        self._unmapped: _UnmappedFile | None = None
        self.records_written = 0
        self.unmapped_written = 0
        builder = record_builder(header, reference, eqx=eqx, xa=xa)
        _QuietHtslib.enter()
        self._is_open = True
        try:
            if unmapped_path is not None:
                self._unmapped = _UnmappedFile(unmapped_path)
            self._target = destination
            mode = FORMATS[file_format] + suffix
            if sort:
                self._target = _SortedDestination(destination, file_format, suffix, threads, longest)
                mode = "wb1"
            compressors = threads if threads > 1 and mode != "w" else 0
            fd = self._target.open()
            with self._target.errors():
                self._records = RecordWriter(builder, fd, destination.name, mode, compressors)
        except BaseException:
            self.abort()
            raise

    def write_batch(
        self,
        reads: Reads,
        hits: npt.NDArray[np.void],
        summaries: npt.NDArray[np.void],
        cigars: npt.NDArray[np.uint32],
    ) -> int:
        """Writes the records of a batch (see `HitBatch` for the arrays) and returns how many."""
        if self._records is None:
            raise ValueError("write to a closed file")
        batch = HitBatch(reads, hits, summaries, cigars)
        with self._target.errors():
            written = self._records.write(batch, skip_unmapped=self._no_unmapped)
        self.records_written += written
        if self._unmapped is not None:
            text, n = batch.unmapped_fastq()
            self._unmapped.write(text)
            self.unmapped_written += n
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
            self._records.close()
        if self._unmapped is not None:
            self._unmapped.close()
            self._unmapped.commit()
        self._target.commit()

    def abort(self) -> None:
        """Closes and removes what was written."""
        if not self._is_open:
            return
        if self._records is not None:
            self._records.abort()
        for part in (self._target, self._unmapped):
            if part is not None:
                part.discard()
        self._leave()

    def _leave(self) -> None:
        self._is_open = False
        self._records = None
        _QuietHtslib.leave()

    def __enter__(self) -> AlignmentWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


def _format_of(destination: _Destination, asked: str | None) -> str:
    if asked is not None and asked not in FORMATS:
        raise UsageError(f"output format {asked!r}: must be sam, bam or cram")
    extension = os.path.splitext(destination.path)[1][1:].lower()
    if asked is None and extension not in FORMATS and not destination.is_stream:
        raise UsageError(f"output {destination.name}: name it .sam, .bam or .cram, or state the format")
    return asked or (extension if extension in FORMATS else "sam")
