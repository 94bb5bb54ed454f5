"""Parts of a file by place: what lies between two places is read as if it were a file of its own.

A file is plain, or BGZF, of which any block can be inflated alone. In plain files a place is a byte. In BGZF it is a
block and a byte of its text, as in a virtual offset of BAM.
"""

from __future__ import annotations

import io
import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import IO

from gassst.errors import InputError, unreadable
from gassst.files import bgzf
from gassst.files.inflate import format_of, inflated, is_bgzf, size_of_block, whole_blocks
from gassst.frozen import NamedTuple, frozen

HEADER = 18  # bytes: a BGZF block's own
MOST_BLOCK = 1 << 16  # bytes of a block, deflated
CHAIN = 8  # blocks that follow each other show that a block begins where the first one seems to
AT_ONCE = 1 << 20  # bytes of a file


class VirtualOffset(NamedTuple):
    """A point of a file: the byte where a block begins, and the byte of its text; of a plain file (byte, 0)."""

    block: int
    within: int = 0


class Slice(NamedTuple):
    """What lies from one place up to another."""

    start: VirtualOffset
    end: VirtualOffset

    @property
    def size(self) -> int:
        """Bytes of the file, about: blocks at the ends count for one."""
        return self.end.block - self.start.block


class LaneShard(NamedTuple):
    """What a shard has of a lane: slices of its one or two files, what comes before each, and how many reads do.

    Where nobody asks for that number it is 0.
    """

    lane: int
    slices: tuple[Slice, ...]
    head: bytes
    before: int = 0

    @property
    def size(self) -> int:
        """Bytes of the first file."""
        return self.slices[0].size


class SeekableText:
    """A plain or BGZF file whose text is read from any place on.

    Raises InputError for a file that cannot be read so: a stream, or other compression.
    """

    def __init__(self, path: str):
        self.path = path
        try:
            if not os.path.isfile(path):
                raise InputError(f"{path}: --shard needs files, not streams")
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - `close`
        except OSError as error:
            raise unreadable(path, error) from error
        self.size = os.fstat(self._file.fileno()).st_size
        head = self.bytes_at(0, HEADER)
        self.is_bgzf = is_bgzf(head)
        if format_of(head) and not self.is_bgzf:
            self.close()
            raise InputError(
                f"{path}: --shard takes BGZF or plain files; `gassst split` makes BGZF of this one"
            )

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> SeekableText:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def end(self) -> VirtualOffset:
        """Behind the last byte."""
        return VirtualOffset(self.size)

    def bytes_at(self, start: int, size: int) -> bytes:
        """Bytes of the file, fewer at its end. Raises InputError."""
        try:
            return os.pread(self._file.fileno(), size, start)
        except OSError as error:
            raise unreadable(self.path, error) from error

    def near(self, byte: int) -> VirtualOffset:
        """The first place at or behind a byte from which text can be read.

        In BGZF it is where a block begins: a header that a chain of others follows, each as far on as the one before
        says, up to `CHAIN` of them or the end of the file.
        """
        if byte <= 0 or byte >= self.size or not self.is_bgzf:
            return VirtualOffset(min(max(byte, 0), self.size))
        data = self.bytes_at(byte, (CHAIN + 1) * MOST_BLOCK)
        for match in re.finditer(rb"\x1f\x8b\x08", data[: MOST_BLOCK + 2]):
            if self._is_chain(data, match.start(), byte + len(data) == self.size):
                return VirtualOffset(byte + match.start())
        if len(data) < MOST_BLOCK:  # the last block began before
            return self.end
        raise InputError(f"{self.path}: no block of BGZF begins after byte {byte}: damaged, or not BGZF")

    @staticmethod
    def _is_chain(data: bytes, at: int, ends: bool) -> bool:
        for _ in range(CHAIN):
            if at == len(data):
                return ends
            head = data[at : at + HEADER]
            if not is_bgzf(head):
                return False
            at += size_of_block(head)
            if at > len(data):
                return False
        return True

    def texts_before(self, end: VirtualOffset) -> Iterator[bytes]:
        """All text before a place, in pieces. Raises InputError."""
        at = 0
        while at < end.block:
            data = self.bytes_at(at, min(AT_ONCE, end.block - at))
            if not self.is_bgzf:
                at += len(data)
                yield data
                continue
            stop = at + (whole_blocks(data) or size_of_block(data[:HEADER]))
            while at < stop:
                text, size = self.block_text(at)
                at += size
                yield text
        if end.within:
            yield self.block_text(end.block)[0][: end.within]

    def text_from(self, start: VirtualOffset) -> TextFrom:
        """The text from a place on."""
        return TextFrom(self, start)

    def block_text(self, byte: int) -> tuple[bytes, int]:
        """The text of the block that begins at a byte, and the size of the block. Raises InputError."""
        data = self.bytes_at(byte, MOST_BLOCK)
        end = size_of_block(data) if is_bgzf(data[:HEADER]) else 0
        done = inflated(data[:end])
        if not end or done.used < end:
            raise InputError(f"{self.path}: damaged gz data at byte {byte}")
        return done.text, end


class TextFrom:
    """Text of a file from a place on, inflated as far as it is looked at.

    Attributes
    ----------
    data : bytearray
        What is here. `more` adds to it.
    """

    def __init__(self, file: SeekableText, start: VirtualOffset):
        self._file, self._start = file, start
        self._next = start.block  # byte of the file
        self.data = bytearray()
        self._texts: list[int] = []  # where in `data` that of each block begins
        self._blocks: list[int] = []
        self.more()

    @property
    def at_start(self) -> bool:
        """Whether this is the text of the file from its beginning."""
        return self._start == (0, 0)

    def more(self) -> bool:
        """Add more text; False at the end of the file."""
        raw = self._file.bytes_at(self._next, AT_ONCE if self._texts else AT_ONCE // 4)
        if not raw:
            return False
        if not self._file.is_bgzf:
            self._texts = self._texts or [0]
            self._blocks = self._blocks or [self._next]
            self.data += raw
            self._next += len(raw)
            return True
        end = whole_blocks(raw)
        if not end:
            raise InputError(f"{self._file.path}: damaged gz data at byte {self._next}")
        at = 0
        while at < end:
            size = size_of_block(raw[at : at + HEADER])
            done = inflated(raw[at : at + size])
            if done.used < size:
                raise InputError(f"{self._file.path}: damaged gz data at byte {self._next + at}")
            skipped = 0 if self._texts else self._start.within
            self._texts.append(len(self.data) - skipped)
            self._blocks.append(self._next + at)
            self.data += done.text[skipped:]
            at += size
        self._next += end
        return True

    def reach(self, size: int) -> bool:
        """Whether there is so much text; more of it is read where it must."""
        while len(self.data) < size:
            if not self.more():
                return False
        return True

    def forget(self, at: int) -> int:
        """Where `data[at]` is from here on: what lies before it is let go of once it is much."""
        if at < AT_ONCE:
            return at
        i = max(bisect_right(self._texts, at) - 1, 0)
        self._texts, self._blocks = [text - at for text in self._texts[i:]], self._blocks[i:]
        del self.data[:at]
        return 0

    def line_end(self, at: int) -> int:
        """Behind the newline of the line at `at`; of the last one, the end of the text."""
        while True:
            end = self.data.find(b"\n", at)
            if end >= 0:
                return end + 1
            at = max(at, len(self.data))
            if not self.more():
                return len(self.data)

    def place(self, at: int) -> VirtualOffset:
        """The place of `data[at]`; where that is not there, the end of the file."""
        if not self.reach(at + 1):
            return self._file.end
        i = bisect_right(self._texts, at) - 1
        within = at - self._texts[i]
        return (
            VirtualOffset(self._blocks[i], within)
            if self._file.is_bgzf
            else VirtualOffset(self._blocks[i] + within)
        )


@frozen()
class _SliceEnds:
    """What a reader of a slice is given before and behind whole bytes of the file."""

    head: bytes
    first: int
    last: int
    tail: bytes


class SlicedFile(io.RawIOBase):
    """The bytes of a slice, as of a file of its own: plain ones, or blocks of BGZF.

    Blocks in which the slice begins or ends are compressed again, with the text inside it. The rest is read unchanged.

    Parameters
    ----------
    path : str
    part : Slice
    before : bytes
        Text that comes first: the header of BAM.
    """

    def __init__(self, path: str, part: Slice, before: bytes = b""):
        super().__init__()
        with SeekableText(path) as text:
            ends = _ends_of(text, part, before)
        self._pieces = [memoryview(ends.head), memoryview(ends.tail)]
        self._left = ends.last - ends.first
        self._file: IO[bytes] = open(path, "rb", buffering=0)  # noqa: SIM115 - closed with this
        self._file.seek(ends.first)
        self.path, self._start = path, ends.first
        self.size = self._left
        """Bytes that are read of the file."""

    def readable(self) -> bool:
        return True

    def readinto(self, target: object) -> int:
        room = memoryview(target).cast("B")  # type: ignore[arg-type]
        if self._pieces[0]:
            return self._given(0, room)
        if self._left:
            added = self._file.readinto(room[: self._left])  # type: ignore[attr-defined]
            if not added:
                raise OSError("cut short while it was read")
            self._left -= added
            return int(added)
        return self._given(1, room)

    def _given(self, which: int, room: memoryview) -> int:
        piece = self._pieces[which]
        count = min(len(piece), len(room))
        room[:count] = piece[:count]
        self._pieces[which] = piece[count:]
        return count

    def tell(self) -> int:
        """Bytes of the slice that have been read."""
        return self.size - self._left

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()
        super().close()


def _ends_of(text: SeekableText, part: Slice, before: bytes) -> _SliceEnds:
    start, end = part
    if not text.is_bgzf:
        return _SliceEnds(before, start.block, max(start.block, end.block), b"")
    first, head, tail = start.block, b"", b"" if end == text.end else bgzf.END_OF_FILE
    last = max(end.block, first)
    if start.within:
        head, size = text.block_text(first)
        head = head[start.within : end.within if end.block == first else None]
        first += size
    if end.within and (end.block > start.block or not start.within):
        tail = _stored(text.block_text(end.block)[0][: end.within]) + tail
    return _SliceEnds(_stored(before) + _stored(head), first, max(first, last), tail)


def _stored(text: bytes) -> bytes:
    return b"".join(_blocks(text))


def _blocks(text: bytes) -> Iterator[bytes]:
    return bgzf.blocks(text, bgzf.deflater(0))
