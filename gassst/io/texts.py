"""FASTQ text cut into batches between records, so that whoever has a batch can parse it; reading ahead in a thread."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pickle import PickleBuffer
from queue import Empty, Queue
from typing import TypeVar

from gassst._core.reads import RecordParser, cut
from gassst.errors import InputError
from gassst.io.source import Source, Window

FIRST_BUFFER = 1 << 20
LONG_RECORD = 1 << 18  # bytes; what is longer is looked at before more of it is read
AHEAD = 2  # batches that wait for a worker
ENOUGH = 64 << 20  # bytes of a text: few long records fill it before many short ones do
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Piece:
    """Whole records of one file, and what spoils the one behind them.

    Attributes
    ----------
    data : bytes-like
    records : int
        Of those in full; there may be one more at the end of the file.
    ends : bool
        With the file.
    stray : bool
        With something that is no record.
    error : InputError or None
        Why nothing comes behind, where that is not the end of the file.
    """

    data: memoryview
    records: int
    ends: bool = False
    stray: bool = False
    error: InputError | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return Piece, (PickleBuffer(self.data), self.records, self.ends, self.stray, self.error)

    @property
    def is_last(self) -> bool:
        """Nothing comes behind: the file ends, or cannot be read on, or goes on with what is no record."""
        return self.ends or self.stray or self.error is not None

    def split(self, records: int) -> tuple[Piece, Piece | None]:
        """The first `records`, and what is left, if that is anything."""
        used, _, _ = cut(self.data, records)
        rest = replace(self, data=self.data[used:], records=self.records - records)
        return Piece(self.data[:used], records), rest if rest.records or rest.is_last else None


class Cutter:
    """Cuts the text of a source into texts of `most` records, or fewer where these take up `ENOUGH` bytes.

    What is no record is left in the last text, for the parser to find, so that it knows the place and the reason.

    Parameters
    ----------
    source : Source
        Closed by `texts`.
    window : Window
        What has been read of it already; it begins with a record.
    most, longest : int
        Records of a text; bases of a record.
    block : int
        Bytes asked for at once.
    """

    def __init__(self, source: Source, window: Window, most: int, longest: int, block: int):
        source.counter = self
        self.records = 0
        self._source, self._window = source, window
        self._most, self._longest, self._block = most, longest, block
        self._suspicious = LONG_RECORD

    def texts(self) -> Generator[Piece, None, None]:
        with self._source:
            buffer = _Buffer(self._block)
            buffer.append(self._window.unused)
            eof, count = self._window.eof, 0
            while True:
                used, records, stray = cut(buffer.uncut, self._most - count, ENOUGH - buffer.whole)
                buffer.cut += used
                count += records
                self.records += records
                if count == self._most or buffer.whole >= ENOUGH:
                    yield Piece(buffer.take(), count)
                    count = 0
                elif stray or self._is_hopeless(buffer.uncut):
                    yield Piece(buffer.all, count, stray=True)
                    return
                elif eof:
                    break
                else:
                    try:
                        eof = not buffer.fill(self._source)
                    except InputError as error:
                        yield Piece(buffer.all, count, error=error)
                        return
            if count or buffer.uncut.nbytes:
                yield Piece(buffer.all, count, ends=True)

    def _is_hopeless(self, unfinished: memoryview) -> bool:
        """The beginning of a record is none, whatever follows: a sequence without an end must not fill the memory."""
        if unfinished.nbytes < self._suspicious:
            return False
        self._suspicious = 2 * unfinished.nbytes
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
        self._bytes = memoryview(bytearray(FIRST_BUFFER))
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
        self._bytes = memoryview(bytearray(max(FIRST_BUFFER, size, kept.nbytes)))
        self._bytes[: kept.nbytes] = kept
        self.cut -= self._start
        self._start, self._end = 0, kept.nbytes


class ReadAhead(Iterator[Item]):
    """The same items, made in a thread of their own, a few before they are asked for.

    The thread begins with the first item asked for: until then processes can be forked. `close` ends it once it is
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
