"""Reads: FASTQ and FASTA, plain or compressed, from files or stdin, in batches of arrays.

A read's name is the first word of its header; a "/1" or "/2" at its end is dropped, as bwa does: mates share
one name in SAM. The rules for records are in `ext/fastx.h`.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xopen import xopen

from gassst import _reads
from gassst.errors import InputError, UsageError

Text = str | bytes
Path = str | os.PathLike[str]

MAX_LENGTH = 1000
MAX_BATCH_BASES = 64 << 20
BUFFER_SIZE = 1 << 18  # stays in the L2 cache from reading to parsing; 4 MiB take 8 % longer
MAX_BUFFER_SIZE = 1 << 28

MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
MAGIC_SIZE = max(map(len, MAGIC))


@dataclass(frozen=True, slots=True, eq=False)
class PackedReads:
    """Reads in 2-bit codes and in bit planes of both strands; layout in `docs/pipeline.md`.

    Attributes
    ----------
    codes : uint8[offsets[-1]]
        A 0, C 1, G 2, T 3, masked 4, forward strand.
    offsets : uint32[n + 1]
        Of `codes`: those of the `ReadBatch`.
    lengths : uint32[n]
    planes : uint64[w + 1, 3]
        From `plane_start[r]`: `ceil(lengths[r] / 64)` rows of read r, as many of its reverse complement.
    plane_start : uint32[n]
    """

    codes: NDArray[np.uint8]
    offsets: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    planes: NDArray[np.uint64]
    plane_start: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True, slots=True, eq=False)
class ReadBatch:
    """Consecutive reads of one file.

    Attributes
    ----------
    names : uint8[name_offsets[-1]]
    name_offsets : uint32[n + 1]
    bases : uint8[offsets[-1]]
        ASCII as in the file, but "." is "N".
    quals : uint8[offsets[-1]] or None
        ASCII, phred + 33; None when the reads have no qualities (FASTA).
    offsets : uint32[n + 1]
        Of `bases` and `quals`.
    first : int
        1-based ordinal of the first read in its file.
    path : str
    """

    names: NDArray[np.uint8]
    name_offsets: NDArray[np.uint32]
    bases: NDArray[np.uint8]
    quals: NDArray[np.uint8] | None
    offsets: NDArray[np.uint32]
    first: int = 1
    path: str = ""
    mate: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def name(self, i: int) -> str:
        return _slice(self.names, self.name_offsets, i).decode("utf-8", "surrogateescape")

    def sequence(self, i: int) -> bytes:
        return _slice(self.bases, self.offsets, i)

    def quality(self, i: int) -> bytes | None:
        return None if self.quals is None else _slice(self.quals, self.offsets, i)

    def head(self, n: int) -> ReadBatch:
        """The first `n` reads, as views."""
        bases = self.offsets[n]
        quals = None if self.quals is None else self.quals[:bases]
        names, mate = self.names[: self.name_offsets[n]], None if self.mate is None else self.mate[:n]
        columns = names, self.name_offsets[: n + 1], self.bases[:bases], quals, self.offsets[: n + 1]
        return ReadBatch(*columns, self.first, self.path, mate)

    def pack(self) -> PackedReads:
        codes, lengths, planes, plane_start = _reads.pack(self.bases, self.offsets)
        return PackedReads(codes, self.offsets, lengths, planes, plane_start)

    @classmethod
    def from_records(
        cls,
        records: Iterable[tuple[Text, Text, Text | None]],
        max_length: int = MAX_LENGTH,
        path: str = "records",
    ) -> ReadBatch:
        """One batch of (name, sequence, quality or None), by the rules for files; errors call it `path`.

        Raises
        ------
        InputError
            On a record that a file may not hold either, or when only some have qualities.
        """
        _verify("maximum read length", max_length, _reads.MAX_LENGTH_LIMIT)
        # So far from 2**32 that no offset overflows, whatever the last read's length.
        parser = _reads.RecordParser(path, _reads.MAX_READS, (1 << 32) - 1 - max_length, max_length)
        for name, sequence, quality in records:
            parser.add(_encoded(name), _encoded(sequence), None if quality is None else _encoded(quality))
        return _take(parser)


def open_reads(
    paths: Path | Iterable[Path],
    batch_size: int = 1 << 16,
    max_length: int = MAX_LENGTH,
    *,
    max_batch_bases: int = MAX_BATCH_BASES,
    buffer_size: int = BUFFER_SIZE,
) -> Generator[ReadBatch, None, None]:
    """Read FASTQ or FASTA files, one after the other.

    Format and compression (gz, bgzf, bz2, xz, zst) are found from the content. A batch ends after
    `batch_size` reads, or with the read that brings it to `max_batch_bases` bases, or with its file.
    Closing the generator closes the file.

    Parameters
    ----------
    paths : path or iterable of paths
        "-" is stdin.
    batch_size : int
        Reads.
    max_length : int
        Longest read accepted, bases.
    buffer_size : int
        Bytes asked for at once; what is read does not depend on it.

    Raises
    ------
    UsageError
        A size out of range.
    InputError
        At once: a path that cannot be read. On iteration: a file that is damaged or cut short.
    """
    _verify("batch size", batch_size, _reads.MAX_READS)
    _verify("maximum read length", max_length, _reads.MAX_LENGTH_LIMIT)
    _verify("bases of a batch", max_batch_bases, MAX_BATCH_BASES)
    _verify("buffer size", buffer_size, MAX_BUFFER_SIZE)
    names = [os.fspath(p) for p in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    for path in names:
        _check_readable(path)
    return _read_files(names, batch_size, max_batch_bases, max_length, buffer_size)


def _verify(what: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise UsageError(f"{what} must be 1 to {most}, not {value}")


def _check_readable(path: str) -> None:
    """Not by opening: a named pipe can be opened once only."""
    if path == "-":
        return
    if os.path.isdir(path):
        raise InputError(f"{path}: {os.strerror(errno.EISDIR)}")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: {os.strerror(errno.EACCES if os.path.lexists(path) else errno.ENOENT)}")


def _read_files(
    paths: list[str], batch_size: int, max_bases: int, max_length: int, buffer_size: int
) -> Generator[ReadBatch, None, None]:
    for path in paths:
        parser = _reads.RecordParser("stdin" if path == "-" else path, batch_size, max_bases, max_length)
        with _Source(path, parser) as source:
            yield from _batches(source, parser, buffer_size)


def _batches(
    source: _Source, parser: _reads.RecordParser, buffer_size: int
) -> Generator[ReadBatch, None, None]:
    """The parser sees a window of the file: buffer[start:end] is what it has not used."""
    buffer = memoryview(bytearray(buffer_size))
    start = end = 0
    eof = False
    while True:
        start += parser.parse(buffer[start:end], eof)
        if parser.full:
            yield _take(parser)
            continue
        if eof:
            break
        buffer, end = _moved_to_front(buffer, start, end)
        start = 0
        count = source.readinto(buffer[end:])
        end += count
        eof = not count
    if len(parser):
        yield _take(parser)


def _moved_to_front(buffer: memoryview, start: int, end: int) -> tuple[memoryview, int]:
    """A buffer that begins with buffer[start:end] and has room behind it."""
    target = buffer if end - start < len(buffer) else memoryview(bytearray(2 * len(buffer)))
    target[: end - start] = buffer[start:end]
    return target, end - start


class _Source:
    """The decompressed bytes of a file or stdin; a failure becomes an InputError that says where."""

    def __init__(self, path: str, parser: _reads.RecordParser) -> None:
        self._parser = parser
        self._closing = ExitStack()
        self._kind: str | None = None
        stream = self._guarded(self._open, path)
        head = self._guarded(_head, stream)
        self._stream: Any = _PushedBack(head, stream)
        self._kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)
        if self._kind:
            self._stream = self._closing.enter_context(self._guarded(self._decompressed))

    def _open(self, path: str) -> Any:
        if path == "-":
            return sys.stdin.buffer
        return self._closing.enter_context(open(path, "rb", buffering=0))

    def _decompressed(self) -> Any:
        """Says what it is, for xopen goes by the name first, and asks for no thread: one that inflates ahead
        costs 5 to 10 % more CPU, to hide 0.1 us of parsing behind 0.36 us of inflating (a read of 100 bases).
        """
        return xopen(self._stream, "rb", threads=0, format=self._kind)

    def readinto(self, target: memoryview) -> int:
        return self._guarded(self._stream.readinto, target)

    def _guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        """Each decompressor has exceptions of its own; but for MemoryError, they all mean bad input."""
        try:
            return function(*args)
        except MemoryError:
            raise
        except Exception as error:
            raise InputError(f"{self._where()}: {self._what(error)}") from error

    def _where(self) -> str:
        records = self._parser.records
        return f"{self._parser.path}: after record {records}" if records else self._parser.path

    def _what(self, error: Exception) -> str:
        if isinstance(error, EOFError):
            return f"{self._kind} data cut short"
        message = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return f"damaged {self._kind} data: {message}" if self._kind else message

    def __enter__(self) -> _Source:
        return self

    def __exit__(self, *exception: object) -> None:
        self._closing.close()


class _PushedBack(io.RawIOBase):
    """A stream whose first bytes have been read already; pipes cannot go back. Does not close the stream."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self._head = head
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        if not self._head:
            return self._stream.readinto(target)
        count = min(len(self._head), len(target))
        target[:count] = self._head[:count]
        self._head = self._head[count:]
        return count


def _head(stream: Any) -> bytes:
    head = b""
    while len(head) < MAGIC_SIZE and (more := stream.read(MAGIC_SIZE - len(head))):
        head += more
    return head


def _take(parser: _reads.RecordParser) -> ReadBatch:
    return ReadBatch(*parser.take(), parser.path)


def _slice(text: NDArray[np.uint8], offsets: NDArray[np.uint32], i: int) -> bytes:
    if not 0 <= i < len(offsets) - 1:
        raise IndexError(f"read {i} of a batch of {len(offsets) - 1}")
    return text[offsets[i] : offsets[i + 1]].tobytes()


def _encoded(text: Text) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
