"""Writing in a thread of its own, so that whoever has something to write can go on with other work."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from queue import Empty, Queue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

AT_ONCE = 512  # pieces a system call, of 1024 that Linux takes


class WriteBehind:
    """Writes what is put, in order, to a file descriptor that stays the caller's.

    The thread begins with the first pieces. Where the system grants none, `put`
    writes. What fails in the thread is raised by the next call of `put` or `finish`, and nothing is written after it.

    Parameters
    ----------
    fd : int
    ahead : int
        Calls of `put` whose pieces may wait, at least 1; what they refer to stays in memory so long.

    Attributes
    ----------
    nanoseconds : int
        Spent in writing.
    """

    def __init__(self, fd: int, ahead: int):
        self._fd = fd
        self._waiting: Queue[Sequence[Buffer] | None] = Queue(ahead)
        self._thread: threading.Thread | None = None
        self._has_no_thread = False
        self._gives_up = False
        self._error: BaseException | None = None
        self.nanoseconds = 0

    def put(self, pieces: Sequence[Buffer]) -> None:
        """Have all bytes of all pieces written; they must stay as they are. Waits while too many others do."""
        if self._thread is None and not self._has_no_thread:
            self._start()
        if self._has_no_thread:
            self._write(pieces)
        else:
            self._waiting.put(pieces)
        self._raise_error()

    def _start(self) -> None:
        thread = threading.Thread(target=self._write_all, name="gassst-writer", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._has_no_thread = True
        else:
            self._thread = thread

    def _write_all(self) -> None:
        """After an error or `give_up`, too, pieces are taken, so that nobody waits for room in vain."""
        while True:
            try:
                pieces = self._waiting.get()
                if pieces is None:
                    return
                if self._error is None and not self._gives_up:
                    self._write(pieces)
                del pieces  # whoever lent the memory may have it back
            except BaseException as error:  # too little memory even for that
                self._error = error

    def _write(self, pieces: Sequence[Buffer]) -> None:
        began = time.perf_counter_ns()
        try:
            write_all(self._fd, pieces)
        except BaseException as error:
            self._error = error
        self.nanoseconds += time.perf_counter_ns() - began

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def finish(self) -> None:
        """Wait until all is written."""
        self._end()
        self._raise_error()

    def give_up(self) -> None:
        """Write nothing more, but what is being written at this moment."""
        self._gives_up = True
        with suppress(Empty):
            while True:
                self._waiting.get_nowait()
        self._end()

    def _end(self) -> None:
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None


def write_all(fd: int, pieces: Iterable[Buffer]) -> None:
    """Write all bytes of all pieces. Raises OSError."""
    views = [memoryview(piece).cast("B") for piece in pieces]
    views = [view for view in views if len(view)]
    first = 0
    while first < len(views):
        written = os.writev(fd, views[first : first + AT_ONCE])
        while first < len(views) and written >= len(views[first]):
            written -= len(views[first])
            first += 1
        if written:
            views[first] = views[first][written:]
