"""The passes of the search in compiled code on the host. Bands are the extender's, which may be a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from gassst._core import alignments as _alignments
from gassst._core import anchors as _anchors
from gassst._core import bookkeeping as _bookkeeping
from gassst._core import seeds as _seeds
from gassst._core import selection as _selection
from gassst._core.alignments import Traces
from gassst._core.banded import instruction_sets
from gassst._core.pair_stages import PairStages
from gassst._core.stages import Stages
from gassst.bands.base import ReadsHandle
from gassst.model.array_types import COORDINATE, F64, I64, U8, U16, U32, U64, place_keys
from gassst.model.layouts import NO_SCORE, NO_SUBOPTIMAL, READ_SUMMARY
from gassst.model.params import EVERY_HIT, MapParams
from gassst.model.presets import EXTRA_STRATA
from gassst.model.reference import contig_before
from gassst.model.rules import rule
from gassst.model.stats import Stats
from gassst.model.times import Times
from gassst.search.arrays import (
    Anchors,
    Bands,
    BatchResult,
    Buckets,
    Candidates,
    GlobalResult,
    KeysByRead,
)
from gassst.search.backend import Grouped, Resolved, Selected
from gassst.search.context import BatchContext, PairContext
from gassst.search.dense import DenselyLooked, DenseSeeds
from gassst.search.plan import SeedRows
from gassst.search.state import ReadStates, SearchState

# Reads that go through the stages together.
BLOCK = 256
# A read with more places as good as its best is no guide to its mate, and no window of more buckets is scored. With 16
# a third more mates of human133 are wrong at MAPQ 20 or more: one mate lies in a repeat of many copies, and the seeds
# of the other miss its true place.
RESCUE_PLACES = 256
# Cells of the profiles in memory at once, 2 bytes each.
PROFILE_CELLS = 1 << 25
# Share of reads, or of pairs, that may be given up although they have a place as a whole: of 10,000 pairs of 100 bases
# with 10 % errors 0.02 % lose theirs, and reads of another genome cost a third.
GIVEN_UP = 0.001 if rule("giving-up", "Ends the search of pairs that seeds hardly place any more.") else 0.0


class HostBackend:
    """The passes over one batch, whose counts and times go to `stats`.

    Symbols are those of `search.backend`.

    Parameters
    ----------
    context : BatchContext
    bands : ReadsHandle or None
        The reads of the batch, opened by an extender. None: no pass that scores or aligns is asked for.
    stats : Stats
    """

    def __init__(self, context: BatchContext, bands: ReadsHandle | None, stats: Stats):
        self.context, self.stats = context, stats
        self.bands = cast(ReadsHandle, bands)

    # --- seeds ---------------------------------------------------------------------------------------------------

    def initial_state(self) -> SearchState:
        """The state of the batch before anything was looked up."""
        return SearchState.initial(self.context)

    def unsettled(self, state: SearchState, stage: int) -> U32:
        """Reads, ascending, that have seeds in this stage and still need them (`presets.Preset`).

        Where ends may be clipped, a read without a place is given up once any whole-read alignment worth reporting
        would have been found.
        """
        return _bookkeeping.unsettled(state, self.context, stage, EXTRA_STRATA, given_up(self.context.params))

    @property
    def seeds_on_device(self) -> Any:
        """What looks up the seeds of pairs in place of the host: `gpu.seeds.SeedsOnDevice`."""
        return None

    def best_places(self, pairs: PairContext | None = None) -> tuple[ReadStates, Grouped]:
        """The places of all reads up to `EXTRA_STRATA` errors above the best, after as many stages as each needs."""
        context, stats, plan = self.context, self.stats, self.context.plan
        given = given_up(context.params, context.whole_reads and pairs is None)
        asked = given, EXTRA_STRATA * bool(context.library.damage)
        made_of = context.index, context.lookup, context.cascade
        more = plan, EXTRA_STRATA, instruction_sets()[0]
        with self._checked_index():
            if pairs is None:
                stages = plan.kept("stages", lambda: Stages(*made_of, *more), *made_of)
                columns, start, states = stages.search(context, BLOCK, *asked)
            else:
                of_pairs = plan.kept("pair_stages", lambda: PairStages(*made_of, *more), *made_of)
                how = RESCUE_PLACES, self.seeds_on_device, BLOCK
                columns, start, states = of_pairs.search_pairs(context, pairs, *how, *asked)
                stats.rescued += of_pairs.rescued
                stats.nanoseconds["pairs"] += of_pairs.pairs_ns
                stages = of_pairs
        occurrences, candidates, scored, calls, *nanoseconds = stages.counts
        stats.occurrences += occurrences
        stats.candidates += candidates
        stats.scored += scored
        stats.extension += Times(calls=calls, pairs=scored, kernel=nanoseconds[2])
        for stage, spent in zip(("seeds", "candidates", "score"), nanoseconds, strict=True):
            stats.nanoseconds[stage] += spent
        context.cascade.count(np.asarray(stages.funnel).tolist(), stats.funnel)
        return ReadStates(*states), Grouped(Bands(*columns), start)

    @contextmanager
    def _checked_index(self) -> Iterator[None]:
        """A candidate outside the reference comes from a damaged or forged file, which is then named."""
        try:
            yield
        except IndexError:
            self.context.index.check()
            raise

    def look_up(self, state: SearchState, stage: int, reads: U32) -> Any:
        """The seeds of a stage. Changes `capped`, `looked`, `planned` and `complete` of the state."""
        plan = self.context.plan
        rows = plan.rows(stage)
        with self.stats.timed("seeds"):
            seeds, clipped, capped = self.resolve(reads, rows, plan.caps)
            _bookkeeping.note_looked(state, self.context, stage, rows.every, reads, (clipped, capped))
        self.stats.occurrences += seeds.occurrences
        return seeds

    def resolve(self, reads: U32, rows: SeedRows, caps: U32) -> Resolved:
        """Seeds of `reads` by the given plan, at most `caps` occurrences by seed length.

        What is `known` is not looked up again.
        """
        context = self.context
        seeds = _seeds.Seeds(context, reads, rows)
        context.lookup.resolve(seeds, caps)
        clipped, capped = seeds.limit(caps)
        context.lookup.copy_positions(seeds)
        return Resolved(seeds, clipped, capped)

    def look_densely(self, reads: U32, seeds: DenseSeeds) -> DenselyLooked:
        """What dense seeds of `reads` (uint32[a], ascending) lead to."""
        found, clipped, _ = self.resolve(reads, seeds.rows(), seeds.caps(self.context.plan))
        return DenselyLooked(self.gather(found, reads, None), clipped, *found.clipped_span())

    def gather(self, seeds: Any, reads: U32, state: SearchState | None) -> Anchors:
        """The occurrences of seeds as anchors, sorted and merged by diagonal.

        Without those in the scored buckets and on the rejected diagonals of `state`.
        """
        context = self.context
        scored = state.scored if state else KeysByRead.none(context.n)
        known = scored, state.rejected if state else scored
        with self.stats.timed("candidates"):
            gathered = _anchors.gather(seeds, context.index.positions, reads, context, *known)
            anchors = Anchors(*gathered, reads)
            return anchors if context.left_out is None else without_contigs(anchors, context)

    def count_candidates(self, anchors: Anchors) -> None:
        """Add the anchors to the counts of the run."""
        self.stats.candidates += len(anchors)

    def merge_scored(self, state: SearchState, reads: U32) -> None:
        """Move the `fresh` buckets of the reads that go on into `scored`, and `fresh_rejected` into `rejected`.

        What is known of other reads is forgotten.
        """
        with self.stats.timed("candidates"):
            state.scored = _merged(state.scored, state.fresh, reads)
            state.rejected = _merged(state.rejected, state.fresh_rejected, reads)
            state.fresh, state.fresh_rejected = [], []

    # --- candidates ----------------------------------------------------------------------------------------------

    def filter(self, candidates: Candidates, state: SearchState) -> Candidates:
        """Candidates that every filter passes (Rizk 4.6.5) at the limits of the state.

        Changes `fresh_rejected` of the state.
        """
        context, funnel = self.context, self.stats.funnel
        seen = context.packed, context.reference.planes
        with self._checked_index():
            return context.cascade.run(
                candidates, state.limit, *seen, counters=funnel, rejected=state.fresh_rejected
            )

    def best_supported(self, anchors: Anchors) -> Buckets:
        """The bucket of every read whose seeds cover most bases."""
        with self.stats.timed("candidates"):
            return Buckets(*_anchors.best_supported(anchors, self.context.shift))

    def buckets(self, candidates: Candidates, known: Buckets | None) -> Buckets:
        """The distinct buckets of candidates, without the known ones."""
        known = Buckets.none() if known is None else known
        with self.stats.timed("candidates"):
            return Buckets(*_anchors.buckets(candidates, self.context.shift, known))

    # --- bands ---------------------------------------------------------------------------------------------------

    def _by_words(self, buckets: Buckets) -> Iterator[tuple[int, U32, I64]]:
        """Words, read_strand and first diagonals of the bands of buckets, one group for each number of words."""
        context = self.context
        first, words = _bookkeeping.bands_of(*buckets, context.shift, context.lead, context.words)
        self.stats.scored += len(first)
        for w, rows in _groups(words):
            yield w, buckets.read_strand[rows], first[rows]

    def score(self, buckets: Buckets) -> Iterator[Bands]:
        """The scored bands of buckets, one group for each band width."""
        for words, read_strand, first in self._by_words(buckets):
            with self.stats.timed("score"):
                edits, end = self.bands.score(read_strand, first, words)
            yield Bands(read_strand, first, end, edits, np.full(len(first), words, np.uint8), edits)

    def within_limit(self, bands: Bands, state: SearchState, extra: int) -> Bands:
        """The bands within the limits of their reads. Changes `best` and `limit` of the state.

        A limit is at most `extra` errors above the best.
        """
        columns = bands.read_strand, bands.edits, state.best, state.limit
        return bands.take(_bookkeeping.within_limit(*columns, extra))

    def all_minima(self, buckets: Buckets) -> Iterator[Bands]:
        """Every alignment within the error limit in the bands of buckets."""
        for words, read_strand, first in self._by_words(buckets):
            order = np.lexsort((first, read_strand))
            read_strand, first = read_strand[order], first[order]
            for part in _pieces(read_strand >> np.uint32(1), PROFILE_CELLS // (64 * words)):
                yield self._minima(read_strand[part], first[part], words)

    def _minima(self, read_strand: U32, first: I64, words: int) -> Bands:
        context = self.context
        with self.stats.timed("score"):
            profile = self.bands.profile(read_strand, first, words)
            columns = read_strand, first, context.lengths, context.errors
            band, end, reach = _alignments.local_minima(profile, *columns)
        width = np.full(band.size, words, np.uint8)
        return Bands(read_strand[band], first[band], end, profile[band, end], width, reach)

    def forget(self, state: SearchState, reads: U32) -> None:
        """Take the bands of these reads out of the state."""
        state.bands = [one.take(np.flatnonzero(~np.isin(one.read_strand >> 1, reads))) for one in state.bands]

    # --- selection and alignments --------------------------------------------------------------------------------

    def group(self, bands: list[Bands]) -> Grouped:
        """All bands, grouped by read, within a read in their order."""
        found = Bands.concatenate(bands)
        read = found.read_strand >> 1
        start = np.append(0, np.cumsum(np.bincount(read, minlength=self.context.n)))
        return Grouped(found.take(np.argsort(read, kind="stable")), start)

    def select_best(self, found: Grouped, max_hits: int) -> Selected:
        """The distinct places of every read, up to `EXTRA_STRATA` errors above the best; the primary of each first."""
        with self.stats.timed("select"):
            return Selected(*_selection.select_best(found, self.context, EXTRA_STRATA, max_hits))

    def select_all(self, found: Grouped) -> tuple[Grouped, Selected]:
        """Every band, ordered by position; the primary of each read first."""
        context, bands = self.context, found.bands
        read = bands.read_strand >> 1
        # By position and canonical strand, the same for a read and its reverse complement.
        strand = bands.read_strand & 1 ^ context.flip[read]
        key = place_keys(read, bands.band_start + bands.end) << np.uint64(1) | strand
        order = np.argsort(key, kind="stable")
        found = Grouped(bands.take(order), found.start)
        edits = found.bands.edits
        summary = summarise_all(read, edits, context.n)
        primary = _primaries(edits, found.start, summary, context.digest)
        limit, most = np.full(context.n, NO_SCORE, np.uint16), EVERY_HIT
        if context.params.strata:
            limit, most = summary["best"].copy(), context.params.max_hits
        rows, start = _selection.chosen_first(np.arange(read.size), found.start, primary, edits, limit, most)
        summary["n_reported"] = np.diff(start)
        return found, Selected(rows, start, summary)

    def rate(self, state: ReadStates, found: Grouped, selected: Selected) -> GlobalResult:
        """The result of the search of single reads, with mapping qualities. Counts reads with seeds passed over."""
        context, seen = self.context, state.seen()
        self.stats.capped += state.reads_capped
        wrong = None
        if context.library.damage and not context.params.exhaustive:
            selected, wrong = self._by_likelihood(found, selected)
        rated = context.rater.wholes(context, selected.summary, seen, wrong)
        return GlobalResult(found.bands, *selected, rated, proper=np.zeros(context.n, bool), seen=seen)

    def _by_likelihood(self, found: Grouped, selected: Selected) -> tuple[Selected, F64]:
        """The same rows with the likeliest place of each read first; float64[n] says what its other places weigh."""
        context, (rows, start, summary) = self.context, selected
        bands, library = found.bands.take(rows), context.library
        read, lost = bands.read_strand >> 1, _alignments.losses(bands, context)
        by_loss = summarise_all(read, lost, context.n)
        columns = _primaries(lost, start, by_loss, context.digest), found.bands.edits
        limits = np.full(context.n, NO_SCORE, np.uint16), context.params.max_hits
        rows, start = _selection.chosen_first(rows, start, *columns, *limits)
        summary["n_reported"] = np.diff(start)
        least = by_loss["best"][read].astype(np.int64)
        errors, further = np.ceil(library.errors(least)), library.errors(lost - least)
        odds = library.odds(errors.astype(np.int64), context.lengths[read]) ** further
        return Selected(rows, start, summary), np.maximum(np.bincount(read, odds, context.n) - 1, 0)

    def trace_back(self, found: GlobalResult, local: BatchResult | None = None) -> BatchResult:
        """The reported rows as alignments, with a row for every unmapped read.

        With the rows of a batch whose ends may be clipped (`local`) those that have no place there, as wholes.
        """
        index = self.context.index
        traces = self.context.plan.kept("traces", lambda: Traces(index), index)
        with self.stats.timed("align"):
            hits, summary, cigars = traces.rows(found, self.context, self.bands, PROFILE_CELLS, local)
        self.stats.scored += traces.scored
        self.stats.traced += traces.traced
        if traces.calls:
            self.bands.note(traces.calls, traces.pairs, traces.kernel)
        parts = () if local is None else (local.parts,)
        return BatchResult(hits, summary, cigars, *parts)


def given_up(params: MapParams, whole_reads: bool = False) -> float:
    """Share of the alignments of a read that the stages may miss where it goes on to the local search alone."""
    return GIVEN_UP if params.mode == "local" and not whole_reads else 0.0


def _merged(known: KeysByRead, fresh: list[Any], reads: U32) -> KeysByRead:
    """The keys of the reads that go on, and the fresh ones: pairs of read strands and buckets, or diagonals."""
    if not fresh and not len(known.keys):
        return known
    if not reads.size:
        return KeysByRead.none(len(known.start) - 1)
    nothing = np.empty(0, np.uint32), np.empty(0, COORDINATE)
    read_strand, place = (np.concatenate(column) for column in zip(nothing, *fresh, strict=True))
    return KeysByRead(*_bookkeeping.merge_scored(*known, reads, read_strand, place))


def without_contigs(anchors: Anchors, context: BatchContext) -> Anchors:
    """The anchors outside the contigs that are left out."""
    assert context.left_out is not None
    seed = anchors.diagonal + anchors.offset
    return anchors.keep(~context.left_out[contig_before(context.reference.starts, seed)])


def _groups(words: U8) -> Iterator[tuple[int, Any]]:
    """Each number of words, and the rows that have it. Mostly there is one, and the rows are all."""
    present = np.flatnonzero(np.bincount(words))
    for w in present.tolist():
        yield w, np.flatnonzero(words == w) if present.size > 1 else slice(None)


def _pieces(read: U32, room: int) -> Iterator[slice]:
    """Slices of whole reads (sorted) of `room` rows or a little more; a read with more than that alone."""
    stop = 0
    while stop < len(read):
        start, stop = stop, min(stop + room, len(read))
        stop = int(np.searchsorted(read, read[stop - 1], side="right"))
        yield slice(start, stop)


def _primaries(edits: U16 | I64, start: I64, summary: np.ndarray, digest: U64) -> I64:
    """int64[n]: the primary row of each read, -1 where it has none. A hash of its bases decides among the best."""
    primary = np.full(len(digest), -1)
    mapped = np.flatnonzero(np.diff(start))
    is_best = edits == np.repeat(summary["best"], np.diff(start))
    first_best = np.concatenate([[0], np.cumsum(is_best)])[start[mapped]]
    chosen = digest[mapped] % summary["n_best"][mapped].astype(np.uint64)
    primary[mapped] = np.flatnonzero(is_best)[first_best + chosen.astype(np.int64)]
    return primary


def summarise_all(read: np.ndarray, edits: np.ndarray, n_reads: int) -> np.ndarray:
    """READ_SUMMARY[n] of an exhaustive search from all alignments, without `n_reported`."""
    summary = np.zeros(n_reads, READ_SUMMARY)
    best = np.full(n_reads, NO_SCORE, np.int64)
    np.minimum.at(best, read, edits)
    worse = edits > best[read]
    second = np.full(n_reads, NO_SCORE, np.int64)
    np.minimum.at(second, read[worse], edits[worse])
    summary["best"], summary["second"] = best, second
    summary["n_best"] = np.bincount(read[~worse], minlength=n_reads)
    summary["n_second"] = np.bincount(read[edits == second[read]], minlength=n_reads)
    runner_up = np.where(summary["n_best"] > 1, best, second)
    summary["suboptimal"] = np.where(runner_up == NO_SCORE, NO_SUBOPTIMAL, -runner_up)
    return summary
