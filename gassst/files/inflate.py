"""Compressed input, stream by stream: a file that is cut, damaged, or goes on with something else is an error.

A compressed file is one stream or several, as `cat` makes them. Python's own file objects stop silently where something
else follows a stream, so records would be lost. Here only what the format allows may follow: zeros after gzip (as on
tapes), zeros in fours after xz, skippable frames of Zstandard.
"""

from __future__ import annotations

import io
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from gassst.errors import InputError, unreadable
from gassst.files.bgzf import optional
from gassst.frozen import NamedTuple
from gassst.workers.threads import Workers

if TYPE_CHECKING:
    from typing_extensions import Buffer

BLOCK = 1 << 17  # bytes of compressed data asked for at once, and more than a block of BGZF inflates to
CHUNK = (
    1 << 19
)  # bytes of compressed data that a worker inflates at once; it makes about 2 MB of text of them
_HEADER = 18  # bytes: enough to tell a stream of any format, and a block of BGZF


class Decoder(Protocol):
    """One stream; the interface of `bz2.BZ2Decompressor`."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: Any, max_length: int) -> bytes: ...


class CutShort(EOFError):
    """The data end before they should; the message says what is missing."""


class Damaged(ValueError):
    """The data are not what they should be; the message says what the library of the format says."""


class _Inflater:
    """zlib with the interface of the others, where ISA-L is missing."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)
        self._full = False

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    @property
    def needs_input(self) -> bool:
        return not (self._full or self._stream.eof)

    def decompress(self, data: Any, max_length: int) -> bytes:
        made = self._stream.decompress(self._stream.unconsumed_tail + bytes(data), max_length)
        self._full = len(made) == max_length
        return made


def _inflater() -> Decoder:
    igzip = optional("isal.igzip_lib")
    return _Inflater() if igzip is None else cast(Decoder, igzip.IgzipDecompressor(flag=igzip.DECOMP_GZIP))


def _bz2_decoder() -> Decoder:
    import bz2  # these two take 2 ms that few runs need

    return bz2.BZ2Decompressor()


def _xz_decoder() -> Decoder:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ)


def _zstd_decoder() -> Decoder:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    decoder: Decoder = zstd.ZstdDecompressor()
    return decoder


class Compression(NamedTuple):
    """How streams of a format begin, what decodes one, and in units of how many zeros they may be padded (0: none)."""

    magic: tuple[bytes, ...]
    decoder: Callable[[], Decoder]
    padding: int


COMPRESSIONS = {
    "gz": Compression((b"\x1f\x8b",), _inflater, 1),
    "bz2": Compression((b"BZh",), _bz2_decoder, 0),
    "xz": Compression((b"\xfd7zXZ\x00",), _xz_decoder, 4),
    # Frames, and the skippable ones, with which pzstd begins.
    "zst": Compression(
        (b"\x28\xb5\x2f\xfd", *(bytes([n]) + b"\x2a\x4d\x18" for n in range(0x50, 0x60))),
        _zstd_decoder,
        0,
    ),
}
MAGIC_SIZE = max(len(magic) for form in COMPRESSIONS.values() for magic in form.magic)


def format_of(head: bytes) -> str | None:
    """The compression of data that begin with `head`, of MAGIC_SIZE bytes where there are as many."""
    return next((name for name, form in COMPRESSIONS.items() if head.startswith(form.magic)), None)


def is_bgzf(header: bytes) -> bool:
    """Whether a gzip stream that begins so is a block of BGZF: its extra field says how long it is."""
    return len(header) >= _HEADER and bool(header[3] & 4) and header[12:16] == b"BC\x02\x00"


class PushedBack(io.RawIOBase):
    """A stream whose first bytes have been read already; pipes cannot go back. Does not close the stream."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self._head = head
        self._more = getattr(stream, "readinto1", stream.readinto)

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        if not self._head:
            return self._more(target)
        count = min(len(self._head), len(target))
        target[:count] = self._head[:count]
        self._head = self._head[count:]
        return count


class Decompressed(io.RawIOBase):
    """The decompressed bytes of `stream`, which has `readinto` and is not closed.

    Raises CutShort and Damaged, and what `stream` raises.

    BGZF ends with an empty block; without it the file may be cut between two blocks, which only `allow_truncated`
    takes. Whatever is there is handed on: no waiting until the target is full. `unended`: what was read of the stream
    before this began ended with a block of data.
    """

    def __init__(self, stream: Any, kind: str, allow_truncated: bool = False, unended: bool = False) -> None:
        self._read, self._kind, self._allow_truncated = stream.readinto, kind, allow_truncated
        self._format = COMPRESSIONS[kind]
        self._buffer = memoryview(bytearray(BLOCK))
        self._input = self._buffer[:0]  # what no decoder has been given yet
        self._decoder: Decoder | None = None
        self._block = 0  # bytes that the current block of BGZF has yet to be given; 0 for any other stream
        self._in_bgzf = False
        self._unended = unended  # a block of BGZF with data came last: another must follow

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        room = memoryview(target).cast("B")
        while self._decoder is not None or self._begin():
            made = self._step(len(room))
            if made:
                room[: len(made)] = made
                return len(made)
        return 0

    def _step(self, most: int) -> bytes:
        """What one call of the decoder makes."""
        decoder = self._decoder
        assert decoder is not None
        given = self._input[:0]
        if decoder.needs_input:
            if not self._input and not self._more():
                raise self._cut_short()
            # A block of BGZF is given alone: a decoder copies what it does not use.
            size = self._block or len(self._input)
            given, self._input = self._input[:size], self._input[size:]
            self._block -= min(self._block, size)
        made = self._decode(decoder, given, most)
        self._unended = self._unended or bool(made and self._in_bgzf)
        if decoder.eof:
            self._decoder = None
            if unused := decoder.unused_data:
                self._input = memoryview(unused + bytes(self._input))
        return made

    def _decode(self, decoder: Decoder, given: memoryview, most: int) -> bytes:
        try:
            return decoder.decompress(given, most)
        except MemoryError:
            raise
        except Exception as error:  # every library has its own
            raise Damaged(f"damaged {self._kind} data: {error}") from error

    def _begin(self) -> bool:
        """Whether there is one more stream."""
        padding = self._skip_zeros() if self._format.padding else 0
        head = self._head(_HEADER)
        if not head and padding % (self._format.padding or 1) == 0:
            if self._unended and not self._allow_truncated:
                raise CutShort("no BGZF end-of-file block: the file may be cut short")
            return False
        if head and any(magic.startswith(head) for magic in self._format.magic):
            raise self._cut_short()
        if not head.startswith(self._format.magic) or padding % (self._format.padding or 1):
            raise Damaged(f"damaged {self._kind} data: other bytes follow the end")
        self._in_bgzf, self._unended = self._kind == "gz" and is_bgzf(head), False
        self._block = size_of_block(head) if self._in_bgzf else 0
        self._decoder = self._format.decoder()
        return True

    def _cut_short(self) -> CutShort:
        return CutShort(f"{self._kind} data cut short")

    def _skip_zeros(self) -> int:
        """How many zeros come next; they are gone then."""
        count = 0
        while self._input or self._more():
            if self._input[0]:
                break
            rest = self._input.tobytes().lstrip(b"\0")
            count += len(self._input) - len(rest)
            self._input = self._input[len(self._input) - len(rest) :]
        return count

    def _head(self, size: int) -> bytes:
        """The next bytes, `size` of them where there are as many."""
        while len(self._input) < size and self._more():
            pass
        return self._input[:size].tobytes()

    def _more(self) -> int:
        """Reads more input behind what there is, and returns how much: 0 at the end."""
        count = len(self._input)
        if count:
            self._buffer[:count] = self._input.tobytes()
        added: int = self._read(self._buffer[count:])
        self._input = self._buffer[: count + added]
        return added


class Inflaters:
    """The workers that inflate blocks of BGZF."""

    def __init__(self, workers: Workers):
        self._workers = workers

    @property
    def ahead(self) -> int:
        """How many chunks of a file wait at most: what keeps all workers busy."""
        return 2 + self._workers.threads

    def submit(self, chunk: bytes) -> Future[Inflated]:
        """What `inflated` makes of a chunk."""
        return self._workers.submit(inflated, chunk)


class BgzfAhead(io.RawIOBase):
    """The decompressed bytes of gzip data, of which workers inflate blocks of BGZF ahead.

    From the first bytes on that are no whole and sound block of BGZF, `Decompressed` reads all that is left: it knows
    what is wrong with them, if anything is. Raises what it raises, and takes what it takes.
    """

    def __init__(self, stream: Any, inflaters: Inflaters, allow_truncated: bool = False) -> None:
        self._stream, self._allow_truncated = stream, allow_truncated
        self._inflaters = inflaters
        self._input = b""  # read, in no chunk yet
        self._waiting: deque[tuple[bytes, Future[Inflated]]] = deque()
        self._made = memoryview(b"")
        self._unended = False
        self._is_ahead = True
        self._rest: Decompressed | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        room = memoryview(target).cast("B")
        while not self._made and self._rest is None:
            self._inflate_ahead()
            if self._waiting:
                self._take(*self._waiting.popleft())
            else:
                rest = PushedBack(self._input, self._stream)
                self._rest = Decompressed(rest, "gz", self._allow_truncated, self._unended)
        if self._rest is not None and not self._made:
            return self._rest.readinto(room)
        count = min(len(self._made), len(room))
        room[:count] = self._made[:count]
        self._made = self._made[count:]
        return count

    def _inflate_ahead(self) -> None:
        while self._is_ahead and len(self._waiting) < self._inflaters.ahead:
            chunk = self._chunk()
            if chunk:
                self._waiting.append((chunk, self._inflaters.submit(chunk)))
            else:
                self._is_ahead = False

    def _chunk(self) -> bytes:
        """Whole blocks, as far as their headers say."""
        try:
            while len(self._input) < CHUNK and (more := self._stream.read(CHUNK)):
                self._input += more
        except OSError:  # `Decompressed` comes to it again, once what is here is used
            self._is_ahead = False
        end = whole_blocks(self._input)
        chunk, self._input = self._input[:end], self._input[end:]
        return chunk

    def _take(self, chunk: bytes, future: Future[Inflated]) -> None:
        done = future.result()
        self._made = memoryview(done.text)
        if done.used:
            self._unended = done.unended
        if done.used < len(chunk):
            self._is_ahead = False
            left = [chunk[done.used :], *(later for later, _ in self._waiting), self._input]
            self._input = b"".join(left)
            self._waiting.clear()


class Inflated(NamedTuple):
    """Text of the first blocks of a chunk, how many of its bytes they are, and whether the last one had text."""

    text: bytes
    used: int
    unended: bool


def whole_blocks(data: bytes) -> int:
    """Bytes of the blocks of BGZF that `data` begins with, up to the first one that is not all there."""
    end = 0
    while is_bgzf(head := data[end : end + _HEADER]) and end + size_of_block(head) <= len(data):
        end += size_of_block(head)
    return end


def inflated(chunk: Buffer) -> Inflated:
    """The text of blocks up to the first one that is not sound."""
    texts: list[bytes] = []
    used, view = 0, memoryview(chunk)
    while used < len(view):
        block = view[used : used + size_of_block(bytes(view[used : used + _HEADER]))]
        decoder = _inflater()
        try:
            text = decoder.decompress(block, BLOCK)
        except MemoryError:
            raise
        except Exception:  # `Decompressed` comes to it again, and says what is wrong
            break
        if not decoder.eof or decoder.unused_data:
            break
        texts.append(text)
        used += len(block)
    return Inflated(b"".join(texts), used, bool(texts and texts[-1]))


def size_of_block(head: bytes) -> int:
    """Bytes of the block of BGZF that begins so."""
    return int.from_bytes(head[16:18], "little") + 1


@contextmanager
def open_input(path: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed if its content is compressed. Raises InputError, naming the file."""
    try:
        with open(path, "rb") as raw:
            kind = format_of(raw.peek(MAGIC_SIZE))
            if kind is None:
                yield raw
            else:
                yield cast(IO[bytes], io.BufferedReader(Decompressed(raw, kind), BLOCK))
    except (CutShort, Damaged) as error:
        raise InputError(f"{path}: {error}") from error
    except OSError as error:
        raise unreadable(path, error) from error
