"""The passes of the search in compiled code on the host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gassst._core.read_search import ReadSearch
from gassst._core.stages import PairStages, Stages, instruction_sets
from gassst.local.align import PAIR_BONUS, opened_aligner
from gassst.model.params import MapParams
from gassst.model.presets import EXTRA_STRATA, PRESETS
from gassst.model.rules import rule
from gassst.model.stats import Stats
from gassst.search.arrays import BatchResult
from gassst.search.context import BatchContext, PairContext

# Reads that go through the stages together.
BLOCK = 256
# A read with more places as good as its best is no guide to its mate, and no window of more buckets is scored. With 16
# a third more mates of human133 are wrong at MAPQ 20 or more: one mate lies in a repeat of many copies, and the seeds
# of the other miss its true place.
RESCUE_PLACES = 256
# Bases in a row that a diagonal must have in common with a mate to be looked at. Of 17,804 bands in the windows of real
# E. coli mates 780 have them, and all that score 13 or more; of human ones all that score 16 or more
# (lab/constants.md).
RUN = 9
SPLIT = rule("supplementary", "Reports further parts of a read elsewhere.")
MATES = PAIR_BONUS, RESCUE_PLACES, RUN
"""As `ReadSearch` takes them."""
# Share of the reads or pairs of a library that may be given up although they have a place, of what the level misses.
GIVEN_UP = 0.004 if rule("giving-up", "Ends the search of reads that seeds hardly place any more.") else 0.0


class HostBackend:
    """The search of one batch, whose counts and times go to `stats`.

    Symbols: `n` reads in the batch, `a` reads that take part.

    Parameters
    ----------
    context : BatchContext
    stats : Stats
    """

    def __init__(self, context: BatchContext, stats: Stats):
        self.context, self.stats = context, stats

    def placed(self, pairs: PairContext | None = None, found: Any = None) -> ReadSearch:
        """The search of the batch, which has its places, or those that a device has `found` (gpu.found.Found)."""
        context, stats, plan = self.context, self.stats, self.context.plan
        kind: Any = Stages if pairs is None or context.params.exhaustive else PairStages
        made_of = context.index, context.lookup, context.cascade
        more = plan, EXTRA_STRATA, instruction_sets()[0]
        ends = opened_aligner(context)
        stages = plan.kept(kind.__name__, lambda: kind(*made_of, *more), *made_of)
        search = plan.kept(f"search by {kind.__name__}", lambda: ReadSearch(stages, ends), stages, ends)
        with self.checked_index():
            search.place(context, pairs, found, BLOCK, given_up(context.params), MATES)
        stats.capped += search.capped
        stats.nanoseconds["select"] += search.select_ns
        if kind is PairStages:
            stats.rescued += stages.rescued
            stats.nanoseconds["pairs"] += stages.pairs_ns
        occurrences, candidates, scored, calls, *nanoseconds = stages.counts
        stats.occurrences += occurrences
        stats.candidates += candidates
        stats.scored += scored
        stats.count_bands(calls=calls, pairs=scored, kernel=nanoseconds[2])
        for stage, spent in zip(("seeds", "candidates", "score"), nanoseconds, strict=True):
            stats.nanoseconds[stage] += spent
        for name, counts in zip(context.cascade.names, np.asarray(stages.funnel).tolist(), strict=True):
            stats.funnel.count(name, *counts)
        return search

    @contextmanager
    def checked_index(self) -> Iterator[None]:
        """A candidate outside the reference comes from a damaged or forged file, which is then named."""
        try:
            yield
        except IndexError:
            self.context.index.check()
            raise

    def rows(self, search: ReadSearch) -> BatchResult:
        """The reported places as alignments, with a row for every unmapped read."""
        n, stats, params, ends = self.context.n, self.stats, self.context.params, search.ends
        spent = "local" if params.mode == "local" else "align"
        search.report(SPLIT)
        stats.nanoseconds[spent] += search.local_ns
        with stats.timed(spent):
            if params.mode == "local" and params.most_hits > 1:
                search.add_copies()
            hits, summary = ends.rows()
        stats.scored += ends.scored
        stats.traced += ends.traced
        stats.count_bands(calls=ends.calls, pairs=ends.pairs, kernel=ends.kernel, device_scored=ends.found)
        return BatchResult(hits, summary[:n], ends.cigars, summary[n:])


def given_up(params: MapParams) -> float:
    """Share of reads that the stages may miss where others go on to the local search alone."""
    return GIVEN_UP * PRESETS[params.sensitivity].missed if params.mode == "local" else 0.0
