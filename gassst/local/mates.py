"""Local alignments of pairs: where one mate has a place, the other is looked for around it, clipped or not.

Pairs that the whole-read search settled keep their places. Of the others, a mate without a concordant place is scored
in every band of the window that the insert sizes leave around its partner. A concordant place is taken where it costs
less than `PAIR_BONUS` in score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gassst._core import local_places as _local_places
from gassst._core import mate_anchors as _mate_anchors
from gassst.io.reference import contig_before
from gassst.local.align import Aligner, score_bands
from gassst.local.places import Lines, Places, at, best_of, line_of_read, of_reads
from gassst.local.rivals import Rivals, SeedCoverage, quality_of, rivals_of
from gassst.pairing.orientation import leads, partner_strand, partner_window
from gassst.search.arrays import I64, U8, U32, Bool
from gassst.search.context import BatchContext, PairContext
from gassst.search.mapq import MAX_MAPQ, library_odds, phred, raised

# Score that a concordant place is worth: bwa's -U.
PAIR_BONUS = 17
# Mapping quality up to which another place is as likely: at 3 that is one chance in two. 0 to 10 give the same
# shares (docs/benchmarks/constants.md).
EVEN = 3
# Bases in a row that a band must have in common with a mate to be scored. Of 17,804 bands in the windows of real
# E. coli mates 780 have them, and all that score 13 or more; of human ones all that score 16 or more
# (docs/benchmarks/constants.md).
RUN = 9
# Buckets of a window from which on a mate is left to its own seeds. Windows of usual libraries are narrower
# (docs/benchmarks/constants.md).
MOST_BUCKETS = 256
NOWHERE = -(1 << 40)  # less than any score


@dataclass(frozen=True, eq=False, repr=False)
class PairedPlaces:
    """The primaries of a batch of `n` reads after mates were placed together.

    Attributes
    ----------
    primary : Lines
        Of the reads that were not settled at once.
    places : Places
        All known places, those found beside mates included.
    joined : uint32[j]
        Reads that were placed beside their mate here.
    rescued : bool[n]
        Those of them whose place was found beside the mate alone.
    concordant : bool[k]
        The `places` that lie where the line of the mate asks for.
    """

    primary: Lines
    places: Places
    joined: U32
    rescued: Bool
    concordant: Bool

    @classmethod
    def none(cls, n: int, primary: Lines, places: Places) -> PairedPlaces:
        """Where no mates were placed together."""
        nowhere = np.zeros(len(places.read), bool)
        return cls(primary, places, np.empty(0, np.uint32), np.zeros(n, bool), nowhere)


def pair_up(
    aligner: Aligner, pairs: PairContext, decided: Bool, clear: Lines, primary: Lines, places: Places
) -> PairedPlaces:
    """Place mates together where a concordant place costs less than it is worth.

    `decided` bool[n]: reads that keep their place. `clear`: lines of the settled reads.
    """
    context, n = aligner.context, aligner.context.n
    settled = of_reads(clear, n)
    aligned = settled | of_reads(primary, n)
    movable = pairs.paired & ~decided & aligned[pairs.partner] & ~settled
    if not movable.any():
        return PairedPlaces.none(n, primary, places)
    concerned = movable | movable[pairs.partner]
    lines = Lines.concatenate([some.take(concerned[some.read]) for some in (clear, primary)])
    line = line_of_read(lines, n)
    windows = _windows(context, pairs, np.flatnonzero(movable), lines, line)
    fits = _fitting(aligner, places, movable, windows)
    lonely = movable & pairs.rescuable
    lonely[places.read[fits]] = False
    n_known = len(places.read)
    wanted = np.flatnonzero(lonely)
    new = score_bands(aligner, *_mate_anchors.bands_in_windows(wanted, windows, context, MOST_BUCKETS, RUN))
    if len(new.read):
        fits = np.concatenate([fits, _fitting(aligner, new, movable, windows)])
        places = Places.concatenate([places, new])
    rows = np.flatnonzero(fits)
    some = places.take(rows)
    rows = rows[best_of(some, np.ones(rows.size, bool), context)]
    taken = _better_mates(pairs, places, rows, lines, line)
    moved = aligner.align_places(places.take(taken))
    rescued = np.zeros(n, bool)
    rescued[places.read[taken[taken >= n_known]]] = True
    staying = primary.take(~of_reads(moved, n)[primary.read])
    return PairedPlaces(Lines.concatenate([staying, moved]), places, moved.read, rescued, fits)


def _fitting(aligner: Aligner, places: Places, movable: Bool, windows: np.ndarray) -> Bool:
    """bool[k]: places of movable reads (bool[n]) in their windows, worth reporting beside a mate."""
    fits = movable[places.read]
    rows = np.flatnonzero(fits)
    some = places.take(rows)
    inside = _local_places.in_windows(some.read_strand, some.diagonal, windows)
    fits[rows] = inside & (some.score >= aligner.least_scores(some.read_strand, PAIR_BONUS))
    return fits


def _better_mates(pairs: PairContext, places: Places, rows: I64, lines: Lines, line: I64) -> I64:
    """Those of the concordant places (rows of `places`, one a read) to take: of a pair the one that gains more."""
    read = places.read[rows]
    gain = np.full(len(line), np.iinfo(np.int32).min, np.int64)
    gain[read] = places.total[rows] + PAIR_BONUS - at(lines.total, line[read])
    own, other = gain[read], gain[pairs.partner[read]]
    return rows[(own >= 0) & ((own > other) | ((own == other) & (pairs.mate[read] == 1)))]


def pair_quality(
    context: BatchContext,
    pairs: PairContext,
    paired: PairedPlaces,
    rivals: Rivals,
    seed_coverage: SeedCoverage,
    quality: U8,
) -> None:
    """Raise `quality` (uint8[n], changed in place) of mates that were placed together.

    A reported place can be wrong in two ways. Both mates lie elsewhere together: each is as unlikely as its own quality
    says. Or this one lies elsewhere alone, which costs it the worth of a concordant place. A mate that was found only
    around the other one has no quality of its own.
    """
    reads = np.r_[paired.joined, pairs.partner[paired.joined]]
    concerned = np.zeros(context.n, bool)
    concerned[reads] = True
    primary = paired.primary
    some = np.flatnonzero(concerned[primary.read])
    lines = primary.take(some)
    # A rival that is not concordant lacks the worth of a concordant place; chance has the window alone.
    beside_mate = PAIR_BONUS, pairs.window_bases / 2
    near = quality_of(context, lines, rivals.take(some), seed_coverage, PAIR_BONUS, *beside_mate)
    # Rivals that are concordant, too, as the copies of a tandem repeat are, gain as much as the reported place.
    beside, _ = rivals_of(context, lines, paired.places.take(paired.concordant))
    near = np.minimum(near, quality_of(context, lines, beside, seed_coverage, 0, *beside_mate))
    given_mate = np.full(context.n, MAX_MAPQ, np.uint8)
    given_mate[primary.read[some]] = near
    alone = np.where(paired.rescued, 0, quality).astype(np.uint8)
    # Both mates are misplaced together, or this one leaves a mate that stays.
    own, other = alone[reads].astype(np.int64), alone[pairs.partner[reads]].astype(np.int64)
    # Two mates that may as well lie elsewhere do not make each other sure.
    both = np.where(np.maximum(own, other) <= EVEN, np.maximum(own, other), own + other)
    shared = np.minimum(both, given_mate[reads]).astype(np.uint8)
    quality[reads] = np.maximum(alone[reads], shared)


def bounded_by_scores(
    context: BatchContext,
    pairs: PairContext,
    decided: Bool,
    primary: Lines,
    places: Places,
    behind: Places,
    quality: U8,
) -> None:
    """Lower `quality` (uint8[n], changed in place) of decided pairs to what the scores of their alignments allow.

    Whole reads decided on these pairs (`decided`, bool[n]). Where a mate ends up clipped, the errors that made the
    difference may lie in what is clipped: an adapter looks more like one copy by chance. So other pairs of places are
    weighed by the scores of both mates. `behind`: the rivals of the lines `primary` among the `places`.
    """
    n, mismatch = context.n, context.params.scoring.match + context.params.scoring.mismatch
    line, clipped = line_of_read(primary, n), np.zeros(n, bool)
    clipped[primary.read] = primary.clipped(context.lengths) > 0
    concerned = decided & (line >= 0) & pairs.paired
    concerned &= concerned[pairs.partner] & (clipped | clipped[pairs.partner])
    rivals = behind.take(concerned[behind.read])
    read = rivals.read
    partner = pairs.partner[read]
    total = _best_concordant(context, pairs, rivals, places.take(concerned[places.read]))
    some = np.flatnonzero(total > NOWHERE)
    if not some.size:
        return
    reported = at(primary.total, line[read]) + at(primary.total, line[partner])
    lost = np.maximum(reported - rivals.total - total, 0) / mismatch
    aligned = primary.end - primary.begin
    edits = -(-(aligned * context.params.scoring.match - primary.hits["score"]) // mismatch)
    odds = library_odds(edits, aligned, pairs.insert.errors)
    weight = np.bincount(read[some], (odds[line[read]] ** lost)[some], n)
    reads = np.flatnonzero(weight)
    quality[reads] = np.minimum(quality[reads], raised(phred(weight[reads])))


def _best_concordant(context: BatchContext, pairs: PairContext, places: Places, others: Places) -> I64:
    """int64[k]: the best total among `others` of a place of the mate in the window that each of the `places` leaves;
    NOWHERE where none lies there."""
    length = context.lengths.astype(np.int64)
    read, strand = places.read, (places.read_strand & 1).astype(np.int64)
    partner, insert = pairs.partner[read].astype(np.int64), pairs.insert
    leading = leads(insert.orientation, strand, pairs.mate[read].astype(np.int64))
    window = partner_window(
        leading, places.diagonal.astype(np.int64), length[read], length[partner], insert.low, insert.high
    )
    side = (2 * partner + partner_strand(insert.orientation, strand)) << 32
    keys = others.read_strand.astype(np.int64) << 32 | others.diagonal.astype(np.int64)
    order = np.argsort(keys, kind="stable")
    low, high = (side + np.clip(diagonal, 0, 0xFFFFFFFF) for diagonal in window)
    first = np.searchsorted(keys[order], low)
    count = np.maximum(np.searchsorted(keys[order], high, side="right") - first, 0)
    row = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
    best = np.full(len(read), NOWHERE, np.int64)
    np.maximum.at(best, np.repeat(np.arange(len(read)), count), others.total[order[row]].astype(np.int64))
    return best


def _windows(context: BatchContext, pairs: PairContext, reads: I64, lines: Lines, line: I64) -> np.ndarray:
    """int64[3, n]: first and last diagonal and strand that the partner's line leaves each of the reads.

    The windows of all other reads are empty. A window ends where the partner's contig does.
    """
    partner = pairs.partner[reads]
    row = line[partner]
    diagonal = lines.first_diagonal[row].astype(np.int64)
    length, own = (context.lengths[r].astype(np.int64) for r in (partner, reads))
    strand = (lines.read_strand[row] & 1).astype(np.int64)
    insert, reference = pairs.insert, context.reference
    leading = leads(insert.orientation, strand, pairs.mate[partner].astype(np.int64))
    low, high = partner_window(leading, diagonal, length, own, insert.low, insert.high)
    contig = contig_before(reference.starts, lines.hits["position"][row])
    windows = np.zeros((3, context.n), np.int64)
    windows[1] = -1
    windows[0, reads] = np.maximum(low, reference.starts[contig] - own)
    windows[1, reads] = np.minimum(high, reference.starts[contig] + reference.lengths[contig])
    windows[2, reads] = partner_strand(insert.orientation, strand)
    return windows
