"""The passes over one batch, as a schedule calls them: the contract of every search backend.

A schedule (`search.single`, `search.paired`) decides which pass runs next. It never looks into the arrays that one pass
returns and the next one takes, so a backend may keep them wherever it computes. Symbols: `n` reads in the batch, `a`
reads that take part, `c` candidates, `k` buckets, `h` bands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from gassst.model.array_types import I64, U8, U16, U32, Bool
from gassst.model.params import Scoring
from gassst.model.stats import Stats
from gassst.pairing.pair_scoring import PairChoice
from gassst.search.arrays import Anchors, Bands, BatchResult, Buckets, Candidates, GlobalResult
from gassst.search.context import BatchContext, PairContext
from gassst.search.dense import DenselyLooked, DenseSeeds
from gassst.search.plan import SeedRows
from gassst.search.state import PairState, SearchState


class Resolved(NamedTuple):
    """Seeds with their ranges of positions; of each read how many were clipped (uint16[a]), and whether one was passed
    over because it occurs too often (uint8[a])."""

    seeds: Any
    clipped: U16
    capped: U8


class Grouped(NamedTuple):
    """Bands grouped by read; `ends` int64[h], coordinates behind the last aligned bases; `start` int64[n + 1]."""

    bands: Bands
    ends: I64
    start: I64


class Selected(NamedTuple):
    """`rows` int64[k] of grouped bands, read by read from `start` int64[n + 1] on; `summary` READ_SUMMARY[n]."""

    rows: I64
    start: I64
    summary: Any


class SearchBackend(Protocol):
    """The passes over the batch of `context`; counts and times go to `stats`."""

    context: BatchContext
    stats: Stats

    # --- seeds ---------------------------------------------------------------------------------------------------

    def initial_state(self) -> SearchState:
        """The state of the batch before anything was looked up."""
        ...

    def unsettled(self, state: SearchState, stage: int, partner: I64 | None = None) -> U32:
        """Reads, ascending, that have seeds in this stage and still need them (`presets.Preset`).

        Where ends may be clipped, a read without a place is given up once any whole-read alignment worth reporting
        would have been found. With a `partner` (int64[n]), an alignment of either mate would do.
        """
        ...

    def look_up(self, state: SearchState, stage: int, reads: U32, every: int | None = None) -> Any:
        """The seeds of a stage. Changes `capped`, `looked`, `planned` and `complete` of the state.

        `every` replaces the plan's distance between the seeds that are looked up.
        """
        ...

    def resolve(self, reads: U32, rows: SeedRows, caps: U32) -> Resolved:
        """Seeds of `reads` by the given plan, at most `caps` occurrences by seed length.

        What is `known` is not looked up again.
        """
        ...

    def look_densely(self, reads: U32, seeds: DenseSeeds) -> DenselyLooked:
        """What dense seeds of `reads` (uint32[a], ascending) lead to."""
        ...

    def gather(self, seeds: Any, reads: U32, state: SearchState | None) -> Anchors:
        """The occurrences of seeds as anchors, sorted and merged by diagonal.

        Without those in the scored buckets and on the rejected diagonals of `state`.
        """
        ...

    def count_candidates(self, anchors: Anchors) -> None:
        """Add the anchors to the counts of the run."""
        ...

    def leave_to_local(
        self,
        state: SearchState,
        anchors: Anchors,
        among: Bool | None = None,
        chosen: U8 | None = None,
        partner: I64 | None = None,
    ) -> bool:
        """Leave reads that a clipped alignment fits better than the best band to the search by local score.

        Only where ends may be clipped. A band of few errors is never given up: there no clipped alignment is better
        by much. Of the reads `among` (bool[n]) those with a `chosen` anchor (uint8[c]) may be left, None: all; and
        their `partner` (int64[n]) with them. Changes `left_to_local` and `evidence`. Returns whether any was left.
        """
        ...

    def still_searched(self, anchors: Anchors, state: SearchState) -> Candidates:
        """The anchors of reads that were not left to the search by local score."""
        ...

    def merge_scored(self, state: SearchState, reads: U32) -> None:
        """Move the `fresh` buckets of the reads that go on into `scored`, and `fresh_rejected` into `rejected`.

        What is known of other reads is forgotten.
        """
        ...

    # --- candidates ----------------------------------------------------------------------------------------------

    def filter(self, candidates: Candidates, state: SearchState) -> Candidates:
        """Candidates that every filter passes (Rizk 4.6.5) at the limits of the state.

        Changes `fresh_rejected` of the state.
        """
        ...

    def take(self, candidates: Candidates, chosen: U8) -> Candidates:
        """The candidates marked 1 in `chosen` uint8[c]."""
        ...

    def best_supported(self, anchors: Anchors, chosen: U8 | None = None) -> Buckets:
        """The bucket of every read whose seeds cover most bases, among the chosen anchors."""
        ...

    def buckets(self, candidates: Candidates, known: Buckets) -> Buckets:
        """The distinct buckets of candidates, without the known ones."""
        ...

    # --- bands ---------------------------------------------------------------------------------------------------

    def score(self, buckets: Buckets, limit: U16 | None = None) -> Iterator[Bands]:
        """The scored bands of buckets, one group for each band width.

        `limit` uint16[n]: bands with more errors than that of their read may have any number above it.
        """
        ...

    def within_limit(self, bands: Bands, state: SearchState, extra: int, tighten: bool) -> Bands:
        """The bands within the limits of their reads. Changes `best` and `rival` of the state.

        A limit is at most `extra` errors above the best while the pass runs; `tighten` keeps it so.
        """
        ...

    def all_minima(self, buckets: Buckets) -> Iterator[Bands]:
        """Every alignment within the error limit in the bands of buckets."""
        ...

    # --- selection and alignments --------------------------------------------------------------------------------

    def group(self, bands: list[Bands]) -> Grouped:
        """All bands, grouped by read, within a read in their order."""
        ...

    def select_best(self, found: Grouped, extra: int, max_hits: int) -> Selected:
        """The distinct places of every read, up to `extra` errors above the best; the primary of each read first."""
        ...

    def select_all(self, found: Grouped) -> tuple[Grouped, Selected]:
        """Every band, ordered by position; the primary of each read first."""
        ...

    def rate(self, state: SearchState, found: Grouped, selected: Selected) -> GlobalResult:
        """The result of the search of single reads, with mapping qualities. Counts reads with seeds passed over."""
        ...

    def trace_back(self, found: GlobalResult, pairs: PairContext | None = None) -> BatchResult:
        """The reported rows as alignments, with a row for every unmapped read; `pairs`: of reads that have mates."""
        ...

    def ungapped_ends(self, bands: Bands) -> I64:
        """int64[h]: the diagonal of an ungapped alignment with as few errors, 0 where there is none."""
        ...

    # --- local alignment -----------------------------------------------------------------------------------------

    def score_local(self, read_strand: U32, band_start: I64, width: int, scoring: Scoring) -> tuple[Any, ...]:
        """As `bands.base.ReadsHandle.local`."""
        ...

    def align_local(self, read_strand: U32, band_start: I64, width: int, scoring: Scoring) -> tuple[Any, ...]:
        """As `bands.base.ReadsHandle.align_local`."""
        ...


class PairPasses(Protocol):
    """The passes over the pairs of a batch, beside those of its `SearchBackend`."""

    pairs: PairContext

    def begin_stage(self, search: SearchState, state: PairState) -> None:
        """Start `tried` of the state with the buckets that were scored before."""
        ...

    def note_look(self, reads: U32, state: PairState, stage: int) -> None:
        """Seeds of this stage have been looked up; -1 for the quick look. Changes `looked_row` of the state."""
        ...

    def count(self, marks: U8) -> int:
        """How many anchors are marked."""
        ...

    def participants(self, reads: U32, state: PairState, stage: int) -> U32:
        """Those of the reads that take part in a stage: pairs that are open and have begun, and single reads."""
        ...

    def quick_participants(self, reads: U32) -> U32:
        """Those of the reads whose pair begins with the quick look."""
        ...

    def quick_look(self, reads: U32, mates: U32, search: SearchState, state: PairState) -> bool:
        """The whole quick look at the pairs of `mates` (uint32[q]) at once; False leaves it to the passes below.

        Of `reads` (uint32[a]) those that stay open, and those without such a look, take part in the stage then.
        """
        ...

    def near_mates(self, anchors: Anchors) -> U8:
        """uint8[c]: anchors that have an anchor of the mate in the window of the template length."""
        ...

    def of_open(self, anchors: Anchors, near: U8, is_near: bool, state: PairState) -> U8:
        """uint8[c]: anchors that are near their mate, or are not, of the reads whose pairs are open."""
        ...

    def outside(self, anchors: Anchors, chosen: U8, scored: Buckets) -> U8:
        """uint8[c]: the chosen anchors that lie in none of the scored buckets, at most one of each read."""
        ...

    def quick_buckets(self, anchors: Anchors, near: U8) -> Buckets:
        """Buckets of the near anchors, in pairs that have few of them."""
        ...

    def with_left_out(self, anchors: Anchors, near: U8, state: PairState) -> tuple[Anchors, U8]:
        """Anchors of the first stage, with those that a look ahead left out of reads which `without_copies` leaves all;
        and which of them are near the mate."""
        ...

    def without_copies(self, anchors: Anchors, chosen: U8, search: SearchState, state: PairState) -> U8:
        """uint8[c]: the chosen anchors, fewer of pairs that only seeds passed over keep open."""
        ...

    def fresh(self, buckets: Buckets, state: PairState) -> Buckets:
        """The distinct buckets that this stage has not scored. Adds them to `tried`."""
        ...

    def rescue_windows(self, stage: int, reads: U32, search: SearchState, state: PairState) -> Buckets:
        """The buckets in which the mates of the best places may lie."""
        ...

    def add_places(self, bands: Bands, search: SearchState, state: PairState) -> None:
        """Add scored bands to the placements, and tighten the limits of their reads."""
        ...

    def close_left_to_local(self, search: SearchState, state: PairState) -> None:
        """Close the pairs that were left to the search by local score. Changes `open` of the pairs' state."""
        ...

    def cut_read_through(
        self, stage: int, search: SearchState, state: PairState, left_to_local: bool
    ) -> None:
        """Close the pairs that have to be cut where their fragment ends, as their mates run through it.

        Only where ends may be clipped, of pairs that begin with this stage, and not what fits as a whole. Of all open
        pairs, whose best supported places are scored by then; or first of those `left_to_local` only. Changes
        `left_to_local` of the search, `fragment` and `open` of the pairs' state.
        """
        ...

    def settle(self, search: SearchState, state: PairState, guided: bool, quick: bool = False) -> None:
        """Close the pairs whose concordant place is good enough.

        A rival of as many errors stays unseen when a mate has no seed free of errors there. Where the mates of all
        places were looked for (`guided`), it does only when neither has one. After a look at half of the seeds
        (`quick`), and a guided one, a larger share may stay unseen where no other concordant pair came near.
        """
        ...

    def choose(self, found: Grouped, selected: Selected) -> PairChoice:
        """Of the rows of every read the one that makes the best pair."""
        ...

    def chosen_first(
        self, found: Grouped, selected: Selected, choice: PairChoice, extra: int, most: int
    ) -> Selected:
        """At most `most` rows of every read, up to `extra` errors above its best, the chosen one first."""
        ...

    def rate(
        self,
        search: SearchState,
        state: PairState | None,
        found: Grouped,
        selected: Selected,
        choice: PairChoice,
    ) -> GlobalResult:
        """The result of the search of pairs, with mapping qualities. Counts reads with seeds passed over.

        `state` is None where all places were asked for.
        """
        ...
