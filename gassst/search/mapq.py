"""From scored bands to what is reported: best strata or all hits, and mapping qualities (docs/mapq.md)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np

from gassst._core import selection as _selection
from gassst.index.spectrum import DIFFERENCES, Spectrum
from gassst.model.layouts import NO_SCORE, NO_SUBOPTIMAL, READ_SUMMARY
from gassst.pairing.error_rate import ErrorRate
from gassst.search.copies import Copies, copies, log_choose
from gassst.search.plan import EXTRA_STRATA, SearchPlan, chance_hits

MAX_MAPQ = 60
# How many times more copies are expected for each seed that was passed over, as it occurs too often, beside each one
# that was not: the read lies in a large family.
PASSED_OVER = 80.0
# Weight of what no model knows: no read is surer than MAPQ 50. And how many times as much a pair has for each mate that
# has another place with hardly more errors: it lies in a repeat.
UNKNOWN, UNKNOWN_BESIDE = 1e-5, 10.0
# Weight of other places that counts as that of the one reported: where a mate has gaps, its pair in a copy on the other
# strand is taken to be a base or two longer or shorter, at most as much as that.
AS_LIKELY = 0.8
# Weight of other pairs of places from which on a rival of the pair is known.
KNOWN_PAIR = 10 ** (-MAX_MAPQ / 10)
# Qualities below the first are not compared with copies of a tandem repeat, nor copies with more mismatches than the
# second beyond those of the alignment.
LEAST_BESIDE_COPIES, MOST_BESIDE = 10, 6


@dataclass(frozen=True, eq=False, repr=False)
class Seen:
    """What the search looked at.

    `complete` uint16[n]: every alignment with fewer errors has been seen. `looked` uint8[n]: bit s is set where the
    seeds of stage s of the `plan` were looked up. `planned` uint16[n]: most disjoint seeds looked up together.
    """

    complete: np.ndarray
    looked: np.ndarray
    planned: np.ndarray
    plan: SearchPlan

    def take(self, rows: np.ndarray) -> Seen:
        """Of some reads."""
        return Seen(self.complete[rows], self.looked[rows], self.planned[rows], self.plan)


def mapping_quality(
    summary: np.ndarray,
    lengths: np.ndarray,
    seen: Seen,
    library: ErrorRate,
    letters: np.ndarray,
    wrong: np.ndarray | None = None,
) -> np.ndarray:
    """How sure the primary alignment of every read is, by the probability that another place is the true one.

    Every place of the second stratum is less likely than the best by `rival_odds`. Copies that no seed led to, and
    places by chance, are added.

    Parameters
    ----------
    summary : READ_SUMMARY[n]
    lengths : uint32[n]
    seen : Seen
    library : ErrorRate
    letters : float64[n]
        What a base of each read is worth, as `_core.chance.letters_of` says.
    wrong : float64[n], optional
        What the known places weigh beside the one reported. None: as their errors say.

    Returns
    -------
    uint8[n]
        At most 50; 0 for ties and unmapped reads.
    """
    first, case = _selection.distinct_cases(summary, lengths, seen)
    some, some_lengths = summary[first], lengths[first]
    best, further = _errors(some), _further(some)
    if wrong is None:
        odds = np.where(further > 0, rival_odds(best, some_lengths, further, library), 0.0)
        wrong = np.maximum(summary["n_best"], 1) - 1.0 + summary["n_second"] * odds[case]
    unseen = unseen_weight(some, some_lengths, seen.take(first), library) + UNKNOWN
    chance = chance_hits(lengths.astype(np.int64), best[case], seen.plan.n_bases, letters)
    quality = phred(wrong + unseen[case] + chance)
    quality[summary["best"] == NO_SCORE] = 0
    return quality


def _errors(summary: np.ndarray) -> np.ndarray:
    """int64[n]: of the best alignments, 0 of reads without one."""
    return np.where(summary["best"] == NO_SCORE, 0, summary["best"]).astype(np.int64)


def _further(summary: np.ndarray) -> np.ndarray:
    """int64[n]: errors that the second best alignments have more, 0 where there is none."""
    return np.where(summary["second"] == NO_SCORE, 0, summary["second"].astype(np.int64) - _errors(summary))


def phred(wrong: np.ndarray) -> np.ndarray:
    """uint8[n]: mapping quality where the other places weigh `wrong` (float64[n]) times as much as the one reported.

    0 from `AS_LIKELY` on: callers count on it that a read that may as well be elsewhere has no quality.
    """
    wrong = np.minimum(wrong, 1e9)
    share = np.maximum(wrong / (1 + wrong), 1e-9)
    quality = np.minimum(MAX_MAPQ, np.floor(-10 * np.log10(share))).astype(np.uint8)
    quality[wrong > AS_LIKELY] = 0
    return quality


def quality_of_copies(
    count: np.ndarray, errors: np.ndarray, loss: np.ndarray, aligned: np.ndarray, library: ErrorRate
) -> np.ndarray:
    """uint8[k]: the mapping qualities that `count` copies with so many errors allow, at least one copy each."""
    odds = library.odds(np.ceil(loss), aligned)
    return phred(count * odds ** np.maximum(errors - loss, 0))


def rival_odds(best: np.ndarray, lengths: np.ndarray, further: np.ndarray, library: ErrorRate) -> np.ndarray:
    """float64[n]: how much less likely a place with `further` (any numbers) errors more than `best` is, at most 1."""
    odds = np.ones(len(best))
    for step in range(min(ceil(further.max(initial=0)), MAX_MAPQ)):
        odds *= library.odds(best + step, lengths) ** np.clip(further - step, 0, 1)
    return odds


def family(passed_over: np.ndarray) -> np.ndarray:
    """float64[n]: how many times more copies are expected where a share of the seeds (float64[n]) was passed over."""
    return 1 + PASSED_OVER * passed_over / np.maximum(1 - passed_over, 1 / PASSED_OVER)


def unseen_weight(summary: np.ndarray, lengths: np.ndarray, seen: Seen, library: ErrorRate) -> np.ndarray:
    """float64[n]: what the copies weigh that were not seen or not counted, relative to the best place of each read."""
    best, further = _errors(summary), _further(summary)
    passed_over, odds, plan = clipped(seen), library.odds(best, lengths), seen.plan
    known = (further > 0) & (further <= EXTRA_STRATA)
    columns = (
        best,
        np.where(known, further, EXTRA_STRATA),
        lengths,
        seen.complete,
        seen.looked,
        passed_over,
        odds,
    )
    found = [
        copies(m, errors, one, plan.looked_up(m, complete, looked, share), counted)
        for errors, counted, m, complete, looked, share, one in zip(
            *map(np.ndarray.tolist, columns), strict=True
        )
    ]
    return weight_of_unseen(plan.spectrum, lengths, known, found, passed_over)


def weight_of_unseen(
    spectrum: Spectrum, lengths: np.ndarray, known: np.ndarray, found: list[Copies], passed_over: np.ndarray
) -> np.ndarray:
    """float64[n]: what the copies weigh that were not seen. `known` bool[n]: a near copy is known; `found`: those of
    each read, by its seeds, of which a share was `passed_over`."""
    columns = lengths.tolist(), known.astype(np.int64).tolist(), found
    weight = [
        (spectrum.of_length(m)[0, beside] * some.unseen).sum()
        for m, beside, some in zip(*columns, strict=True)
    ]
    return np.array(weight, np.float64) * family(passed_over)


def near_known(summary: np.ndarray) -> np.ndarray:
    """bool[n]: reads of which another place with hardly more errors is known. `summary` READ_SUMMARY[n]."""
    further = _further(summary)
    return (summary["n_best"] > 1) | (further > 0) & (further <= EXTRA_STRATA)


def beside_known(own: np.ndarray, other: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """int64[n]: `unseen_pairs` takes it. `own`, `other` bool[n]: `near_known` of mates; `wrong` float64[n]: weight of
    the other pairs of places that are known, relative to the reported one."""
    return np.where(wrong > KNOWN_PAIR, 2, own.astype(np.int64) + other)


def unknown_of_pairs(beside: np.ndarray) -> np.ndarray:
    """float64[n]: weight of what no model knows. `beside` int64[n]: as `unseen_pairs` takes it."""
    return UNKNOWN * UNKNOWN_BESIDE**beside


class Mates(NamedTuple):
    """What is known of reads as mates, a row for each of k cases.

    Attributes
    ----------
    length : int64[k]
        Bases, of those that are aligned where scores decide.
    any, missed, both : float64[k, DIFFERENCES]
        As `copies.Copies` has them.
    lost : float64[k]
    family : float64[k]
        As `family` says.
    """

    length: np.ndarray
    any: np.ndarray
    missed: np.ndarray
    both: np.ndarray
    lost: np.ndarray
    family: np.ndarray

    @classmethod
    def of(cls, lengths: np.ndarray, found: list[Copies], passed_over: np.ndarray) -> Mates:
        """From the copies of each case."""
        any_, missed, both = (
            np.array([some[i] for some in found]).reshape(-1, DIFFERENCES) for i in range(3)
        )
        lost = np.array([some.lost for some in found])
        return cls(lengths.astype(np.int64), any_, missed, both, lost, family(passed_over))

    @classmethod
    def of_search(cls, summary: np.ndarray, lengths: np.ndarray, seen: Seen, library: ErrorRate) -> Mates:
        """Of whole reads, a case each."""
        best, passed_over = _errors(summary), clipped(seen)
        odds = library.odds(best, lengths)
        columns = (
            column.tolist() for column in (best, lengths, seen.complete, seen.looked, passed_over, odds)
        )
        found = [
            copies(m, e, one, seen.plan.looked_up(m, complete, looked, share), None)
            for e, m, complete, looked, share, one in zip(*columns, strict=True)
        ]
        return cls.of(lengths, found, passed_over)

    def take(self, rows: np.ndarray) -> Mates:
        """Some of the cases."""
        return Mates(*(column[rows] for column in self))

    def replaced(self, rows: np.ndarray, some: Mates) -> Mates:
        """These cases, but for those in `rows`."""
        columns = [column.copy() for column in self]
        for column, own in zip(columns, some, strict=True):
            column[rows] = own
        return Mates(*columns)


def unseen_pairs(
    mates: Mates,
    own: np.ndarray,
    other: np.ndarray,
    beside: np.ndarray,
    before_rescue: np.ndarray,
    spectrum: Spectrum,
) -> np.ndarray:
    """float64[n]: weight, relative to the reported pair, of the pairs of copies that no seed led to.

    Parameters
    ----------
    mates : Mates
        All cases.
    own, other : int64[n]
        Those of reads and of their mates.
    beside : int64[n]
        How many of both mates have a near copy that is known: 2 where another pair of places is.
    before_rescue : bool[n]
        Pairs that were settled before mates were looked for around all places: a copy was seen where seeds led to both
        mates. Elsewhere seeds that lead to one are enough.
    """
    # Many pairs are alike.
    key = ((own * len(mates.length) + other) * 3 + beside) * 2 + before_rescue
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    one, two, early = mates.take(own[first]), mates.take(other[first]), before_rescue[first].astype(bool)
    lengths = one.length << 34 | two.length << 2 | beside[first]
    cases, which = np.unique(lengths, return_inverse=True)
    shares = np.array([_of_both(spectrum, c >> 34, c >> 2 & 0xFFFFFFFF, c & 3) for c in cases.tolist()])
    weight = np.zeros(len(first))
    for is_early in (False, True):
        rows = np.flatnonzero(early == is_early)
        weight[rows] = _hidden(one.take(rows), two.take(rows), shares, which[rows], is_early)
    return weight[inverse]


def _hidden(one: Mates, two: Mates, shares: np.ndarray, which: np.ndarray, is_early: bool) -> np.ndarray:
    """`unseen_pairs` of some cases; `which` of the `shares`, as `_of_both` has them, are those of each."""

    def together(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        # A product of matrices would round a row by how many there are.
        sums = np.zeros_like(last)
        for d in range(DIFFERENCES):
            sums += first[:, d, None] * shares[which, d]
        return (sums * last).sum(axis=1)

    if not len(which):
        return np.zeros(0)
    if is_early:
        found = [some.any * (1 - some.lost)[:, None] - some.missed + some.both for some in (one, two)]
        seen = (1 - one.lost) * (1 - two.lost)
        hidden = together(one.any, two.any) * seen - together(*found)
    else:
        seen = 1 - one.lost * two.lost
        hidden = together(one.missed, two.missed) - together(one.both, two.both)
    return np.maximum(hidden, 0) / np.maximum(seen, 1e-9) * np.sqrt(one.family * two.family)


@lru_cache(maxsize=1 << 11)
def _of_both(spectrum: Spectrum, m: int, other: int, known: int) -> np.ndarray:
    """float64[DIFFERENCES, DIFFERENCES]: share of pairs whose nearest copy has so many differences in either mate.

    Of mates of `m` and `other` bases, of which so many have a near copy that is `known`. Between none and both there
    is the geometric mean. The differences of a pair lie anywhere in its bases.
    """
    alone, beside = spectrum.of_length(round(np.sqrt(m * other)))[1]
    shares = alone ** (1 - known / 2) * beside ** (known / 2)
    one, two = np.indices((DIFFERENCES, DIFFERENCES))
    share = max(m, 1) / (max(m, 1) + max(other, 1))  # mates may be empty
    divided = np.exp(log_choose(one + two, one) + one * np.log(share) + two * np.log(1 - share))
    inside = one + two < DIFFERENCES
    return np.where(inside, shares[np.where(inside, one + two, 0)] * divided, 0.0)


def clipped(seen: Seen) -> np.ndarray:
    """float64[n]: share of the disjoint seeds of a stage that were not looked at as planned: they occur too often."""
    planned = seen.planned.astype(np.int64)
    return np.maximum(planned - seen.complete.astype(np.int64), 0) / np.maximum(planned, 1)


def summarise_all(read: np.ndarray, edits: np.ndarray, n_reads: int) -> np.ndarray:
    """READ_SUMMARY[n] of an exhaustive search from all alignments, without `n_reported`."""
    summary = np.zeros(n_reads, READ_SUMMARY)
    best = np.full(n_reads, NO_SCORE, np.int64)
    np.minimum.at(best, read, edits)
    worse = edits > best[read]
    second = np.full(n_reads, NO_SCORE, np.int64)
    np.minimum.at(second, read[worse], edits[worse])
    summary["best"], summary["second"] = best, second
    summary["n_best"] = np.bincount(read[~worse], minlength=n_reads)
    summary["n_second"] = np.bincount(read[edits == second[read]], minlength=n_reads)
    runner_up = np.where(summary["n_best"] > 1, best, second)
    summary["suboptimal"] = np.where(runner_up == NO_SCORE, NO_SUBOPTIMAL, -runner_up)
    return summary
