"""How many copies a genome's own substrings have elsewhere, by length and by how many errors the copies differ.

Mapping qualities are made of it (docs/mapq.md): it says how many places to expect that a search has not seen. A sample
of substrings is looked up in the index when it is built (`gassst.index.copies`), and the shares are kept there
(docs/index-format.md).
"""

from __future__ import annotations

import numpy as np

from gassst._core.read_search import DIFFERENCES
from gassst.model.array_types import NDArray

LETTERS = 4.0
"""Of bases, where all are as frequent."""
LENGTHS = (35, 50, 75, 100, 150, 250)
"""Bases of the substrings."""
SHIFT = 5
"""Buckets of 32 diagonals, each in a band of 64."""


class Spectrum:
    """What was counted.

    Parameters
    ----------
    shares : float32[2, 2, lengths, differences]
        Of substrings (first axis 0) and of templates of two (1) without an exact copy. Second axis 0: the share whose
        nearest copy has so many differences. 1: of those with a copy of at most `EXTRA_STRATA`, whose next nearest has.
    """

    SHAPE = (2, 2, len(LENGTHS), DIFFERENCES)

    def __init__(self, shares: NDArray[np.float32]):
        self.shares = shares.copy()  # caches outlive the mapped file of an index

    @classmethod
    def none(cls) -> Spectrum:
        """Of a genome without copies."""
        return cls(np.zeros(cls.SHAPE, np.float32))
