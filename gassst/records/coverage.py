"""The table of contigs: how many reads each has, and how much of it they cover."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from gassst.files.destination import Destination
from gassst.frozen import NamedTuple
from gassst.model.array_types import NDArray

COLUMNS = [
    "contig",
    "length",
    "reads",
    "unique",
    "shared",
    "bases",
    "mean",
    "covered",
    "covered_share",
    "tpm",
]
MOST_APART = 1 << 20  # intervals that wait until they are joined


class Covered(NamedTuple):
    """What the alignments of a batch cover, secondary ones left out.

    Attributes
    ----------
    start, end : int64[h]
        In the coordinate of the whole reference.
    unique, shared : bool[h]
        Primary alignments with a MAPQ above 0, and with 0; neither of supplementary ones.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    unique: NDArray[np.bool_]
    shared: NDArray[np.bool_]


class CoverageFile:
    """A table of all contigs, a `FileBeside`; `starts` and `lengths` int64[c] are those of the reference.

    Raises OutputError when it cannot be written: at once, if it cannot be opened.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        names: Sequence[str],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
    ):
        self._names, self._starts, self._lengths = names, np.asarray(starts), np.asarray(lengths)
        self._counts = np.zeros((3, len(names)), np.int64)  # unique, shared, bases
        self._intervals = np.empty((2, 0), np.int64)  # disjoint, in their order
        self._waiting: list[NDArray[np.int64]] = []
        self._destination = Destination(path)
        self._fd: int | None = self._destination.open()

    def write(self, text: object, covered: Covered | None) -> None:
        """Count the alignments of a batch."""
        if covered is None:
            return
        contig = self._contig(covered.start)
        for row, weight in enumerate((covered.unique, covered.shared, covered.end - covered.start)):
            np.add.at(self._counts[row], contig, weight.astype(np.int64))
        self._waiting.append(np.stack([covered.start, covered.end]))
        if sum(each.shape[1] for each in self._waiting) > max(MOST_APART, self._intervals.shape[1]):
            self._join()

    def _contig(self, position: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self._starts, position, side="right") - 1

    def _join(self) -> None:
        """Make disjoint intervals of all."""
        start, end = np.concatenate([self._intervals, *self._waiting], axis=1)
        self._waiting = []
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate(end[order])
        first = np.append(True, start[1:] > reach[:-1])[: len(start)]
        last = np.append(first[1:], True)[: len(start)]
        self._intervals = np.stack([start[first], reach[last]])

    def text(self) -> str:
        """The table, contigs in the order of the reference."""
        self._join()
        begin, end = self._intervals
        covered = np.zeros(len(self._names), np.int64)
        np.add.at(covered, self._contig(begin), end - begin)
        unique, shared, bases = self._counts
        reads = unique + shared
        rate = reads / self._lengths
        per_million = 1e6 / rate.sum() if rate.sum() else 0.0
        lines = ["\t".join(COLUMNS)]
        for i, name in enumerate(self._names):
            length = int(self._lengths[i])
            counts = (length, reads[i], unique[i], shared[i], bases[i])
            more = (f"{bases[i] / length:.6g}", covered[i], f"{covered[i] / length:.6g}")
            lines.append("\t".join(map(str, (name, *counts, *more, f"{rate[i] * per_million:.6g}"))))
        return "\n".join([*lines, ""])

    def close(self) -> None:
        assert self._fd is not None, "written before"
        fd, self._fd = self._fd, None
        with self._destination.errors(), os.fdopen(fd, "wb") as file:
            file.write(self.text().encode())

    def commit(self) -> None:
        self._destination.commit()

    def discard(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._destination.discard()
