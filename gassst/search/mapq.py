"""From scored bands to what is reported: best strata or all hits, and mapping qualities (docs/mapq.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gassst._core import selection as _selection
from gassst.model.layouts import NO_SCORE, NO_SUBOPTIMAL, READ_SUMMARY
from gassst.pairing.error_rate import ErrorRate
from gassst.search.copies import Copies, Searched, unseen_alone
from gassst.search.plan import EXTRA_STRATA, SearchPlan, chance_hits

# How many times more copies are expected for each seed of a single read that was passed over, as it occurs too often,
# beside each one that was not: the read lies in a large family.
PASSED_OVER = 80.0
# Weight of what no model knows: other places of no more weight count as none.
UNKNOWN = 1e-5
# Weight of other places that counts as that of the one reported: where a mate has gaps, its pair in a copy on the other
# strand is taken to be a base or two longer or shorter, at most as much as that.
AS_LIKELY = 0.8
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


def quality(
    known: np.ndarray, unseen: np.ndarray | float = 0.0, chance: np.ndarray | float = 0.0
) -> np.ndarray:
    """uint8[n]: how sure each place is, by the probability that another one is the true one.

    0 from `AS_LIKELY` on: callers count on it that a read that may as well be elsewhere has no quality. 60, the top of
    the scale that filters expect, where other places count as none.

    Parameters
    ----------
    known : float64[n]
        What the other places that are known weigh, relative to the reported one.
    unseen : float64[n]
        What copies weigh that no seed led to (`search.copies`).
    chance : float64[n]
        Places where as much of a read fits by chance.
    """
    others = np.minimum(known + unseen + chance, 1e9)
    wrong = np.where(others <= UNKNOWN, UNKNOWN / 10, others + UNKNOWN)
    phred = np.floor(-10 * np.log10(wrong / (1 + wrong))).astype(np.uint8)
    return np.where(wrong > AS_LIKELY, np.uint8(0), phred)


def mapping_quality(
    summary: np.ndarray,
    lengths: np.ndarray,
    seen: Seen,
    library: ErrorRate,
    letters: np.ndarray,
    wrong: np.ndarray | None = None,
) -> np.ndarray:
    """`quality` of the primary alignments of single reads, as wholes.

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
        0 for ties and unmapped reads.
    """
    copies, case = copies_of_wholes(summary, lengths, seen, library)
    best = _errors(summary)
    if wrong is None:
        odds = library.odds(best, lengths) ** _further(summary)
        wrong = np.maximum(summary["n_best"], 1) - 1.0 + summary["n_second"] * odds
    unseen = unseen_alone(copies, case, near_known(summary), seen.plan.spectrum) * family(clipped(seen))
    chance = chance_hits(lengths.astype(np.int64), best, seen.plan.n_bases, letters)
    found = quality(wrong, unseen, chance)
    found[summary["best"] == NO_SCORE] = 0
    return found


def copies_of_wholes(
    summary: np.ndarray, lengths: np.ndarray, seen: Seen, library: ErrorRate
) -> tuple[Copies, np.ndarray]:
    """What copies weigh beside the best places of n whole reads, case by case; int64[n], the case of each read."""
    first, case = _selection.distinct_cases(summary, lengths, seen)
    some, best, m = seen.take(first), _errors(summary[first]), lengths[first].astype(np.int64)
    odds = library.odds(best, m)
    columns = m.tolist(), some.complete.tolist(), some.looked.tolist(), clipped(some).tolist()
    seeds = [seen.plan.looked_up(*one) for one in zip(*columns, strict=True)]
    copies, row = Copies.of(Searched(m, best, odds, seeds))
    return copies, row[case]


def _errors(summary: np.ndarray) -> np.ndarray:
    """int64[n]: of the best alignments, 0 of reads without one."""
    return np.where(summary["best"] == NO_SCORE, 0, summary["best"]).astype(np.int64)


def _further(summary: np.ndarray) -> np.ndarray:
    """int64[n]: errors that the second best alignments have more, 0 where there is none."""
    return np.where(summary["second"] == NO_SCORE, 0, summary["second"].astype(np.int64) - _errors(summary))


def quality_of_copies(
    count: np.ndarray, errors: np.ndarray, loss: np.ndarray, aligned: np.ndarray, library: ErrorRate
) -> np.ndarray:
    """uint8[k]: the mapping qualities that `count` copies with so many errors allow, at least one copy each."""
    odds = library.odds(np.ceil(loss), aligned)
    return quality(count * odds ** np.maximum(errors - loss, 0))


def family(passed_over: np.ndarray) -> np.ndarray:
    """float64[n]: how many times more copies are expected where a share of the seeds (float64[n]) was passed over."""
    return 1 + PASSED_OVER * passed_over / np.maximum(1 - passed_over, 1 / PASSED_OVER)


def near_known(summary: np.ndarray) -> np.ndarray:
    """bool[n]: reads of which another place with hardly more errors is known. `summary` READ_SUMMARY[n]."""
    further = _further(summary)
    return (summary["n_best"] > 1) | (further > 0) & (further <= EXTRA_STRATA)


def beside_known(own: np.ndarray, other: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """int64[n]: `copies.unseen` takes it. `own`, `other` bool[n]: `near_known` of mates; `wrong` float64[n]: weight of
    the other pairs of places that are known, relative to the reported one."""
    return np.where(wrong > UNKNOWN, 2, own.astype(np.int64) + other)


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
