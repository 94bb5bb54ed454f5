"""The search for pairs: mates help each other (`pair_stages.pyx`), and the best pair of places is chosen."""

from __future__ import annotations

import numpy as np

from gassst._core import pair_scoring as _pair_scoring
from gassst._core import selection as _selection
from gassst.model.layouts import NO_SCORE
from gassst.model.params import EVERY_HIT
from gassst.pairing.pair_scoring import EDIT_PHRED, PairChoice, PairedReads, PlacesByRead
from gassst.search import single
from gassst.search.arrays import GlobalResult
from gassst.search.backend import Grouped, Selected
from gassst.search.context import PairContext
from gassst.search.host import HostBackend
from gassst.search.plan import EXTRA_STRATA


def search(backend: HostBackend, pairs: PairContext) -> GlobalResult:
    """Find the places of every read of a batch in which some reads are pairs. Counts reads with seeds passed over."""
    context = backend.context
    if context.params.exhaustive:
        state = single.run_stages(backend)
        found, selected = backend.select_all(backend.group(state.bands))
        limits = NO_SCORE, EVERY_HIT
    else:
        state, found = backend.best_places(pairs)
        selected = backend.select_best(found, EVERY_HIT)
        limits = EXTRA_STRATA, context.params.max_hits
    with backend.stats.timed("select"):
        choice = _choose(backend, pairs, found, selected)
        selected = _chosen_first(found, selected, choice, *limits)
    backend.stats.capped += int(state.capped.sum())
    seen, decided = state.seen(), choice.decided.view(np.uint8)
    rated = context.rater.wholes(context, selected.summary, seen, choice.wrong, pairs, decided)
    return GlobalResult(found.bands, *selected, rated, proper=choice.proper, seen=seen)


def _choose(backend: HostBackend, pairs: PairContext, found: Grouped, selected: Selected) -> PairChoice:
    """Of the rows of every read the one that makes the best pair."""
    context, best = backend.context, selected.summary["best"]
    odds = context.library.odds(np.where(best == NO_SCORE, 0, best), context.lengths)
    columns = _pair_scoring.places_of_rows(found, selected, context.lengths, pairs.borders)
    unpaired = pairs.insert.unpaired_phred(context.plan.n_bases)
    reads = PairedReads(context.lengths, context.flip, context.digest, pairs.mate, pairs.insert)
    chosen = _pair_scoring.choose_pairs(
        PlacesByRead(*columns, selected.start), odds, reads, unpaired, EDIT_PHRED
    )
    primary, proper, wrong, decided = chosen
    return PairChoice(primary, proper.view(bool), wrong, decided.view(bool))


def _chosen_first(found: Grouped, selected: Selected, choice: PairChoice, extra: int, most: int) -> Selected:
    """At most `most` rows of every read, up to `extra` errors above its best, the chosen one first."""
    rows, start, summary = selected
    limit = np.minimum(summary["best"].astype(np.int64) + extra, NO_SCORE).astype(np.uint16)
    rows, start = _selection.chosen_first(rows, start, choice.primary, found.bands.edits, limit, most)
    # Of structs each field would be copied on its own.
    summary = summary.view(np.uint8).copy().view(summary.dtype)
    summary["n_reported"] = np.diff(start)
    return Selected(rows, start, summary)
