"""Places and alignments of reads with local ends, as parallel arrays (--mode local)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gassst._core import local_places as _local_places

FAR = 20  # clipped bases from which a read is looked into once more, and may have supplementary alignments


class Columns:
    """Parallel arrays of one length."""

    def take(self, index: np.ndarray) -> Any:
        """The rows at `index`, numbers or a mask."""
        index = np.flatnonzero(index) if index.dtype == bool else index
        return type(self)(*(np.take(getattr(self, f.name), index) for f in fields(self)))  # type: ignore[arg-type]

    def put(self, index: np.ndarray, rows: Any) -> Any:
        """A copy with other rows at `index`."""
        columns = [getattr(self, f.name).copy() for f in fields(self)]  # type: ignore[arg-type]
        for column, f in zip(columns, fields(self), strict=True):  # type: ignore[arg-type]
            column[index] = getattr(rows, f.name)
        return type(self)(*columns)

    @classmethod
    def concatenate(cls, parts: list) -> Any:
        """All rows, in order."""
        return cls(*(joined([getattr(p, f.name) for p in parts]) for f in fields(cls)))  # type: ignore[arg-type]


@dataclass
class Places(Columns):
    """Scored bands of `most` diagonals. `total` is the score with bonus; `reached`, `rows` as `ReadsHandle.local` has
    them; `diagonal` the concatenated coordinate that base 0 faces by the last aligned base; `given`: the place that
    was chosen before."""

    read_strand: np.ndarray
    band_start: np.ndarray
    most: np.ndarray
    score: np.ndarray
    total: np.ndarray
    reached: np.ndarray
    rows: np.ndarray
    diagonal: np.ndarray
    given: np.ndarray

    @property
    def read(self) -> np.ndarray:
        return self.read_strand >> 1

    def parts(self, lengths: np.ndarray, match: int) -> tuple[np.ndarray, np.ndarray]:
        """First and last base of the read as sequenced that a place aligns for certain, from its score."""
        last = self.rows.astype(np.int64)
        first = np.where(self.reached & 1, 0, np.maximum(0, last + -self.score // match))
        m = lengths[self.read].astype(np.int64)
        reverse = (self.read_strand & 1).astype(bool)
        return np.where(reverse, m - last, first), np.where(reverse, m - first, last)


@dataclass
class Lines(Columns):
    """Alignments: `hits` HIT, `begin` and `end` of the aligned bases in the read as sequenced, `total` as in Places,
    the diagonals on which they begin and end."""

    hits: np.ndarray
    read_strand: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    total: np.ndarray
    first_diagonal: np.ndarray
    last_diagonal: np.ndarray
    given: np.ndarray

    @property
    def read(self) -> np.ndarray:
        return self.read_strand >> 1

    def clipped(self, lengths: np.ndarray) -> np.ndarray:
        """Bases that are not aligned, int64[k]."""
        return lengths[self.read] - (self.end - self.begin)


def best_of(places: Places, eligible: np.ndarray, flip: np.ndarray, digest: np.ndarray) -> np.ndarray:
    """Row of the best place of every read that has an eligible one (bool[k]), as `_local_places.best_of` has it."""
    columns = (
        places.read_strand,
        places.diagonal,
        places.band_start,
        places.total,
        places.given.view(np.uint8),
    )
    return _local_places.best_of(eligible.view(np.uint8), *columns, flip, digest)


def joined(arrays: list[np.ndarray]) -> np.ndarray:
    """As np.concatenate, which copies structs field by field."""
    dtype = arrays[0].dtype
    if dtype.names is None:
        return np.concatenate(arrays)
    return np.concatenate([a.view(np.dtype((np.void, dtype.itemsize))) for a in arrays]).view(dtype)


def rank(sorted_ids: np.ndarray) -> np.ndarray:
    """Index of each row within its run of equal ids."""
    index = np.arange(len(sorted_ids))
    new = np.r_[True, sorted_ids[1:] != sorted_ids[:-1]] if len(sorted_ids) else np.empty(0, bool)
    return index - np.maximum.accumulate(np.where(new, index, 0)) if len(index) else index


def at(column: np.ndarray, index: np.ndarray) -> np.ndarray:
    """`column[index]` as int64, 0 where the index is -1."""
    padded = np.append(column.astype(np.int64), 0)
    return padded[index]


def overlap(begin, end, other_begin, other_end) -> np.ndarray:
    """Whether two stretches have at least half of the shorter one in common."""
    common = np.minimum(end, other_end) - np.maximum(begin, other_begin)
    return 2 * common >= np.minimum(end - begin, other_end - other_begin)
