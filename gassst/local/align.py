"""Local alignments in bands as narrow as is safe.

An alignment that touches a diagonal and leaves the band of `width` diagonals around it has at least `width / 2` gap
bases between there and here. So it loses what they cost. Where the best alignment in the band loses less, it is the
best of all that touch the diagonal. Where it loses more, the band doubles.

A read that loses less than a gap and less than a clipped end has one alignment: along the diagonal, from its first
base to its last. Most reads of a good run do, and they need no band at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gassst._core import band_widths as _band_widths
from gassst._core import local_hits as _local_hits
from gassst._core import stretches as _stretches
from gassst._core import ungapped as _ungapped
from gassst.bands.base import WIDTHS
from gassst.index.reference import contig_before
from gassst.local.places import Aligned, Lines, Places, Targets, line_of_read
from gassst.local.reseed import Promising
from gassst.model.array_types import COORDINATE, I32, I64, U8, U32, Bool
from gassst.model.layouts import NO_SCORE
from gassst.model.params import Scoring
from gassst.search.host import HostBackend

SOFT_CLIP = 4  # BAM operation


def leaving_cost(scoring: Scoring, width: int) -> int:
    """Least loss of an alignment that touches a diagonal and leaves the band of `width` diagonals around it."""
    reach = width // 2
    (open_d, open_i), (extend_d, extend_i) = scoring.gap_open, scoring.gap_extend
    return min(open_d + reach * extend_d, open_i + reach * (extend_i + scoring.match))


def breaking_cost(scoring: Scoring) -> int:
    """Least loss of an alignment with a gap or a clipped end: what loses less goes along one diagonal, end to end."""
    return min(leaving_cost(scoring, 2), scoring.clip + scoring.match)


class Aligner:
    """The local alignments of one batch. It owns their CIGAR runs."""

    def __init__(self, backend: HostBackend):
        self.backend, self.context = backend, backend.context
        self.scoring, self.lengths = self.context.params.scoring, self.context.lengths
        self.leaving = np.array([leaving_cost(self.scoring, width) for width in WIDTHS])
        self.breaking = breaking_cost(self.scoring)
        self._cigars: list[np.ndarray] = []
        self._n_runs = 0

    @property
    def cigars(self) -> U32:
        """uint32[]: the runs of all alignments made so far; `hits` of `Lines` point into it."""
        return np.concatenate([np.empty(0, np.uint32), *self._cigars])

    def least_scores(self, read_strand: U32, bonus: int = 0) -> I64:
        """int64[k]: the least score that is reported (-T). Unless one is asked for, a read too short for it needs its
        score without an error.

        `bonus`: what a concordant mate adds to the score.
        """
        least = self.scoring.least_score - bonus
        if self.scoring.min_score is not None:
            return np.full(len(read_strand), least, np.int64)
        return np.minimum(self.lengths[read_strand >> 1].astype(np.int64) * self.scoring.match, least)

    def loss(self, places: Places) -> I64:
        """int64[k]: what places lose against an alignment without an error."""
        return self.scoring.perfect(self.lengths[places.read_strand >> 1]) - places.total

    # --- scores --------------------------------------------------------------------------------------------------

    def score(self, targets: Targets, plain: Bool | None = None) -> Places:
        """The best scores of what touches the diagonals of targets, in their order.

        Where nothing is proved in a narrow band the best one anywhere in the widest is taken. `plain` bool[k]: targets
        whose best alignment is known to be that of the whole read along the diagonal, and to lose `loss`; by default
        none.
        """
        k = len(targets.width)
        score, reached = np.empty(k, np.int32), np.empty(k, np.uint8)
        strand_end, diagonal = np.empty(k, np.uint16), np.empty(k, COORDINATE)
        into = score, reached, strand_end, diagonal
        if plain is not None:
            self._score_plain(targets, np.flatnonzero(plain), into)
        for width, rows, read_strand, first, widen in self._by_width(targets, plain):
            found = self.backend.score_local(read_strand, first, width, self.scoring)
            _band_widths.store_scores(rows, first, found, into)
            widen(found[0], found[1])
        total = score + self.scoring.clip * ((reached & 1) + (reached >> 1)).astype(np.int32)
        columns = targets.read_strand, targets.band_start, targets.width
        return Places(*columns, score, total, reached, strand_end, diagonal, targets.given, diagonal)

    def widened(self, places: Places) -> Places:
        """Places, and beside them what scores more in bands as wide as their scores pay.

        An alignment that leaves a band has a gap with a part on either side. Each part has to score more than the gap
        costs, or the other one alone would score more than both. So a place is looked at in the narrowest band that
        costs more to leave than it loses, or than it scores.
        """
        behind = np.minimum(self.loss(places), places.total)
        rows = np.flatnonzero(behind >= self.leaving[0])
        widest = np.full(rows.size, WIDTHS[-1])
        width = _band_widths.expected_widths(behind[rows], widest, self.leaving, np.array(WIDTHS)).astype(
            np.int64
        )
        known = places.take(rows)
        before = known.diagonal - known.band_start
        wider = np.flatnonzero(width > 2 * np.minimum(before + 1, known.width - before))
        if not wider.size:
            return places
        rows, width, known = rows[wider], width[wider], known.take(wider)
        first, loss, given = known.diagonal - width // 2, self.loss(known), np.zeros(rows.size, bool)
        found = self.score(Targets(known.read_strand, known.diagonal, first, width, loss, given))
        more = found.total > known.total
        # A part that ends elsewhere is a place of its own: it may be one of a split read.
        kept = np.ones(len(places.width), bool)
        kept[rows] = ~more | (found.diagonal != known.diagonal)
        return Places.concatenate([places.take(kept), found.take(more)])

    def _score_plain(self, targets: Targets, rows: I64, into: tuple[np.ndarray, ...]) -> None:
        """Scores of targets whose best alignment is that of the whole read along their diagonal."""
        length = self.lengths[targets.read_strand[rows] >> 1]
        score, reached, strand_end, last = into
        score[rows] = length * np.int64(self.scoring.match) - targets.loss[rows]
        reached[rows], strand_end[rows], last[rows] = 3, length, targets.diagonal[rows]

    def hang_over(self, places: Places) -> Bool:
        """bool[k]: places that reach an end of their read beyond one of their contig.

        There they are cut. So they may score as much more as the bonus of that end has outweighed.
        """
        reference, end = self.context.reference, places.diagonal + places.strand_end
        contig = contig_before(reference.starts, end - 1)
        start = reference.starts[contig]
        before = (places.diagonal < start) & ((places.reached & 1) > 0)
        return before | (end > start + reference.lengths[contig]) & ((places.reached & 2) > 0)

    # --- alignments ----------------------------------------------------------------------------------------------

    def align_places(self, places: Places, part: U32 | None = None) -> Lines:
        """The alignments of places, in their order, without those that a contig's end leaves nothing of.

        `part` uint32[k]: the parts of their reads that they belong to; by default the first ones.
        """
        columns = places.read_strand, places.diagonal, places.band_start, places.width
        loss = self.loss(places)
        # What scores as much as the whole read on its last diagonal is that: the walk back prefers diagonal steps.
        whole = _ungapped.are_whole(places, self.context)
        targets = Targets(*columns, loss, places.given)
        return self.align_touching(targets, whole | (loss < self.breaking), part)

    def align_touching(self, targets: Targets, plain: Bool | None = None, part: U32 | None = None) -> Lines:
        """The best alignments that touch the diagonals of targets, without those that a contig's end leaves nothing of.

        `plain` bool[k]: targets that are known to be aligned along their diagonals from end to end; by default none.
        Where none is proved in a narrow band, it is the best of the widest one.
        """
        lines = self._align(targets, plain)
        if part is not None:
            lines.hits["part"] = part
        kept = lines.hits["cigar_runs"] > 0
        return lines if kept.all() else lines.take(kept)

    def _ungapped_part(self, read_strand: U32, diagonal: I64, begin: I64, end: I64, given: Bool) -> Lines:
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

    def left_over(self, lines: Lines, places: Places) -> Lines:
        """The best ungapped alignments of what a line (one a read at most) leaves over, on the diagonals of places.

        Two parts of a read on one diagonal are one place, which has one alignment, and so are parts that score as much
        with a gap between them.
        """
        line = line_of_read(lines, self.context.n)[places.read]
        places, line = places.take(line >= 0), line[line >= 0]
        length, reverse = self.lengths[places.read].astype(np.int64), (places.read_strand & 1).astype(bool)
        begin = np.where(reverse, length - lines.end[line], lines.begin[line])
        end = np.where(reverse, length - lines.begin[line], lines.end[line])
        read_strand, diagonal = np.tile(places.read_strand, 2), np.tile(places.diagonal, 2)
        sides = np.r_[np.zeros_like(begin), end], np.r_[begin, length]
        least = np.full(len(diagonal), self.scoring.least_score, np.int32)
        score, begin, end = _stretches.best_stretches(read_strand, diagonal, *sides, least, self.context)
        some = np.flatnonzero(score >= least)
        given = np.zeros(some.size, bool)
        return self._ungapped_part(read_strand[some], diagonal[some], begin[some], end[some], given)

    def begun(self, places: Places) -> I64:
        """int64[k]: the diagonals on which the alignments of places begin."""
        columns = places.read_strand, places.diagonal, places.band_start, places.width
        return self._align(Targets(*columns, self.loss(places), places.given)).first_diagonal

    def _align(self, targets: Targets, plain: Bool | None = None) -> Lines:
        k = len(targets.width)
        position, n_runs = targets.diagonal.copy(), np.ones(k, np.uint16)
        score, edits = np.empty(k, np.int32), np.full(k, NO_SCORE, np.uint16)
        rows = np.empty(0, np.int64) if plain is None else np.flatnonzero(plain)
        run_start = np.zeros(k, np.uint32)
        run_start[rows] = np.arange(rows.size)
        cigars, offset = [self.lengths[targets.read_strand[rows] >> 1] << np.uint32(4)], rows.size
        for width, rows, read_strand, first, widen in self._by_width(targets, plain):
            found = self.backend.align_local(read_strand, first, width, self.scoring)
            score[rows], reached, position[rows], runs, start, n_runs[rows], edits[rows] = found
            run_start[rows] = start + np.uint32(offset)
            cigars.append(runs)
            offset += len(runs)
            widen(found[0], reached)
        runs = np.concatenate(cigars), run_start, n_runs
        aligned = Aligned(targets.read_strand, position, *runs, score, edits)
        return self._lines(aligned, targets.given)

    def _by_width(
        self, targets: Targets, plain: Bool | None
    ) -> Iterator[tuple[int, I64, U32, I64, Callable[[I32, U8], None]]]:
        """Width, rows, their read_strand and the first diagonals of their bands, the narrowest first.

        `plain` bool[k]: targets that need no band. The last item takes `score` and `reached` of these rows:
        what they do not prove comes again, in bands twice as wide.
        """
        width = _band_widths.expected_widths(targets.loss, targets.width, self.leaving, np.array(WIDTHS))
        if plain is not None:
            width[plain] = 0
        for w, leaving in zip(WIDTHS, self.leaving.tolist(), strict=True):
            if w > width.max(initial=0):
                return
            rows, read_strand, first = _band_widths.bands_of_width(width, w, targets)

            def widen(score: I32, reached: U8, leaving: int = leaving, rows: I64 = rows) -> None:
                _band_widths.widen_unproved(width, rows, (score, reached), leaving, self.context, targets)

            if rows.size:
                yield w, rows, read_strand, first, widen

    def _lines(self, aligned: Aligned, given: Bool) -> Lines:
        """Alignments cut at the ends of their contigs, their runs appended to `cigars`."""
        found = _local_hits.hits_from_alignments(aligned, self.context, self._n_runs)
        hits, cigars, begin, end, total, first, last = found
        self._cigars.append(cigars)
        self._n_runs += len(cigars)
        return Lines(hits, aligned.read_strand, begin, end, total, first, last, given)


def score_bands(aligner: Aligner, read_strand: U32, band_start: I64, words: U8) -> Places:
    """The best places anywhere in bands of 64 * words diagonals, without those that align nothing."""
    return _score_in_full(aligner, read_strand, band_start, band_start, 64 * words.astype(np.int64))


def score_promising(aligner: Aligner, promising: Promising) -> Places:
    """The best places on promising diagonals, without those that align nothing.

    Of a read that is split near a diagonal, the part on it is a place of its own.
    """
    narrow = np.full(len(promising.diagonal), WIDTHS[0])
    first = promising.diagonal - WIDTHS[0] // 2
    return _score_in_full(aligner, promising.read_strand, promising.diagonal, first, narrow)


def _score_in_full(aligner: Aligner, read_strand: U32, diagonal: I64, band_start: I64, width: I64) -> Places:
    loss = np.full(len(width), np.iinfo(np.int64).max)  # more than a narrow band can prove
    given = np.zeros(len(width), bool)
    places = aligner.score(Targets(read_strand, diagonal, band_start, width, loss, given))
    return aligner.widened(places.take(np.flatnonzero(places.score > 0)))
