"""From scored bands to what is reported: best strata or all hits, and mapping qualities."""

from __future__ import annotations

import numpy as np

from .layouts import NO_SCORE, NO_SUBOPTIMAL, READ_SUMMARY
from .seeding import MARGIN, chance_hits

MAX_MAPQ = 60
# Of a read without any error: errors other than those of its own bases remain possible.
MIN_ERROR_RATE = 0.005


def mapping_quality(summary: np.ndarray, lengths: np.ndarray, n_bases: int) -> np.ndarray:
    """Mapping quality of the primary alignment of every read.

    The probability that another place is the true one: each place in the second stratum is less likely than
    the best by p / (1 - p) to the power of the difference in errors, p being the error rate seen in this
    read. Where no second place is known, one just beyond the strata that were looked at is assumed, by p / 3(1 - p), as
    most reads have none. Places that a random read would hit by chance count with their expected number.

    Parameters
    ----------
    summary : READ_SUMMARY[n]
    lengths : uint32[n]
    n_bases : int
        Unmasked bases of the reference.

    Returns
    -------
    uint8[n]
        0 for ties and unmapped reads, at most 60.
    """
    best = summary["best"].astype(np.int64)
    mapped = best != NO_SCORE
    known = summary["second"] != NO_SCORE
    second = np.where(known, summary["second"], best + MARGIN + 1)
    rivals = np.where(known, summary["n_second"], 1)
    rate = np.clip((best + 0.5) / np.maximum(lengths, 1), MIN_ERROR_RATE, 0.5)
    odds = rate / (np.where(known, 1, 3) * (1 - rate))
    wrong = rivals * odds ** (second - best) + _chance(lengths, best, mapped, n_bases)
    quality = np.minimum(MAX_MAPQ, np.floor(-10 * np.log10(np.clip(wrong / (1 + wrong), 1e-9, 1))))
    quality[~mapped | (summary["n_best"] > 1)] = 0
    return quality.astype(np.uint8)


def _chance(lengths: np.ndarray, best: np.ndarray, mapped: np.ndarray, n_bases: int) -> np.ndarray:
    """Expected chance places within the errors of the best alignment, one evaluation for each pair that occurs."""
    pairs, inverse = np.unique(
        np.where(mapped, lengths.astype(np.int64) << 16 | best, 0), return_inverse=True
    )
    values = [chance_hits(int(pair >> 16), int(pair & 0xFFFF), n_bases) if pair else 0.0 for pair in pairs]
    return np.array(values)[inverse]


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


def group_by_read(read: np.ndarray, n_reads: int) -> tuple[np.ndarray, np.ndarray]:
    """Stable order that groups rows by read, and int64[n + 1] of where each read's rows start in it."""
    order = np.argsort(read, kind="stable")
    return order, np.searchsorted(read[order], np.arange(n_reads + 1))
