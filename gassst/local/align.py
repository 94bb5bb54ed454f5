"""Alignments with local ends, in bands as narrow as is safe.

An alignment that touches a diagonal and leaves the band of `width` diagonals around it has `width / 2` inserted or
deleted bases between there and here at least. So it loses what they cost, and where the best alignment in the band
loses less, it is the best of all that touch the diagonal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gassst._core import band_widths as _band_widths
from gassst._core import local_hits as _local_hits
from gassst._core import local_places as _local_places
from gassst.extension.base import WIDTHS
from gassst.local.places import Lines, Places
from gassst.params import Scoring

if TYPE_CHECKING:
    from gassst.search.single import BatchSearch


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
        """Ungapped alignments of whole reads, in their order."""
        cigars = self.lengths[read_strand >> 1] << np.uint32(4)
        runs = np.arange(len(cigars), dtype=np.uint32), np.ones(len(cigars), np.uint16)
        return self._lines(read_strand, diagonal, cigars, *runs, np.ones(len(cigars), bool))

    def loss(self, places: Places) -> np.ndarray:
        """What places lose against an alignment without an error, int64[k]."""
        return self.perfect(places.read_strand) - places.total

    def near(self, *columns: np.ndarray) -> Places:
        """Places, in their order: the best scores of what touches these diagonals; columns as for `around`."""
        places = self.score(*columns)
        strayed = np.flatnonzero(_local_places.apart(columns[1], places.diagonal))
        if not strayed.size:
            return places
        again = self.score(*_closest(columns, strayed))
        better = again.total >= places.total[strayed]
        return places.put(strayed[better], again.take(better))

    def score(self, read_strand, diagonal, band_start, most, loss, given) -> Places:
        """As `near`, but where nothing is proved in a narrow band the best one is taken wherever it is in the band."""
        k = len(most)
        score, reached = np.empty(k, np.int32), np.empty(k, np.uint8)
        bases, last = np.empty(k, np.uint16), np.empty(k, np.uint32)
        for w, rows, strands, first, unsure in self._by_width(read_strand, diagonal, band_start, most, loss):
            found = self.search.reads.local(strands, first, w, self.scoring)
            _band_widths.put(rows, first, found, (score, reached, bases, last))
            unsure(found[0], found[1])
            self.search.stats.scored += rows.size
        total = score + self.scoring.clip * ((reached & 1) + (reached >> 1)).astype(np.int32)
        return Places(read_strand, band_start, most, score, total, reached, bases, last, given)

    def places(self, places: Places) -> Lines:
        """The alignments of places, in their order, without those that a contig's end leaves nothing of."""
        loss = self.loss(places)
        columns = places.read_strand, places.diagonal, places.band_start, places.most
        return self.around(*columns, loss, places.given)

    def around(self, *columns: np.ndarray) -> Lines:
        """The best alignments that touch these diagonals, without those that a contig's end leaves nothing of.

        Columns are `read_strand`, `diagonal`, `band_start`, `most`, `loss`, `given`: `loss` is what they are expected
        to lose. Where none is proved in a narrow band it is the best in that of `most` diagonals from `band_start` on,
        if possible one near the diagonal."""
        lines = self._aligned(*columns)
        diagonal = columns[1]
        strayed = np.flatnonzero(
            _local_places.apart(diagonal, lines.first_diagonal)
            & _local_places.apart(diagonal, lines.last_diagonal)
        )
        if strayed.size:
            again = self._aligned(*_closest(columns, strayed))
            better = again.total >= lines.total[strayed]
            lines = lines.put(strayed[better], again.take(better))
        kept = lines.hits["cigar_runs"] > 0
        return lines if kept.all() else lines.take(kept)

    def _aligned(self, read_strand, diagonal, band_start, most, loss, given) -> Lines:
        k = len(most)
        position = np.empty(k, np.uint32)
        at, runs = np.empty(k, np.uint32), np.empty(k, np.uint16)
        cigars, offset = [np.empty(0, np.uint32)], 0
        for w, rows, strands, first, unsure in self._by_width(read_strand, diagonal, band_start, most, loss):
            score, reached, position[rows], found, start, runs[rows], _ = self.search.reads.align_local(
                strands, first, w, self.scoring
            )
            at[rows] = start + np.uint32(offset)
            cigars.append(found)
            offset += len(found)
            unsure(score, reached)
            self.search.stats.traced += rows.size
        return self._lines(read_strand, position, np.concatenate(cigars), at, runs, given)

    def _by_width(self, read_strand, diagonal, band_start, most, loss):
        """Width, rows, their read_strand, first diagonals of the bands in which to look, the narrowest ones first, and
        a function that wants their `score` and `reached`: what is not proved comes again, in bands twice as wide."""
        width = _band_widths.expected(loss, most, self.leaving, np.array(WIDTHS))
        scoring, lengths = self.scoring, self.lengths
        for w, leaving in zip(WIDTHS, self.leaving.tolist(), strict=True):
            rows, strands, first = _band_widths.of_width(width, w, read_strand, diagonal, band_start, most)

            def unsure(score, reached, w=w, leaving=leaving, rows=rows, strands=strands):
                found = rows, score, reached, strands
                _band_widths.widen(width, w, leaving, *found, most, lengths, scoring.match, scoring.clip)

            if rows.size:
                yield w, rows, strands, first, unsure

    def _lines(self, read_strand, position, cigars, at, runs, given) -> Lines:
        search = self.search
        reference, packed = search.index.reference, search.packed
        hits, cigars, begin, end, total, first, last = _local_hits.finish(
            read_strand, position, cigars, at, runs, reference.planes, packed.planes, packed.plane_start,
            self.lengths, reference.starts, reference.lengths, self.scoring, self.n_runs,
        )  # fmt: skip
        self.cigars.append(cigars)
        self.n_runs += len(cigars)
        return Lines(hits, read_strand, begin, end, total, first, last, given)


def _closest(columns: tuple[np.ndarray, ...], rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Columns of `Aligner.around` that leave these rows the narrowest band only."""
    read_strand, diagonal, _, most, loss, given = (column[rows] for column in columns)
    return (
        read_strand,
        diagonal,
        diagonal - np.uint32(WIDTHS[0] // 2),
        np.full_like(most, WIDTHS[0]),
        loss,
        given,
    )
