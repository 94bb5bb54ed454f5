"""Pairs that whole reads do not decide: the known places of both mates are weighed together, by their scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gassst._core import pair_scoring as _pair_scoring
from gassst.local.align import Aligner
from gassst.local.places import Lines, Places, overlap
from gassst.model.array_types import COORDINATE_BITS, F64, I64, U8, Bool, place_keys
from gassst.model.layouts import NO_SCORE, SAME_PLACE
from gassst.pairing.pair_scoring import EDIT_PHRED, PairedReads, PlacesByRead
from gassst.search.context import BatchContext, PairContext

# Score that a concordant place is worth: bwa's -U.
PAIR_BONUS = 17
LAST_DIAGONAL = (1 << COORDINATE_BITS) - 1


def candidates_of(aligner: Aligner, concerned: Bool, places: Places) -> I64:
    """int64[c]: rows of the places where `concerned` mates (bool[n]) may lie, by read, strand and diagonal.

    A mate can make up for what they score less than the best place of their read. Of places on neighbouring diagonals
    it is the best one, of equals the one that the search of whole reads chose.
    """
    enough = places.score >= aligner.least_scores(places.read_strand, PAIR_BONUS)
    rows = np.flatnonzero(concerned[places.read] & enough)
    read, total = places.read[rows], places.total[rows].astype(np.int64)
    best = np.full(aligner.context.n, np.iinfo(np.int64).min)
    np.maximum.at(best, read, total)
    rows = rows[total >= best[read] - PAIR_BONUS]
    if not rows.size:
        return rows
    # Nearly in order already: a stable sort is fast.
    rows = rows[np.argsort(place_keys(places.read_strand[rows], places.diagonal[rows]), kind="stable")]
    diagonal, strand = places.diagonal[rows], places.read_strand[rows]
    new = np.ones(len(rows), bool)
    new[1:] = (strand[1:] != strand[:-1]) | (diagonal[1:] - diagonal[:-1] > SAME_PLACE)
    order = 2 * places.total[rows] + places.given[rows]
    place = np.cumsum(new) - 1
    is_best = np.flatnonzero(order == np.maximum.reduceat(order, np.flatnonzero(new))[place])
    first = np.ones(len(is_best), bool)
    first[1:] = place[is_best[1:]] != place[is_best[:-1]]
    return rows[is_best[first]]


def any_within(candidates: Places, strand: I64, low: I64, high: I64) -> Bool:
    """bool[w]: whether a candidate lies on low .. high (diagonals, int64[w]) of a strand (2 * read + reverse).

    The candidates are those of `candidates_of`, in their order.
    """
    keys = place_keys(candidates.read_strand, candidates.diagonal)
    first, last = (place_keys(strand, np.clip(diagonal, 0, LAST_DIAGONAL)) for diagonal in (low, high))
    return np.searchsorted(keys, first) < np.searchsorted(keys, last, side="right")


def _share_a_diagonal(candidates: Places, rows: I64) -> Bool:
    """bool[k]: whether each begins or ends where the one in `rows` (int64[k]) does, on the same strand."""
    ends = candidates.first_diagonal, candidates.diagonal
    near = [np.abs(own - other[rows]) <= SAME_PLACE for own in ends for other in ends]
    return np.any(near, axis=0) & (candidates.read_strand == candidates.read_strand[rows])


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


def choose(context: BatchContext, pairs: PairContext, reads: I64, candidates: Places, lines: Lines) -> Joint:
    """The best pairs of places among the candidates of `reads` (int64[c], whole pairs, ascending).

    What one point of score says of a place comes from the errors of the `lines`, at most one a read.
    """
    primary, proper, wrong = _weighed(context, pairs, reads, candidates, lines)
    chosen = primary[np.searchsorted(reads, candidates.read)]
    begin, end = candidates.parts(context.lengths, context.params.scoring.match)
    is_rival = overlap(begin, end, begin[chosen], end[chosen]) & ~_share_a_diagonal(candidates, chosen)
    is_rival[primary[primary >= 0]] = True
    if not is_rival.all():
        _, _, wrong = _weighed(context, pairs, reads, candidates.take(is_rival), lines)
    joined = np.flatnonzero(proper)
    return Joint(reads[joined], primary[joined], wrong[joined])


def _weighed(
    context: BatchContext, pairs: PairContext, reads: I64, candidates: Places, lines: Lines
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
