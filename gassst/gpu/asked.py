"""What batches ask of a device, however it is reached; and whether it can take them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import cast

from gassst.gpu.requests import Answer, Densely, Found, Looked, Request
from gassst.index.lookup import WholeIndex
from gassst.index.seed_index import SeedIndex
from gassst.model.array_types import U32
from gassst.model.params import MapParams
from gassst.model.stats import Stats
from gassst.search.arrays import GlobalResult
from gassst.search.context import BatchContext
from gassst.search.dense import DenselyLooked, DenseSeeds
from gassst.search.filters import Cascade

CASCADES = ((), ("flanks",), ("band32",), ("flanks", "band32"))
"""Filters that the device has, in the order that it has them in."""
CASCADES_OF_ALL = CASCADES[2:]
"""Where all places are wanted."""


def is_searched(params: MapParams, index: SeedIndex, lookup: WholeIndex, cascade: Cascade) -> bool:
    """Whether a device can search so, with an index of step 1 in one piece. For all places, but not the best stratum,
    it takes the narrow band."""
    cascades = CASCADES_OF_ALL if params.exhaustive else CASCADES
    return not params.strata and is_looked_up(index, lookup) and cascade.names in cascades


def is_looked_up(index: SeedIndex, lookup: WholeIndex) -> bool:
    """Whether a device can look seeds up in an index: in one of step 1 in one piece."""
    return index.step == 1 and not lookup.copies


def is_taken(context: BatchContext) -> bool:
    """Whether a device can search this batch."""
    suits = is_searched(context.params, context.index, context.lookup, context.cascade)
    # Mates that are mapped one by one, which insert sizes are learned from, stay on the host in either mode. With
    # clipped ends they are given up earlier than the device gives single reads up: `plan_columns`.
    is_single = context.whole_reads == context.params.reports_whole_reads
    return suits and is_single and context.left_out is None and context.n > 0 and not context.library.damage


class Asked(ABC):
    """What a device can take of a batch (`search.context.BatchDevice`). None in place of what it finds leaves that to
    the host. An answer lasts until anything else is asked."""

    turns: AbstractContextManager[object]
    """To be held by what computes."""

    @abstractmethod
    def ask(self, context: BatchContext, stats: Stats, request: Request) -> Answer | None:
        """The answer to a request, of the kind that it asks for."""

    @abstractmethod
    def describe(self) -> str:
        """One line for people."""

    def search(self, context: BatchContext, stats: Stats) -> GlobalResult | None:
        """What `search.single.search` finds in a batch."""
        if not is_taken(context):
            return None
        found = self.ask(context, stats, Request.of(context))
        return found.result(context, stats) if isinstance(found, Found) else None

    def look_up(self, context: BatchContext, stats: Stats, reads: U32, stage: int) -> Looked | None:
        """The seeds of a stage of some reads (uint32[a], ascending)."""
        if not is_looked_up(context.index, context.lookup):
            return None
        found = self.ask(context, stats, Request.for_anchors(context, stage, reads))
        return found if isinstance(found, Looked) else None

    def look_densely(
        self, context: BatchContext, stats: Stats, reads: U32, seeds: DenseSeeds
    ) -> DenselyLooked | None:
        """What dense seeds of some reads (uint32[a], ascending) lead to."""
        if context.left_out is not None or not is_looked_up(context.index, context.lookup):
            return None
        found = self.ask(context, stats, Request.for_dense(context, reads, seeds))
        return found.looked(reads) if isinstance(found, Densely) else None

    def note_host(self, reads: int, nanoseconds: int) -> None:  # noqa: B027 - only a process that others use is told
        """The host has searched reads that the device did not take: of no interest to one that takes what it can."""


def asked_of(context: BatchContext) -> Asked:
    """The device of a batch that has one."""
    return cast(Asked, context.on_device)
