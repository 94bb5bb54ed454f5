"""Local alignments of pairs: where one mate has a place, the other is looked for around it, clipped or not.

Pairs that the whole-read search settled keep their places. Of the others, a mate without a concordant place is scored
in every band of the windows that the insert sizes leave around the best places of its partner. Of all concordant pairs
of places the best one is taken, if it costs less than `PAIR_BONUS` in score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gassst._core import mate_anchors as _mate_anchors
from gassst.index.reference import contig_before
from gassst.local.align import Aligner
from gassst.local.joint import PAIR_BONUS, Joint, any_within, candidates_of, choose
from gassst.local.places import Lines, Places, at, line_of_read, of_reads
from gassst.model.array_types import F64, I64, U32, Bool
from gassst.model.layouts import SAME_PLACE
from gassst.model.rules import optional
from gassst.pairing.orientation import leads, partner_strand, partner_window
from gassst.search.context import BatchContext, PairContext
from gassst.search.host import RESCUE_PLACES

# Bases in a row that a band must have in common with a mate to be scored. Of 17,804 bands in the windows of real
# E. coli mates 780 have them, and all that score 13 or more; of human ones all that score 16 or more
# (lab/constants.md).
RUN = 9


@dataclass(frozen=True, eq=False, repr=False)
class PairedPlaces:
    """The primaries of a batch of `n` reads after mates were placed together.

    Attributes
    ----------
    primary : Lines
    places : Places
        All known places, those found beside mates included.
    joined : uint32[j]
        Reads that lie beside their mate by what the scores of both say; both mates of a pair.
    wrong : float64[n]
        Of the joined: weight of all other known pairs of places, relative to those with the place that is reported.
    """

    primary: Lines
    places: Places
    joined: U32
    wrong: F64

    @classmethod
    def none(cls, n: int, primary: Lines, places: Places) -> PairedPlaces:
        """Where no mates were placed together."""
        return cls(primary, places, np.empty(0, np.uint32), np.zeros(n))


@optional(
    "placed-together",
    "Chooses the places of both mates together, by their scores.",
    instead=lambda aligner, pairs, decided, primary, places: PairedPlaces.none(
        aligner.context.n, primary, places
    ),
)
def pair_up(
    aligner: Aligner, pairs: PairContext, decided: Bool, primary: Lines, places: Places
) -> PairedPlaces:
    """Place mates together where the best concordant pair of places costs less than it is worth.

    `decided` bool[n]: reads that keep their place.
    """
    context, n = aligner.context, aligner.context.n
    aligned = of_reads(primary, n)
    movable = pairs.paired & ~decided & aligned[pairs.partner]
    if not movable.any():
        return PairedPlaces.none(n, primary, places)
    concerned = movable | movable[pairs.partner]
    rows = candidates_of(aligner, concerned, places)
    new = _beside_guides(aligner, pairs, movable & pairs.rescuable, aligned, places.take(rows))
    if len(new.read):
        places = Places.concatenate([places, new])
        rows = candidates_of(aligner, concerned, places)
    lines, candidates = primary.take(concerned[primary.read]), places.take(rows)
    choice = choose(context, pairs, np.flatnonzero(concerned), candidates, lines)
    return _moved(aligner, choice, rows[choice.rows], primary, places)


def _beside_guides(
    aligner: Aligner, pairs: PairContext, wanted: Bool, aligned: Bool, known: Places
) -> Places:
    """Places of `wanted` mates (bool[n]) in the windows that the known places of `aligned` mates leave (bool[n]).

    Mates with a `known` candidate in such a window are not looked for around that guide.
    """
    guides = known.take(aligned[known.read] & wanted[pairs.partner[known.read]])
    mates, windows = pairs.partner[guides.read], _windows(aligner.context, pairs, guides)
    low, high, strand = windows
    is_known = any_within(known, 2 * mates[:, None] + strand, low, high).any(axis=1, keepdims=True)
    guide, library = np.nonzero((low <= high) & ~is_known)
    if not guide.size:
        return Places.none()
    windows = np.ascontiguousarray(windows[:, guide, library])
    bands = _mate_anchors.bands_in_windows(mates[guide], windows, aligner.context, RESCUE_PLACES, RUN)
    found = aligner.score_bands(*bands)
    return found.take(found.score >= aligner.least_scores(found.read_strand, PAIR_BONUS))


def _moved(aligner: Aligner, choice: Joint, rows: I64, primary: Lines, places: Places) -> PairedPlaces:
    """The primaries, with mates where their concordant pair has them: in `rows` (int64[j]) of the places."""
    n, reads, chosen = aligner.context.n, choice.reads, places.take(rows)
    line = line_of_read(primary, n)[reads]
    stays = (line >= 0) & (at(primary.read_strand, line) == chosen.read_strand)
    near = [
        np.abs(at(diagonal, line) - chosen.diagonal) <= SAME_PLACE
        for diagonal in (primary.first_diagonal, primary.last_diagonal)
    ]
    moves = rows[~(stays & (near[0] | near[1]))]
    if moves.size:
        leaves = np.zeros(n, bool)
        leaves[places.read[moves]] = True
        moved = aligner.align_places(places.take(moves))
        primary = Lines.concatenate([primary.take(~leaves[primary.read]), moved])
    # Mates are neighbouring rows.
    both = np.repeat(of_reads(primary, n)[reads].reshape(-1, 2).all(axis=1), 2)
    wrong = np.zeros(n)
    wrong[reads] = choice.wrong
    return PairedPlaces(primary, places, reads[both].astype(np.uint32), wrong)


def _windows(context: BatchContext, pairs: PairContext, guides: Places) -> I64:
    """int64[3, k, l]: first and last diagonal and strand that each of the guides leaves the mate, by each of the `l`
    orientations of the library.

    A window ends where the contig of the guide does.
    """
    read = guides.read
    partner, diagonal = pairs.partner[read], guides.diagonal
    length, other = (context.lengths[r].astype(np.int64) for r in (read, partner))
    strand = (guides.read_strand & 1).astype(np.int64)
    reference = context.reference
    contig = contig_before(reference.starts, diagonal + guides.strand_end - 1)
    first, end = reference.starts[contig] - other, reference.starts[contig] + reference.lengths[contig]
    windows = []
    for each in pairs.insert.libraries:
        leading = leads(each.orientation, strand, pairs.mate[read].astype(np.int64))
        low, high = partner_window(leading, diagonal, length, other, each.low, each.high)
        windows.append(
            [np.maximum(low, first), np.minimum(high, end), partner_strand(each.orientation, strand)]
        )
    return np.moveaxis(np.array(windows), 0, 2)
