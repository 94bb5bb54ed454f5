"""What the passes over one batch change: every array of it, declared here."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gassst.model.array_types import U8, U16
from gassst.model.layouts import NO_SCORE
from gassst.search.arrays import Bands, Buckets, Diagonals, KeysByRead, Seen
from gassst.search.context import BatchContext


@dataclass(eq=False, repr=False)
class ReadStates:
    """What is known so far of the `n` reads of a batch.

    Attributes
    ----------
    best : uint16[n]
        Fewest errors of a scored band; NO_SCORE for none.
    limit : uint16[n]
        Most errors that still matter.
    complete : uint16[n]
        Every alignment with fewer errors has been seen.
    planned : uint16[n]
        Most disjoint seeds that were looked up together.
    looked : uint8[n]
        Bit s: the seeds of stage s have been looked up.
    capped : uint8[n]
        1 where a seed was passed over because it occurs too often.
    """

    best: U16
    limit: U16
    complete: U16
    planned: U16
    looked: U8
    capped: U8

    @property
    def reads_capped(self) -> int:
        """How many reads are `capped`."""
        return len(self.capped) - self.capped.tobytes().count(0)

    def seen(self) -> Seen:
        """What has been looked at so far, for the mapping qualities."""
        return Seen(self.complete, self.looked, self.planned)


@dataclass(eq=False, repr=False)
class SearchState(ReadStates):
    """What the passes know of the reads.

    Attributes
    ----------
    bands : list of Bands
        Those within the limits, in the order in which they were scored.
    scored : KeysByRead
        Buckets that need not be scored again.
    rejected : KeysByRead
        Diagonals whose narrow bands have more errors than matter. That bounds the diagonal, not the bucket.
    fresh : list of Buckets
        Buckets scored since `scored` was brought up to date.
    fresh_rejected : list of Diagonals
        The same for `rejected`.
    """

    scored: KeysByRead
    rejected: KeysByRead
    bands: list[Bands] = field(default_factory=list)
    fresh: list[Buckets] = field(default_factory=list)
    fresh_rejected: list[Diagonals] = field(default_factory=list)

    @classmethod
    def initial(cls, context: BatchContext) -> SearchState:
        """Of a batch of which nothing was looked up."""
        n = context.n
        return cls(
            best=np.full(n, NO_SCORE, np.uint16),
            limit=context.errors.copy(),
            complete=np.zeros(n, np.uint16),
            planned=np.zeros(n, np.uint16),
            looked=np.zeros(n, np.uint8),
            capped=np.zeros(n, np.uint8),
            scored=KeysByRead.none(n),
            rejected=KeysByRead.none(n),
        )
