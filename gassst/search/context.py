"""What the passes over one batch read and never change."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from gassst._core import seeds as _seeds
from gassst._core.read_search import Rater
from gassst.frozen import frozen, replace
from gassst.index.lookup import WholeIndex
from gassst.index.seed_index import SeedIndex
from gassst.model.array_types import F64, I64, U8, U16, U64, Bool
from gassst.model.params import MAX_READ_LENGTH, MIN_READ_LENGTH, MapParams
from gassst.model.read_batch import PackedReads
from gassst.model.reference import GAP, Reference
from gassst.model.rules import rule
from gassst.model.stats import Stats
from gassst.pairing.error_rate import UNKNOWN_LIBRARY, ErrorRate
from gassst.pairing.insert_size import InsertModel
from gassst.search.filters import Cascade
from gassst.search.plan import SearchPlan

WHOLE_READS = rule("whole-reads", "Reports reads that fit as wholes, but score too little with clipped ends.")
RESCUES = rule("mate-rescue", "Scores the window that a mate leaves for the other one.")


class BatchDevice(Protocol):
    """A device that searches batches, as runs and batches see it: `gpu.search.DeviceSearch`, `gpu.late.LateSearch`."""

    more_threads: int

    @property
    def compiled(self) -> int: ...

    def for_run(self) -> BatchDevice | None: ...
    def end_run(self) -> None: ...
    def search(self, context: BatchContext, stats: Stats, with_mates: bool = False) -> Any | None: ...
    def note_done(self, reads: int, share: float | None) -> None: ...
    def describe(self) -> str: ...


@frozen(eq=False)
class BatchContext:
    """One batch of `n` packed reads and what it is searched in.

    Attributes
    ----------
    index, lookup, plan, cascade, params
        The index, whole and as it is kept in memory; what is looked up; the filters; the user's parameters.
    packed : PackedReads
    errors : uint16[n]
        Most errors of an alignment of each read.
    flip : uint8[n]
        1 where the reverse strand is the canonical one.
    digest : uint64[n]
        Hash of the read's bases, the same for its reverse complement.
    left_out : bool[c] or None
        Contigs in which nothing is looked for.
    on_device : BatchDevice or None
    whole_reads : bool
        Where ends may be clipped, a single read is reported whatever it scores, if it fits as a whole.
    library : ErrorRate
        How often the reads of this library differ from the reference.
    """

    index: SeedIndex
    lookup: WholeIndex
    plan: SearchPlan
    cascade: Cascade
    params: MapParams
    packed: PackedReads
    errors: U16
    flip: U8
    digest: U64
    left_out: Bool | None = None
    on_device: BatchDevice | None = None
    whole_reads: bool = False
    library: ErrorRate = UNKNOWN_LIBRARY

    @classmethod
    def of(
        cls,
        index: SeedIndex,
        lookup: WholeIndex,
        plan: SearchPlan,
        cascade: Cascade,
        params: MapParams,
        packed: PackedReads,
        on_device: BatchDevice | None = None,
        whole_reads: bool = False,
        library: ErrorRate = UNKNOWN_LIBRARY,
    ) -> BatchContext:
        """The context of a batch; the plan learns the lengths of its reads."""
        made_of = index, lookup, plan, cascade, params, packed
        known = _seeds.of_reads(packed, plan)
        return cls(*made_of, *known, None, on_device, whole_reads and WHOLE_READS, library)

    @property
    def n(self) -> int:
        """Reads in the batch."""
        return len(self.packed.lengths)

    @property
    def rater(self) -> Rater:
        """What rates the places of reads in this thread."""
        return self.plan.rater(self.library)

    @property
    def lost(self) -> F64:
        """`SearchPlan.lost_of` the library."""
        return self.plan.lost_of(self.library)

    @property
    def shift(self) -> int:
        """log2 of the diagonals in a bucket."""
        return self.plan.shift

    @property
    def reference(self) -> Reference:
        """The reference of the index."""
        return self.index.reference


@frozen(eq=False)
class PairContext:
    """The pairs among the `n` reads of a batch. Mates are neighbouring rows.

    Attributes
    ----------
    insert : InsertModel
    mate : uint8[n]
        0 single, 1 first, 2 last mate.
    borders : int64[c + 1]
        Contig i owns the places whose middle lies in borders[i] .. borders[i + 1].
    window_bases : int
        Diagonals on which a mate may lie beside a place of its partner.
    shortest : int
        Bases of a mate that is looked for there: of a read that is mapped alone.
    """

    insert: InsertModel
    mate: U8
    borders: I64
    window_bases: int
    shortest: int

    @classmethod
    def of(cls, context: Any, mate: U8, insert: InsertModel) -> PairContext:
        """The pairs that `mate` (uint8[n] of the ReadBatch) names. Of the BatchContext `plan`, `reference` and `params`
        are read."""
        plan, reference, is_on = context.plan, context.reference, RESCUES and context.params.mate_rescue

        def made() -> PairContext:
            window_bases = sum(each.high - each.low + 2 * plan.gaps for each in insert.libraries)
            borders = np.append(reference.starts - GAP // 2, reference.total)
            shortest = MIN_READ_LENGTH if is_on else MAX_READ_LENGTH + 1
            return cls(insert, mate, borders, window_bases, shortest)

        return replace(plan.kept("pairs", made, insert, reference, is_on), mate=mate)
