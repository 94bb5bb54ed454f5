"""The seed index in one piece or in parts that fit a given amount of memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from gassst.seeding.seed_index import SeedIndex


class WholeIndex:
    """The index in one piece, as mapped by the operating system."""

    copies = False  # whether `copy_positions` leaves seeds without their ranges in the index

    def __init__(self, index: SeedIndex):
        self.index = index

    def resolve(self, seeds, caps: np.ndarray) -> None:
        i = self.index
        seeds.resolve(i.table, i.positions, i.following, i.reference.planes, i.k, caps, 0, 4**i.k)

    def copy_positions(self, seeds) -> None:
        """Nothing to do: `gather` reads the positions where they are."""


class IndexParts(WholeIndex):
    """The index in parts of neighbouring k-mers, each dropped from memory once a batch has used it.

    Splitting by k-mer instead of by coordinate leaves every result as it is: the same seeds are looked up, only
    in another order.
    """

    copies = True

    def __init__(self, index: SeedIndex, memory: int):
        super().__init__(index)
        bytes_each = memory // 2
        size = index.table.nbytes + index.positions.nbytes + index.following.nbytes
        n = max(1, -(-size // bytes_each))
        bounds = np.searchsorted(index.table, np.linspace(0, len(index.positions), n + 1)[1:-1])
        self.bounds = np.unique(np.concatenate([[0], bounds, [4**index.k]])).astype(np.int64)

    def _parts(self) -> Iterator[tuple[int, int]]:
        """First k-mer of each part and of the next; a part is dropped from memory when the next is asked for."""
        for lo, hi in pairwise(self.bounds.tolist()):
            yield lo, hi
            self.index.drop_from_memory()

    def resolve(self, seeds, caps: np.ndarray) -> None:
        i = self.index
        for lo, hi in self._parts():
            seeds.resolve(i.table, i.positions, i.following, i.reference.planes, i.k, caps, lo, hi)

    def copy_positions(self, seeds) -> None:
        i = self.index
        for lo, hi in self._parts():
            seeds.copy_positions(i.positions, int(i.table[lo]), int(i.table[hi]))
