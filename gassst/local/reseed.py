"""Another look for reads of which much stays unaligned: dense seeds, and no filter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gassst._core import stretches as _stretches
from gassst.model.array_types import F64, I64, U32
from gassst.search.arrays import Diagonals
from gassst.search.context import BatchContext
from gassst.search.dense import DenseSeeds
from gassst.search.host import HostBackend

# The other values that were tried are in lab/constants.md.
# Bases from seed to seed. At 3 another look costs a third more, and 0.01 % more of human reads with adapters are right.
STRIDE = 5
SPECIFIC = 4  # bases by which a seed is longer than one that occurs once by chance; 2 and 6 place fewer right


@dataclass(frozen=True, eq=False, repr=False)
class PassedOver:
    """Bases at which seeds begin that occur too often, of `n` reads.

    Attributes
    ----------
    bases : float64[n]
        How many.
    first, end : int64[n]
        They lie among the bases first .. end - 1 of the read as sequenced.
    """

    bases: F64
    first: I64
    end: I64

    @classmethod
    def none(cls, n: int) -> PassedOver:
        """Of reads of which no seed was passed over."""
        return cls(np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64))

    def put(self, reads: U32, some: PassedOver) -> PassedOver:
        """A copy with what is known of some reads."""
        bases, first, end = self.bases.copy(), self.first.copy(), self.end.copy()
        bases[reads], first[reads], end[reads] = some.bases, some.first, some.end
        return PassedOver(bases, first, end)


def seed_length(context: BatchContext) -> int:
    """How many bases a seed has."""
    return min(context.plan.affordable + SPECIFIC, context.index.longest_seed)


def look_again(backend: HostBackend, reads: U32, most: int) -> tuple[Diagonals, PassedOver]:
    """At most so many promising diagonals of each of `reads` (uint32[a], ascending), and what was passed over."""
    context, length = backend.context, seed_length(backend.context)
    seeds = DenseSeeds(length, STRIDE, context.plan.occurrence_cap(length))
    looked = backend.look_densely(reads, seeds)
    promising = _stretches.promising_buckets(looked.anchors, context, most, looked.stretches)
    end = np.where(looked.last < 0, looked.first, looked.last + STRIDE)
    return Diagonals(*promising), PassedOver(looked.clipped.astype(np.float64) * STRIDE, looked.first, end)
