"""How far a run has come, by the bytes read of its inputs: compressed bytes where a file is compressed."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar


class _OpenFile(Protocol):
    def fileno(self) -> int: ...
    def tell(self) -> int: ...


class _Sized(Protocol):
    def __len__(self) -> int: ...


Marked = TypeVar("Marked", bound=_Sized)


class InputProgress:
    """Readers announce each file they open; a run passes its batches through `marked`.

    Nothing is counted while reading: the position of an open file is asked for when a batch is complete. So a
    reader must announce an unbuffered file, whose position is what has been consumed.

    Parameters
    ----------
    paths : iterable of str
        All inputs of the run. A stream among them ("-", a pipe) leaves the total unknown.

    Attributes
    ----------
    bytes_total : int or None
        Size of all inputs; None where one of them has no size.
    """

    def __init__(self, paths: Iterable[str]):
        sizes = [size_of(path) for path in paths]
        self.bytes_total = None if None in sizes else sum(size or 0 for size in sizes)
        self._followed: list[tuple[_OpenFile, int]] = []
        self._marks: deque[tuple[int, int]] = deque()
        self._mapped_bytes = 0

    def follow(self, file: _OpenFile) -> None:
        """Count what is read of `file` from here on; once it is closed, all of it counts."""
        info = os.fstat(file.fileno())
        if stat.S_ISREG(info.st_mode):
            self._followed.append((file, getattr(file, "size", info.st_size)))

    def expect(self, size: int) -> None:
        """Only so many bytes of the inputs are going to be read."""
        self.bytes_total = size

    @property
    def bytes_read(self) -> int:
        """Bytes read so far of all files that were followed."""
        return sum(_position(file, size) for file, size in self._followed)

    def marked(self, batches: Iterable[Marked]) -> Iterator[Marked]:
        """Yield the same batches, and note for each how many bytes of input were read before it."""
        reads = 0
        for batch in batches:
            reads += len(batch)
            self._marks.append((reads, self.bytes_read))
            yield batch

    def share_done(self, reads: int) -> float | None:
        """Share of the input, 0 to 1, that the first `reads` reads take up; None where the total is unknown.

        Reading is ahead of mapping by several batches per thread, so `bytes_read` alone would promise too much.
        `reads` must not decrease from call to call.
        """
        while self._marks and self._marks[0][0] <= reads:
            self._mapped_bytes = self._marks.popleft()[1]
        return min(1.0, self._mapped_bytes / self.bytes_total) if self.bytes_total else None


def _position(file: _OpenFile, size: int) -> int:
    """How far a file has been read; another thread may close it at any time."""
    try:
        return file.tell()
    except (ValueError, OSError):  # closed, or closed between the check and the system call
        return size


def size_of(path: str) -> int | None:
    """Bytes of an input; None for a stream."""
    try:
        info = os.stat(path) if path != "-" else None
    except OSError:  # whoever opens the file says what is wrong with it
        return None
    return info.st_size if info and stat.S_ISREG(info.st_mode) else None
