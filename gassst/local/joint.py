"""Pairs that whole reads do not decide: the known places of both mates are weighed together, by their scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gassst._core import pair_scoring as _pair_scoring
from gassst.local.align import Aligner
from gassst.local.places import Columns, Lines, Places, overlap, rank
from gassst.model.array_types import COORDINATE_BITS, F64, I64, U8, U32, Bool, place_keys
from gassst.model.layouts import NO_SCORE, SAME_PLACE
from gassst.pairing.pair_scoring import EDIT_PHRED, PairedReads, PlacesByRead
from gassst.search.context import BatchContext, PairContext

# Score that a concordant place is worth: bwa's -U.
PAIR_BONUS = 17
# Score behind the best one that a place may have, beyond the worth of a concordant place, and still be weighed.
BEHIND = 12
# Places of a read around which its mate is looked for. Bacteria have seven copies of their rRNA operon: with 2 four of
# 16,000 mates over insertions of 60 and 100 bases in E. coli are wrong with MAPQ 20 to 40, and none with 8.
GUIDES = 8
LAST_DIAGONAL = (1 << COORDINATE_BITS) - 1


@dataclass(frozen=True, eq=False, repr=False)
class Candidates(Columns):
    """Where the mates of pairs may lie, by read and strand; of alignments at one place the best.

    Attributes
    ----------
    read_strand : uint32[k], diagonal, first_diagonal : int64[k]
        The diagonals on which the alignment ends and begins.
    inside : int64[k]
        Coordinate of an aligned base.
    begin, end : int64[k]
        The aligned bases of the read as sequenced.
    total : int64[k]
        Score and bonus of each end that is reached.
    given : bool[k]
        The place that the whole-read search chose.
    row : int64[k]
        Of the `Places`; -1: the line of a settled read.
    """

    read_strand: U32
    diagonal: I64
    first_diagonal: I64
    inside: I64
    begin: I64
    end: I64
    total: I64
    given: Bool
    row: I64

    @cached_property
    def read(self) -> U32:
        """uint32[k]"""
        return self.read_strand >> np.uint32(1)

    @classmethod
    def of(cls, aligner: Aligner, concerned: Bool, clear: Lines, places: Places) -> Candidates:
        """Of the reads that are `concerned` (bool[n]): `clear` lines, and the `places` that count beside their best."""
        n = aligner.context.n
        lines = clear.take(concerned[clear.read])
        rows = np.flatnonzero(concerned[places.read])
        some = places.take(rows)
        enough = some.score >= aligner.least_scores(some.read_strand, PAIR_BONUS)
        rows, some = rows[enough], some.take(enough)
        # The last aligned base of a place and the first one of a line.
        inside = some.diagonal + some.strand_end - 1
        begin, end = some.parts(aligner.lengths, aligner.scoring.match)
        found = cls(
            np.concatenate([some.read_strand, lines.read_strand]),
            np.concatenate([some.diagonal, lines.last_diagonal]),
            np.concatenate([some.first_diagonal, lines.first_diagonal]),
            np.concatenate([inside, lines.hits["position"]]),
            np.concatenate([begin, lines.begin]),
            np.concatenate([end, lines.end]),
            np.concatenate([some.total, lines.total]).astype(np.int64),
            np.concatenate([some.given, np.ones(len(lines.read), bool)]),
            np.concatenate([rows, np.full(len(lines.read), -1)]),
        )
        best = np.full(n, np.iinfo(np.int64).min)
        np.maximum.at(best, found.read, found.total)
        return found.take(found.total >= best[found.read] - PAIR_BONUS - BEHIND)._distinct()

    def _distinct(self) -> Candidates:
        """The best of each place, those chosen before first among equals."""
        # Nearly in order already: a stable sort is fast.
        order = np.argsort(place_keys(self.read_strand, self.diagonal), kind="stable")
        if not order.size:
            return self
        diagonal, strand = self.diagonal[order], self.read_strand[order]
        new = np.ones(len(order), bool)
        new[1:] = (strand[1:] != strand[:-1]) | (diagonal[1:] - diagonal[:-1] > SAME_PLACE)
        rank = 2 * self.total[order] + self.given[order]
        place = np.cumsum(new) - 1
        best = np.flatnonzero(rank == np.maximum.reduceat(rank, np.flatnonzero(new))[place])
        first = np.ones(len(best), bool)
        first[1:] = place[best[1:]] != place[best[:-1]]
        return self.take(order[best[first]])

    def guides(self) -> Candidates:
        """Places around which mates are looked for: the best ones of every read."""
        order = np.lexsort((self.diagonal, -self.total, self.read))
        ordered = self.take(order)
        ranks = rank(ordered.read)
        best = ordered.total[np.maximum.accumulate(np.where(ranks == 0, np.arange(len(order)), 0))]
        return ordered.take((ranks < GUIDES) & (ordered.total >= best - PAIR_BONUS))

    def share_a_diagonal(self, rows: I64) -> Bool:
        """bool[k]: whether each begins or ends where the one in `rows` (int64[k]) does, on the same strand."""
        ends = self.first_diagonal, self.diagonal
        near = [np.abs(own - other[rows]) <= SAME_PLACE for own in ends for other in ends]
        return np.any(near, axis=0) & (self.read_strand == self.read_strand[rows])

    def any_within(self, strand: I64, low: I64, high: I64) -> Bool:
        """bool[w]: whether one lies on low .. high (diagonals, int64[w]) of a strand of a read (2 * read + reverse)."""
        keys = place_keys(self.read_strand, self.diagonal)
        first, last = (place_keys(strand, np.clip(diagonal, 0, LAST_DIAGONAL)) for diagonal in (low, high))
        return np.searchsorted(keys, first) < np.searchsorted(keys, last, side="right")


class Joint(NamedTuple):
    """Mates whose best pair of places is concordant.

    Attributes
    ----------
    reads : int64[j]
        Ascending, both mates of each pair.
    rows : int64[j]
        Of each its place among the candidates.
    wrong : float64[j]
        Weight of all pairs of places without that one, relative to those with it. A place of other bases of the read
        is no rival, and does not count.
    """

    reads: I64
    rows: I64
    wrong: F64


def choose(
    context: BatchContext, pairs: PairContext, reads: I64, candidates: Candidates, lines: Lines
) -> Joint:
    """The best pairs of places among the candidates of `reads` (int64[c], whole pairs, ascending).

    What one point of score says of a place comes from the errors of the `lines`, at most one a read.
    """
    primary, proper, wrong = _weighed(context, pairs, reads, candidates, lines)
    chosen = primary[np.searchsorted(reads, candidates.read)]
    begin, end = candidates.begin, candidates.end
    is_rival = overlap(begin, end, begin[chosen], end[chosen]) & ~candidates.share_a_diagonal(chosen)
    is_rival[primary[primary >= 0]] = True
    if not is_rival.all():
        _, _, wrong = _weighed(context, pairs, reads, candidates.take(is_rival), lines)
    joined = np.flatnonzero(proper)
    return Joint(reads[joined], primary[joined], wrong[joined])


def _weighed(
    context: BatchContext, pairs: PairContext, reads: I64, candidates: Candidates, lines: Lines
) -> tuple[I64, U8, F64]:
    """Rows of the places of the `reads` in the best pairs of places, whether these are concordant, and what all pairs
    of places without each weigh."""
    n, each = len(reads), context.params.scoring.match + context.params.scoring.mismatch
    lengths = context.lengths[reads]
    read = np.searchsorted(reads, candidates.read)
    loss = context.params.scoring.perfect(lengths)[read] - candidates.total
    least = np.full(n, NO_SCORE, np.int64)
    np.minimum.at(least, read, loss)
    odds = _odds_of_a_point(context, reads, least, lines)
    length = lengths[read]
    middle = candidates.diagonal + (length.astype(np.int64) + 1) // 2
    contig = np.searchsorted(pairs.borders, middle, side="right").astype(np.int32)
    start = np.concatenate([[0], np.cumsum(np.bincount(read, minlength=n))])
    read_strand = (2 * read + (candidates.read_strand & 1)).astype(np.uint32)
    places = PlacesByRead(read_strand, candidates.diagonal + length, loss.astype(np.uint16), contig, start)
    some = PairedReads(lengths, context.flip[reads], context.digest[reads], pairs.mate[reads], pairs.insert)
    point = EDIT_PHRED / each
    return _pair_scoring.choose_pairs(places, odds, some, PAIR_BONUS * point, point)[:3]


def _odds_of_a_point(context: BatchContext, reads: I64, least: I64, lines: Lines) -> F64:
    """float64[c]: how much less likely a place of each of the `reads` is for one point of score less.

    A mismatch costs match + mismatch. `least` int64[c]: what the best place of each loses. That stands for the errors
    of a read that has no line.
    """
    scoring = context.params.scoring
    each = scoring.match + scoring.mismatch
    edits, aligned = -(-least // each), context.lengths[reads].astype(np.int64)
    line = np.searchsorted(reads, lines.read)
    aligned[line] = lines.end - lines.begin
    edits[line] = lines.mismatches(scoring)
    return context.library.odds(np.clip(edits, 0, aligned), aligned) ** (1 / each)
