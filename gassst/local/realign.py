"""Local alignment of a batch: reads whose ends may be clipped, and reads that lie in several places (--mode local).

It starts from what the whole-read search found. A read that this settles stays as it is: no other alignment scores
better. A read with a single known place is aligned there again, by score. Of all others the known places are scored
again with the local kernel. Where nothing was found, or where much is clipped, the filters' bounds mean nothing: they
speak of whole reads. For these few reads seeds are looked up once more, densely, and the best supported buckets are
scored without filters.

Places compare by their score with the bonus for each end that is reached; AS and XS are scores without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gassst._core import local_places as _local_places
from gassst._core import local_rows as _local_rows
from gassst._core import ungapped as _ungapped
from gassst.local.align import Aligner, score_promising
from gassst.local.joint import PAIR_BONUS
from gassst.local.mates import PairedPlaces, in_doubt, pair_quality, pair_up
from gassst.local.places import (
    MUCH_CLIPPED,
    Lines,
    Places,
    Targets,
    at,
    best_of,
    line_of_read,
    of_reads,
    rank,
)
from gassst.local.reseed import DEEP, WORDS, Depth, PassedOver, look_again
from gassst.local.rivals import Rivals, SeedCoverage, part_quality, quality_of, rivals_of, supplementary
from gassst.model.array_types import COORDINATE, I64, U8, U16, U32, Bool, place_keys
from gassst.model.layouts import NO_SCORE
from gassst.model.params import Scoring
from gassst.model.rules import optional
from gassst.model.sam_flags import SECONDARY, SUPPLEMENTARY
from gassst.search.arrays import Bands, BatchResult, GlobalResult
from gassst.search.context import BatchContext, PairContext
from gassst.search.host import HostBackend, unmapped_rows
from gassst.search.plan import EXTRA_STRATA
from gassst.search.tandem_copies import Parts, beside_copies

# Errors by which a known place may be worse than the chosen one and still be scored again. 3 to 12 place the same
# reads right (lab/constants.md).
WORSE = 7


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """The result of the whole-read search, and what follows from it for each of the `n` reads of a batch.

    Attributes
    ----------
    found : GlobalResult
    start : int64[n + 1]
        `found.bands` of read r are start[r] .. start[r + 1].
    reported : int64[n]
        Rows that the whole-read search would report.
    chosen : int64[n]
        Row in `found.bands` of the chosen place, -1 for none.
    worst : uint16[n]
        Most errors of a place that counts; the search may have kept others.
    """

    found: GlobalResult
    start: I64
    reported: I64
    chosen: I64
    worst: U16

    @classmethod
    def of(cls, found: GlobalResult) -> Known:
        """From the result of the search."""
        n, reported = len(found.summary), np.diff(found.start)
        mapped = np.flatnonzero(reported)
        chosen = np.full(n, -1)
        chosen[mapped] = found.rows[found.start[mapped]]
        worst = np.zeros(n, np.uint16)
        worst[mapped] = found.bands.edits[chosen[mapped]] + np.uint16(WORSE)
        start = np.concatenate([[0], np.cumsum(np.bincount(found.bands.read_strand >> 1, minlength=n))])
        return cls(found, start, reported, chosen, worst)

    def take(self, rows: I64) -> Bands:
        """Bands of the search."""
        return self.found.bands.take(rows)


class Looked(NamedTuple):
    """What a batch of `n` reads is known to have.

    Attributes
    ----------
    primary : Lines
        Of the reads that were not settled at once.
    places : Places
    passed_over : PassedOver
        Of the reads that dense seeds were looked up for.
    """

    primary: Lines
    places: Places
    passed_over: PassedOver


def realign(backend: HostBackend, found: GlobalResult, pairs: PairContext | None) -> BatchResult:
    """The best local alignments of a batch: its primary, supplementary and secondary rows."""
    with backend.stats.timed("local"):
        return _Realignment(backend, Aligner(backend), Known.of(found), pairs).run(found.quality)


def settles_one_mismatch(scoring: Scoring) -> bool:
    """Whether an ungapped alignment with one mismatch, the only one with so few errors, has the best score.

    Clipping q >= 1 bases loses q * match and a bonus, and gains at most a mismatch; another alignment has two
    mismatches or a gap.
    """
    gaps = (o + e for o, e in zip(scoring.gap_open, scoring.gap_extend, strict=True))
    return scoring.clip >= scoring.mismatch and min(gaps) >= scoring.match + scoring.mismatch


@dataclass(frozen=True, eq=False, repr=False)
class _Realignment:
    """One run over a batch: what it reads. What it finds passes from step to step."""

    backend: HostBackend
    aligner: Aligner
    known: Known
    pairs: PairContext | None

    @property
    def context(self) -> BatchContext:
        return self.backend.context

    @property
    def scoring(self) -> Scoring:
        return self.context.params.scoring

    def run(self, quality: U8) -> BatchResult:
        n, lengths = self.context.n, self.context.lengths
        clear = self._clear()
        settled = of_reads(clear, n)
        decided = self._decided(settled)
        rest = (self.known.chosen >= 0) & ~settled
        rows = _local_places.known_places(self.known, rest.view(np.uint8), self.context.flip)
        places = self._known_places(rows)
        primary = self._primary(places)
        # Reads to look up once more: those without an alignment, or with much of it clipped.
        far = ~settled & ~self.known.found.hopeless
        much = primary.clipped(lengths) >= MUCH_CLIPPED
        far[primary.read] = much | self.known.found.left_to_local[primary.read]
        known = Looked(primary, places, PassedOver.none(n))
        if far.any():
            known = self._look_up(known, far)
        # A mate may vouch for what scores less than -T.
        known = known._replace(primary=self._reportable(known.primary, self._paired()))
        paired = PairedPlaces.none(n, known.primary, known.places)
        if self.pairs is not None:
            paired, far, passed_over = self._pair_up(self.pairs, known, far, decided, clear)
            known = known._replace(passed_over=passed_over)
            clear, paired = self._concordant(self.pairs, clear, paired, decided)
        primary, places = paired.primary, paired.places
        parts = supplementary(self.aligner, places.take(far[places.read]), primary.take(far[primary.read]))
        return self._report(
            clear, paired, parts, self._seed_coverage(far, known.passed_over), decided, quality
        )

    def _decided(self, settled: Bool) -> Bool:
        """bool[n]: mates of the pairs that the search of whole reads has placed, as both are `settled` (bool[n])."""
        if self.pairs is None:
            return np.zeros(self.context.n, bool)
        return self.known.found.proper & settled & settled[self.pairs.partner]

    @optional(
        "dense-seeds",
        "Looks up seeds at every fifth base of reads that fit at one end only.",
        instead=lambda self, known, *_: known,
    )
    def _look_up(self, known: Looked, reads: Bool, depth: Depth | None = None) -> Looked:
        """What is known with the places that dense seeds of some `reads` (bool[n]) lead to."""
        primary, places, passed_over = known
        rows = np.flatnonzero(reads).astype(np.uint32)
        promising, found = look_again(self.backend, rows, depth)
        new = score_promising(self.aligner, promising)
        enough = (new.score >= self.scoring.least_score) & ~_repeats(new, places.take(reads[places.read]))
        places = Places.concatenate([places, new.take(enough)])
        better = self._primary(places.take(reads[places.read]))
        places = self._begun(places, better)
        primary = Lines.concatenate([primary.take(~reads[primary.read]), better])
        return Looked(primary, places, passed_over.put(rows, found))

    def _begun(self, places: Places, lines: Lines) -> Places:
        """The places with the diagonals on which they begin, where several lie in the band of the line of a read."""
        line = line_of_read(lines, self.context.n)[places.read]
        away = np.abs(places.diagonal - at(lines.last_diagonal, line))
        near = away <= 64 * np.maximum(self.context.words[places.read].astype(np.int64), WORDS)
        near &= (line >= 0) & (places.read_strand == at(lines.read_strand, line))
        crowded = np.bincount(places.read, near & (away > 0), self.context.n) > 0
        rows, first = np.flatnonzero(near & crowded[places.read]), places.first_diagonal.copy()
        first[rows] = self.aligner.begun(places.take(rows))
        return replace(places, first_diagonal=first)

    def _pair_up(
        self, pairs: PairContext, known: Looked, far: Bool, decided: Bool, clear: Lines
    ) -> tuple[PairedPlaces, Bool, PassedOver]:
        """Mates placed together; the reads that were looked up by then (`far` and more, bool[n]), what was passed over.

        Pairs in doubt are looked up with seeds that occur often, and placed once more.
        """
        paired = pair_up(self.aligner, pairs, decided, clear, known.primary, known.places)
        # Where whole reads make a concordant pair, more seeds find no other one.
        movable = ~of_reads(clear, self.context.n) & ~(self.known.found.proper & ~far & ~far[pairs.partner])
        coverage = self._seed_coverage(far, known.passed_over)
        doubtful = in_doubt(self.context.lengths, pairs, paired, movable, coverage)
        if not doubtful.any():
            return paired, far, known.passed_over
        # Few pairs: all else stays as it is, and is not copied.
        concerned = doubtful | doubtful[pairs.partner]
        primary, places = (some.take(concerned[some.read]) for some in (known.primary, known.places))
        deep = self._look_up(Looked(primary, places, known.passed_over), doubtful, DEEP)
        primary = self._reportable(deep.primary, self._paired())
        again = pair_up(self.aligner, pairs, decided | ~concerned, clear, primary, deep.places)
        return paired.put(again, concerned), far | doubtful, deep.passed_over

    def _fit_as_wholes(self, pairs: PairContext, far: Bool) -> Bool:
        """bool[n]: mates of concordant pairs of whole reads, none of them looked up again (`far`, bool[n])."""
        return self.known.found.proper & ~far & ~far[pairs.partner]

    def _seed_coverage(self, far: Bool, passed_over: PassedOver) -> SeedCoverage:
        """Of the batch, where dense seeds of some reads (`far`, bool[n]) were looked up."""
        found = self.known.found
        return SeedCoverage(far | found.hopeless, found.seen, passed_over)

    def _reportable(self, lines: Lines, decided: Bool) -> Lines:
        """Those with the least score that is asked for (-T), to which a concordant mate (bool[n]) adds its worth."""
        score = lines.hits["score"]
        if score.min(initial=self.scoring.least_score) >= self.scoring.least_score:
            return lines
        concordant = decided[lines.read]
        enough = score >= self.aligner.least_scores(lines.read_strand)
        enough |= concordant & (score >= self.aligner.least_scores(lines.read_strand, PAIR_BONUS))
        return lines if enough.all() else lines.take(enough)

    def _concordant(
        self, pairs: PairContext, clear: Lines, paired: PairedPlaces, decided: Bool
    ) -> tuple[Lines, PairedPlaces]:
        """Without the lines that score less than -T and have lost the mate that vouched for them."""
        n = self.context.n
        placed = of_reads(clear, n) | of_reads(paired.primary, n)
        concordant = decided.copy()
        concordant[paired.joined] = True
        concordant &= placed[pairs.partner]
        primary = self._reportable(paired.primary, concordant)
        return self._reportable(clear, concordant), replace(paired, primary=primary)

    def _paired(self) -> Bool:
        """bool[n]: reads that have a mate."""
        return np.zeros(self.context.n, bool) if self.pairs is None else self.pairs.paired

    # --- reads with one place ------------------------------------------------------------------------------------

    def _clear(self) -> Lines:
        """Alignments of the reads that need no more: their places are not scored.

        Of these, some keep a whole-read alignment: it is ungapped, the best that touches its diagonal, and has no error
        or no close rival. The others have a single known place, and are aligned there.
        """
        known, scoring, context = self.known, self.scoring, self.context
        reads = np.flatnonzero((known.reported == 1) & ~known.found.left_to_local)
        sure = 1 if settles_one_mismatch(scoring) else 0
        hits, read_strand, left, diagonal, ungapped, alone = _ungapped.settle(known, reads, sure, context)
        settled = self.aligner.settled(hits, read_strand)
        reads = reads[left]
        bands, n_best = known.take(known.chosen[reads]), known.found.summary["n_best"].take(reads)
        loss = _expected_loss(scoring, bands.edits, ungapped)
        # With masked bases, or not proved by one diagonal.
        stands = ungapped & (alone | (bands.edits == 0) & (n_best > 1))
        targets = _around(bands.read_strand, diagonal, bands.words, loss, np.ones(reads.size, bool))
        unsure = np.flatnonzero(stands & (bands.edits > sure))
        best = self.aligner.score(targets.take(unsure))
        # An alignment from the first to the last base that ends on the same diagonal and scores no more is the same
        # one: the walk back prefers diagonal steps. With masked bases it loses less, and is not recognised.
        found = self.aligner.loss(best)
        same = (best.reached == 3) & (best.diagonal == diagonal[unsure]) & (found == loss[unsure])
        stands[unsure] = same
        loss[unsure] = found
        single = np.flatnonzero(~stands & alone & self._single().take(reads))
        targets = _around(bands.read_strand, diagonal, bands.words, loss, targets.given)
        lines = self.aligner.align_touching(targets.take(single))
        stand = np.flatnonzero(stands)
        whole = self.aligner.ungapped(bands.read_strand[stand], diagonal[stand])
        enough = (lines.clipped(context.lengths) < MUCH_CLIPPED) & (lines.hits["score"] > 0)
        clear = Lines.concatenate([settled, whole, lines.take(enough)])
        return self._reportable(clear.take(self._settled(clear)), self._paired())

    def _at_one_place(self, worse: int) -> Bool:
        """bool[n]: reads without another place of at most `worse` errors more than the chosen one."""
        return _local_places.at_one_place(self.known, worse).view(bool)

    def _single(self) -> Bool:
        """bool[n]: reads of which a single place is known, and no more is asked."""
        single = self._at_one_place(WORSE)
        if self.pairs is None:
            return single
        return single & ~(self.pairs.paired & ~self.known.found.proper)

    def _settled(self, clear: Lines) -> Bool:
        """bool[k]: lines whose read needs no mate, or whose mate has one, too.

        Else the mate may tell which of several places it is: of those that it can make up for.
        """
        if self.pairs is None:
            return np.ones(len(clear.read), bool)
        alone = self._at_one_place(PAIR_BONUS // (self.scoring.match + self.scoring.mismatch))
        settled = alone | ~self.pairs.paired | of_reads(clear, self.context.n)[self.pairs.partner]
        return settled[clear.read]

    # --- places --------------------------------------------------------------------------------------------------

    def _known_places(self, rows: I64) -> Places:
        """The places in `rows` of the bands that the search found."""
        known = self.known
        end, ungapped, plain = _ungapped.diagonals_of_bands(known, rows, self.aligner.breaking, self.context)
        bands = known.take(rows)
        loss = _expected_loss(self.scoring, bands.edits, ungapped)
        read = bands.read_strand >> 1
        # A search that ended early has chosen the first place that it met.
        given = (rows == known.chosen[read]) & ~known.found.left_to_local[read]
        targets = _around(bands.read_strand, end, bands.words, loss, given)
        places = self.aligner.score(targets, plain)
        return places.take(np.flatnonzero(places.score > 0))

    def _primary(self, places: Places) -> Lines:
        """The primary line of every read that has a place."""
        rows = best_of(places, np.ones(len(places.read), bool), self.context)
        return self.aligner.align_places(places.take(rows))

    # --- rows ----------------------------------------------------------------------------------------------------

    def _report(
        self,
        clear: Lines,
        paired: PairedPlaces,
        parts: Lines,
        seed_coverage: SeedCoverage,
        decided: Bool,
        quality: U8,
    ) -> BatchResult:
        """All rows in order. `quality` uint8[n]: that of the search, which holds for `clear`."""
        context, primary, places = self.context, paired.primary, paired.places
        rivals, behind = rivals_of(context, primary, places)
        quality = quality.copy()
        joined = np.zeros(context.n, bool)
        joined[paired.joined] = True
        nothing = Rivals.none(len(clear.read))
        for lines, beside in ((clear, nothing), (primary, rivals)):
            # What the search of whole reads says holds for alignments of whole reads, and for what pairs decide.
            by_score = (lines.hits["cigar_runs"] > 1) | ~lines.given | seed_coverage.reseeded[lines.read]
            own = np.flatnonzero(by_score & ~decided[lines.read] & ~joined[lines.read])
            some = lines.take(own)
            quality[some.read] = quality_of(context, some, beside.take(own), seed_coverage)
        if self.pairs is not None:
            summary = self.known.found.summary
            whole = self._fit_as_wholes(self.pairs, seed_coverage.reseeded)
            pair_quality(context, self.pairs, paired, seed_coverage, summary, rivals, whole, quality)
        quality = self._beside_copies(clear, primary, quality)
        summary = _local_rows.summarise(self.known.found.summary, clear, primary, rivals)
        unmapped = summary["best"] == NO_SCORE
        quality[unmapped] = 0
        parts.hits["mapq"] = part_quality(context, parts, places, seed_coverage)
        parts.hits["flag"] |= SUPPLEMENTARY
        others = self._secondary(behind, primary)
        others.hits["flag"] |= SECONDARY
        for lines in (clear, primary):
            lines.hits["mapq"] = quality[lines.read]
        rows = [lines.hits for lines in (clear, primary, parts, others)]
        hits, n_reported = _local_rows.in_order([*rows, unmapped_rows(unmapped)], context.n)
        summary["n_reported"] = np.where(unmapped, 0, n_reported)
        return BatchResult(hits, summary, self.aligner.cigars)

    def _beside_copies(self, clear: Lines, primary: Lines, quality: U8) -> U8:
        """uint8[n]: qualities of reads, no higher than the copies of a tandem repeat beside their lines allow."""
        context, parts = self.context, []
        for lines in (clear, primary):
            begin, end, loss = _local_rows.parts_of_strands(lines, context.lengths, self.scoring)
            parts.append(Parts(lines.read_strand, lines.first_diagonal, begin, end, loss))
        read, quality = np.concatenate([clear.read, primary.read]), quality.copy()
        repeats = self.known.found.repeats
        quality[read] = beside_copies(quality[read], Parts.concatenate(parts), context, self.pairs, repeats)
        return quality

    def _secondary(self, rivals: Places, primary: Lines) -> Lines:
        """The next best places of each read, as many as were asked for and within the second-best strata."""
        if self.context.params.max_hits == 1:
            return primary.take(np.empty(0, np.int64))
        least = np.zeros(self.context.n, np.int64)
        cost = self.scoring.match + self.scoring.mismatch
        least[primary.read] = primary.total - EXTRA_STRATA * cost
        rivals = rivals.take(rivals.total >= least[rivals.read])
        wanted = rank(rivals.read) < self.context.params.max_hits - 1
        return self.aligner.align_places(rivals.take(wanted))


def _expected_loss(scoring: Scoring, edits: U16, ungapped: Bool | bool) -> I64:
    """int64[k]: what alignments with so many errors lose against one without any; a gapped one, with one gap base."""
    each = scoring.match + scoring.mismatch
    gap = max(scoring.gap_open) + max(scoring.gap_extend) + scoring.match
    return edits * np.int64(each) + np.where(ungapped, 0, gap - each)


def _around(read_strand: U32, diagonal: I64, words: U8, loss: I64, given: Bool) -> Targets:
    """Targets on diagonals, in bands of 64 * words diagonals around them at the widest."""
    first = diagonal - 32 * words.astype(COORDINATE)
    return Targets(read_strand, diagonal, first, 64 * words.astype(np.int64), loss, given)


def _repeats(new: Places, known: Places) -> Bool:
    """bool[k]: new places on the diagonal of a known one of the same strand that scores as well."""
    keys, of_new = (place_keys(p.read_strand, p.diagonal) for p in (known, new))
    order = np.lexsort((known.total, keys))
    row = np.searchsorted(keys[order], of_new, side="right") - 1
    if not order.size:
        return np.zeros(len(of_new), bool)
    row = order[np.maximum(row, 0)]
    return (keys[row] == of_new) & (known.total[row] >= new.total)
