"""The decompressed bytes of a file or stdin, and the window of them that a parser has not used yet."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from typing import Any, Protocol

from gassst.errors import InputError, unreadable
from gassst.files.inflate import MAGIC_SIZE, BgzfAhead, Decompressed, Inflaters, PushedBack, format_of
from gassst.files.input_progress import InputProgress
from gassst.files.pipes import held
from gassst.files.slices import Slice, SlicedFile


class RecordCounter(Protocol):
    """Whoever knows how many records have been read."""

    @property
    def records(self) -> int: ...


class PlainFile:
    """An open file that is not compressed, of which any thread may read bytes; closed with the last reference."""

    def __init__(self, path: str, fd: int):
        self._path, self._fd = path, fd

    def __del__(self) -> None:
        os.close(self._fd)

    def read_into(self, target: memoryview, start: int) -> None:
        """Fill the target with the bytes from `start` on. Raises InputError."""
        while target.nbytes:
            try:
                count = os.preadv(self._fd, [target], start)
            except OSError as error:
                raise unreadable(self._path, error) from error
            if not count:
                raise InputError(f"{self._path}: cut short while it was read")
            target, start = target[count:], start + count


class Source:
    """The bytes of the file `path`, decompressed; a failure becomes an InputError that says where.

    Nothing is read before the first `readinto`: whoever feeds two pipes may open the second first.
    `counter` counts the records, for messages; `progress` is told of the file. `allow_truncated` takes BGZF without
    its end-of-file block. `inflaters` are the workers that inflate the blocks of a BGZF file. With a `part` of the
    file it is read as if it were all.
    """

    def __init__(
        self,
        path: str,
        counter: RecordCounter | None = None,
        progress: InputProgress | None = None,
        allow_truncated: bool = False,
        inflaters: Inflaters | None = None,
        part: Slice | None = None,
    ) -> None:
        self.name = name_of(path, part)
        self._part = part
        self.counter = counter
        self._allow_truncated, self._inflaters = allow_truncated, inflaters
        self._closing = ExitStack()
        self._readinto: Callable[[memoryview], int] | None = None
        self._stream = self._file = self._guarded(self._open, path)
        self._is_compressed = False
        if progress is not None and path != "-":
            progress.follow(self._stream)

    def _open(self, path: str) -> Any:
        if path == "-":
            return sys.stdin.buffer
        if self._part is not None:
            return self._closing.enter_context(SlicedFile(path, self._part))
        return self._closing.enter_context(held(path) or open(path, "rb", buffering=0))

    def _begin(self) -> Callable[[memoryview], int]:
        """A way to read, by the first bytes. What is there is taken: no waiting until the target is full."""
        head = self._guarded(_head, self._stream)
        self._stream = PushedBack(head, self._stream)
        if kind := format_of(head):
            self._is_compressed = True
            self._stream = self._decompressed(kind)
        readinto: Callable[[memoryview], int] = self._stream.readinto
        return readinto

    def _decompressed(self, kind: str) -> Decompressed | BgzfAhead:
        if kind != "gz" or self._inflaters is None or not self._is_regular():
            return Decompressed(self._stream, kind, self._allow_truncated)
        return BgzfAhead(self._stream, self._inflaters, self._allow_truncated)

    def _is_regular(self) -> bool:
        return self.name != name_of("-") and stat.S_ISREG(os.fstat(self.fileno()).st_mode)

    def readinto(self, target: memoryview) -> int:
        if self._readinto is None:
            self._readinto = self._begin()
        return self._guarded(self._readinto, target)

    @property
    def position(self) -> int:
        """Bytes of the file that have been read, compressed ones where it is compressed; 0 of a stream."""
        with suppress(OSError):
            return int(self._file.tell())
        return 0

    @property
    def plain_file(self) -> PlainFile | None:
        """The file, where others can read the same bytes again; known once some have been read."""
        if self._is_compressed or self._part or self._readinto is None or not self._is_regular():
            return None
        return PlainFile(self.name, self._guarded(os.dup, self.fileno()))

    def fileno(self) -> int:
        """Of the file itself, compressed or not."""
        descriptor: int = self._file.fileno()
        return descriptor

    def failure(self, error: Exception) -> InputError:
        """What a failure to read means."""
        what = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return InputError(f"{self._where()}: {what}")

    def _guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        """What a stream or a decompressor raises means bad input; what becomes of workers, or of memory, does not."""
        try:
            return function(*args)
        except (MemoryError, CancelledError):
            raise
        except Exception as error:
            raise self.failure(error) from error

    def _where(self) -> str:
        records = self.counter.records if self.counter is not None else 0
        return f"{self.name}: after record {records}" if records else self.name

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._closing.close()
        self.counter = None  # it refers to this: neither would end before the collector finds both


def _head(stream: Any) -> bytes:
    head = b""
    while len(head) < MAGIC_SIZE and (more := stream.read(MAGIC_SIZE - len(head))):
        head += more
    return head


class Readable(Protocol):
    """As raw streams read."""

    def readinto(self, target: memoryview) -> int: ...


class Window:
    """The bytes of a source that the parser has not used, in a buffer that grows with them."""

    def __init__(self, source: Readable, size: int) -> None:
        self._source = source
        self._buffer = memoryview(bytearray(size))
        self._start = self._end = 0
        self.eof = False

    @property
    def unused(self) -> memoryview:
        return self._buffer[self._start : self._end]

    def use(self, count: int) -> None:
        """The parser needs the next `count` bytes no more."""
        self._start += count

    def refill(self) -> None:
        """More bytes behind the unused ones, or `eof`."""
        unused = self.unused
        count = len(unused)
        if count == len(self._buffer):
            self._buffer = memoryview(bytearray(2 * count))
        self._buffer[:count] = unused
        added = self._source.readinto(self._buffer[count:])
        self._start, self._end = 0, count + added
        self.eof = not added


def name_of(path: str, part: Slice | None = None) -> str:
    """What messages call the file, or the part of it: they count its records."""
    begins = f", from byte {part.start.block} on" if part is not None and part.start > (0, 0) else ""
    return "stdin" if path == "-" else f"{path}{begins}"
