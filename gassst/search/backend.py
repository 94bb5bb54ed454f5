"""What the schedule for single reads asks of whoever searches, and what the passes hand on.

`search.single` decides which pass runs next. It never looks into what one pass returns and the next one takes, so these
may lie wherever they are computed. Symbols: `n` reads in the batch, `a` reads that take part, `c` candidates, `k`
buckets, `h` bands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import Any, NamedTuple, Protocol, TypeVar

from gassst.model.array_types import I64, U8, U16
from gassst.model.params import MapParams
from gassst.search.arrays import Bands
from gassst.search.plan import SearchPlan


class Resolved(NamedTuple):
    """Seeds with their ranges of positions; of each read how many were clipped (uint16[a]), and whether one was passed
    over because it occurs too often (uint8[a])."""

    seeds: Any
    clipped: U16
    capped: U8


class Grouped(NamedTuple):
    """Bands grouped by read: those of read r are `start`[r] .. `start`[r + 1], int64[n + 1]."""

    bands: Bands
    start: I64


class Selected(NamedTuple):
    """`rows` int64[k] of grouped bands, read by read from `start` int64[n + 1] on; `summary` READ_SUMMARY[n]."""

    rows: I64
    start: I64
    summary: Any


Reads = TypeVar("Reads", bound=Sized)
Seeds = TypeVar("Seeds")
Anchors = TypeVar("Anchors")
Candidates = TypeVar("Candidates")
Buckets = TypeVar("Buckets")
Scored = TypeVar("Scored")


class BatchPlan(Protocol):
    """What the schedule knows of a batch."""

    @property
    def plan(self) -> SearchPlan: ...

    @property
    def params(self) -> MapParams: ...


class StageState(Protocol[Buckets, Scored]):
    """What is known so far of the reads of a batch: `search.state.SearchState`, or the same elsewhere."""

    bands: list[Scored]
    fresh: list[Buckets]


State = TypeVar("State", bound=StageState[Any, Any])


class StagePasses(Protocol[State, Reads, Seeds, Anchors, Candidates, Buckets, Scored]):
    """The passes of a stage of single reads, which `search.host.HostBackend` describes."""

    @property
    def context(self) -> BatchPlan: ...

    def initial_state(self) -> State: ...
    def unsettled(self, state: State, stage: int) -> Reads: ...
    def merge_scored(self, state: State, reads: Reads) -> None: ...
    def look_up(self, state: State, stage: int, reads: Reads) -> Seeds: ...
    def gather(self, seeds: Seeds, reads: Reads, state: State) -> Anchors: ...
    def count_candidates(self, anchors: Anchors) -> None: ...
    def filter(self, candidates: Anchors, state: State) -> Candidates: ...
    def best_supported(self, anchors: Anchors) -> Buckets: ...
    def buckets(self, candidates: Candidates, known: Buckets | None) -> Buckets: ...
    def score(self, buckets: Buckets) -> Iterator[Scored]: ...
    def all_minima(self, buckets: Buckets) -> Iterator[Scored]: ...
    def within_limit(self, bands: Scored, state: State, extra: int) -> Scored: ...
    def forget(self, state: State, reads: Reads) -> None: ...
