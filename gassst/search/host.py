"""The passes of the search in compiled code on the host. Bands are the extender's, which may be a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from gassst._core import alignments as _alignments
from gassst._core import anchors as _anchors
from gassst._core import seeds as _seeds
from gassst._core import selection as _selection
from gassst._core.alignments import Traces
from gassst._core.banded import instruction_sets
from gassst._core.pair_stages import PairStages
from gassst._core.stages import Stages
from gassst.bands.base import ReadsHandle
from gassst.model.array_types import F64, U32
from gassst.model.params import EVERY_HIT, MapParams
from gassst.model.presets import EXTRA_STRATA, PRESETS
from gassst.model.reference import contig_before
from gassst.model.rules import rule
from gassst.model.stats import Stats
from gassst.model.times import Times
from gassst.search.arrays import (
    Anchors,
    Bands,
    BatchResult,
    GlobalResult,
    Grouped,
    ReadStates,
    Resolved,
    Selected,
)
from gassst.search.context import BatchContext, PairContext
from gassst.search.dense import DenselyLooked, DenseSeeds
from gassst.search.plan import SeedRows

# Reads that go through the stages together.
BLOCK = 256
# A read with more places as good as its best is no guide to its mate, and no window of more buckets is scored. With 16
# a third more mates of human133 are wrong at MAPQ 20 or more: one mate lies in a repeat of many copies, and the seeds
# of the other miss its true place.
RESCUE_PLACES = 256
# Share of the reads or pairs of a library that may be given up although they have a place, of what the level misses.
GIVEN_UP = 0.004 if rule("giving-up", "Ends the search of reads that seeds hardly place any more.") else 0.0


class HostBackend:
    """The search of one batch, whose counts and times go to `stats`.

    Symbols: `n` reads in the batch, `a` reads that take part.

    Parameters
    ----------
    context : BatchContext
    bands : ReadsHandle or None
        The reads of the batch, opened by an extender. None: nothing is asked for that scores or aligns.
    stats : Stats
    """

    def __init__(self, context: BatchContext, bands: ReadsHandle | None, stats: Stats):
        self.context, self.stats = context, stats
        self.bands = cast(ReadsHandle, bands)

    # --- places and seeds ----------------------------------------------------------------------------------------

    def search(self) -> GlobalResult:
        """The places of every read, each on its own."""
        params, (state, found) = self.context.params, self.best_places()
        if params.exhaustive:
            return self.rate(state, found, self.select_all(found))
        most = EVERY_HIT if self.context.library.damage else params.max_hits
        return self.rate(state, found, self.select_best(found, most))

    def best_places(self, pairs: PairContext | None = None) -> tuple[ReadStates, Grouped]:
        """The places of all reads up to `EXTRA_STRATA` errors above the best, or all within the limits where all are
        wanted, after as many stages as each read needs."""
        context = self.context
        asked = given_up(context.params), EXTRA_STRATA * bool(context.library.damage)
        with self.stages_of(Stages if pairs is None else PairStages) as stages:
            if pairs is None:
                columns, start, states = stages.search(context, BLOCK, *asked)
            else:
                how = RESCUE_PLACES, None, BLOCK
                columns, start, states = stages.search_pairs(context, pairs, *how, *asked)
        return ReadStates(*states), Grouped(Bands(*columns), start)

    @contextmanager
    def stages_of(self, kind: type[Any]) -> Iterator[Any]:
        """The stages of this kind, to search the batch with; what they have done is counted."""
        context, stats, plan = self.context, self.stats, self.context.plan
        made_of = context.index, context.lookup, context.cascade
        more = plan, EXTRA_STRATA, instruction_sets()[0]
        stages = plan.kept(kind.__name__, lambda: kind(*made_of, *more), *made_of)
        with self.checked_index():
            yield stages
        if kind is PairStages:
            stats.rescued += stages.rescued
            stats.nanoseconds["pairs"] += stages.pairs_ns
        occurrences, candidates, scored, calls, *nanoseconds = stages.counts
        stats.occurrences += occurrences
        stats.candidates += candidates
        stats.scored += scored
        stats.extension += Times(calls=calls, pairs=scored, kernel=nanoseconds[2])
        for stage, spent in zip(("seeds", "candidates", "score"), nanoseconds, strict=True):
            stats.nanoseconds[stage] += spent
        context.cascade.count(np.asarray(stages.funnel).tolist(), stats.funnel)

    @contextmanager
    def checked_index(self) -> Iterator[None]:
        """A candidate outside the reference comes from a damaged or forged file, which is then named."""
        try:
            yield
        except IndexError:
            self.context.index.check()
            raise

    def resolve(self, reads: U32, rows: SeedRows, caps: U32) -> Resolved:
        """Seeds of `reads` by the given plan, at most `caps` occurrences by seed length."""
        context = self.context
        seeds = _seeds.Seeds(context, reads, rows)
        context.lookup.resolve(seeds, caps)
        clipped, capped = seeds.limit(caps)
        context.lookup.copy_positions(seeds)
        return Resolved(seeds, clipped, capped)

    def look_densely(self, reads: U32, seeds: DenseSeeds) -> DenselyLooked:
        """What dense seeds of `reads` (uint32[a], ascending) lead to."""
        found, clipped, _ = self.resolve(reads, seeds.rows(), seeds.caps(self.context.plan))
        return DenselyLooked(self.gather(found, reads), clipped, *found.clipped_span())

    def gather(self, seeds: Any, reads: U32) -> Anchors:
        """The occurrences of seeds as anchors, sorted and merged by diagonal."""
        context = self.context
        with self.stats.timed("candidates"):
            anchors = Anchors(*_anchors.gather(seeds, context.index.positions, reads, context), reads)
            return anchors if context.left_out is None else without_contigs(anchors, context)

    # --- selection and alignments --------------------------------------------------------------------------------

    def select_best(self, found: Grouped, max_hits: int) -> Selected:
        """The distinct places of every read, up to `EXTRA_STRATA` errors above the best; the primary of each first."""
        with self.stats.timed("select"):
            return Selected(*_selection.select_best(found, self.context, EXTRA_STRATA, max_hits))

    def select_all(self, found: Grouped) -> Selected:
        """Every place, by position, or those of the best stratum; the primary of each read first."""
        params = self.context.params
        with self.stats.timed("select"):
            return Selected(*_selection.select_all(found, self.context, params.strata, params.max_hits))

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
        of_rows = lost, context.digest, found.bands.edits, context.params.max_hits
        rows, start, least = _selection.likeliest_first(rows, start, *of_rows)
        summary["n_reported"] = np.diff(start)
        errors, further = np.ceil(library.errors(least[read])), library.errors(lost - least[read])
        odds = library.odds(errors.astype(np.int64), context.lengths[read]) ** further
        return Selected(rows, start, summary), np.maximum(np.bincount(read, odds, context.n) - 1, 0)

    def trace_back(self, found: GlobalResult, local: BatchResult | None = None) -> BatchResult:
        """The reported rows as alignments, with a row for every unmapped read.

        With the rows of a batch whose ends may be clipped (`local`) those that have no place there, as wholes.
        """
        index = self.context.index
        traces = self.context.plan.kept("traces", lambda: Traces(index), index)
        with self.stats.timed("align"):
            hits, summary, cigars = traces.rows(found, self.context, self.bands, local)
        self.stats.scored += traces.scored
        self.stats.traced += traces.traced
        if traces.calls:
            self.bands.note(traces.calls, traces.pairs, traces.kernel)
        parts = () if local is None else (local.parts,)
        return BatchResult(hits, summary, cigars, *parts)


def given_up(params: MapParams) -> float:
    """Share of reads that the stages may miss where others go on to the local search alone."""
    return GIVEN_UP * PRESETS[params.sensitivity].missed if params.mode == "local" else 0.0


def without_contigs(anchors: Anchors, context: BatchContext) -> Anchors:
    """The anchors outside the contigs that are left out."""
    assert context.left_out is not None
    seed = anchors.diagonal + anchors.offset
    return anchors.keep(~context.left_out[contig_before(context.reference.starts, seed)])
