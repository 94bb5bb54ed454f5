"""Sorted runs of BAM records, in memory or on disk, and the ranges of coordinates that are merged of them.

Each range is merged on its own, so all workers merge at once. They are given all runs once, and with
each call the bounds of a range in every run. Keys lie beside the records, which nobody has to read again to merge them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

import gassst.files.htslib  # noqa: F401 - before the compiled modules that link its htslib
from gassst._core.records import EncodedRecords, gather, sort_keys
from gassst.frozen import frozen
from gassst.model.array_types import NDArray

SAMPLE = 256  # of the keys of a run, every so many are looked at to find ranges of equal size
NO_TEMPLATES = np.empty(0, np.uint64)
NUMBER = np.dtype(np.uint64).itemsize


@frozen(eq=False)
class Run:
    """Sorted records in memory.

    Attributes
    ----------
    keys : uint64[n]
    ends : uint64[n]
        The byte of `data` behind each record.
    data : uint8[ends[-1]]
    templates : uint64[n]
        Ordinals of their templates, for marks; empty where none are to come.
    """

    keys: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    data: NDArray[np.uint8]
    templates: NDArray[np.uint64]

    @classmethod
    def of(
        cls, bam: bytes | EncodedRecords, records: int, templates: NDArray[np.uint64] = NO_TEMPLATES
    ) -> Run:
        """What a worker makes of the records of a batch. Raises ValueError where there are not as many."""
        keys, ends = sort_keys(bam, records)
        return cls.merged([cls(keys, ends, np.frombuffer(memoryview(bam), np.uint8), templates)])

    @classmethod
    def merged(
        cls, pieces: Sequence[Run], marks: NDArray[np.uint8] | None = None, tagged: bool = False
    ) -> Run:
        """The records of all pieces in order; those that tie in the order of the pieces.

        `marks` are those of `gather`, of the records of all pieces one after the other.
        """
        keys = np.concatenate([piece.keys for piece in pieces])
        templates = np.concatenate([piece.templates for piece in pieces])
        order = np.argsort(keys, kind="stable")
        columns = [(piece.ends, piece.data) for piece in pieces]
        records, ends = gather(columns, order, marks, tagged)
        return cls(
            keys[order],
            ends,
            np.frombuffer(memoryview(records), np.uint8),
            templates[order] if len(templates) else templates,
        )

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.ends.nbytes + self.data.nbytes + self.templates.nbytes

    @property
    def sample(self) -> NDArray[np.uint64]:
        """Every `SAMPLE`-th key."""
        return self.keys[::SAMPLE]

    def bounds(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Before how many records of each key, and behind how many, its own records lie."""
        return np.searchsorted(self.keys, keys, "left"), np.searchsorted(self.keys, keys, "right")

    def part(self, first: int, last: int) -> Run:
        """Records `first` to `last` - 1."""
        start, stop = (int(self.ends[i - 1]) if i else 0 for i in (first, last))
        ends = self.ends[first:last] - np.uint64(start)
        return Run(self.keys[first:last], ends, self.data[start:stop], self.templates[first:last])


@frozen(eq=False)
class RunOnDisk:
    """Sorted records in a file: keys, ends, templates and data, one after the other.

    Attributes
    ----------
    path : str
    records : int
    are_signed : bool
        Whether there are templates.
    sample : uint64[]
        Every `SAMPLE`-th key.
    last : int
        Key.
    """

    path: str
    records: int
    are_signed: bool
    sample: NDArray[np.uint64]
    last: int

    @classmethod
    def written(cls, path: str, run: Run) -> RunOnDisk:
        """The same records in a file. Raises OSError."""
        with open(path, "wb", buffering=0) as file:
            for column in (run.keys, run.ends, run.templates, run.data):
                left = memoryview(column.view(np.uint8).data)
                while left:
                    left = left[file.write(left) :]
        return cls(path, len(run), len(run.templates) > 0, run.sample.copy(), int(run.keys[-1]))

    def __len__(self) -> int:
        return self.records

    def bounds(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As of `Run`; reads the file only where a key lies inside."""
        inside = (keys >= self.sample[0]) & (keys <= np.uint64(self.last))
        before = np.where(keys < self.sample[0], 0, self.records)
        behind = before.copy()
        if inside.any():
            own = self._numbers(0, 0, self.records)
            before[inside] = np.searchsorted(own, keys[inside], "left")
            behind[inside] = np.searchsorted(own, keys[inside], "right")
        return before, behind

    def part(self, first: int, last: int) -> Run:
        """As of `Run`, read into memory. Raises OSError, also where the file is shorter than it was."""
        ends = self._numbers(1, max(first - 1, 0), last)
        start = int(ends[0]) if first else 0
        ends = ends[1:] if first else ends
        size = (int(ends[-1]) if len(ends) else start) - start
        numbers = (2 + self.are_signed) * NUMBER * self.records
        return Run(
            self._numbers(0, first, last),
            ends - np.uint64(start),
            read_bytes(self.path, numbers + start, size),
            self._numbers(2, first, last) if self.are_signed else NO_TEMPLATES,
        )

    def _numbers(self, column: int, first: int, last: int) -> NDArray[np.uint64]:
        at = NUMBER * (column * self.records + first)
        return read_bytes(self.path, at, NUMBER * (last - first)).view(np.uint64)

    def remove(self) -> None:
        """What is not on disk yet never has to get there."""
        with suppress(OSError):
            os.unlink(self.path)


def read_bytes(path: str, start: int, size: int) -> NDArray[np.uint8]:
    """Part of a file. Raises OSError, also where the file ends before."""
    data = np.empty(size, np.uint8)
    with open(path, "rb", buffering=0) as file:
        file.seek(start)
        left = memoryview(data.data)
        while left:
            added = file.readinto(left)
            if not added:
                raise OSError(None, "a run on disk was cut short")
            left = left[added:]
    return data


AnyRun = Run | RunOnDisk


class RecordRange(NamedTuple):
    """Records that follow each other in the order of all runs, by the part of each run that holds some.

    Attributes
    ----------
    runs : int64[k]
        Ordinals, ascending.
    first, last : int64[k]
        Records `first` to `last` - 1 of each.
    """

    runs: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    def pieces(self, runs: Sequence[AnyRun]) -> list[Run]:
        """What it is of these runs."""
        return [
            runs[i].part(*bounds) for i, *bounds in zip(*(column.tolist() for column in self), strict=True)
        ]


def ranges(runs: Sequence[AnyRun], records: int) -> Iterator[RecordRange]:
    """All records in ranges of about so many that follow each other.

    A range begins with the first record of one key, or with that of a later run: however many records tie, no run has
    more of them than it has records.
    """
    keys, of_run = _splitters(runs, records)
    found = []  # (range, run, first, last), a column for each part of a run
    for i, run in enumerate(runs):
        before, behind = run.bounds(keys)
        cuts = np.concatenate([[0], np.where(of_run > i, behind, before), [len(run)]])
        filled = np.flatnonzero(cuts[1:] > cuts[:-1])
        found.append(np.stack([filled, np.full_like(filled, i), cuts[filled], cuts[filled + 1]]))
    if not found:
        return
    table = np.concatenate(found, axis=1)
    table = table[:, np.argsort(table[0], kind="stable")]
    begins = np.flatnonzero(np.diff(table[0], prepend=-1, append=-1))
    for begin, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
        yield RecordRange(*table[1:, begin:end])


def _splitters(runs: Sequence[AnyRun], records: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Keys and runs with whose records ranges begin, ascending by both."""
    samples = [run.sample for run in runs]
    keys = np.concatenate([np.empty(0, np.uint64), *samples])
    of_run = np.repeat(np.arange(len(runs)), [len(sample) for sample in samples])
    order = np.argsort(keys, kind="stable")[:: max(1, records // SAMPLE)][1:]
    return keys[order], of_run[order]
