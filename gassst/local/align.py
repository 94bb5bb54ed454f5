"""The aligner of a batch with its costs (`_core.local_aligner`), and places looked for in bands."""

from __future__ import annotations

import numpy as np

from gassst._core.local_aligner import LocalAligner
from gassst.bands.base import WIDTHS, doubled
from gassst.local.places import Lines, Places
from gassst.model.array_types import I64, U8, U32, Bool
from gassst.model.params import Scoring
from gassst.search.arrays import Bands, Diagonals
from gassst.search.host import HostBackend


def leaving_cost(scoring: Scoring, width: int) -> int:
    """Least loss of an alignment that touches a diagonal and leaves the band of `width` diagonals around it."""
    reach = width // 2
    (open_d, open_i), (extend_d, extend_i) = scoring.gap_open, scoring.gap_extend
    return min(open_d + reach * extend_d, open_i + reach * (extend_i + scoring.match))


def breaking_cost(scoring: Scoring) -> int:
    """Least loss of an alignment with a gap or a clipped end: what loses less goes along one diagonal, end to end."""
    return min(leaving_cost(scoring, 2), scoring.clip + scoring.match)


class Aligner:
    """The local alignments of one batch; places and lines are read by read."""

    def __init__(self, backend: HostBackend):
        self.backend, self.context = backend, backend.context
        self.scoring, self.lengths = self.context.params.scoring, self.context.lengths
        leaving = np.array([leaving_cost(self.scoring, width) for width in WIDTHS])
        costs = doubled(self.scoring), np.array(WIDTHS), leaving, breaking_cost(self.scoring)
        self.compiled = LocalAligner(self.context, backend.bands, *costs)

    @property
    def cigars(self) -> U32:
        """uint32[]: the runs of all alignments made so far; `hits` of `Lines` point into it."""
        return self.compiled.cigars

    def least_scores(self, read_strand: U32, bonus: int = 0) -> I64:
        """int64[k]: the least score that is reported (-T). Unless one is asked for, a read too short for it needs its
        score without an error.

        `bonus`: what a concordant mate adds to the score.
        """
        least = self.scoring.least_score - bonus
        if self.scoring.min_score is not None:
            return np.full(len(read_strand), least, np.int64)
        return np.minimum(self.lengths[read_strand >> 1].astype(np.int64) * self.scoring.match, least)

    def known(self, bands: Bands, rows: I64, given: Bool) -> tuple[Lines, Places]:
        """The places of bands, as `_core.local_places.known_places` returns them, and those beside them.

        Of each read the best one is aligned, if a contig's end leaves something of it.
        """
        places, *lines = self.compiled.known(
            bands, rows, given.view(np.uint8), bool(self.context.library.damage)
        )
        return Lines.of(*lines), Places.of(places)

    def score_bands(self, read_strand: U32, band_start: I64, words: U8) -> Places:
        """The best places anywhere in bands of 64 * words diagonals, without those that align nothing."""
        width = 64 * words.astype(np.int64)
        return Places.of(self.compiled.score(read_strand, band_start, band_start, width, width))

    def align_places(self, places: Places, part: U32 | None = None) -> Lines:
        """The alignments of places, in their order, without those that a contig's end leaves nothing of.

        `part` uint32[k]: the parts of their reads that they belong to; by default the first ones.
        """
        return Lines.of(*self.compiled.align(places.rows, part))

    def with_further(self, places: Places, promising: Diagonals) -> Places:
        """The places, and those on promising diagonals."""
        return Places.of(self.compiled.with_further(places.rows, *promising))

    def left_over(self, lines: Lines, places: Places) -> Lines:
        """The best ungapped alignments of what a line (one a read at most) leaves over, on the diagonals of places."""
        return Lines.of(*self.compiled.left_over(lines.rows, places.rows))

    def look_further(
        self, lines: Lines, places: Places, far: Bool, promising: Diagonals
    ) -> tuple[Lines, Places]:
        """`far` reads (bool[n]) again, with the places on promising diagonals."""
        known = places.rows, lines.hits, lines.rows, far.view(np.uint8)
        places_found, *lines_found = self.compiled.look_further(*known, *promising)
        return Lines.of(*lines_found), Places.of(places_found)

    def close(self) -> None:
        """Add what was done to the counts of the backend."""
        done = self.compiled
        self.backend.stats.scored += done.scored
        self.backend.stats.traced += done.traced
        self.backend.bands.note(done.calls, done.pairs, done.kernel)
