"""Dense seeds of a few reads, and what they lead to: what another look at reads begins with (`local.reseed`)."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gassst.frozen import frozen
from gassst.model.array_types import I64, U16, U32
from gassst.model.params import MAX_READ_LENGTH
from gassst.search.arrays import Anchors
from gassst.search.plan import SearchPlan, SeedRows


class DenseSeeds(NamedTuple):
    """Seeds of `length` bases, each a `stride` behind the one before, on both strands.

    `occurrences`: of a seed that are looked at, at most. `disjoint`: if not 0, there is one disjoint seed, and another
    one for each so many bases. Seeds are as long as these, up to `length`, and occur as the plan allows. Without a
    stride they are these.
    """

    length: int
    stride: int
    occurrences: int
    disjoint: int = 0

    @lru_cache  # noqa: B019 - holds a few tuples
    def rows(self) -> SeedRows:
        """Their plan by read length."""
        m, every = np.arange(MAX_READ_LENGTH + 1), np.ones(MAX_READ_LENGTH + 1, np.uint16)
        pieces = m // (self.disjoint or MAX_READ_LENGTH + 1) + 1
        length = np.minimum(m // pieces, self.length) if self.disjoint else np.full(m.size, self.length)
        count = np.where(m >= length, (m - length) // self.stride + 1, 0) if self.stride else pieces
        return SeedRows(length.astype(np.uint16), count.astype(np.uint16), every)

    def caps(self, plan: SearchPlan) -> U32:
        """Most occurrences by seed length."""
        return plan.caps if self.disjoint else np.full_like(plan.caps, self.occurrences)


@frozen(eq=False)
class DenselyLooked:
    """What dense seeds of `a` reads lead to.

    Attributes
    ----------
    anchors : Anchors
    clipped : uint16[a]
        Seeds of which not every occurrence is looked at.
    first, last : int64[a]
        Where the first and the last of these begin in the read as sequenced; -1 where there is none.
    """

    anchors: Anchors
    clipped: U16
    first: I64
    last: I64
