"""Rivals of alignments with local ends, mapping qualities, supplementary alignments (--mode local)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gassst._core import local_places as _local_places
from gassst.layouts import NO_SUBOPTIMAL
from gassst.local.align import Aligner
from gassst.local.places import FAR, Columns, Lines, Places, at, best_of, overlap, rank
from gassst.local.reseed import STRIDE, seed_length
from gassst.search.mapq import MAX_MAPQ, _chance
from gassst.seeding.plan import MARGIN

if TYPE_CHECKING:
    from gassst.search.single import BatchSearch

MIN_ERROR_RATE = 0.005  # of a read without any error
PARTS = 3  # supplementary alignments of a read


@dataclass
class Rivals(Columns):
    """Of the line of each read: the next best place's `total` and `score`, and how many there are with that total."""

    total: np.ndarray
    score: np.ndarray
    count: np.ndarray

    @classmethod
    def none(cls, k: int) -> Rivals:
        """Of lines that have none."""
        return cls(np.zeros(k, np.int32), np.full(k, NO_SUBOPTIMAL, np.int32), np.zeros(k, np.int64))


class Rivalry:
    """Compares the alignments of one batch with the other places of their reads."""

    def __init__(self, search: BatchSearch):
        self.search, self.scoring, self.lengths, self.n = (
            search,
            search.params.scoring,
            search.lengths,
            search.n,
        )
        self.stretch = seed_length(search.index) + STRIDE - 1

    def rivals(self, lines: Lines, places: Places) -> tuple[Rivals, Places]:
        """Of every line (one a read at most) the next best place for the same part of the read; and all of these."""
        place = places.read_strand, places.diagonal, places.score, places.total, places.reached, places.rows
        line = lines.read_strand, lines.begin, lines.end, lines.first_diagonal, lines.last_diagonal
        total, score, count, order = _local_places.rivals(*place, *line, self.lengths, self.scoring.match)
        return Rivals(total, score, count), places.take(order)

    def quality(
        self, lines: Lines, rivals: Rivals, far: np.ndarray, bonus: np.ndarray | int = 0
    ) -> np.ndarray:
        """Mapping qualities, uint8[k]. `bonus`: what a line's score gains over its rivals' for its mate.

        As for whole reads (select.mapping_quality), a difference in score counting as so many mismatches, and so a
        long gap as a few. Where no rival is known, one is assumed that the seeds would not have found: of a read that
        was looked into once more (`far`) it has a mismatch in every stretch of a seed's length.
        """
        aligned = np.maximum(lines.end - lines.begin, 1)
        mismatch = self.scoring.match + self.scoring.mismatch
        edits = np.maximum(0, -(-(aligned * self.scoring.match - lines.hits["score"]) // mismatch))
        rate = np.clip((edits + 0.5) / aligned, MIN_ERROR_RATE, 0.5)
        known = rivals.count > 0
        unseen = np.where(far, np.maximum(1, aligned // self.stretch), MARGIN + 1)
        total = lines.total + bonus
        worse = (total - rivals.total) / mismatch
        odds = rate / (np.where(known, 1, 3) * (1 - rate))
        wrong = np.where(known, rivals.count, 1) * odds ** np.maximum(np.where(known, worse, unseen), 0)
        wrong = wrong + _chance(aligned, edits, len(self.search.index.positions))
        quality = np.minimum(MAX_MAPQ, np.floor(-10 * np.log10(np.clip(wrong / (1 + wrong), 1e-9, 1))))
        quality[known & (rivals.total >= total)] = 0
        return quality.astype(np.uint8)

    def part_quality(self, lines: Lines, places: Places) -> np.ndarray:
        """Mapping qualities of supplementary alignments, of which a read may have several."""
        quality = np.zeros(len(lines.read), np.uint8)
        order = np.argsort(lines.read, kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = rank(lines.read[order])
        for i in range(ranks.max(initial=-1) + 1):
            some = np.flatnonzero(ranks == i)
            part = lines.take(some)
            rivals, _ = self.rivals(part, places)
            quality[some] = self.quality(part, rivals, np.ones(len(some), bool))
        return quality


def supplementary(search: BatchSearch, aligner: Aligner, places: Places, primary: Lines) -> Lines:
    """Alignments of parts that better ones leave over, the best first."""
    least = search.params.scoring.min_score
    places = places.take(places.score >= least)
    begin, end = places.parts(search.lengths, search.params.scoring.match)
    taken, found = primary.take(primary.clipped(search.lengths) >= FAR), [primary.take(np.empty(0, np.int64))]
    of_read = np.full(search.n, -1, np.int64)
    free = np.ones(len(begin), bool)
    for _ in range(PARTS):
        of_read[:] = -1
        of_read[taken.read] = np.arange(len(taken.read))
        line = of_read[places.read]
        free &= (line >= 0) & ~overlap(begin, end, at(taken.begin, line), at(taken.end, line))
        if not free.any():
            break
        lines = aligner.places(places.take(best_of(places, free, search.flip, search.digest)))
        keep = lines.hits["score"] >= least
        for before in (primary, *found):
            of_read[:] = -1
            of_read[before.read] = np.arange(len(before.read))
            line = of_read[lines.read]
            clash = overlap(lines.begin, lines.end, *(at(c, line) for c in (before.begin, before.end)))
            keep &= (line < 0) | ~clash
        taken = lines.take(keep)
        found.append(taken)
    return Lines.concatenate(found)
