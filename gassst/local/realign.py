"""Local alignment of a batch: reads whose ends may be clipped, and reads that lie in several places (--mode local).

It starts from the places that the whole-read search found: they are scored once more, and the best one of each read is
aligned. Where nothing was found, or where much is clipped, the filters' bounds mean nothing: they speak of whole reads.
For these few reads seeds are looked up once more, densely, and the best supported buckets are scored without filters.

Places compare by their score with the bonus for each end that is reached; AS and XS are scores without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gassst._core import local_places as _local_places
from gassst._core import local_rows as _local_rows
from gassst._core.local_places import SCORED
from gassst.local.align import Aligner
from gassst.local.joint import PAIR_BONUS
from gassst.local.mates import PairedPlaces, pair_up
from gassst.local.places import MUCH_CLIPPED, Lines, Places, line_of_read, of_reads, rank
from gassst.local.reseed import STRIDE, PassedOver, diagonals_of_copies, look_again, seed_length
from gassst.local.rivals import SeedCoverage, rivals_of, supplementary
from gassst.model.array_types import I32, I64, U32, Bool
from gassst.model.layouts import NO_SCORE, RATING, SAME_PLACE
from gassst.model.params import LEAST_SHARE, Scoring
from gassst.model.rules import optional
from gassst.model.sam_flags import SECONDARY, SUPPLEMENTARY
from gassst.search.arrays import BatchResult, GlobalResult
from gassst.search.context import BatchContext, PairContext
from gassst.search.host import HostBackend, unmapped_rows
from gassst.search.plan import EXTRA_STRATA


def realign(backend: HostBackend, found: GlobalResult, pairs: PairContext | None) -> BatchResult:
    """The best local alignments of a batch: its primary, supplementary and secondary rows."""
    with backend.stats.timed("local"):
        aligner = Aligner(backend)
        result = _Realignment(backend, aligner, found, pairs).run()
        aligner.close()
        return result


@dataclass(frozen=True, eq=False, repr=False)
class _Realignment:
    """One run over a batch: what it reads. What it finds passes from step to step."""

    backend: HostBackend
    aligner: Aligner
    found: GlobalResult
    pairs: PairContext | None

    @property
    def context(self) -> BatchContext:
        return self.backend.context

    @property
    def scoring(self) -> Scoring:
        return self.context.params.scoring

    def run(self) -> BatchResult:
        n, lengths, found = self.context.n, self.context.lengths, self.found
        primary, places = self._known_places()
        # Reads to look up once more: those without an alignment, with much of it clipped, or with a gap that the search
        # finds by luck. It may have missed a better place with such a gap.
        far = np.ones(n, bool)
        is_lucky = np.abs(primary.last_diagonal - primary.first_diagonal) > self.context.plan.gaps
        far[primary.read] = is_lucky | (primary.clipped(lengths) >= MUCH_CLIPPED)
        decided = self._decided(primary, far)
        known = primary, places, PassedOver.none(n)
        if far.any():
            known = self._look_up(known, far)
        # A mate may vouch for what scores less than -T.
        paired_reads = np.zeros(n, bool) if self.pairs is None else self.pairs.paired
        primary, places, passed_over = known
        primary = self._reportable(primary, paired_reads)
        paired = PairedPlaces.none(n, primary, places)
        if self.pairs is not None:
            paired = pair_up(self.aligner, self.pairs, decided, primary, places)
            paired = self._concordant(self.pairs, paired, decided)
        primary, places = paired.primary, paired.places
        parts = supplementary(self.aligner, places.take(far[places.read]), primary.take(far[primary.read]))
        return self._report(paired, parts, SeedCoverage(far, found.seen, passed_over), decided)

    def _decided(self, primary: Lines, far: Bool) -> Bool:
        """bool[n]: mates of the pairs that stay where the search of whole reads has placed them.

        Their places are the best ones by score, too. No other one is known with hardly more errors, or the mate has
        told which of several places without an error it is. `far` bool[n]: reads to look up once more.
        """
        if self.pairs is None:
            return np.zeros(self.context.n, bool)
        summary = self.found.summary
        further = summary["second"].astype(np.int64) - summary["best"]
        near = (summary["n_best"] > 1) | (summary["second"] != NO_SCORE) & (further <= EXTRA_STRATA)
        stays = of_reads(self._reportable(primary.take(primary.given), self.pairs.paired), self.context.n)
        stays &= ~far & (~near | (summary["best"] == 0))
        return self.found.proper & stays & stays[self.pairs.partner]

    @optional(
        "dense-seeds",
        "Looks up seeds at every fifth base of reads that fit at one end only.",
        instead=lambda self, known, reads: known,
    )
    def _look_up(
        self, known: tuple[Lines, Places, PassedOver], reads: Bool
    ) -> tuple[Lines, Places, PassedOver]:
        """What is known with the places that dense seeds of some `reads` (bool[n]) lead to."""
        primary, places, passed_over = known
        rows = np.flatnonzero(reads).astype(np.uint32)
        promising, found = look_again(self.backend, rows, SCORED)
        return *self.aligner.look_further(primary, places, reads, promising), passed_over.put(rows, found)

    def _reportable(self, lines: Lines, decided: Bool) -> Lines:
        """Those with the least score that is asked for (-T), to which a concordant mate (bool[n]) adds its worth."""
        score = lines.hits["score"]
        if score.min(initial=self.scoring.least_score) >= self.scoring.least_score:
            return lines
        concordant = decided[lines.read]
        enough = score >= self.aligner.least_scores(lines.read_strand)
        enough |= concordant & (score >= self.aligner.least_scores(lines.read_strand, PAIR_BONUS))
        return lines if enough.all() else lines.take(enough)

    def _concordant(self, pairs: PairContext, paired: PairedPlaces, decided: Bool) -> PairedPlaces:
        """Without the lines that score less than -T and have lost the mate that vouched for them."""
        concordant = decided.copy()
        concordant[paired.joined] = True
        concordant &= of_reads(paired.primary, self.context.n)[pairs.partner]
        return replace(paired, primary=self._reportable(paired.primary, concordant))

    def _known_places(self) -> tuple[Lines, Places]:
        """The places that the search found, and the alignment of the best one of every read."""
        found, context, each = self.found, self.context, self.scoring.match + self.scoring.mismatch
        # Those that a mate can make up for.
        rows, given = _local_places.known_places(found, -(-PAIR_BONUS // each), context.flip)
        return self.aligner.known(found.bands, rows, given)

    def _report(
        self, paired: PairedPlaces, parts: Lines, seed_coverage: SeedCoverage, decided: Bool
    ) -> BatchResult:
        """All rows in order."""
        context, primary, places = self.context, paired.primary, paired.places
        parts.hits["part"] = np.arange(1, len(parts.read) + 1)
        parts.hits["flag"] |= SUPPLEMENTARY
        lines = Lines.concatenate([primary, parts])
        is_part = lines.hits["part"] > 0
        rivals, behind, of_line = rivals_of(context, lines, places)
        of_primary = rivals.take(np.flatnonzero(~is_part))
        joined = decided.copy()
        joined[paired.joined] = True
        # What the search of whole reads says holds for alignments of whole reads, and for what pairs decide.
        by_score = (primary.hits["cigar_runs"] > 1) | ~primary.given | seed_coverage.reseeded[primary.read]
        own = np.flatnonzero(by_score & ~joined[primary.read])
        some, how = primary.take(own), (seed_coverage, (seed_length(context), STRIDE, MUCH_CLIPPED))
        rated = self.found.rated.view(np.uint8).copy().view(RATING)  # NumPy copies structs field by field
        rated[some.read] = context.rater.lines(context, some, of_primary.take(own), *how)
        if self.pairs is not None:
            # Mates of concordant pairs of whole reads, none of them looked up again.
            whole = self.found.proper & ~(seed_coverage.reseeded | seed_coverage.reseeded[self.pairs.partner])
            known = paired, whole.view(np.uint8), self.found.summary, of_primary
            context.rater.mates(context, rated, *known, *how, self.pairs.window_bases)
        begin, end, loss = _local_rows.parts_of_strands(primary, context.lengths, self.scoring)
        beside = primary.read_strand, primary.first_diagonal, begin, end, loss
        context.rater.beside_copies(rated, primary.read.astype(np.int64), *beside, context)
        lines.hits["mapq"][~is_part] = rated["mapq"][primary.read]
        further = np.flatnonzero(is_part)
        of_parts = lines.take(further), rivals.take(further)
        own = line_of_read(primary, context.n)[of_parts[0].read]
        ends = primary.begin[own], primary.end[own]
        lines.hits["mapq"][further] = context.rater.lines(context, *of_parts, *how, ends)["mapq"]
        others = lines.take(np.empty(0, np.int64))
        if context.params.most_hits > 1:
            copies = diagonals_of_copies(self.backend, np.unique(lines.read), self._least_stretches(lines))
            for promising in copies:
                places = self.aligner.with_further(places, promising)
            rivals, behind, of_line = rivals_of(context, lines, places)
            others = self._secondary(places, behind, of_line, lines)
        table = _local_rows.summarise(context.n, lines, rivals)
        summary = table[: context.n]
        unmapped = unmapped_rows(summary["best"] == NO_SCORE)
        hits, n_reported = _local_rows.in_order([lines.hits, others.hits, unmapped], context.n)
        summary["n_reported"] = np.where(summary["best"] == NO_SCORE, 0, n_reported)
        return BatchResult(hits, summary, self.aligner.cigars, table[context.n :])

    def _least_listed(self, score: np.ndarray, read_strand: U32) -> I64:
        """int64[k]: least scores of what is listed beside lines of such scores."""
        least = self.aligner.least_scores(read_strand)
        share = 0.0 if self.context.params.all_hits else LEAST_SHARE
        return np.maximum(least, np.ceil(share * score).astype(np.int64))

    def _least_stretches(self, lines: Lines) -> I32:
        """int32[n]: least score of the longest part between gaps of an alignment that is listed beside a read's lines.

        The more gaps it has, the less need each part score; but each of them costs what the parts have to make up for.
        """
        scoring, n, m = self.scoring, self.context.n, self.context.lengths.astype(np.int64)
        least = np.full(n, np.iinfo(np.int32).max, np.int64)
        np.minimum.at(least, lines.read, self._least_listed(lines.hits["score"], lines.read_strand))
        gap = max(1, min(map(sum, zip(scoring.gap_open, scoring.gap_extend, strict=True))))
        gaps = np.maximum(m * scoring.match - least, 0) // gap
        return np.minimum(least, (least + gaps * gap) // (gaps + 1)).astype(np.int32)

    def _secondary(self, places: Places, rows: I64, of_line: I64, lines: Lines) -> Lines:
        """The next best places of each line, as many as were asked for.

        `rows` int64[m]: rivals among the places, by line (`of_line` int64[m]). That of several lines is the first's.
        """
        rows, once = np.unique(rows, return_index=True)
        order = np.argsort(once)
        rivals, of_line = places.take(rows[order]), of_line[once[order]]
        enough = rivals.score >= self._least_listed(lines.hits["score"][of_line], rivals.read_strand)
        others = self.aligner.align_places(rivals.take(enough), lines.hits["part"][of_line[enough]])
        others = others.take(others.hits["score"] >= self.aligner.least_scores(others.read_strand))
        others.hits["flag"] |= SECONDARY
        part = others.hits["part"].astype(np.int64)
        of_part = np.where(part > 0, self.context.n + part, others.read)
        order = np.lexsort((-others.total, of_part))
        others, of_part = others.take(order), of_part[order]
        new = _are_new(others, lines)
        others, of_part = others.take(new), of_part[new]
        return others.take(rank(of_part) < self.context.params.most_hits - 1)


def _are_new(lines: Lines, known: Lines) -> Bool:
    """bool[k]: lines that begin and end elsewhere than the known ones, and than the lines of their read before them."""
    strands, firsts, lasts = (
        np.concatenate([getattr(of, name) for of in (known, lines)])
        for name in ("read_strand", "first_diagonal", "last_diagonal")
    )
    row, diagonal = np.tile(np.arange(len(strands)), 2), np.r_[firsts, lasts]
    strand = strands[row]
    order = np.lexsort((diagonal, strand))
    row, diagonal, strand = row[order], diagonal[order], strand[order]
    new = np.ones(len(row), bool)
    new[1:] = (strand[1:] != strand[:-1]) | (np.diff(diagonal) > SAME_PLACE)
    first = np.minimum.reduceat(row, np.flatnonzero(new)) if len(row) else row
    are_new = np.ones(len(strands), bool)
    are_new[row[row > first[np.cumsum(new) - 1]]] = False
    return are_new[len(known.read) :]
