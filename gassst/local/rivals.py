"""Rivals of local alignments, their mapping qualities, supplementary alignments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gassst._core import local_places as _local_places
from gassst.local.align import Aligner
from gassst.local.places import MUCH_CLIPPED, Lines, Places, at, line_of_read, overlap, rank
from gassst.local.reseed import PassedOver
from gassst.model.array_types import I64, Bool
from gassst.model.rules import optional
from gassst.search.arrays import Seen
from gassst.search.context import BatchContext


class Rivals(NamedTuple):
    """The next best place beside each line: its `total` and `score` (int32[k]), how many have that total (int64[k])."""

    total: np.ndarray
    score: np.ndarray
    count: I64  # type: ignore[assignment]

    def take(self, index: np.ndarray) -> Rivals:
        """The rows at `index`."""
        return Rivals(self.total.take(index), self.score.take(index), self.count.take(index))


def rivals_of(context: BatchContext, lines: Lines, places: Places) -> tuple[Rivals, I64, I64]:
    """Of every line the next best place for the same part of the read; rows of all such places, and their lines."""
    total, score, count, order, of_line = _local_places.rivals(lines.rows, places.rows, context)
    return Rivals(total, score, count), order, of_line


class SeedCoverage(NamedTuple):
    """What was looked at: bool[n], reads with dense seeds, and what was `passed_over` of them; of others `seen`."""

    reseeded: Bool
    seen: Seen
    passed_over: PassedOver


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
        some = places.take(free)
        lines = aligner.align_places(some.take(_local_places.best_of(some.rows, context)))
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
