"""Dense seeds of a few reads, and what they lead to: what another look at reads begins with (`local.reseed`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gassst.model.array_types import I64, U16, U32
from gassst.model.params import MAX_READ_LENGTH
from gassst.search.arrays import Anchors
from gassst.search.plan import SearchPlan, SeedRows


class DenseSeeds(NamedTuple):
    """Seeds of `length` bases, each a `stride` behind the one before, on both strands.

    `occurrences`: of a seed that are looked at, at most.
    """

    length: int
    stride: int
    occurrences: int

    def rows(self) -> SeedRows:
        """Their plan by read length."""
        m = np.arange(MAX_READ_LENGTH + 1)
        count = np.where(m >= self.length, (m - self.length) // self.stride + 1, 0).astype(np.uint16)
        return SeedRows(np.full(m.size, self.length, np.uint16), count, np.ones(m.size, np.uint16))

    def caps(self, plan: SearchPlan) -> U32:
        """Most occurrences by seed length."""
        return np.full_like(plan.caps, self.occurrences)


@dataclass(frozen=True, eq=False, repr=False)
class DenselyLooked:
    """What dense seeds of `a` reads lead to.

    Attributes
    ----------
    anchors : Anchors
    clipped : uint16[a]
        Seeds of which not every occurrence is looked at.
    first, last : int64[a]
        Where the first and the last of these begin in the read as sequenced; -1 where there is none.
    stretches : uint32[2, c] or None
        Of each anchor, where it is known: the score of the best ungapped stretch on its diagonal, with the bonus of
        each end of the read that the stretch reaches; begin << 16 | end of the stretch in its strand.
    """

    anchors: Anchors
    clipped: U16
    first: I64
    last: I64
    stretches: U32 | None = None
