"""What the passes over one batch read and never change."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from gassst._core import seeds as _seeds
from gassst._core.mapq import Rater, chance_hits
from gassst.index.lookup import WholeIndex
from gassst.index.miss_model import MISS_ERRORS
from gassst.index.reference import GAP, Reference
from gassst.index.seed_index import SeedIndex
from gassst.model.array_types import F64, I64, U8, U16, U32, U64, Bool
from gassst.model.params import MAX_READ_LENGTH, SPECIFIC_LENGTH, MapParams
from gassst.model.read_batch import PackedReads
from gassst.model.rules import rule
from gassst.model.stats import Stats
from gassst.pairing.error_rate import UNKNOWN_LIBRARY, ErrorRate
from gassst.pairing.insert_size import InsertModel
from gassst.search.arrays import GlobalResult
from gassst.search.filters import Cascade
from gassst.search.plan import CHANCE_HITS, SearchPlan

RESCUES = rule("mate-rescue", "Scores the window that a mate leaves for the other one.")


class BatchDevice(Protocol):
    """A device that searches batches, as a run and its batches see it; `gassst.gpu.asked.Asked` describes it."""

    turns: AbstractContextManager[object]

    def search(self, context: BatchContext, stats: Stats) -> GlobalResult | None: ...
    def note_host(self, reads: int, nanoseconds: int) -> None: ...
    def describe(self) -> str: ...


@dataclass(frozen=True, eq=False, repr=False)
class BatchContext:
    """One batch of `n` packed reads and what it is searched in.

    Attributes
    ----------
    index, lookup, plan, cascade, params
        The index, whole and as it is kept in memory; what is looked up; the filters; the user's parameters.
    packed : PackedReads
    errors : uint16[n]
        Most errors of an alignment of each read.
    words : uint8[n]
        A band of the read spans 64 * words diagonals.
    lead : uint32[n]
        Diagonals of a band before its bucket.
    flip : uint8[n]
        1 where the reverse strand is the canonical one.
    digest : uint64[n]
        Hash of the read's bases, the same for its reverse complement.
    left_out : bool[c] or None
        Contigs in which nothing is looked for.
    on_device : BatchDevice or None
    whole_reads : bool
        Where ends may be clipped, a read that scores too little is reported as a whole, if it fits so.
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
    words: U8
    lead: U32
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
        more = None, on_device, whole_reads, library
        return cls(index, lookup, plan, cascade, params, packed, *_seeds.of_reads(packed, plan), *more)

    def of_reads(self, packed: PackedReads) -> BatchContext:
        """The context of other reads, on the host."""
        searched = self.index, self.lookup, self.plan, self.cascade, self.params
        some = BatchContext.of(*searched, packed, None, self.whole_reads, self.library)
        return replace(some, left_out=self.left_out)

    @property
    def n(self) -> int:
        """Reads in the batch."""
        return len(self.packed.lengths)

    @property
    def lengths(self) -> U32:
        """uint32[n]"""
        return self.packed.lengths

    @property
    def rater(self) -> Rater:
        """What rates the places of reads in this thread."""
        return self.plan.rater(self.library)

    @property
    def shift(self) -> int:
        """log2 of the diagonals in a bucket."""
        return self.plan.shift

    @property
    def reference(self) -> Reference:
        """The reference of the index."""
        return self.index.reference


@dataclass(frozen=True, eq=False, repr=False)
class PairContext:
    """The pairs among the `n` reads of a batch. Mates are neighbouring rows.

    Attributes
    ----------
    insert : InsertModel
    mate : uint8[n]
        0 single, 1 first, 2 last mate.
    partner : int64[n]
        Row of the mate; a single read is its own partner.
    borders : int64[c + 1]
        Contig i owns the places whose middle lies in borders[i] .. borders[i + 1].
    window_bases : int
        Diagonals on which a mate may lie beside a place of its partner.
    rescuable : bool[n]
        Reads to be looked for there. A shorter one would be expected to fit somewhere by chance. None without mate
        rescue.
    missed : float64[rows, lengths, MISS_ERRORS]
        Share of alignments that the seeds looked up so far miss. Rows: 0 nothing was looked up, 1 + the last
        stage.
    length_rank : int64[]
        Index into the second axis of `missed`, by read length.
    """

    insert: InsertModel
    mate: U8
    partner: I64
    borders: I64
    window_bases: int
    rescuable: Bool
    missed: F64
    length_rank: I64

    @classmethod
    def of(cls, context: BatchContext, mate: U8, insert: InsertModel) -> PairContext:
        """The pairs that `mate` (uint8[n] of the ReadBatch) names."""
        plan, lengths = context.plan, context.lengths
        first = np.flatnonzero(mate == 1)
        partner = np.arange(context.n)
        partner[first] += 1
        partner[first + 1] -= 1
        is_present = np.bincount(lengths, minlength=1) > 0
        present = np.flatnonzero(is_present)
        window_bases = sum(each.high - each.low + 2 * plan.gaps for each in insert.libraries)
        return cls(
            insert=insert,
            mate=mate,
            partner=partner,
            borders=borders_of(context.reference),
            window_bases=window_bases,
            rescuable=_long_enough(plan, present, window_bases)[lengths]
            & (RESCUES and context.params.mate_rescue),
            missed=missed_by_row(plan, present),
            length_rank=np.cumsum(is_present) - 1,
        )

    @property
    def paired(self) -> Bool:
        """bool[n]: reads that have a mate."""
        return self.mate > 0


def borders_of(reference: Reference) -> I64:
    """int64[c + 1]: as `PairContext.borders`."""
    return np.append(reference.starts - GAP // 2, reference.total)


def _long_enough(plan: SearchPlan, present: I64, window_bases: int) -> Bool:
    """bool[MAX_READ_LENGTH + 1]: of the lengths `present`, those that chance seldom finds in a mate's window.

    Reads of `SPECIFIC_LENGTH` bases and more always are.
    """
    enough = np.zeros(MAX_READ_LENGTH + 1, bool)
    enough[SPECIFIC_LENGTH:] = True
    for m in present[present < SPECIFIC_LENGTH].tolist():
        # `chance_hits` counts both strands; a mate is looked for on one.
        enough[m] = chance_hits(m, int(plan.errors[m]), window_bases / 2, plan.letters) <= CHANCE_HITS
    return enough


def missed_by_row(plan: SearchPlan, present: I64) -> F64:
    """`PairContext.missed` of the lengths `present`, which the plan knows."""
    rows = np.ones((1 + plan.MAX_STAGES, len(present), MISS_ERRORS))
    for rank, m in enumerate(present.tolist()):
        of_length, missed = plan.known(m)
        if of_length.stages:
            rows[1 : 1 + len(missed), rank] = missed
            rows[1 + len(missed) :, rank] = missed[-1]
    return rows
