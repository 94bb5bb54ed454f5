"""Alignments with local ends, in bands as narrow as is safe.

An alignment that touches a diagonal and leaves the band of `width` diagonals around it has `width / 2` inserted or
deleted bases between there and here at least. So it loses what they cost, and where the best alignment in the band
loses less, it is the best of all that touch the diagonal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import _local
from .extend import WIDTHS
from .local_places import Lines, Places
from .params import Scoring

if TYPE_CHECKING:
    from .search import BatchSearch


def leaving_cost(scoring: Scoring, width: int) -> int:
    """Least loss of an alignment that touches a diagonal and leaves the band of `width` diagonals around it."""
    reach = width // 2
    (open_d, open_i), (extend_d, extend_i) = scoring.gap_open, scoring.gap_extend
    return min(open_d + reach * extend_d, open_i + reach * (extend_i + scoring.match))


class Aligner:
    """The alignments of one batch; `cigars` holds the runs of all of them."""

    def __init__(self, search: BatchSearch):
        self.search, self.scoring, self.lengths = search, search.params.scoring, search.lengths
        self.leaving = np.array([leaving_cost(self.scoring, width) for width in WIDTHS])
        self.cigars: list[np.ndarray] = []
        self.n_runs = 0

    def perfect(self, read_strand: np.ndarray) -> np.ndarray:
        """Totals (score and bonus) of reads without an error, int64[k]."""
        scoring = self.scoring
        return self.lengths[read_strand >> 1].astype(np.int64) * scoring.match + 2 * scoring.clip

    def whole(self, read_strand: np.ndarray, diagonal: np.ndarray) -> Lines:
        """Ungapped alignments of whole reads."""
        cigars = self.lengths[read_strand >> 1] << np.uint32(4)
        runs = np.arange(len(cigars), dtype=np.uint32), np.ones(len(cigars), np.uint16)
        return self._lines(read_strand, diagonal, cigars, *runs, diagonal, np.ones(len(cigars), bool))

    def loss(self, places: Places) -> np.ndarray:
        """What places lose against an alignment without an error, int64[k]."""
        return self.perfect(places.read_strand) - places.total

    def score(self, read_strand, diagonal, band_start, words, loss, given) -> Places:
        """Places, in their order: the best scores of what touches these diagonals, as `around` aligns it."""
        k = len(words)
        score, reached = np.empty(k, np.int32), np.empty(k, np.uint8)
        rows, last = np.empty(k, np.uint16), np.empty(k, np.uint32)
        total = np.empty(k, np.int32)
        for w, some, first, unsure in self._by_width(read_strand, diagonal, band_start, words, loss):
            found = self.search.reads.local(read_strand[some], first, w, self.scoring)
            score[some], reached[some], rows[some], end = found
            last[some] = first + end
            total[some] = self._total(found[0], found[1])
            unsure(total[some])
            self.search.stats.scored += some.size
        return Places(read_strand, band_start, words, score, total, reached, rows, last, given)

    def places(self, places: Places) -> Lines:
        """The alignments of places, in their order, without those that a contig's end leaves nothing of."""
        loss = self.loss(places)
        columns = places.read_strand, places.diagonal, places.band_start, places.words
        return self.around(*columns, loss, places.given, places.diagonal)

    def around(self, read_strand, diagonal, band_start, words, loss, given, last_diagonal=None) -> Lines:
        """The best alignments that touch these diagonals; `loss` is what they are expected to lose. Where none is
        proved in a narrow band it is the best in that of 64 * words diagonals from `band_start` on."""
        k = len(words)
        position = np.empty(k, np.uint32)
        at, runs = np.empty(k, np.uint32), np.empty(k, np.uint16)
        cigars, offset = [np.empty(0, np.uint32)], 0
        for w, some, first, unsure in self._by_width(read_strand, diagonal, band_start, words, loss):
            score, reached, position[some], found, start, runs[some], _ = self.search.reads.align_local(
                read_strand[some], first, w, self.scoring
            )
            at[some] = start + np.uint32(offset)
            cigars.append(found)
            offset += len(found)
            unsure(self._total(score, reached))
            self.search.stats.traced += some.size
        return self._lines(read_strand, position, np.concatenate(cigars), at, runs, last_diagonal, given)

    def _total(self, score: np.ndarray, reached: np.ndarray) -> np.ndarray:
        return score + self.scoring.clip * ((reached & 1) + (reached >> 1)).astype(np.int32)

    def _by_width(self, read_strand, diagonal, band_start, words, loss):
        """Width, rows, first diagonals of the bands in which to look, the narrowest ones first, and a function that
        wants the rows' totals: those that are not proved come again, in bands twice as wide."""
        perfect, most = self.perfect(read_strand), 64 * words.astype(np.int64)
        enough = np.searchsorted(self.leaving, loss, side="right")
        width = np.minimum(np.array(WIDTHS)[np.minimum(enough, len(WIDTHS) - 1)], most)
        for w, leaving in zip(WIDTHS, self.leaving.tolist(), strict=True):
            some = np.flatnonzero(width == w)
            if not some.size:
                continue

            def unsure(total, some=some, w=w, leaving=leaving):
                again = (perfect[some] - total >= leaving) & (w < most[some])
                width[some[again]] = 2 * w

            yield (
                w,
                some,
                np.where(most[some] <= w, band_start[some], diagonal[some] - np.uint32(w // 2)),
                unsure,
            )

    def _lines(self, read_strand, position, cigars, at, runs, last_diagonal, given) -> Lines:
        search = self.search
        reference, packed = search.index.reference, search.packed
        hits, cigars, begin, end, total, first, last = _local.finish(
            read_strand, position, cigars, at, runs, reference.planes, packed.planes, packed.plane_start,
            self.lengths, reference.starts, reference.lengths, self.scoring, self.n_runs,
        )  # fmt: skip
        self.cigars.append(cigars)
        self.n_runs += len(cigars)
        last = last if last_diagonal is None else last_diagonal
        lines = Lines(hits, read_strand, begin, end, total, first, last, given)
        kept = hits["cigar_runs"] > 0
        return lines if kept.all() else lines.take(np.flatnonzero(kept))
