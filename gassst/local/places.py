"""Places and alignments of reads whose ends may be clipped, as parallel columns."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gassst.model.array_types import I64, U32, Bool
from gassst.model.layouts import LOCAL_LINE, LOCAL_PLACE
from gassst.model.params import SPECIFIC_LENGTH, Scoring

# Clipped bases from which a read is looked up once more and may have supplementary alignments: a stretch of 20
# bases is the shortest that occurs once in a human genome by chance. 10 to 40 place as many right
# (lab/constants.md), but a split read has no part that is shorter.
MUCH_CLIPPED = SPECIFIC_LENGTH


class Structs:
    """Rows of structs, read by read. Their fields are columns, as attributes."""

    LAYOUT: np.dtype
    rows: np.ndarray

    def __init__(self, *columns: np.ndarray):
        self.rows = np.empty(len(columns[0]), self.LAYOUT)
        for name, column in zip(self.LAYOUT.names or (), columns, strict=True):
            self.rows[name] = column

    def __getattr__(self, name: str) -> Any:
        if name not in (self.LAYOUT.names or ()):
            raise AttributeError(name)
        column = self.__dict__[name] = np.ascontiguousarray(self.rows[name])
        return column

    @cached_property
    def read(self) -> U32:
        """uint32[k]"""
        return self.read_strand >> np.uint32(1)


class Places(Structs):
    """Scored bands: LOCAL_PLACE[k], whose fields are told in `_core/layouts.pxd`."""

    LAYOUT = LOCAL_PLACE

    @classmethod
    def of(cls, rows: np.ndarray) -> Places:
        """Of LOCAL_PLACE[k]."""
        places = cls.__new__(cls)
        places.rows = rows
        return places

    @classmethod
    def none(cls) -> Places:
        """No places at all."""
        return cls.of(np.empty(0, LOCAL_PLACE))

    def take(self, index: np.ndarray) -> Places:
        """The rows at `index`, numbers or a mask."""
        return Places.of(self.rows.take(numbers(index)))

    @classmethod
    def concatenate(cls, parts: list[Places]) -> Places:
        """All rows, those of one read in the order of `parts`."""
        rows = joined([part.rows for part in parts])
        return cls.of(rows.take(np.argsort(rows["read_strand"] >> 1, kind="stable")))

    def parts(self, lengths: U32, match: int) -> tuple[I64, I64]:
        """First and last base of the read as sequenced that a place aligns for certain, from its score."""
        last = self.strand_end.astype(np.int64)
        first = np.where(self.reached & 1, 0, np.maximum(0, last + -self.score // match))
        m = lengths[self.read].astype(np.int64)
        reverse = (self.read_strand & 1).astype(bool)
        return np.where(reverse, m - last, first), np.where(reverse, m - first, last)


class Lines(Structs):
    """Alignments: HIT[k], and LOCAL_LINE[k], whose fields are told in `_core/layouts.pxd`."""

    LAYOUT = LOCAL_LINE

    def __init__(self, hits: np.ndarray, *columns: np.ndarray):
        super().__init__(*columns)
        self.hits = hits

    @classmethod
    def of(cls, hits: np.ndarray, rows: np.ndarray) -> Lines:
        """Of HIT[k] and LOCAL_LINE[k]."""
        lines = cls.__new__(cls)
        lines.hits, lines.rows = hits, rows
        return lines

    def take(self, index: np.ndarray) -> Lines:
        """The rows at `index`, numbers or a mask."""
        index = numbers(index)
        return Lines.of(self.hits.take(index), self.rows.take(index))

    @classmethod
    def concatenate(cls, parts: list[Lines]) -> Lines:
        """All rows, those of one read in the order of `parts`."""
        hits, rows = joined([part.hits for part in parts]), joined([part.rows for part in parts])
        order = np.argsort(hits["read"], kind="stable")
        return cls.of(hits.take(order), rows.take(order))

    def mismatches(self, scoring: Scoring) -> I64:
        """int64[k]: as many as cost what each loses against an alignment of the same bases without errors."""
        lost = (self.end - self.begin) * scoring.match - self.hits["score"]
        return -(-lost // (scoring.match + scoring.mismatch))


def numbers(index: np.ndarray) -> np.ndarray:
    """int64[]: those of the rows in an index or a mask."""
    return index.nonzero()[0] if index.dtype == bool else index


def joined(arrays: list[np.ndarray]) -> np.ndarray:
    """np.concatenate, without its copying structs field by field."""
    dtype = arrays[0].dtype
    if dtype.names is None:
        return np.concatenate(arrays)
    return np.concatenate([a.view(np.dtype((np.void, dtype.itemsize))) for a in arrays]).view(dtype)


def at(column: np.ndarray, index: np.ndarray) -> I64:
    """int64[k]: `column[index]`, 0 where the index is -1."""
    padded = np.append(column.astype(np.int64), 0)
    return padded[index]


def line_of_read(lines: Lines, n: int) -> I64:
    """int64[n]: row of the line of every read, -1 for none."""
    rows = np.full(n, -1, np.int64)
    rows[lines.read] = np.arange(len(lines.read))
    return rows


def of_reads(lines: Lines, n: int) -> Bool:
    """bool[n]: reads that have a line."""
    mask = np.zeros(n, bool)
    mask[lines.read] = True
    return mask


def overlap(begin: np.ndarray, end: np.ndarray, other_begin: np.ndarray, other_end: np.ndarray) -> Bool:
    """bool[k]: whether two stretches have at least half of the shorter one in common."""
    common = np.minimum(end, other_end) - np.maximum(begin, other_begin)
    return 2 * common >= np.minimum(end - begin, other_end - other_begin)
