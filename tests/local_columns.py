"""Local places and alignments of tests as columns."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gassst.model.array_types import U32
from gassst.model.layouts import LOCAL_LINE, LOCAL_PLACE


def perfect(scoring, lengths: np.ndarray) -> np.ndarray:
    """int64[n]: the total (score, and bonus of both ends) of reads of so many bases without an error."""
    return lengths.astype(np.int64) * scoring.match + 2 * scoring.clip


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
    """Scored bands: LOCAL_PLACE[k], whose fields are told in `_core/common.pxd`."""

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


class Lines(Structs):
    """Alignments: HIT[k], and LOCAL_LINE[k], whose fields are told in `_core/common.pxd`."""

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
        hits, rows = (np.concatenate([getattr(part, name) for part in parts]) for name in ("hits", "rows"))
        order = np.argsort(hits["read"], kind="stable")
        return cls.of(hits.take(order), rows.take(order))


def numbers(index: np.ndarray) -> np.ndarray:
    """int64[]: those of the rows in an index or a mask."""
    return index.nonzero()[0] if index.dtype == bool else index


def lines_at(aligner: Any, places: Places) -> Lines:
    """The alignments of places by a LocalAligner, in their order, where contigs leave anything of them."""
    return Lines.of(*aligner.align(places.rows))
