"""Places and alignments of reads whose ends may be clipped, as parallel columns."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gassst.model.array_types import U32
from gassst.model.layouts import LOCAL_LINE, LOCAL_PLACE
from gassst.model.params import SPECIFIC_LENGTH

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


def numbers(index: np.ndarray) -> np.ndarray:
    """int64[]: those of the rows in an index or a mask."""
    return index.nonzero()[0] if index.dtype == bool else index


def joined(arrays: list[np.ndarray]) -> np.ndarray:
    """np.concatenate, without its copying structs field by field."""
    dtype = arrays[0].dtype
    if dtype.names is None:
        return np.concatenate(arrays)
    return np.concatenate([a.view(np.dtype((np.void, dtype.itemsize))) for a in arrays]).view(dtype)
