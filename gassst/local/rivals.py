"""Rivals of local alignments, their mapping qualities, supplementary alignments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gassst._core import local_places as _local_places
from gassst.layouts import NO_SUBOPTIMAL
from gassst.local.align import Aligner
from gassst.local.places import (
    MUCH_CLIPPED,
    Columns,
    Lines,
    Places,
    at,
    best_of,
    line_of_read,
    overlap,
    rank,
)
from gassst.local.reseed import STRIDE, PassedOver, seed_length
from gassst.search.arrays import F64, I64, U8, Bool
from gassst.search.context import BatchContext
from gassst.search.mapq import MODEL, REFERENCE_LENGTH, chance_places, edit_odds, lost_growth, phred
from gassst.seeding.plan import EXTRA_STRATA

PARTS = 3  # supplementary alignments of a read
# How many rivals of a read are assumed that dense seeds did not lead to: in a reference of REFERENCE_BASES, and in the
# largest ones. There are more where the seeds of a stretch were passed over, as they occur too often, and still more in
# reads with many errors: docs/mapq.md.
UNSEEN, MOST_UNSEEN, IN_REPEATS = 0.47, 1.6, 16.0
# How many rivals with one difference are assumed beside a known one of a clipped single read that dense seeds did not
# look up, with 100 aligned bases. As for whole reads there are more where seeds were passed over, and fewer the longer
# the alignment is.
BESIDE_KNOWN = 0.066


@dataclass(frozen=True, eq=False, repr=False)
class Rivals(Columns):
    """The next best place beside each line.

    Attributes
    ----------
    total, score : int32[k]
    count : int64[k]
        Places with that total.
    """

    total: np.ndarray
    score: np.ndarray
    count: I64

    @classmethod
    def none(cls, k: int) -> Rivals:
        """Of `k` lines that have none."""
        return cls(np.zeros(k, np.int32), np.full(k, NO_SUBOPTIMAL, np.int32), np.zeros(k, np.int64))


def rivals_of(context: BatchContext, lines: Lines, places: Places) -> tuple[Rivals, Places]:
    """Of every line (one a read at most) the next best place for the same part of the read; and all such places."""
    total, score, count, order = _local_places.rivals(lines, places, context)
    return Rivals(total, score, count), places.take(order)


@dataclass(frozen=True, eq=False, repr=False)
class SeedCoverage:
    """What was looked at of the `n` reads of a batch.

    Attributes
    ----------
    reseeded : bool[n]
        Reads that were looked up with dense seeds.
    share : float64[n]
        Of the others, the share of the seeds of which not every occurrence was looked at.
    passed_over : PassedOver
        Of those that were looked up.
    """

    reseeded: Bool
    share: F64
    passed_over: PassedOver

    def unseen(self, lines: Lines, edits: I64, seed: int, n_bases: float) -> tuple[F64, F64]:
        """The rivals that are assumed of lines, as no seed of `seed` bases led to them.

        A rival has a difference in every seed of the aligned bases that was looked at: in every `STRIDE` bases one
        begins. Where none was passed over it has one at least, however short the alignment is. `edits` (int64[k]) have
        the lines, `n_bases` the reference.

        Returns
        -------
        count : float64[k]
            How many there are.
        differences : float64[k]
            In how many places they differ from the alignment.
        """
        read = lines.read
        reseeded, stretch = self.reseeded[read], seed + STRIDE - 1
        over = self.passed_over.within(read, lines.begin, lines.end)
        seeds = np.maximum((lines.end - seed) // STRIDE - -(-lines.begin // STRIDE) + 1, 0)
        # One difference is in all the seeds that begin within the bases of one.
        dense = np.maximum(-(-seeds // -(-seed // STRIDE)), 1)
        between = np.maximum(lines.end - lines.begin - over, 0) / stretch
        near = IN_REPEATS * np.exp(MODEL.lost_slope * edits / np.maximum(lines.end - lines.begin, 1))
        count = min(UNSEEN * lost_growth(n_bases), MOST_UNSEEN) * near ** np.minimum(over / stretch, 1)
        differences = np.where(over > 0, between, dense)
        not_reseeded = (EXTRA_STRATA + 1) * (1 - self.share[read])
        return np.where(reseeded, count, 1.0), np.where(reseeded, differences, not_reseeded)

    def passed_over_at_first(self, read: np.ndarray, aligned: I64) -> tuple[F64, F64]:
        """The unseen rivals of clipped single reads with `aligned` (int64[k]) bases that dense seeds did not look up.

        Returns
        -------
        more : float64[k]
            How many times more there are as seeds of the whole-read search were passed over.
        beside_known : float64[k]
            How many with one difference are assumed beside a known one.
        """
        more = np.where(self.reseeded[read], 1, MODEL.near_clipped ** self.share[read])
        beside = BESIDE_KNOWN * more * (REFERENCE_LENGTH / aligned) ** MODEL.lost_length
        return more, np.where(self.reseeded[read], 0, beside)

    def lies_elsewhere(self, lines: Lines) -> Bool:
        """bool[k]: lines that leave out more bases whose seeds were passed over than they align.

        Those bases have many places in the reference, and all of them score more than the line does.
        """
        read = lines.read
        outside = self.passed_over.bases[read] - self.passed_over.within(read, lines.begin, lines.end)
        return self.reseeded[read] & (outside > lines.end - lines.begin)


def quality_of(
    context: BatchContext,
    lines: Lines,
    rivals: Rivals,
    seed_coverage: SeedCoverage,
    over_known: int = 0,
    over_unseen: int = 0,
    n_bases: float | None = None,
    single: Bool | bool = False,
) -> U8:
    """Mapping qualities of lines, uint8[k].

    `over_known`, `over_unseen`: what a line gains for its mate over the rivals given, and over those that no seed led
    to. `n_bases`: bases, both strands of them, where chance may place it as well; by default those of the reference.
    `single` (bool[k]): of reads without a mate. Bases that these leave out count as errors (`_shown_errors`).

    The formula is that of whole reads (`search.mapq.mapping_quality`), with a difference in score counted as so many
    mismatches; a long gap counts as a few. Beside the known rivals one is assumed that the seeds did not lead to
    (`SeedCoverage.unseen`).
    """
    scoring = context.params.scoring
    aligned = np.maximum(lines.end - lines.begin, 1)
    mismatch = scoring.match + scoring.mismatch
    edits = np.maximum(0, -(-(aligned * scoring.match - lines.hits["score"]) // mismatch))
    known = rivals.count > 0
    total = lines.total + over_known
    odds = np.minimum(edit_odds(edits, aligned), 1)
    seen = np.where(known, rivals.count, 0) * odds ** np.maximum((total - rivals.total) / mismatch, 0)
    clipped = np.where(single, lines.clipped(context.lengths), 0)
    shown = _shown_errors(edits, clipped, scoring.match / mismatch)
    count, differences = seed_coverage.unseen(lines, edits, seed_length(context.index), context.plan.n_bases)
    odds = np.minimum(edit_odds(shown, aligned), 1)
    more, beside = seed_coverage.passed_over_at_first(lines.read, aligned)
    count = np.where(clipped > 0, count * more, count)
    wrong = seen + count * odds ** (differences + over_unseen / mismatch)
    wrong += np.where(known & (clipped > 0), beside * odds, 0)
    quality = phred(wrong + chance_places(aligned, edits, n_bases or context.plan.n_bases))
    quality[known & (rivals.total >= total) | seed_coverage.lies_elsewhere(lines)] = 0
    return quality


def _shown_errors(edits: I64, clipped: I64, each: float) -> I64:
    """int64[k]: errors that reads show if the `clipped` bases (int64[k]) have them, of `each` base so many.

    A wrong place leaves out what errors hide of the true one. Ends of MUCH_CLIPPED bases and less may be such. An
    adapter is no error, and longer ends are taken for one.
    """
    ends = np.where(clipped <= MUCH_CLIPPED, clipped, 0)
    return edits + np.ceil(ends * each).astype(np.int64)


def part_quality(context: BatchContext, lines: Lines, places: Places, seed_coverage: SeedCoverage) -> U8:
    """Mapping qualities of supplementary alignments, of which a read may have several, uint8[k]."""
    quality = np.zeros(len(lines.read), np.uint8)
    order = np.argsort(lines.read, kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = rank(lines.read[order])
    for i in range(ranks.max(initial=-1) + 1):
        some = np.flatnonzero(ranks == i)
        part = lines.take(some)
        rivals, _ = rivals_of(context, part, places)
        quality[some] = quality_of(context, part, rivals, seed_coverage)
    return quality


def supplementary(aligner: Aligner, places: Places, primary: Lines) -> Lines:
    """Alignments of parts of reads that better ones leave over, the best first."""
    context = aligner.context
    least, n = context.params.scoring.least_score, context.n
    places = places.take(places.score >= least)
    begin, end = places.parts(context.lengths, context.params.scoring.match)
    taken = primary.take(primary.clipped(context.lengths) >= MUCH_CLIPPED)
    found = [primary.take(np.empty(0, np.int64))]
    free = np.ones(len(begin), bool)
    for _ in range(PARTS):
        line = line_of_read(taken, n)[places.read]
        free &= (line >= 0) & ~overlap(begin, end, at(taken.begin, line), at(taken.end, line))
        if not free.any():
            break
        best = best_of(places, free, context)
        lines = aligner.align_places(places.take(best))
        keep = lines.hits["score"] >= least
        for before in (primary, *found):
            line = line_of_read(before, n)[lines.read]
            clash = overlap(lines.begin, lines.end, at(before.begin, line), at(before.end, line))
            keep &= (line < 0) | ~clash
        taken = lines.take(keep)
        found.append(taken)
    return Lines.concatenate(found)
