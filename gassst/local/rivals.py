"""Rivals of local alignments, their mapping qualities, supplementary alignments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gassst._core import local_places as _local_places
from gassst.index.miss_model import NO_SEEDS, SeedsLooked, Stage, stage_misses
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
from gassst.model.array_types import F64, I64, U8, Bool
from gassst.model.layouts import NO_SUBOPTIMAL
from gassst.model.params import Scoring
from gassst.model.rules import optional
from gassst.search.context import BatchContext
from gassst.search.copies import Copies, Searched, unseen_alone
from gassst.search.mapq import Seen, clipped, family, quality
from gassst.search.plan import EXTRA_STRATA, chance_hits


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

    def further(self, scoring: Scoring, lines: Lines) -> F64:
        """float64[k]: mismatches that cost what they score less than the lines."""
        return np.maximum(lines.total - self.total, 0) / (scoring.match + scoring.mismatch)

    def are_near(self, scoring: Scoring, lines: Lines) -> Bool:
        """bool[k]: lines that have a rival with hardly more errors."""
        return (self.count > 0) & (self.further(scoring, lines) <= EXTRA_STRATA)

    @classmethod
    def none(cls, k: int) -> Rivals:
        """Of `k` lines that have none."""
        return cls(np.zeros(k, np.int32), np.full(k, NO_SUBOPTIMAL, np.int32), np.zeros(k, np.int64))


def rivals_of(context: BatchContext, lines: Lines, places: Places) -> tuple[Rivals, I64, I64]:
    """Of every line the next best place for the same part of the read; rows of all such places, and their lines."""
    total, score, count, order, of_line = _local_places.rivals(lines, places, context)
    return Rivals(total, score, count), order, of_line


@dataclass(frozen=True, eq=False, repr=False)
class SeedCoverage:
    """What was looked at of the `n` reads of a batch.

    Attributes
    ----------
    reseeded : bool[n]
        Reads that were looked up with dense seeds.
    seen : mapq.Seen
        Of the others.
    passed_over : PassedOver
        Of those that were looked up.
    """

    reseeded: Bool
    seen: Seen
    passed_over: PassedOver


class Looked(NamedTuple):
    """What is known of k lines.

    Attributes
    ----------
    found : Searched
        Errors are those that cost what each line loses. A wrong place leaves out what errors hide of the true one, so
        ends count as errors. One of more than `MUCH_CLIPPED` bases is an adapter or a bad tail, unless seeds of the
        read were passed over: then the place where it fits may not have been seen.
    passed_over : float64[k]
        Share of them whose seeds occur too often.
    elsewhere : bool[k]
        More bases begin such seeds outside of the line than it aligns.
    """

    found: Searched
    passed_over: F64
    elsewhere: Bool

    @classmethod
    def of(cls, context: BatchContext, lines: Lines, coverage: SeedCoverage) -> Looked:
        """Dense seeds or those of the search have led to the lines."""
        read, seen, scoring = lines.read, coverage.seen, context.params.scoring
        outside = lines.clipped(context.lengths)
        longer = np.maximum(lines.begin, outside - lines.begin)
        is_adapter = (longer > MUCH_CLIPPED) & (coverage.passed_over.bases[read] == 0)
        hidden = np.where(is_adapter, outside - longer, outside)
        span = np.maximum(lines.end - lines.begin, 1)
        aligned = span + hidden
        lost = aligned * scoring.match - lines.hits["score"]
        errors = np.clip(-(-lost // (scoring.match + scoring.mismatch)), 0, aligned)
        reseeded = coverage.reseeded[read]
        over = coverage.passed_over.within(read, lines.begin, lines.end)
        elsewhere = reseeded & (coverage.passed_over.bases[read] - over > span)
        share = np.where(reseeded, np.minimum(over / span, 1.0), clipped(seen)[read])
        w, plan = seed_length(context), context.plan
        columns = reseeded, aligned, context.lengths[read], seen.complete[read], seen.looked[read], share
        seeds = [
            _dense(m, w, round(over_share, 2))
            if dense
            else plan.looked_up(bases, complete, looked, over_share)
            for dense, m, bases, complete, looked, over_share in zip(
                *(c.tolist() for c in columns), strict=True
            )
        ]
        odds = context.library.odds(errors, aligned)
        return cls(Searched(aligned, errors, odds, seeds), share, elsewhere)


@lru_cache(maxsize=1 << 12)
def _dense(m: int, w: int, passed_over: float) -> SeedsLooked:
    """Dense seeds of `w` bases in `m` aligned ones, but for a share that was passed over."""
    if m < w:
        return NO_SEEDS
    missed = stage_misses(m, (Stage(w, m - w + 1, False, STRIDE),))[0]
    return SeedsLooked.of(w, missed ** (1 - passed_over))


def places_by_chance(context: BatchContext, lines: Lines, n_bases: float) -> F64:
    """float64[k]: places among `n_bases`, both strands of them, where some part of a read fits as well by chance."""
    aligned = np.maximum(lines.end - lines.begin, 1)
    errors = np.maximum(lines.mismatches(context.params.scoring), 0)
    found = chance_hits(aligned, errors, n_bases, context.letters_of(lines.read, lines.begin, lines.end))
    return (lines.clipped(context.lengths) + 1) * found


def quality_of(context: BatchContext, lines: Lines, rivals: Rivals, coverage: SeedCoverage) -> U8:
    """Mapping qualities of lines that no mate vouches for, uint8[k].

    The formula is that of whole reads (`search.mapq.mapping_quality`) for the aligned bases, with a difference in score
    counted as so many mismatches. Nothing is sure of a line that leaves out more bases whose seeds were passed over
    than it aligns: those have many places in the reference, and all of them score more.
    """
    looked, scoring, plan = Looked.of(context, lines, coverage), context.params.scoring, context.plan
    known = rivals.count * looked.found.odds ** rivals.further(scoring, lines)
    copies, near = Copies.of(looked.found), rivals.are_near(scoring, lines)
    hidden = unseen_alone(*copies, near, plan.spectrum) * family(looked.passed_over)
    found = quality(known, hidden, places_by_chance(context, lines, plan.n_bases))
    found[looked.elsewhere | (rivals.count > 0) & (lines.total <= rivals.total)] = 0
    return found


@optional(
    "supplementary",
    "Reports further parts of a read elsewhere.",
    instead=lambda aligner, places, primary: primary.take(np.empty(0, np.int64)),
)
def supplementary(aligner: Aligner, places: Places, primary: Lines) -> Lines:
    """Alignments of parts of reads that better ones leave over, the best first."""
    context = aligner.context
    least, n = context.params.scoring.least_score, context.n
    places = places.take(places.score >= least)
    begin, end = places.parts(context.lengths, context.params.scoring.match)
    found, free = [primary.take(primary.clipped(context.lengths) >= MUCH_CLIPPED)], np.ones(len(begin), bool)
    while True:
        line = line_of_read(found[-1], n)[places.read]
        free &= (line >= 0) & ~overlap(begin, end, at(found[-1].begin, line), at(found[-1].end, line))
        if not free.any():
            break
        lines = aligner.align_places(places.take(best_of(places, free, context)))
        found.append(lines.take(_leave_over(lines, found, n) & (lines.hits["score"] >= least)))
    lines = aligner.left_over(found[0], places)
    lines = lines.take(_leave_over(lines, found, n) & (lines.hits["score"] >= least))
    lines = lines.take(np.lexsort((-lines.hits["score"], lines.read)))
    return Lines.concatenate([*found[1:], lines.take(rank(lines.read) == 0)])


def _leave_over(lines: Lines, others: list[Lines], n: int) -> Bool:
    """bool[k]: lines of some bases, other ones than the others of their read; each of these has one line a read."""
    free = lines.end > lines.begin
    for other in others:
        line = line_of_read(other, n)[lines.read]
        clash = overlap(lines.begin, lines.end, at(other.begin, line), at(other.end, line))
        free &= (line < 0) | ~clash
    return free
