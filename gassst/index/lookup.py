"""The seed index as it is looked up: in one piece, or in parts that fit a given amount of memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from gassst.model.array_types import U32, Structs


class SeedTables(Protocol):
    """What holds seeds: an index, or a part of one."""

    @property
    def kmers(self) -> tuple[int, int]: ...
    @property
    def table(self) -> U32: ...
    @property
    def positions(self) -> U32: ...
    @property
    def following(self) -> Structs: ...
    def drop_from_memory(self) -> None: ...


class Whole(SeedTables, Protocol):
    """As `seed_index.SeedIndex`, which measures its genome by these lookups."""

    @property
    def step(self) -> int: ...
    @property
    def parts(self) -> tuple[SeedTables, ...]: ...
    @property
    def converted(self) -> tuple[SeedTables, ...]: ...


class WholeIndex:
    """The index in one piece, as mapped by the operating system."""

    copies = False  # whether `copy_positions` leaves seeds without their ranges in the index

    def __init__(self, index: Whole):
        self.index = index

    def resolve(self, seeds: Any, caps: np.ndarray) -> None:
        """Look up the seeds; those that occur more often than `caps` says for their length are made longer."""
        again = True
        while again:
            for part, lo, hi in self._parts():
                seeds.resolve(part, lo, hi)
            again = seeds.lengthen(caps)

    def copy_positions(self, seeds: Any) -> None:
        """Copy the places of the seeds out of the index, unless `gather` can read the positions where they are."""
        if self.copies:
            for part, lo, hi in self._parts():
                seeds.copy_positions(part, lo, hi)

    def _parts(self) -> Iterator[tuple[SeedTables, int, int]]:
        """What holds each part, its first k-mer, and that of the next."""
        yield self.index, *self.index.kmers


class IndexParts(WholeIndex):
    """The index in parts of neighbouring k-mers: those of its files, or smaller ones where memory is limited.

    An index of converted seeds has parts by conversion: a seed lies in that of its own.

    Splitting by k-mer instead of by coordinate leaves every result as it is: the same seeds are looked up, only
    in another order.

    Parameters
    ----------
    index : SeedIndex
    memory : int, optional
        Bytes of the index to keep in memory. Each part is then dropped once a batch has used it.
    """

    copies = True

    def __init__(self, index: Whole, memory: int | None = None):
        super().__init__(index)
        self._drops = memory is not None
        self._pieces = [
            (part, lo, hi)
            for part in index.parts or index.converted or (index,)
            for lo, hi in pairwise(_bounds(part, memory))
        ]

    def _parts(self) -> Iterator[tuple[SeedTables, int, int]]:
        """With limited memory a part is dropped when the next is asked for."""
        for piece in self._pieces:
            yield piece
            if self._drops:
                piece[0].drop_from_memory()


def _bounds(part: SeedTables, memory: int | None) -> list[int]:
    """Where to cut what one file holds, so that each piece takes half of the memory: k-mers, with both ends."""
    size = part.table.nbytes + part.positions.nbytes + part.following.nbytes
    n = 1 if memory is None else max(1, -(-size // (memory // 2)))
    first, last = part.kmers
    inside = first + np.searchsorted(part.table, np.linspace(0, len(part.positions), n + 1)[1:-1])
    return [int(kmer) for kmer in np.unique(np.concatenate([[first], inside, [last]]))]
