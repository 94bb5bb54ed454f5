"""Rivals of local alignments, their mapping qualities, supplementary alignments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gassst._core import local_places as _local_places
from gassst._core import local_rows as _local_rows
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
from gassst.rules import optional
from gassst.search.arrays import F64, I64, U8, Bool
from gassst.search.context import BatchContext
from gassst.search.mapq import AS_LIKELY, MATE_MODEL, MAX_MAPQ, REFERENCE_LENGTH, chance_places, lost_growth
from gassst.seeding.plan import EXTRA_STRATA

PARTS = 3  # supplementary alignments of a read
# How many rivals of a read are assumed that dense seeds did not lead to: in a reference of REFERENCE_BASES, and in the
# largest ones. There are more where the seeds of a stretch were passed over, as they occur too often, and still more in
# reads with many errors: docs/mapq.md.
UNSEEN, MOST_UNSEEN, IN_REPEATS = 0.47, 1.6, 16.0
# Single reads have no mate that tells copies apart. How many times more rivals are assumed for them, and as how many
# each known one counts, since others of its family stay hidden. Then how many there are for 100 aligned bases, with one
# difference beside a known rival, and with two where none is known. There are fewer in longer alignments.
SINGLE, FAMILY, BESIDE_KNOWN, BESIDE_NONE, LENGTH_RATE = 4.4, 5.0, 0.12, 0.7, 1.39
# A single read that leaves out more than MUCH_CLIPPED bases at an end often lies where a copy fits, and its true place
# has a gap or many errors there. Others then weigh up to so many times more, half of that from the second weight on.
LONG_CLIP, LONG_CLIP_FROM = 10.0, 0.05


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
    unseen : float64[n]
        Of these others, if they are single, what the rivals weigh that the search of whole reads has not counted.
    passed_over : PassedOver
        Of those that were looked up.
    """

    reseeded: Bool
    share: F64
    unseen: F64
    passed_over: PassedOver


class Unseen(NamedTuple):
    """What the rivals of a line weigh that the search has not counted, and what a mate adds.

    Dense seeds may not lead to a rival. Such a one has a difference in every seed of the aligned bases that was looked
    at: in every `stride` bases one begins. Where none was passed over it has one at least, however short the alignment
    is. Of single reads without dense seeds the search of whole reads says what they weigh (`SeedCoverage.unseen`).

    Attributes
    ----------
    prior : of the rate of errors
    near_repeats, repeat_slope : how many times more there are in a repeat, and how that grows with the errors
    unseen : of a read that was looked up with dense seeds
    single, family : how many times more of a single read, and as how many a known one counts
    beside_known, beside_none : of a single read with `reference_length` aligned bases, with one difference where a
        rival is known, and with two where none is
    length_rate : exponent by which there are fewer of these in longer ones
    long_clip, long_clip_from : how many times more all others weigh, at most, beside a single read with an end of more
        than `much_clipped` bases; from which weight on half of that
    strata : differences of rivals that seeds of whole reads missed, of a mate
    over_unseen : what the mate adds over these rivals, in mismatches
    as_likely, most_quality : as in `search.mapq.phred`
    seed, stride : of dense seeds, in bases
    match, mismatch : scores; of a mismatch what it loses
    over_known : what the mate adds over known rivals, in score
    much_clipped : ends of so many bases and less may be the errors of a wrong place
    """

    prior: float
    near_repeats: float
    repeat_slope: float
    unseen: float
    single: float
    family: float
    beside_known: float
    beside_none: float
    reference_length: float
    length_rate: float
    long_clip: float
    long_clip_from: float
    strata: float
    over_unseen: float
    as_likely: float
    most_quality: float
    seed: int
    stride: int
    match: int
    mismatch: int
    over_known: int
    much_clipped: int

    @classmethod
    def of(cls, context: BatchContext, over_known: int, over_unseen: int) -> Unseen:
        """In this reference. Rates are those of mates as wholes (`search.mapq.MATE_MODEL`)."""
        scoring = context.params.scoring
        mismatch = scoring.match + scoring.mismatch
        return cls(
            prior=MATE_MODEL.prior,
            near_repeats=IN_REPEATS,
            repeat_slope=MATE_MODEL.lost_slope,
            unseen=min(UNSEEN * lost_growth(context.plan.n_bases, MATE_MODEL), MOST_UNSEEN),
            single=SINGLE,
            family=FAMILY,
            beside_known=BESIDE_KNOWN,
            beside_none=BESIDE_NONE,
            reference_length=REFERENCE_LENGTH,
            length_rate=LENGTH_RATE,
            long_clip=LONG_CLIP,
            long_clip_from=LONG_CLIP_FROM,
            strata=EXTRA_STRATA + 1,
            over_unseen=over_unseen / mismatch,
            as_likely=AS_LIKELY,
            most_quality=MAX_MAPQ,
            seed=seed_length(context.index),
            stride=STRIDE,
            match=scoring.match,
            mismatch=mismatch,
            over_known=over_known,
            much_clipped=MUCH_CLIPPED,
        )


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
    `single` (bool[k]): of reads that were not placed together with a mate. Bases that these leave out may count as
    errors.

    The formula is that of whole reads (`search.mapq.rated`), with a difference in score counted as so many mismatches;
    a long gap counts as a few. Beside the known rivals those are assumed that seeds did not lead to (`Unseen`). Nothing
    is sure of a line that leaves out more bases whose seeds were passed over than it aligns: those have many places in
    the reference, and all of them score more.

    A wrong place leaves out what errors hide of the true one. So clipped ends of MUCH_CLIPPED bases and less count as
    errors. An adapter is no error, and longer ends are taken for one.
    """
    columns = (
        np.broadcast_to(single, len(lines.read)).astype(np.uint8),
        Unseen.of(context, over_known, over_unseen),
    )
    everywhere = n_bases or context.plan.n_bases

    def chance(aligned: I64, edits: I64) -> F64:
        return chance_places(aligned, edits, everywhere)

    return _local_rows.qualities(lines, rivals, seed_coverage, context.lengths, *columns, chance)


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
