"""FASTQ text cut into batches between records, so that whoever has a batch can parse it; reading ahead in a thread.

The text of a file that is not compressed stays in the file: a batch knows its place there, and whoever parses it reads
it. Any other text is in memory.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from queue import Empty, Queue
from typing import Any, TypeVar

import numpy as np

from gassst._core.reads import AT_END, PASSED, STRAY, TOO_LONG, RecordParser, cut, pass_over
from gassst.errors import InputError
from gassst.files.source import PlainFile, Source, Window
from gassst.frozen import NamedTuple, frozen, replace
from gassst.reads.batch_sizes import FileSizes

FIRST_BUFFER = 1 << 20
LONG_RECORD = 1 << 18  # bytes; what is longer is looked at before more of it is read
AHEAD = 2  # batches that wait for a worker
LONGEST_NAME = 254  # that a BAM record holds
USUAL_LINE = 1 << 10  # bytes in which a name ends
ENOUGH = 64 << 20  # bytes of a text: few long records fill it before many short ones do
Item = TypeVar("Item")


class FileRange(NamedTuple):
    """Bytes of a file, where they lie."""

    file: PlainFile
    start: int
    size: int

    def read(self) -> memoryview:
        """All of them. Raises InputError where the file is shorter by now, and where it cannot be read."""
        data = np.empty(self.size, np.uint8).data
        self.file.read_into(data, self.start)
        return data


@frozen(eq=False)
class Piece:
    """Whole records of one file, and what spoils the one behind them.

    Attributes
    ----------
    data : bytes-like or FileRange
    records : int
        Of those in full; there may be one more at the end of the file.
    ends : bool
        With the file.
    stray : bool
        With something that is no record.
    error : InputError or None
        Why nothing comes behind, where that is not the end of the file.
    """

    data: memoryview | FileRange
    records: int
    ends: bool = False
    stray: bool = False
    error: InputError | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        return self.data.size if isinstance(self.data, FileRange) else self.data.nbytes

    def text(self) -> memoryview:
        """In memory. Raises InputError."""
        return self.data.read() if isinstance(self.data, FileRange) else self.data

    @property
    def is_last(self) -> bool:
        """Nothing comes behind: the file ends, or cannot be read on, or goes on with what is no record."""
        return self.ends or self.stray or self.error is not None

    def split(self, records: int) -> tuple[Piece, Piece | None]:
        """The first `records`, and what is left, if that is anything."""
        data = self.data
        if isinstance(data, FileRange):
            used, _, _ = cut(data.read(), records)
            head: memoryview | FileRange = data._replace(size=used)
            tail: memoryview | FileRange = FileRange(data.file, data.start + used, data.size - used)
        else:
            used, _, _ = cut(data, records)
            head, tail = data[:used], data[used:]
        rest = replace(self, data=tail, records=self.records - records)
        return Piece(head, records), rest if rest.records or rest.is_last else None


class Cutter:
    """Cuts the text of a source into pieces of as many records as `sizes` says, or fewer of `ENOUGH` bytes.

    What is no record is left in the last piece, for the parser to find, so that it knows the place and the reason.

    Parameters
    ----------
    source : Source
        Closed by `texts`.
    window : Window
        What has been read of it already; it begins with a record.
    sizes : FileSizes
    longest : int
        Bases of a record.
    block : int
        Bytes asked for at once.
    """

    records = 0
    """Passed over so far."""

    def __init__(self, source: Source, window: Window, sizes: FileSizes, longest: int, block: int):
        source.counter = self
        self._source, self._window = source, window
        self._sizes, self._longest, self._block = sizes, longest, block

    def texts(self) -> Generator[Piece, None, None]:
        """All pieces, until the source ends or fails."""
        raise NotImplementedError


def cutter(
    source: Source, window: Window, sizes: FileSizes, longest: int, block: int, interleaved: bool = False
) -> Cutter:
    """The cutter that suits the source."""
    if interleaved:
        return InterleavedCutter(source, window, sizes, longest, block)
    kind = StreamCutter if source.plain_file is None else FileCutter
    return kind(source, window, sizes, longest, block)


class FileCutter(Cutter):
    """The `Cutter` of a file that is not compressed."""

    def texts(self) -> Generator[Piece, None, None]:
        with self._source:
            file = self._source.plain_file
            assert file is not None
            fd = self._source.fileno()
            unused = self._window.unused
            filled = unused.nbytes
            buffer = memoryview(bytearray(max(self._block, filled)))
            buffer[:filled] = unused
            os.lseek(fd, filled, os.SEEK_SET)
            is_no_record = UnfinishedRecordCheck(self._longest)
            start, size, count, i = 0, 0, 0, 0
            most = self._sizes.records(i, start)
            while True:
                used, records, filled, why = pass_over(fd, buffer, filled, most - count, ENOUGH - size)
                size += used
                count += records
                self.records += records
                if why == TOO_LONG and not is_no_record(buffer[:filled]):
                    longer = memoryview(bytearray(2 * len(buffer)))
                    longer[:filled] = buffer[:filled]
                    buffer = longer
                elif why == PASSED:
                    yield Piece(FileRange(file, start, size), count)
                    start, size, count, i = start + size, 0, 0, i + 1
                    most = self._sizes.records(i, start)
                else:
                    break
            rest = FileRange(file, start, size + filled)
            if why in (STRAY, TOO_LONG):
                yield Piece(rest, count, stray=True)
            elif why != AT_END:
                yield Piece(rest, count, error=self._source.failure(OSError(why, os.strerror(why))))
            elif count or filled:
                yield Piece(rest, count, ends=True)


class StreamCutter(Cutter):
    """The `Cutter` of what can be read once only."""

    def texts(self) -> Generator[Piece, None, None]:
        with self._source:
            buffer = _Buffer(self._block)
            buffer.append(self._window.unused)
            eof, count, i = self._window.eof, 0, 0
            most = self._sizes.records(i, self._source.position)
            is_no_record = UnfinishedRecordCheck(self._longest)
            one_more = False  # record than was asked for
            while True:
                records, stray = self._cut(buffer, most - count)
                count += records
                self.records += records
                if count == most or (buffer.whole >= ENOUGH and not one_more):
                    try:
                        one_more = not stray and self._is_within_template(buffer, count, eof)
                    except InputError as error:
                        yield self._piece(buffer.all, count, error=error)
                        return
                    if one_more:
                        most = count + 1
                        continue
                    yield self._piece(buffer.take(), count)
                    count, i = 0, i + 1
                    most = self._sizes.records(i, self._source.position)
                elif stray or is_no_record(buffer.uncut):
                    yield self._piece(buffer.all, count, stray=True)
                    return
                elif eof:
                    break
                else:
                    try:
                        eof = not buffer.fill(self._source)
                    except InputError as error:
                        yield self._piece(buffer.all, count, error=error)
                        return
            if count or buffer.uncut.nbytes:
                yield self._piece(buffer.all, count, ends=True)

    def _cut(self, buffer: _Buffer, most: int) -> tuple[int, bool]:
        """Pass over records, `most` of them or as many as are enough; how many, and whether no record follows."""
        used, records, stray = cut(buffer.uncut, most, max(1, ENOUGH - buffer.whole))
        buffer.cut += used
        return records, stray

    def _piece(self, text: memoryview, records: int, **why: Any) -> Piece:
        return Piece(text, records, **why)

    def _is_within_template(self, buffer: _Buffer, count: int, eof: bool) -> bool:
        """Whether the record behind `count` whole ones belongs to the last of them, and must not be parted from it."""
        return False


class InterleavedCutter(StreamCutter):
    """As `StreamCutter`, where two neighbouring records of one name are mates.

    The parser makes pairs from the first record of a name on. So text is cut where the name changes, or where as many
    records of it are even in number. Of a file that is not compressed a piece is the place, as from `FileCutter`.
    """

    _start = 0  # of the next piece, in the file
    _last_two = 0  # records of the text begin here, or more

    def _cut(self, buffer: _Buffer, most: int) -> tuple[int, bool]:
        if most <= 2:
            return super()._cut(buffer, most)
        before, stray = super()._cut(buffer, most - 2)
        self._last_two = buffer.whole
        if before < most - 2 or stray or buffer.whole >= ENOUGH:
            return before, stray
        last, stray = super()._cut(buffer, 2)
        return before + last, stray

    def _piece(self, text: memoryview, records: int, **why: Any) -> Piece:
        file, start = self._source.plain_file, self._start
        self._last_two = 0
        if file is None:
            return super()._piece(text, records, **why)
        self._start += text.nbytes
        return Piece(FileRange(file, start, text.nbytes), records, **why)

    def _is_within_template(self, buffer: _Buffer, count: int, eof: bool) -> bool:
        while not eof and not _has_line(buffer.uncut):
            eof = not buffer.fill(self._source)
        name, whole = _name_of(buffer.uncut), buffer.whole_text
        before = _names_of(whole[self._last_two :])
        if len(before) != 2:
            before = _names_of(whole[cut(whole, max(count - 2, 0))[0] :])
        if before[-2:] == [name, name]:  # three of one name, which is odd: are there more?
            before = _names_of(whole)
        same = next((i for i, other in enumerate(reversed(before)) if other != name), len(before))
        return same % 2 == 1


def _has_line(text: memoryview) -> bool:
    """Whether the first line of a record is here, or as much as there is of one in a file of reads."""
    return text.nbytes >= LONG_RECORD or b"\n" in _first_line(text)


def _first_line(text: memoryview) -> bytes:
    """The first line of a record, or as much as there is of it, and maybe more that follows."""
    usual = text[:USUAL_LINE].tobytes().lstrip(b"\r\n")
    return usual if b"\n" in usual else text.tobytes().lstrip(b"\r\n")


_AS_PARSED = bytes(c if 0x20 < c < 0x7F else ord("_") for c in range(256))


def _name_of(record: memoryview) -> bytes:
    """The name in a record, as the parser compares it; b"" where there is none."""
    words = _first_line(record).partition(b"\n")[0][1:]
    end = next((i for i, c in enumerate(words) if c <= 0x20), len(words))
    name = words[:end]
    if len(name) > 2 and name.endswith((b"/1", b"/2")):
        name = name[:-2]
    return name[:LONGEST_NAME].translate(_AS_PARSED)


def _names_of(records: memoryview) -> list[bytes]:
    """The names in whole records."""
    found = []
    while records:
        used, number, _ = cut(records, 1)
        if not number:
            break
        found.append(_name_of(records[:used]))
        records = records[used:]
    return found


class UnfinishedRecordCheck:
    """Whether the beginning of a record is none, whatever follows: a sequence without an end must not fill the memory.

    `longest` is in bases.
    """

    def __init__(self, longest: int):
        self._longest = longest
        self._next_check = LONG_RECORD

    def __call__(self, unfinished: memoryview) -> bool:
        if unfinished.nbytes < self._next_check:
            return False
        self._next_check = 2 * unfinished.nbytes
        parser = RecordParser("", 1, self._longest, self._longest, before=0)
        try:
            parser.parse(unfinished, False)
        except InputError:
            return True
        return False


class _Buffer:
    """Bytes that come in at the end and go in whole records; those up to `cut` are such."""

    def __init__(self, block: int):
        self._block = block
        self._bytes = np.empty(FIRST_BUFFER, np.uint8).data  # not cleared
        self._start = self._end = 0
        self.cut = 0

    @property
    def all(self) -> memoryview:
        return self._bytes[self._start : self._end]

    @property
    def whole(self) -> int:
        """Bytes of whole records."""
        return self.cut - self._start

    @property
    def whole_text(self) -> memoryview:
        """The whole records."""
        return self._bytes[self._start : self.cut]

    @property
    def uncut(self) -> memoryview:
        return self._bytes[self.cut : self._end]

    def append(self, more: memoryview) -> None:
        self._make_room(more.nbytes)
        self._bytes[self._end : self._end + more.nbytes] = more
        self._end += more.nbytes

    def fill(self, source: Source) -> int:
        """Reads at most a block and returns the number of bytes; 0 at the end of the source."""
        self._make_room(self._block)
        added = source.readinto(self._bytes[self._end : self._end + self._block])
        self._end += added
        return added

    def take(self) -> memoryview:
        """The whole records, which are then no longer here."""
        taken = self._bytes[self._start : self.cut]
        self._start = self.cut
        expected = taken.nbytes + taken.nbytes // 8 + self._block
        if self._start + expected > len(self._bytes):  # as little is copied now as ever will be
            self._move(expected)
        return taken

    def _make_room(self, more: int) -> None:
        if self._end + more > len(self._bytes):
            self._move(2 * (self._end - self._start) + more)

    def _move(self, size: int) -> None:
        """To other memory: whoever has taken records may still read them."""
        kept = self.all
        self._bytes = np.empty(max(FIRST_BUFFER, size, kept.nbytes), np.uint8).data
        self._bytes[: kept.nbytes] = kept
        self.cut -= self._start
        self._start, self._end = 0, kept.nbytes


class ReadAhead(Iterator[Item]):
    """The same items, made in a thread of their own, a few before they are asked for.

    The thread begins with the first item asked for. `close` ends it once it is
    done with the item at hand, and does not wait: that may come from a pipe.
    """

    def __init__(self, items: Generator[Item, None, None]):
        self._items = items
        self._queue: Queue[tuple[Item | None, BaseException | None]] = Queue(AHEAD)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._fill, name="gassst-reader", daemon=True)

    def start(self) -> None:
        """Begin before the first item is asked for."""
        self._thread.start()

    def _fill(self) -> None:
        with closing(self._items) as items:
            try:
                for item in items:
                    if self._closed.is_set():
                        return
                    self._queue.put((item, None))
                self._queue.put((None, None))
            except BaseException as error:  # raised where the items are used
                self._queue.put((None, error))

    def __next__(self) -> Item:
        if self._closed.is_set():
            raise StopIteration
        if self._thread.ident is None:
            self.start()
        item, error = self._queue.get()
        if item is not None:
            return item
        self.close()
        raise error or StopIteration

    def close(self) -> None:
        self._closed.set()
        if self._thread.ident is None:
            self._items.close()
        with suppress(Empty):
            while True:  # the thread may wait for room
                self._queue.get_nowait()
