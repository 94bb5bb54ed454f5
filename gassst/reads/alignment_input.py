"""SAM, BAM and CRAM as input: which files are such, what of their headers stays, and their reads in batches.

Reads become FASTQ text with their tags as comments, and whoever has a batch parses it, as from a FASTQ file: mapping
a file gives the records that `samtools fastq -T '*'` and option -C give.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import threading
import zlib
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import IO, Any

import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib
from gassst._core.alignment_text import AlignmentReader
from gassst._core.reads import RecordParser
from gassst.errors import InputError, UsageError, unreadable
from gassst.files.input_progress import InputProgress
from gassst.files.pipes import first_bytes, held
from gassst.files.quiet import QuietHtslib
from gassst.files.slices import LaneShard, SlicedFile
from gassst.files.source import name_of
from gassst.frozen import mutable, replace
from gassst.model.read_batch import ReadBatch, largest_batch, take_batch
from gassst.reads.groups import ReadGroups, repeated_id
from gassst.reads.streams import ReadOptions
from gassst.reads.texts import ENOUGH

PEEKED = 1 << 16  # bytes; the first BGZF block is no longer
SUFFIXES = (".sam", ".bam", ".cram")
SAM_HEADER = re.compile(rb"@(HD|SQ|RG|PG)\t[A-Za-z][A-Za-z0-9]:|@CO\t")


def is_alignment_file(path: str, alone: bool = False) -> bool:
    """Whether the file holds alignments: by its first bytes.

    Where these cannot be read twice, the name decides, unless this is the only input of a run (`alone`).
    """
    if path == "-":
        peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
        return peek is not None and _looks_like_alignments(peek(PEEKED))
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return _looks_like_alignments(first_bytes(path, PEEKED)) if alone else path.endswith(SUFFIXES)
        with open(path, "rb", buffering=0) as file:
            return _looks_like_alignments(file.read(PEEKED)) or (
                path.endswith(".sam") and os.path.getsize(path) > 0
            )
    except OSError:
        return False  # who opens it for its reads says why


def _looks_like_alignments(head: bytes) -> bool:
    if head.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            head = zlib.decompressobj(31).decompress(head, 64)
    return head.startswith((b"BAM\1", b"CRAM")) or SAM_HEADER.match(head) is not None


class AlignmentInput:
    """One such file.

    Parameters
    ----------
    path : str
        "-" is standard input.
    threads : int
        That inflate besides the one that reads.
    reference : path or None
        FASTA to decode CRAM with, where it was written with one.

    Raises
    ------
    InputError
        The file, or its header, cannot be read.
    """

    def __init__(self, path: str, threads: int = 1, reference: str | None = None):
        self.name = name_of(path)
        self._path, self._threads, self._reference = path, threads, reference
        self._is_seekable = path != "-" and os.path.isfile(path)
        self._file, self._reader = self._opened(0 if self._is_seekable else threads)
        self.header: str = self._reader.header
        if self._file is not None:  # it is opened again when its turn comes: there may be hundreds
            self._reader.close()
            self._file.close()

    def _opened(self, threads: int) -> tuple[IO[bytes] | None, AlignmentReader]:
        QuietHtslib.enter()
        try:
            file = open(self._path, "rb", buffering=0) if self._is_seekable else None  # noqa: SIM115 - `batches` closes it
            fd = os.dup(file.fileno()) if file is not None else _fed(partial(self._stream().read1, PEEKED))
            return file, AlignmentReader(fd, self.name, threads, self._reference, check_end=self._is_seekable)
        except OSError as error:
            raise unreadable(self.name, error) from error
        finally:
            QuietHtslib.leave()

    def _stream(self) -> Any:
        return sys.stdin.buffer if self._path == "-" else held(self._path) or open(self._path, "rb")

    def _opened_part(self, stack: ExitStack, part: LaneShard) -> tuple[SlicedFile, AlignmentReader, _Feed]:
        file = stack.enter_context(SlicedFile(self._path, part.slices[0], part.head))
        feed = _Feed(file)
        try:
            reader = AlignmentReader(feed.begin(), self.name, self._threads, self._reference, check_end=False)
        except OSError as error:
            raise unreadable(self.name, error) from error
        return file, reader, feed

    def batches(
        self,
        interleaved: bool,
        options: ReadOptions,
        progress: InputProgress | None,
        allow_truncated: bool,
        part: LaneShard | None = None,
    ) -> Generator[AlignmentBatch, None, None]:
        """Its reads, yet to be parsed. They are pairs where the first one is, or `interleaved` says so.

        Raises
        ------
        InputError
            Damage; mates that are not neighbours; pairs in a file that begins with a single read.
        """
        options = options._replace(tags=replace(options.tags, comments=True, casava_barcode=False))
        before = 0
        with ExitStack() as stack:
            QuietHtslib.enter()  # before its threads begin to read ahead
            stack.callback(QuietHtslib.leave)
            if self._file is not None:
                self._file, self._reader = self._opened(self._threads if part is None else 0)
            file: IO[bytes] | SlicedFile | None = self._file
            reader, feed = self._reader, None
            stack.enter_context(closing(file or reader))
            stack.enter_context(closing(reader))
            if not (reader.ends_well or allow_truncated):
                raise InputError(
                    f"{self.name}: its end-of-file block is missing: it may be cut short; --allow-truncated accepts it"
                )
            try:
                paired = reader.starts_paired() or interleaved
                if part is not None:
                    file, reader, feed = self._opened_part(stack, part)
                    stack.enter_context(closing(reader))
                if file is not None and progress is not None:
                    progress.follow(file)
                while True:
                    text, count = reader.read(options.reads, ENOUGH)
                    if feed is not None and feed.error is not None:
                        raise feed.error
                    if not count:
                        return
                    if reader.has_pairs and not paired:
                        raise ValueError("pairs after a single read; --interleaved accepts both")
                    yield AlignmentBatch(text, count, self.name, before, options, paired)
                    before += count
            except ValueError as error:
                where = f"after record {reader.records}: " if reader.records else ""
                raise InputError(f"{self.name}: {where}{error}") from error


@mutable(eq=False)
class AlignmentBatch:
    """Text of the reads of one batch."""

    text: bytes
    records: int
    name: str
    before: int
    options: ReadOptions
    paired: bool

    def __len__(self) -> int:
        return self.records

    def parsed(self) -> ReadBatch:
        """The batch; its text is given up, so this works once. Raises InputError for a tag that SAM forbids."""
        text, self.text = self.text, b""
        most = largest_batch(self.options.length)
        parser = RecordParser(
            self.name,
            self.records + 1,
            most,
            self.options.length,
            None,
            self.paired,
            before=self.before or None,
            tags=self.options.tags,
        )
        parser.parse(text, True)
        return take_batch(parser)


def alignment_inputs(
    paths: Iterable[str], threads: int, reference: str | None = None, alone: bool = False
) -> dict[str, AlignmentInput]:
    """Those of the paths that are alignment files; `alone` as in `is_alignment_file`. Raises InputError."""
    found = [path for path in paths if is_alignment_file(path, alone)]
    return {path: AlignmentInput(path, threads, reference) for path in found}


def kept_lines(inputs: Iterable[AlignmentInput], own: ReadGroups) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The @RG and the @CO lines of all inputs, each once; a run's `own` read groups replace those of inputs.

    Raises
    ------
    UsageError
        Two read groups of one ID differ.
    """
    lines = [line for item in inputs for line in item.header.splitlines()]
    comments = tuple(dict.fromkeys(line for line in lines if line.startswith("@CO\t")))
    if own.lines:
        return own.lines, comments
    groups = tuple(dict.fromkeys(line for line in lines if line.startswith("@RG\t")))
    if (name := repeated_id(groups)) is not None:
        raise UsageError(f"read group {name!r}: inputs have two different ones of this ID; -R sets another")
    return groups, comments


class _Feed:
    """Feeds a part of a file to htslib, and knows what went wrong."""

    def __init__(self, file: SlicedFile):
        self.error: InputError | None = None
        self._file = file

    def begin(self) -> int:
        """A descriptor to read from."""
        return _fed(self._read)

    def _read(self) -> bytes:
        try:
            return self._file.read(PEEKED)
        except (OSError, ValueError) as error:  # ValueError: closed, as nobody reads any more
            self.error = InputError(f"{self._file.path}: {getattr(error, 'strerror', None) or error}")
            return b""


def _fed(read: Callable[[], bytes]) -> int:
    """A descriptor to read from: bytes that `read` returns, up to the first empty ones.

    Child processes may inherit both ends. A pipe would not end before all of them had closed it; a socket is shut down.
    """
    import socket  # 3 ms that few runs need

    reading, writing = socket.socketpair()

    def pump() -> None:
        with writing:
            with suppress(OSError):  # nobody reads any more, or no more can be read
                while piece := read():
                    writing.sendall(piece)
            with suppress(OSError):
                writing.shutdown(socket.SHUT_WR)

    threading.Thread(target=pump, name="gassst-pump", daemon=True).start()
    return reading.detach()
