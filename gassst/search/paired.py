"""The search for pairs: mates help each other (`pair_stages.pyx`), and the best pair of places is chosen."""

from __future__ import annotations

import numpy as np

from gassst._core import pair_scoring as _pair_scoring
from gassst._core import selection as _selection
from gassst.model.array_types import I64
from gassst.model.layouts import NO_SCORE
from gassst.model.params import EVERY_HIT
from gassst.search import single
from gassst.search.arrays import GlobalResult
from gassst.search.backend import Grouped, Selected
from gassst.search.context import PairContext
from gassst.search.host import HostBackend
from gassst.search.plan import EXTRA_STRATA

# Phred of an error, where the places of a pair are compared: near what reads with 2 % errors tell.
EDIT_PHRED = 18.0


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
        phred = pairs.insert.unpaired_phred(context.plan.n_bases), EDIT_PHRED
        choice = _pair_scoring.choose_pairs(found, selected, context, pairs, *phred)
        primary, proper, wrong, decided = choice
        selected = _chosen_first(found, selected, primary, *limits)
    backend.stats.capped += int(state.capped.sum())
    seen = state.seen()
    rated = context.rater.wholes(context, selected.summary, seen, wrong, pairs, decided)
    return GlobalResult(found.bands, *selected, rated, proper=proper.view(bool), seen=seen)


def _chosen_first(found: Grouped, selected: Selected, primary: I64, extra: int, most: int) -> Selected:
    """At most `most` rows of every read, up to `extra` errors above its best, the chosen one first."""
    rows, start, summary = selected
    limit = np.minimum(summary["best"].astype(np.int64) + extra, NO_SCORE).astype(np.uint16)
    rows, start = _selection.chosen_first(rows, start, primary, found.bands.edits, limit, most)
    # Of structs each field would be copied on its own.
    summary = summary.view(np.uint8).copy().view(summary.dtype)
    summary["n_reported"] = np.diff(start)
    return Selected(rows, start, summary)
