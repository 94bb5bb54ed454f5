"""How many reads each batch of a run has: fewer at its beginning and end, so that no worker waits for one."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from gassst.files.input_progress import size_of
from gassst.frozen import NamedTuple
from gassst.model.params import STRETCH

HEAD = 1024
"""Reads of the first batch and stretch, from which a run learns, whatever the batches and threads. A mean of 512 pairs
lies within a twentieth of a standard deviation. 4,096 place no more mates right (lab/constants.md)."""
LEAST = STRETCH
"""Reads of the smallest batches. Beside its reads a batch takes 2 ms."""
FEW = 4  # workers; their first batches are there so soon that they need not be small
GROWTH = 4  # from one round of batches to the next
BYTES_A_READ = 250  # until some have been read


class Neighbours(NamedTuple):
    """Whether the same workers have batches of another run `before` those of a run, and `behind` them."""

    before: bool = False
    behind: bool = False


ALONE = Neighbours()


class BatchSizes:
    """Sizes of the batches of a run, in the order in which they are read.

    The first batch is the head of the input, so that some records are there early. With large batches alone,
    most workers would wait in the beginning until theirs are read, and later for those that have the last
    ones. So the first batches are small, and larger with every round of the workers. Once the rest of the input is less
    than a large batch for each worker, a batch is the share of one worker in it, as in guided self-scheduling. Beside
    other runs workers wait for nothing, and batches are large. All but the first end with a stretch, if they can.

    Parameters
    ----------
    most : int
        Reads.
    workers : int
        That map at the same time. None: all batches have `most` reads.
    paths : sequence of str
        Inputs, in the order in which they are read. Where one has no size, the end comes unforeseen.
    sizes : sequence of int, optional
        Bytes that are read of each, where that is not all.
    neighbours : Neighbours
    """

    def __init__(
        self,
        most: int,
        workers: int = 0,
        paths: Sequence[str] = (),
        sizes: Sequence[int] | None = None,
        neighbours: Neighbours = ALONE,
    ):
        self._most, self._workers, self._neighbours = most, workers, neighbours
        self._bytes: Sequence[int | None] = []
        if workers > 1:
            self._bytes = [size_of(path) for path in paths] if sizes is None else sizes
        self._before = 0  # bytes of the files that have been read
        self._batches = self._reads = 0  # given out
        self._least = min(LEAST, most)

    def of_file(self, i: int, mates: int = 1) -> FileSizes:
        """Those of the batches of input `i`, which is read next."""
        self._before = sum(size or 0 for size in self._bytes[:i])
        return FileSizes(self, mates)

    def next(self, position: int, reads: int) -> int:
        """Reads of the next batch; `position` is what has been read of the file at hand, in bytes and in `reads`."""
        size = self._most
        if self._workers and not (self._reads or self._neighbours.before):
            size = min(size, HEAD)
        elif self._workers > FEW and not self._neighbours.before:
            size = min(size, self._least * GROWTH ** min(self._batches // self._workers, 16))
        if self._has_end and not self._neighbours.behind:
            size = min(size, max(self._least, self._reads_left(position) // self._workers))
        self._batches += 1
        if size >= STRETCH:  # up to the end of a stretch
            size = (reads % STRETCH + size) // STRETCH * STRETCH - reads % STRETCH
        self._reads += size
        return size

    @property
    def _has_end(self) -> bool:
        """Whether it is known how much there is to read."""
        return bool(self._bytes) and None not in self._bytes

    def _reads_left(self, position: int) -> int:
        done = self._before + position
        left = max(0, sum(size or 0 for size in self._bytes) - done)
        return left * self._reads // done if self._reads and done else left // BYTES_A_READ


class FileSizes:
    """Sizes of the batches of one file, or of two files of mates, whichever of their readers comes to a batch first.

    Parameters
    ----------
    sizes : BatchSizes
    mates : int
        Files: a batch has as many reads for each of its records.
    """

    def __init__(self, sizes: BatchSizes, mates: int):
        self._sizes, self._mates = sizes, mates
        self._records: list[int] = []
        self._reads = 0  # of these
        self._lock = threading.Lock()

    def records(self, i: int, position: int) -> int:
        """Records of batch `i` from each file; `position` as in `BatchSizes.next`."""
        with self._lock:
            while len(self._records) <= i:
                self._records.append(max(1, self._sizes.next(position, self._reads) // self._mates))
                self._reads += self._records[-1] * self._mates
            return self._records[i]
