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
        """Look up the seeds; those that occur more often than `caps` says for their length are made longer."""
        again = True
        while again:
            for lo, hi in self._parts():
                seeds.resolve(self.index, caps, lo, hi)
            again = seeds.lengthen(caps)

    def copy_positions(self, seeds) -> None:
        """Copy the places of the seeds out of the index, unless `gather` can read the positions where they are."""
        if self.copies or self.index.step > 1:
            for lo, hi in self._parts():
                i = self.index
                seeds.copy_positions(i, int(i.table[lo]), int(i.table[hi]))

    def _parts(self) -> Iterator[tuple[int, int]]:
        """First k-mer of each part and of the next."""
        yield 0, 4**self.index.k


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
        """A part is dropped from memory when the next is asked for."""
        for lo, hi in pairwise(self.bounds.tolist()):
            yield lo, hi
            self.index.drop_from_memory()
