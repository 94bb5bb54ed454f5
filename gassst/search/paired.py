"""The search for pairs: mates help each other (`pair_stages.pyx`), and the best pair of places is chosen."""

from __future__ import annotations

from gassst._core import pair_scoring as _pair_scoring
from gassst.model.layouts import NO_SCORE
from gassst.model.params import EVERY_HIT
from gassst.model.presets import EXTRA_STRATA
from gassst.search.arrays import GlobalResult
from gassst.search.context import PairContext
from gassst.search.host import HostBackend

# Phred of an error, where the places of a pair are compared: near what reads with 2 % errors tell.
EDIT_PHRED = 18.0


def search(backend: HostBackend, pairs: PairContext) -> GlobalResult:
    """Find the places of every read of a batch in which some reads are pairs. Counts reads with seeds passed over."""
    context = backend.context
    if context.params.exhaustive:
        state, found = backend.best_places()
        selected = backend.select_all(found)
        limits = NO_SCORE, EVERY_HIT
    else:
        state, found = backend.best_places(pairs)
        selected = backend.select_best(found, EVERY_HIT)
        limits = EXTRA_STRATA, context.params.max_hits
    phred = pairs.unpaired_phred, EDIT_PHRED
    with backend.stats.timed("select"):
        choice = _pair_scoring.choose_pairs(found, selected, context, pairs, *phred, *limits)
    rows, start, proper, wrong, decided = choice
    backend.stats.capped += state.reads_capped
    seen, summary = state.seen(), selected.summary
    rated = context.rater.wholes(context, summary, seen, wrong, pairs, decided)
    return GlobalResult(found.bands, rows, start, summary, rated, proper=proper.view(bool), seen=seen)
