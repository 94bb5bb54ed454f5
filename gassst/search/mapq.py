"""From scored bands to what is reported: best strata or all hits, and mapping qualities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gassst._core import selection as _selection
from gassst.layouts import NO_SCORE, NO_SUBOPTIMAL, READ_SUMMARY
from gassst.pairing.error_rate import ErrorRate
from gassst.params import MIN_READ_LENGTH
from gassst.seeding.plan import EXTRA_STRATA, SearchPlan, chance_of_a_place

MAX_MAPQ = 60
UNSEEN_STRATA = 5  # an uncounted place may have 0 to 4 errors more than the best one
REFERENCE_LENGTH, REFERENCE_BASES = 100, 1e7  # where the model's scales are 1
# Qualities below the first are not compared with copies of a tandem repeat, nor copies with more mismatches than the
# second beyond those of the alignment.
LEAST_BESIDE_COPIES, MOST_BESIDE = 10, 6
# Weight of other places that counts as that of the one reported: where a mate has gaps, its pair in a copy on the other
# strand is taken to be a base or two longer or shorter, at most as much as that.
AS_LIKELY = 0.8
SHORTEST_PAIR = 50  # bases of the shortest mates that `PairModel.short` was fitted to
# Weight of other pairs of places from which on a rival of the pair is known, and up to which it says little.
KNOWN_PAIR, WEAK_PAIR = 1e-6, 1e-3
REFERENCE_ODDS = 0.04 / 3 / 0.96  # of one more error, in reads with 4 % mismatches
STEEPEST = 0.2  # errors per base up to which the model was fitted
SMALLEST = 4.6e6  # bases of the smallest genome that it was fitted to


@dataclass(frozen=True, eq=False, repr=False)
class MapqModel:
    """Constants of the mapping quality, of single reads by default. `scripts/fit/mapq.py` fits them (docs/mapq.md).

    Attributes
    ----------
    prior : errors that every read is taken to have had before its own were counted
    equal, further : expected uncounted places with as many errors as the best, and one stratum further
    growth : how many times more there are in each next stratum
    few, few_rate : how many times more there are where one disjoint seed was looked at; the rate at which this falls
        with each one more
    near_known, near_capped : how many times more there are beside a known second place, or a seed passed over
    near_clipped, clipped_power : how many times more there were if no seed had been looked at as planned; to the power
        of their share, which is itself taken to the second
    bases : exponent by which they grow with the reference
    lost, lost_slope, lost_length, lost_bases : reads whose true place was lost, at 20 % errors; its growth with errors
        per base; its fall with the length and its growth with the reference, as exponents
    lost_known : how many times more there are beside a known second place
    """

    prior: float = 0.613
    equal: float = 3.6e-6
    further: float = 0.0019
    growth: float = 5.72
    few: float = 31.3
    few_rate: float = 1.84
    near_known: float = 12.4
    near_clipped: float = 37.6
    clipped_power: float = 0.233
    near_capped: float = 1.79
    bases: float = 0.236
    lost: float = 0.0126
    lost_slope: float = 71.2
    lost_length: float = 1.76
    lost_bases: float = 0.776
    lost_known: float = 61.9


MODEL = MapqModel()
# Of mates that their pair decides. `PairModel` was fitted beside these.
MATE_MODEL = MapqModel(
    equal=1e-5,
    further=0.00897,
    growth=2.0,
    few=0.0,
    near_known=42.9,
    near_clipped=328.0,
    clipped_power=1.0,
    near_capped=2.07,
    bases=0.4,
    lost=0.0234,
    lost_slope=74.2,
    lost_length=1.39,
    lost_bases=0.96,
    lost_known=42.9,
)


@dataclass(frozen=True)
class PairModel:
    """What unseen rivals of both mates say of the pair, fitted by `scripts/fit/pairs.py`.

    Attributes
    ----------
    common : times the geometric mean of both mates' rivals: copies of one often lie beside copies of the other
    beside : the same where another pair of places is known: then the mates lie in a repeat
    alike : the same for each known pair of places: a family of copies of which some are hidden
    rate : exponent by which these three grow with the odds of one more error, from `REFERENCE_ODDS` on
    crowded : geometric mean of both mates' rivals from which on these three hardly grow any more
    short, short_power : beside a known pair, times what it weighs and both mates' rivals, to this power: few seeds lie
        in short mates, so that one difference hides a copy from all of them
    short_length : exponent by which there are fewer of these in longer mates; set by hand
    settled, settled_beside : how many times as many there are where one mate has fewer errors than the search may have
        missed; the second beside a known pair
    open, open_beside : the same where both mates have as many, so that one in each seed hides any place
    open_from : weight of unseen pairs from which on the first of these holds; hardly below
    open_weak : the least that such pairs weigh beside known ones up to `WEAK_PAIR`, in reads with 4 % mismatches
    copies : without a known pair, how many times as many such pairs there are at least as in a genome of 10 Mb
    copies_from, copies_half : weight of those in one of 10 Mb from which on the former holds, and where it is halved
    before_rescue : times the sum of both, where one mate without a seed hides the pair; fitted at -s 0 and -s 1
    equal : of every pair, whatever was seen of it
    local_length : exponent by which there are fewer beside longer alignments, in pairs that scores decide; set by hand
    local_copies, most_copies : in these, times what known rivals weigh, in a reference of 10 Mb; it grows as lost reads
        do (`MATE_MODEL`), up to the second; set by hand
    """

    common: float = 0.104
    beside: float = 0.319
    alike: float = 7.66
    rate: float = 0.804
    crowded: float = 0.187
    short: float = 0.0623
    short_power: float = 0.341
    short_length: float = 4.0
    settled: float = 0.45
    settled_beside: float = 0.67
    open: float = 4.0
    open_beside: float = 1.5
    open_from: float = 1.5e-4
    open_weak: float = 3.5e-3
    copies: float = 12.0
    copies_from: float = 1.7e-5
    copies_half: float = 1.3e-4
    before_rescue: float = 0.3
    equal: float = 1e-5
    local_length: float = 3.0
    local_copies: float = 0.07
    most_copies: float = 1.5


PAIR_MODEL = PairModel()
# Of pairs that scores decide: dense seeds were looked up there, so that what hides pairs of whole reads is no matter.
LOCAL_PAIR_MODEL = PairModel(
    rate=0.7,
    crowded=np.inf,
    short=0.0,
    settled=1.0,
    settled_beside=1.0,
    open=1.0,
    open_beside=1.0,
    open_weak=0.0,
    copies=0.0,
)


@dataclass(frozen=True, eq=False, repr=False)
class Seen:
    """What the search looked at.

    `complete` uint16[n]: every alignment with fewer errors has been seen. `capped` uint8[n]: a seed was passed over.
    `looked` uint8[n]: bit s is set where the seeds of stage s of the `plan` were looked up. `planned` uint16[n]: most
    disjoint seeds that were looked up together.
    """

    complete: np.ndarray
    capped: np.ndarray
    looked: np.ndarray
    planned: np.ndarray
    plan: SearchPlan

    def take(self, rows: np.ndarray) -> Seen:
        """Of some reads."""
        return Seen(self.complete[rows], self.capped[rows], self.looked[rows], self.planned[rows], self.plan)


def mapping_quality(summary: np.ndarray, lengths: np.ndarray, seen: Seen) -> np.ndarray:
    """Mapping quality of the primary alignment of every read: the first column of `rated`."""
    return rated(summary, lengths, seen)[0]


def rated(summary: np.ndarray, lengths: np.ndarray, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
    """How sure the primary alignment of every read is, by the probability that another place is the true one.

    Every place of the second stratum is less likely than the best by `rival_odds`; places that were not looked
    at, or not counted, add `unseen_rivals`.

    Parameters
    ----------
    summary : READ_SUMMARY[n]
    lengths : uint32[n]
    seen : Seen

    Returns
    -------
    quality : uint8[n]
        At most 60; 0 for ties and unmapped reads.
    unseen : float64[n]
        What the places weigh that were not looked at or not counted, but for those by chance.
    """
    first, case = _selection.distinct_cases(summary, lengths, seen)
    some, some_lengths = summary[first], lengths[first]
    best = some["best"].astype(np.int64)
    known = some["second"] != NO_SCORE
    further = np.where(known, some["second"].astype(np.int64) - best, 0)
    odds = np.where(known, rival_odds(best, some_lengths, further), 0.0)
    unseen, chance = _unseen_rivals(some, some_lengths, seen.take(first), None, MODEL)
    quality = phred(summary["n_second"] * odds[case] + (unseen + chance)[case])
    quality[(summary["best"] == NO_SCORE) | (summary["n_best"] > 1)] = 0
    return quality, unseen[case]


def phred(wrong: np.ndarray) -> np.ndarray:
    """uint8[n]: mapping quality where the other places weigh `wrong` (float64[n]) times as much as the one reported.

    0 from `AS_LIKELY` on: callers count on it that a read that may as well be elsewhere has no quality.
    """
    wrong = np.minimum(wrong, 1e9)
    share = np.maximum(wrong / (1 + wrong), 1e-9)
    quality = np.minimum(MAX_MAPQ, np.floor(-10 * np.log10(share))).astype(np.uint8)
    quality[wrong > AS_LIKELY] = 0
    return quality


def chance_of(quality: np.ndarray) -> np.ndarray:
    """float64[n]: that alignments of these mapping qualities (uint8[n]) are wrong."""
    return 10 ** (quality.astype(np.float64) / -10)


def edit_odds(edits: np.ndarray, lengths: np.ndarray, model: MapqModel = MODEL) -> np.ndarray:
    """float64[n]: how much less likely a place is for one error more than `edits` in a read of `lengths` bases.

    Of a rate of errors that the read itself shows, with a constant prior; one base in three makes the read look
    like the other place.
    """
    return (edits + model.prior) / (3.0 * np.maximum(np.asarray(lengths, np.int64) - edits - 1, 1))


def library_odds(edits: np.ndarray, lengths: np.ndarray, library: ErrorRate | None) -> np.ndarray:
    """As `edit_odds`, by what the pairs of a library have shown of its errors, where that is known."""
    return edit_odds(edits, lengths) if library is None else library.odds(edits, lengths)


def quality_of_copies(
    count: np.ndarray, errors: np.ndarray, loss: np.ndarray, aligned: np.ndarray
) -> np.ndarray:
    """uint8[k]: the mapping qualities that `count` copies with so many errors allow, at least one copy each."""
    odds = np.minimum(edit_odds(np.ceil(loss), aligned), 1)
    return phred(count * odds ** np.maximum(errors - loss, 0))


def rival_odds(
    best: np.ndarray, lengths: np.ndarray, further: np.ndarray, model: MapqModel = MODEL
) -> np.ndarray:
    """float64[n]: how much less likely a place with `further` (int64[n]) errors more than `best` is, at most 1."""
    odds = np.ones(len(best))
    for step in range(min(int(further.max(initial=0)), MAX_MAPQ)):
        odds[further > step] *= np.minimum(edit_odds(best + step, lengths, model), 1)[further > step]
    return odds


def unseen_rivals(
    summary: np.ndarray, lengths: np.ndarray, seen: Seen, errors: ErrorRate | None, model: MapqModel
) -> np.ndarray:
    """float64[n]: weight, relative to the best place of each read, of the places that the search has not counted.

    Parameters as for `rated`. `errors`: of the library; None: every read shows its own. It holds for the read alone:
    what a mate adds is for `unseen_pairs` to weigh.
    """
    first, case = _selection.distinct_cases(summary, lengths, seen)
    unseen, chance = _unseen_rivals(summary[first], lengths[first], seen.take(first), errors, model)
    return (unseen + chance)[case]


class HiddenPairs(NamedTuple):
    """What `unseen_pairs` looks at, of n reads.

    Attributes
    ----------
    own, other : float64[n]
        `unseen_rivals` of reads and of their mates.
    odds : float64[n]
        How much less likely a place is for one error more, as a geometric mean of both mates.
    known : float64[n]
        Weight of the other pairs of places that are known, relative to the reported one.
    bases : float64[n]
        Geometric mean of both mates' bases: those of the reads, or those aligned where scores decide.
    before_rescue : bool[n]
        Pairs that were settled before mates were looked for around all places. Elsewhere a rival stays unseen only
        where both mates hide it.
    is_settled : bool[n]
        Pairs of which a mate has fewer errors than an alignment that the search may have missed (`Seen.complete`).
    """

    own: np.ndarray
    other: np.ndarray
    odds: np.ndarray
    known: np.ndarray
    bases: np.ndarray
    before_rescue: np.ndarray
    is_settled: np.ndarray


def settled_pairs(summary: np.ndarray, seen: Seen, partner: np.ndarray) -> np.ndarray:
    """bool[n]: `HiddenPairs.is_settled` of reads with these summaries (READ_SUMMARY[n]) and partners (int64[n])."""
    fewer = summary["best"] < seen.complete
    return fewer | fewer[partner]


def unseen_pairs(pairs: HiddenPairs, n_bases: np.ndarray | int, model: PairModel = PAIR_MODEL) -> np.ndarray:
    """float64[n]: weight, relative to the reported pair, of the pairs of places that the search has not counted.

    `n_bases`: of the reference, with which the rivals of each mate have grown.
    """
    own, other, odds, known, bases, before_rescue, is_settled = pairs
    rivals, odds, is_known = np.sqrt(own * other), odds / REFERENCE_ODDS, known > KNOWN_PAIR
    times = np.where(is_known, model.beside, model.common) + model.alike * known
    both = times * rivals / (1 + rivals / model.crowded) * odds**model.rate
    if model.short:
        some = np.flatnonzero(is_known)
        length = np.maximum(bases[some], SHORTEST_PAIR) / REFERENCE_LENGTH
        hidden = (known[some] * rivals[some]) ** model.short_power * odds[some]
        both[some] += model.short * hidden / length**model.short_length
    times = np.where(is_settled, np.where(is_known, model.settled_beside, model.settled), 1)
    both *= times
    open_ = np.flatnonzero(~is_settled)
    sizes = np.broadcast_to(n_bases, known.shape)[open_]
    both[open_] = _open_pairs(both[open_], known[open_], odds[open_], sizes, model)
    return model.equal + np.where(before_rescue, np.maximum(both, model.before_rescue * (own + other)), both)


def _open_pairs(
    both: np.ndarray, known: np.ndarray, odds: np.ndarray, n_bases: np.ndarray, model: PairModel
) -> np.ndarray:
    """float64[k]: weight of the unseen pairs of which both mates may have an error in each seed.

    `both` float64[k]: what the rivals of both mates say of it. `odds`: by `REFERENCE_ODDS`.
    """
    fourth = both**4
    alone = both * (1 + (model.open - 1) * fourth / (fourth + model.open_from**4))
    beside = both * model.open_beside
    weak = model.open_weak * np.minimum(odds, 1) ** model.rate
    beside = np.where(known <= WEAK_PAIR, np.maximum(beside, weak), beside)
    # How many near copies a genome has does not grow with it.
    weight = both / (np.maximum(n_bases, SMALLEST) / REFERENCE_BASES) ** MATE_MODEL.bases
    copies = model.copies * weight / (1 + weight / model.copies_half)
    alone = np.where(weight >= model.copies_from, np.maximum(alone, copies), alone)
    return np.where(known > KNOWN_PAIR, beside, alone)


def unseen_local_pairs(pairs: HiddenPairs, n_bases: int, model: PairModel = LOCAL_PAIR_MODEL) -> np.ndarray:
    """float64[n]: as `unseen_pairs`, of pairs that the scores of both mates decide, in a reference of `n_bases`.

    `own` and `other` are the unseen rivals of both alignments. The fewer bases they have, the fewer seeds lie in what
    both mates have in common with a rival. Where some copies are known, a large genome has others of the family.
    """
    hidden = unseen_pairs(pairs, n_bases, model) - model.equal
    hidden *= (REFERENCE_LENGTH / np.maximum(pairs.bases, 1)) ** model.local_length
    copies = min(model.local_copies * lost_growth(n_bases, MATE_MODEL), model.most_copies)
    return model.equal + hidden + copies * pairs.known


def _unseen_rivals(
    summary: np.ndarray, lengths: np.ndarray, seen: Seen, errors: ErrorRate | None, model: MapqModel
) -> tuple[np.ndarray, np.ndarray]:
    """`unseen_rivals` of a read of each case: what the model expects, and by chance, float64[k] each."""
    best = np.where(summary["best"] == NO_SCORE, 0, summary["best"]).astype(np.int64)
    second = np.where(summary["second"] == NO_SCORE, best, summary["second"]).astype(np.int64)
    counted = np.where((second > best) & (second - best <= EXTRA_STRATA), second - best, 0)
    missed = missed_shares(best, lengths, seen)
    features = UnseenFeatures(
        best,
        np.asarray(lengths, np.int64),
        counted,
        seen.complete.astype(np.int64),
        clipped(seen),
        seen.capped > 0,
        missed,
        seen.plan.n_bases,
    )
    odds = None if errors is None else errors.odds(best, lengths)
    unseen = unseen_weight(features, model, odds)
    return unseen, chance_places(lengths, best, seen.plan.n_bases)


def lost_growth(n_bases: float, model: MapqModel) -> float:
    """How many times more reads are lost in a reference of `n_bases` than in one of REFERENCE_BASES."""
    return (max(n_bases, SMALLEST) / REFERENCE_BASES) ** model.lost_bases


class UnseenFeatures(NamedTuple):
    """What `unseen_weight` looks at: best, lengths int64[n]; counted int64[n], the strata to the second, 0 if not
    known; complete int64[n]; clipped float64[n], capped bool[n]; missed float64[n, UNSEEN_STRATA]; n_bases, one number
    or float64[n]."""

    best: np.ndarray
    lengths: np.ndarray
    counted: np.ndarray
    complete: np.ndarray
    clipped: np.ndarray
    capped: np.ndarray
    missed: np.ndarray
    n_bases: float | np.ndarray


def unseen_weight(features: UnseenFeatures, model: MapqModel, odds: np.ndarray | None = None) -> np.ndarray:
    """float64[n]: the fitted part of `unseen_rivals`. `odds` float64[n]: of one error more, by default `edit_odds`."""
    best, lengths, counted, complete, clipped, capped, missed, n_bases = features
    step = model.growth * (edit_odds(best, lengths, model) if odds is None else odds)
    stratum = np.arange(1, UNSEEN_STRATA)
    # Of the strata behind the second nothing was counted; without a second, EXTRA_STRATA strata were found empty.
    uncounted = stratum > np.where(counted > 0, counted, EXTRA_STRATA)[:, None]
    weights = np.where(uncounted, 1, missed[:, 1:]) * step[:, None] ** stratum
    rivals = model.equal * missed[:, 0] + model.further * weights.sum(axis=1)
    size = np.maximum(n_bases, SMALLEST) / REFERENCE_BASES
    errors = np.minimum(best / np.maximum(lengths, 1), STEEPEST) - STEEPEST
    lost = model.lost * np.exp(model.lost_slope * errors) * size**model.lost_bases
    lost *= (REFERENCE_LENGTH / np.maximum(lengths, 1)) ** model.lost_length
    # A copy shares most seeds of its rival. The more were looked at, the likelier one of the family was seen.
    few = 1 + model.few * np.exp(-model.few_rate * np.maximum(complete - 1, 0))
    rivals *= np.where(counted > 0, model.near_known, 1) * few * size**model.bases
    lost *= np.where(counted > 0, model.lost_known, 1)
    near = model.near_clipped**clipped**model.clipped_power * np.where(capped, model.near_capped, 1)
    return near * (rivals + lost)


def clipped(seen: Seen) -> np.ndarray:
    """float64[n]: share of the disjoint seeds of a stage that were not looked at as planned: they occur too often."""
    planned = seen.planned.astype(np.int64)
    return np.maximum(planned - seen.complete.astype(np.int64), 0) / np.maximum(planned, 1)


def missed_shares(best: np.ndarray, lengths: np.ndarray, seen: Seen) -> np.ndarray:
    """float64[n, UNSEEN_STRATA]: share of alignments with best, best + 1, .. errors that a search misses."""
    columns = seen.looked, seen.complete, np.asarray(lengths, np.int64), best
    key = np.zeros(len(best), np.int64)
    for column in columns:
        key = key << 12 | column.astype(np.int64)
    keys, inverse = np.unique(key, return_inverse=True)
    shares = np.empty((len(keys), UNSEEN_STRATA))
    for row, value in enumerate(keys.tolist()):
        looked, complete, m, errors = (value >> shift & 0xFFF for shift in (36, 24, 12, 0))
        shares[row] = [seen.plan.missed(m, errors + more, complete, looked) for more in range(UNSEEN_STRATA)]
    return shares[inverse]


def chance_places(lengths: np.ndarray, best: np.ndarray, n_bases: float) -> np.ndarray:
    """Expected chance places on both strands within the errors of the best alignment."""
    pairs, inverse = np.unique(lengths.astype(np.int64) << 16 | best, return_inverse=True)
    values = [chance_of_a_place(pair >> 16, pair & 0xFFFF) for pair in pairs.tolist()]
    return (2.0 * n_bases * np.array(values, np.float64))[inverse]


def short_mates_by_chance(lengths: np.ndarray, best: np.ndarray, window_bases: int) -> np.ndarray:
    """float64[n]: expected chance places in the window of a mate, of reads too short for seeds; 0 of all others.

    Only their mate places such reads, so that the mate's certainty is not theirs.
    """
    chance = np.zeros(len(lengths))
    short = np.flatnonzero((lengths < MIN_READ_LENGTH) & (best != NO_SCORE))
    if short.size:
        # One strand of the window.
        chance[short] = chance_places(lengths[short], best[short].astype(np.int64), window_bases / 2)
    return chance


def summarise_all(read: np.ndarray, edits: np.ndarray, n_reads: int, read_start: np.ndarray) -> np.ndarray:
    """READ_SUMMARY[n] of an exhaustive search from the reported alignments, grouped by read."""
    summary = np.zeros(n_reads, READ_SUMMARY)
    best = np.full(n_reads, NO_SCORE, np.int64)
    np.minimum.at(best, read, edits)
    worse = edits > best[read]
    second = np.full(n_reads, NO_SCORE, np.int64)
    np.minimum.at(second, read[worse], edits[worse])
    summary["best"], summary["second"] = best, second
    summary["n_best"] = np.bincount(read[~worse], minlength=n_reads)
    summary["n_second"] = np.bincount(read[edits == second[read]], minlength=n_reads)
    summary["n_reported"] = np.diff(read_start)
    runner_up = np.where(summary["n_best"] > 1, best, second)
    summary["suboptimal"] = np.where(runner_up == NO_SCORE, NO_SUBOPTIMAL, -runner_up)
    return summary
