"""Local ends: reads whose ends may be clipped, and reads that lie in two places (--mode local).

The global search goes first, as it is. A read that is settled by it stays as it is aligned: no other alignment has a
better score. One for which it knows a single place is aligned there anew, by score. Of all others the places that were
found are scored again with the local kernel. Where nothing was found, or where much is clipped, the filters' bounds
mean nothing: they speak of whole reads. For these few reads seeds are looked up anew, densely, and the best supported
buckets of diagonals are scored unfiltered.

Places compare by their score with the bonus for each end that is reached; AS and XS are scores without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gassst._core import alignments as _alignments
from gassst._core import local_places as _local_places
from gassst.layouts import HIT, NO_SCORE, NO_SUBOPTIMAL
from gassst.local.align import Aligner
from gassst.local.places import FAR, Lines, Places, best_of, joined, rank
from gassst.local.reseed import anchored
from gassst.local.rivals import Rivalry, Rivals, supplementary
from gassst.params import Scoring
from gassst.seeding.plan import MARGIN

if TYPE_CHECKING:
    from gassst.search.single import Bands, BatchSearch

FLAG_UNMAPPED, FLAG_SECONDARY, FLAG_SUPPLEMENTARY = 0x4, 0x100, 0x800
WORSE = 7  # errors by which a known place may be worse than the chosen one
NEAR = 64  # diagonals within which a place that a pair decided on may move


def _settles(scoring: Scoring) -> bool:
    """Whether an ungapped alignment with one mismatch, the only one with so few errors, has the best score.

    Clipping q >= 1 bases loses q * match and a bonus, and gains a mismatch at the most; another alignment has two
    mismatches or a gap.
    """
    gaps = (o + e for o, e in zip(scoring.gap_open, scoring.gap_extend, strict=True))
    return scoring.clip >= scoring.mismatch and min(gaps) >= scoring.match + scoring.mismatch


class LocalEnds:
    """The local alignments of one batch, from what the global search found: `bands` grouped by read, and of them the
    `rows` that it would report, read by read from `start` on, and `summary`."""

    def __init__(
        self, search: BatchSearch, bands: Bands, rows: np.ndarray, start: np.ndarray, summary: np.ndarray
    ):
        self.search, self.bands, self.start, self.summary = search, bands, start, summary
        self.scoring, self.lengths, self.n = search.params.scoring, search.lengths, search.n
        self.quality = search._qualities(summary)
        mapped = np.flatnonzero(np.diff(start))
        self.chosen = np.full(self.n, -1)  # row in `bands` of the place chosen before
        self.chosen[mapped] = rows[start[mapped]]
        # Most errors of a place that counts; the search may have kept others.
        self.worst = np.zeros(self.n, np.uint16)
        self.worst[mapped] = bands.edits[self.chosen[mapped]] + np.uint16(WORSE)
        self.rows = np.concatenate([[0], np.cumsum(np.bincount(bands.read_strand >> 1, minlength=self.n))])
        self.decided = search.proper.copy()  # whose pair the global search has placed
        self.aligner, self.rivalry = Aligner(search), Rivalry(search)

    def run(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hits, summary and CIGARs, as `search.BatchResult` has them."""
        with self.search.stats.timed("local"):
            clear = self._clear()
            rest = self.chosen >= 0
            rest[clear.read] = False
            places = self._known(rest)
            primary = self._primary(places)
            self.far = far = self._far(clear, primary)
            if far.any():
                new = self._score(*anchored(self.search, np.flatnonzero(far).astype(np.uint32)))
                enough = (new.score >= self.scoring.min_score) & ~_repeats(new, places.take(far[places.read]))
                places = Places.concatenate([places, new.take(enough)])
                better = self._primary(places.take(far[places.read]))
                primary = Lines.concatenate([primary.take(~far[primary.read]), better])
            primary, places = self._pair(clear, primary, places)
            parts = supplementary(
                self.search, self.aligner, places.take(far[places.read]), primary.take(far[primary.read])
            )
            return self._report(clear, primary, parts, places)

    # --- reads with one place --------------------------------------------------------------------------------

    def _clear(self) -> Lines:
        """Alignments of the reads that need no more: settled ones, whose global alignment is ungapped, the best that
        touches its diagonal, and has no rival near, or none better as it has no error; and those with a single known
        place that are aligned there."""
        reads = np.flatnonzero(np.diff(self.start) == 1)
        bands, summary = self.bands.take(self.chosen[reads]), self.summary[reads]
        alone = (summary["n_best"] == 1) & (summary["second"] == NO_SCORE) & (bands.edits == summary["best"])
        diagonal, ungapped = self._ends(bands)
        loss = self._guess(bands.edits, ungapped)
        stands = ungapped & (alone | (bands.edits == 0) & (summary["n_best"] > 1))
        unsure = np.flatnonzero(stands & (bands.edits > (1 if _settles(self.scoring) else 0)))
        columns = bands.read_strand, diagonal, *_band(diagonal, bands.words)
        given = np.ones(reads.size, bool)
        places = self.aligner.near(*(c[unsure] for c in (*columns, loss, given)))
        found = self.aligner.loss(places)
        # An alignment from the first to the last base that ends on the same diagonal and scores no more is the same
        # one: the walk back prefers diagonal steps. With masked bases it loses less, and is not recognised.
        stands[unsure] = (
            (places.reached == 3) & (places.diagonal == diagonal[unsure]) & (found == loss[unsure])
        )
        loss[unsure] = found
        single = np.flatnonzero(~stands & alone & self._single()[reads])
        lines = self.aligner.around(*(c[single] for c in (*columns, loss, given)))
        stand = np.flatnonzero(stands)
        settled = self.aligner.whole(bands.read_strand[stand], diagonal[stand])
        enough = (lines.clipped(self.lengths) < FAR) & (lines.hits["score"] > 0)
        return Lines.concatenate([settled, lines.take(enough)])

    def _ends(self, bands: Bands) -> tuple[np.ndarray, np.ndarray]:
        """Diagonals on which the alignments of bands end, and which are ungapped."""
        reference, packed = self.search.index.reference, self.search.packed
        end = bands.band_start + bands.end
        ungapped = _alignments.ungapped_diagonal(
            reference.planes, packed.planes, packed.plane_start, self.lengths, bands.read_strand, end, bands.edits,
            bands.reach,
        )  # fmt: skip
        return np.where(ungapped > 0, ungapped, end), ungapped > 0

    def _guess(self, edits: np.ndarray, ungapped: np.ndarray | bool) -> np.ndarray:
        """What alignments with so many errors lose against one without any, int64[k]: the gapped ones have one of
        one base, as a guess."""
        scoring = self.scoring
        each = scoring.match + scoring.mismatch
        gap = max(scoring.gap_open) + max(scoring.gap_extend) + scoring.match
        return edits * np.int64(each) + np.where(ungapped, 0, gap - each)

    def _single(self) -> np.ndarray:
        """Reads of which a single place is known, and no more is asked, bool[n]."""
        bands = self.bands
        end = bands.band_start + bands.end
        single = _local_places.at_one_place(
            bands.read_strand, end, bands.edits, self.worst, self.rows, self.chosen
        )
        return single.view(bool) & ~self._to_be_paired()

    # --- places ----------------------------------------------------------------------------------------------

    def _known(self, wanted: np.ndarray) -> Places:
        """The places that the global search found for these reads (bool[n]), those with the fewest errors."""
        bands, flip = self.bands, self.search.flip
        rows = _local_places.known_places(
            bands.read_strand, bands.band_start, bands.end, bands.edits, self.worst, self.rows,
            wanted.view(np.uint8), self.chosen, flip,
        )  # fmt: skip
        bands = bands.take(rows)
        loss = self._guess(bands.edits, False)
        given = rows == self.chosen[bands.read_strand >> 1]
        end = bands.band_start + bands.end
        return _scored(self.aligner.near(bands.read_strand, end, *_band(end, bands.words), loss, given))

    def _score(self, read_strand: np.ndarray, band_start: np.ndarray, words: np.ndarray) -> Places:
        """The best places in bands."""
        k = len(words)
        loss = np.full(k, np.iinfo(np.int64).max)  # all of the band
        given = np.zeros(k, bool)
        return _scored(
            self.aligner.score(read_strand, band_start, band_start, 64 * words.astype(np.int64), loss, given)
        )

    def _primary(self, places: Places) -> Lines:
        """The primary line of every read that has a place."""
        eligible = self._may_be(places)
        return self.aligner.places(places.take(self._best(places, eligible)))

    def _may_be(self, places: Places) -> np.ndarray:
        """Places that may become their read's primary: all, or those near the one that its pair decided on."""
        eligible = places.given | ~self.decided[places.read]
        others = np.flatnonzero(~eligible)
        home = self.bands.take(self.chosen[places.read[others]])
        moved = places.diagonal[others].astype(np.int64) - (home.band_start + home.end)
        eligible[others] = (home.read_strand == places.read_strand[others]) & (np.abs(moved) <= NEAR)
        return eligible

    def _best(self, places: Places, eligible: np.ndarray) -> np.ndarray:
        return best_of(places, eligible, self.search.flip, self.search.digest)

    def _far(self, clear: Lines, primary: Lines) -> np.ndarray:
        """Reads to look into once more, bool[n]: without an alignment, or with much of them clipped."""
        far = np.ones(self.n, bool)
        far[clear.read] = False
        far[primary.read] = primary.clipped(self.lengths) >= FAR
        return far

    # --- pairs -----------------------------------------------------------------------------------------------

    def _to_be_paired(self) -> np.ndarray:
        """Reads whose place their pair has still to decide, bool[n]."""
        return np.zeros(self.n, bool)

    def _pair(self, clear: Lines, primary: Lines, places: Places) -> tuple[Lines, Places]:
        """For pairs: primary lines chosen together, and places with those found for it."""
        return primary, places

    def _pair_quality(self, primary: Lines, rivals: Rivals) -> None:
        """For pairs: `quality` of mates that were placed together."""

    # --- rows ------------------------------------------------------------------------------------------------

    def _report(self, clear: Lines, primary: Lines, parts: Lines, places: Places):
        """All rows in order: hits, summary, CIGARs."""
        rivals, behind = self.rivalry.rivals(primary, places)
        self._judge(clear, Rivals.none(len(clear.read)), np.zeros(self.n, bool))
        self._judge(primary, rivals, self.far)
        self._pair_quality(primary, rivals)
        self._summarise(clear, primary, rivals)
        unmapped = np.flatnonzero(self.summary["best"] == NO_SCORE)
        self.quality[unmapped] = 0
        blank = np.zeros(unmapped.size, HIT)
        blank["read"], blank["flag"] = unmapped, FLAG_UNMAPPED
        parts.hits["mapq"] = self.rivalry.part_quality(parts, places)
        parts.hits["flag"] |= FLAG_SUPPLEMENTARY
        others = self._secondary(behind, primary)
        others.hits["flag"] |= FLAG_SECONDARY
        for lines in (clear, primary):
            lines.hits["mapq"] = self.quality[lines.read]
        hits = joined([lines.hits for lines in (clear, primary, parts, others)] + [blank])
        hits = np.take(hits, np.argsort(hits["read"], kind="stable"))
        self.summary["n_reported"] = np.bincount(hits["read"], minlength=self.n)
        self.summary["n_reported"][unmapped] = 0
        self.search.stats.count_reads(self.lengths, self.summary, self.quality)
        return hits, self.summary, np.concatenate([np.empty(0, np.uint32), *self.aligner.cigars])

    def _judge(self, lines: Lines, rivals: Rivals, far: np.ndarray) -> None:
        """`quality` of reads whose alignment is not the global search's, or whose place its pair did not decide."""
        own = np.flatnonzero(((lines.hits["cigar_runs"] > 1) | ~lines.given) & ~self.decided[lines.read])
        lines = lines.take(own)
        self.quality[lines.read] = self.rivalry.quality(lines, rivals.take(own), far[lines.read])

    def _secondary(self, rivals: Places, primary: Lines) -> Lines:
        """The next best places of each read, as many as were asked for and within the second-best strata."""
        least = np.zeros(self.n, np.int64)
        cost = self.scoring.match + self.scoring.mismatch
        least[primary.read] = primary.total - MARGIN * cost
        rivals = rivals.take(rivals.total >= least[rivals.read])
        return self.aligner.places(rivals.take(rank(rivals.read) < self.search.params.max_hits - 1))

    def _summarise(self, clear: Lines, primary: Lines, rivals: Rivals) -> None:
        """Bring READ_SUMMARY up to date. `second` is known of reads that stay as they are only."""
        summary = self.summary
        summary["suboptimal"] = NO_SUBOPTIMAL
        tied = summary["n_best"][clear.read] > 1
        summary["suboptimal"][clear.read[tied]] = clear.hits["score"][tied]
        stays = np.zeros(self.n, bool)
        stays[clear.read] = True
        for name, value in (("best", NO_SCORE), ("second", NO_SCORE), ("n_best", 0), ("n_second", 0)):
            summary[name][~stays] = value
        summary["best"][clear.read] = clear.hits["edits"]
        ties = (rivals.total >= primary.total) & (rivals.count > 0)
        summary["best"][primary.read] = primary.hits["edits"]
        summary["n_best"][primary.read] = 1 + np.where(ties, rivals.count, 0)
        summary["n_second"][primary.read] = np.where(ties, 0, rivals.count)
        summary["suboptimal"][primary.read] = rivals.score


def _band(diagonal: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First diagonals and widths of the bands of 64 * words diagonals around these."""
    return diagonal - 32 * words.astype(np.uint32), 64 * words.astype(np.int64)


def _scored(places: Places) -> Places:
    return places.take(np.flatnonzero(places.score > 0))


def _repeats(new: Places, known: Places) -> np.ndarray:
    """Which of the new places are known: the same end of the read on the same diagonal, with the same score."""

    def keys(p: Places) -> np.ndarray:
        return np.rec.fromarrays([p.read_strand, p.diagonal, p.rows, p.total])

    return np.isin(keys(new), keys(known))
