"""Local alignments in bands as narrow as is safe.

An alignment that touches a diagonal and leaves the band of `width` diagonals around it has at least `width / 2` gap
bases between there and here. So it loses what they cost. Where the best alignment in the band loses less, it is the
best of all that touch the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from gassst._core import band_widths as _band_widths
from gassst._core import local_hits as _local_hits
from gassst._core import local_places as _local_places
from gassst._core import stretches as _stretches
from gassst.extension.base import WIDTHS
from gassst.local.places import Aligned, Lines, Places, Targets
from gassst.local.reseed import Promising
from gassst.params import Scoring
from gassst.search.arrays import I64, U8, U16, U32, Bool
from gassst.search.backend import SearchBackend

SOFT_CLIP = 4  # BAM operation


def leaving_cost(scoring: Scoring, width: int) -> int:
    """Least loss of an alignment that touches a diagonal and leaves the band of `width` diagonals around it."""
    reach = width // 2
    (open_d, open_i), (extend_d, extend_i) = scoring.gap_open, scoring.gap_extend
    return min(open_d + reach * extend_d, open_i + reach * (extend_i + scoring.match))


class Aligner:
    """The local alignments of one batch. It owns their CIGAR runs."""

    def __init__(self, backend: SearchBackend):
        self.backend, self.context = backend, backend.context
        self.scoring, self.lengths = self.context.params.scoring, self.context.lengths
        self.leaving = np.array([leaving_cost(self.scoring, width) for width in WIDTHS])
        self._cigars: list[np.ndarray] = []
        self._n_runs = 0

    @property
    def cigars(self) -> U32:
        """uint32[]: the runs of all alignments made so far; `hits` of `Lines` point into it."""
        return np.concatenate([np.empty(0, np.uint32), *self._cigars])

    def least_scores(self, read_strand: U32, bonus: int = 0) -> I64:
        """int64[k]: the least score that is reported (-T); of a read too short for that, its score without an error.

        `bonus`: what a concordant mate adds to the score.
        """
        whole = self.lengths[read_strand >> 1].astype(np.int64) * self.scoring.match
        return np.minimum(whole, self.scoring.min_score - bonus)

    def loss(self, places: Places) -> I64:
        """int64[k]: what places lose against an alignment without an error."""
        return self.scoring.perfect(self.lengths[places.read_strand >> 1]) - places.total

    def ungapped(self, read_strand: U32, diagonal: U32) -> Lines:
        """Ungapped alignments of whole reads, in their order."""
        cigars = self.lengths[read_strand >> 1] << np.uint32(4)
        runs = np.arange(len(cigars), dtype=np.uint32), np.ones(len(cigars), np.uint16)
        return self._lines(Aligned(read_strand, diagonal, cigars, *runs), np.ones(len(cigars), bool))

    # --- scores --------------------------------------------------------------------------------------------------

    def score_touching(self, targets: Targets) -> Places:
        """The best scores of what touches the diagonals of targets, in their order."""
        places = self.score(targets)
        strayed = np.flatnonzero(_local_places.distinct_places(targets.diagonal, places.diagonal))
        if not strayed.size:
            return places
        again = self.score(_closest(targets, strayed))
        better = again.total >= places.total[strayed]
        return places.put(strayed[better], again.take(better))

    def score(self, targets: Targets) -> Places:
        """The same, but where nothing is proved in a narrow band the best one anywhere in the widest is taken."""
        k = len(targets.width)
        score, reached = np.empty(k, np.int32), np.empty(k, np.uint8)
        strand_end, diagonal = np.empty(k, np.uint16), np.empty(k, np.uint32)
        for width, rows, read_strand, first, widen in self._by_width(targets):
            found = self.backend.score_local(read_strand, first, width, self.scoring)
            _band_widths.store_scores(rows, first, found, (score, reached, strand_end, diagonal))
            widen(found[0], found[1])
        total = score + self.scoring.clip * ((reached & 1) + (reached >> 1)).astype(np.int32)
        columns = targets.read_strand, targets.band_start, targets.width
        return Places(*columns, score, total, reached, strand_end, diagonal, targets.given)

    # --- alignments ----------------------------------------------------------------------------------------------

    def align_places(self, places: Places) -> Lines:
        """The alignments of places, in their order, without those that a contig's end leaves nothing of."""
        columns = places.read_strand, places.diagonal, places.band_start, places.width
        return self.align_touching(Targets(*columns, self.loss(places), places.given))

    def align_touching(self, targets: Targets) -> Lines:
        """The best alignments that touch the diagonals of targets, without those that a contig's end leaves nothing of.

        Where none is proved in a narrow band, it is the best of the widest one, if possible one that touches.
        """
        lines = self._align(targets)
        distinct = _local_places.distinct_places
        strayed = np.flatnonzero(
            distinct(targets.diagonal, lines.first_diagonal) & distinct(targets.diagonal, lines.last_diagonal)
        )
        if strayed.size:
            again = self._align(_closest(targets, strayed))
            better = again.total >= lines.total[strayed]
            lines = lines.put(strayed[better], again.take(better))
        lines = self._without_needless_gaps(lines)
        kept = lines.hits["cigar_runs"] > 0
        return lines if kept.all() else lines.take(kept)

    def _without_needless_gaps(self, lines: Lines) -> Lines:
        """The lines, ungapped where that scores as well on the diagonal on which they begin or end.

        Of equal alignments the one without a gap is the more likely one: callers take each gap for an indel.
        """
        lengths = self.lengths[lines.read]
        whole = 1 + (lines.begin > 0).astype(np.int64) + (lines.end < lengths)
        gapped = np.flatnonzero(lines.hits["cigar_runs"] > whole)
        if not gapped.size:
            return lines
        for diagonals in (lines.first_diagonal, lines.last_diagonal):
            columns = lines.read_strand[gapped], diagonals[gapped]
            total, begin, end = self._stretches(*columns)
            better = np.flatnonzero(total >= lines.total[gapped])
            if better.size:
                rows = gapped[better]
                stretch = begin[better], end[better]
                plain = self._ungapped_part(
                    lines.read_strand[rows], diagonals[rows], *stretch, lines.given[rows]
                )
                # The end of a contig may have cut it.
                stands = np.flatnonzero((plain.total >= lines.total[rows]) & (plain.hits["cigar_runs"] > 0))
                lines = lines.put(rows[stands], plain.take(stands))
        return lines

    def _stretches(self, read_strand: U32, diagonal: U32) -> tuple[np.ndarray, U16, U16]:
        """Total, first and last base of the best ungapped alignments on diagonals."""
        packed = self.context.packed
        planes = self.context.reference.planes, packed.planes, packed.plane_start, self.lengths
        return _stretches.best_stretches(*planes, read_strand, diagonal, self.scoring)

    def _ungapped_part(self, read_strand: U32, diagonal: U32, begin: U16, end: U16, given: Bool) -> Lines:
        """Ungapped alignments of the bases begin .. end - 1 of strands, in their order."""
        lengths = self.lengths[read_strand >> 1]
        runs = np.stack(
            [begin << 4 | SOFT_CLIP, (end - begin) << 4, (lengths - end) << 4 | SOFT_CLIP], axis=1
        )
        runs = runs.astype(np.uint32)
        kept = runs >> 4 > 0
        n_runs = kept.sum(axis=1).astype(np.uint16)
        start = (np.cumsum(n_runs) - n_runs).astype(np.uint32)
        return self._lines(Aligned(read_strand, diagonal + begin, runs[kept], start, n_runs), given)

    def _align(self, targets: Targets) -> Lines:
        k = len(targets.width)
        position = np.empty(k, np.uint32)
        run_start, n_runs = np.empty(k, np.uint32), np.empty(k, np.uint16)
        cigars, offset = [np.empty(0, np.uint32)], 0
        for width, rows, read_strand, first, widen in self._by_width(targets):
            score, reached, position[rows], runs, start, n_runs[rows], _ = self.backend.align_local(
                read_strand, first, width, self.scoring
            )
            run_start[rows] = start + np.uint32(offset)
            cigars.append(runs)
            offset += len(runs)
            widen(score, reached)
        aligned = Aligned(targets.read_strand, position, np.concatenate(cigars), run_start, n_runs)
        return self._lines(aligned, targets.given)

    def _by_width(self, targets: Targets) -> Iterator[tuple[int, I64, U32, U32, Callable]]:
        """Width, rows, their read_strand and the first diagonals of their bands, the narrowest first.

        The last item takes `score` and `reached` of these rows: what they do not prove comes again, in bands twice as
        wide.
        """
        width = _band_widths.expected_widths(targets.loss, targets.width, self.leaving, np.array(WIDTHS))
        for w, leaving in zip(WIDTHS, self.leaving.tolist(), strict=True):
            rows, read_strand, first = _band_widths.bands_of_width(width, w, targets)

            def widen(score, reached, leaving=leaving, rows=rows):
                found = score, reached
                _band_widths.widen_unproved(width, rows, found, leaving, self.context, targets)

            if rows.size:
                yield w, rows, read_strand, first, widen

    def _lines(self, aligned: Aligned, given: Bool) -> Lines:
        """Alignments cut at the ends of their contigs, their runs appended to `cigars`."""
        found = _local_hits.hits_from_alignments(aligned, self.context, self._n_runs)
        hits, cigars, begin, end, total, first, last = found
        self._cigars.append(cigars)
        self._n_runs += len(cigars)
        return Lines(hits, aligned.read_strand, begin, end, total, first, last, given)


def score_bands(aligner: Aligner, read_strand: U32, band_start: U32, words: U8) -> Places:
    """The best places anywhere in bands of 64 * words diagonals, without those that align nothing."""
    loss = np.full(len(words), np.iinfo(np.int64).max)  # more than a narrow band can prove
    width, given = 64 * words.astype(np.int64), np.zeros(len(words), bool)
    places = aligner.score(Targets(read_strand, band_start, band_start, width, loss, given))
    return places.take(np.flatnonzero(places.score > 0))


def score_promising(aligner: Aligner, bands: Promising) -> Places:
    """The best places in promising bands, without those that align nothing.

    Where anchors show one diagonal alone, the narrowest band around it says how good the place is: what lies further
    away is behind a gap, and shorter than a seed. It is still aligned in all of its band.
    """
    read_strand, band_start, words, diagonal, alone = bands
    narrow = WIDTHS[0]
    wide = 64 * words.astype(np.int64)
    first = np.where(alone, diagonal - np.uint32(narrow // 2), band_start)
    loss = np.full(len(words), np.iinfo(np.int64).max)  # more than a narrow band can prove
    width, given = np.where(alone, narrow, wide), np.zeros(len(words), bool)
    scored = aligner.score(Targets(read_strand, diagonal, first, width, loss, given))
    return replace(scored, band_start=band_start, width=wide).take(np.flatnonzero(scored.score > 0))


def _closest(targets: Targets, rows: I64) -> Targets:
    """These rows, with the narrowest band as their widest."""
    some = targets.take(rows)
    band_start = some.diagonal - np.uint32(WIDTHS[0] // 2)
    width = np.full_like(some.width, WIDTHS[0])
    return Targets(some.read_strand, some.diagonal, band_start, width, some.loss, some.given)
