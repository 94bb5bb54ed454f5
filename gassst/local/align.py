"""The aligner of a batch with its costs (`_core.local_aligner`), and places looked for in bands."""

from __future__ import annotations

import numpy as np

from gassst._core.local_aligner import LocalAligner
from gassst.bands.base import WIDTHS, doubled
from gassst.local.places import MUCH_CLIPPED, Lines, Places
from gassst.model.params import MapParams, Scoring
from gassst.search.host import HostBackend


def leaving_cost(scoring: Scoring, width: int) -> int:
    """Least loss of an alignment that touches a diagonal and leaves the band of `width` diagonals around it."""
    reach = width // 2
    (open_d, open_i), (extend_d, extend_i) = scoring.gap_open, scoring.gap_extend
    return min(open_d + reach * extend_d, open_i + reach * (extend_i + scoring.match))


def breaking_cost(scoring: Scoring) -> int:
    """Least loss of an alignment with a gap or a clipped end: what loses less goes along one diagonal, end to end."""
    return min(leaving_cost(scoring, 2), scoring.clip + scoring.match)


def _compiled(params: MapParams, mate_bonus: int) -> LocalAligner:
    scoring = params.scoring
    leaving = np.array([leaving_cost(scoring, width) for width in WIDTHS])
    costs = doubled(scoring), np.array(WIDTHS), leaving, breaking_cost(scoring)
    return LocalAligner(params, *costs, MUCH_CLIPPED, mate_bonus)


class Aligner:
    """The local alignments of one batch, read by read. `mate_bonus`: what a concordant mate adds to a score."""

    def __init__(self, backend: HostBackend, mate_bonus: int = 0):
        self.backend, self.context = backend, backend.context
        self.scoring, self.lengths = self.context.params.scoring, self.context.lengths
        params = self.context.params
        self.compiled = self.context.plan.kept("aligner", lambda: _compiled(params, mate_bonus), params)
        self.compiled.open(self.context, backend.bands)

    def align_places(self, places: Places) -> Lines:
        """The alignments of places, in their order, without those that a contig's end leaves nothing of."""
        return Lines.of(*self.compiled.align(places.rows))

    def close(self) -> None:
        """Add what was done to the counts of the backend."""
        done = self.compiled
        self.backend.stats.scored += done.scored
        self.backend.stats.traced += done.traced
        self.backend.bands.note(done.calls, done.pairs, done.kernel)
        done.open(None, None)
