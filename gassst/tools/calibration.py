"""Whether a mapping quality keeps its promise: observed errors beside the expected 10^(-MAPQ/10), bin by bin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

EDGES = (0, 1, 5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 61, 255)
"""Bins of MAPQ, from each edge up to the next; 255 is no quality."""
FACTOR = 2.0
"""What an observed error may differ from the expected one, either way."""
ENOUGH = 10
"""Wrong alignments from which on their number is taken as it is: by chance it is off by a third."""
SIGNIFICANT = 0.025
"""With fewer, a bin is blamed only for what a bin at the limit would do by chance less often than this."""
HIGHEST = 40
"""Above this, an error of 10^(-HIGHEST/10) is enough: nobody simulates the reads that would tell more."""

GOOD, FEW, OVERCONFIDENT, UNDERCONFIDENT = "good", "few", "overconfident", "underconfident"


def at_most(count: int, mean: float) -> float:
    """Probability that a Poisson variable is no more than `count`; of a small count, as it is summed."""
    term = total = math.exp(-mean)
    for k in range(1, count + 1):
        term *= mean / k
        total += term
    return total


def verdict(wrong: int, expected: float, one_sided: bool = False) -> str:
    """Judges `wrong` alignments where `expected` were promised; FEW: too few of both to tell.

    `one_sided`: fewer errors than expected are no fault.
    """
    most, least = FACTOR * expected, 0.0 if one_sided else expected / FACTOR
    if wrong >= ENOUGH:
        return OVERCONFIDENT if wrong > most else UNDERCONFIDENT if wrong < least else GOOD
    if wrong and 1 - at_most(wrong - 1, most) < SIGNIFICANT:
        return OVERCONFIDENT
    if at_most(wrong, least) < SIGNIFICANT:
        return UNDERCONFIDENT
    # Had the errors been too many, ENOUGH of them would have been here.
    clean = one_sided and at_most(wrong, most) < SIGNIFICANT
    return GOOD if clean else FEW


def bins(mapped: np.ndarray) -> list[dict[str, Any]]:
    """A row for each bin that occurs, highest first, from `mapped[mapq, correct]` (int64[256, 2]).

    `expected` is the mean of 10^(-MAPQ/10) over the bin's alignments.
    """
    rows = []
    for low, end in list(zip(EDGES, EDGES[1:], strict=False))[::-1]:
        counts = mapped[low:end].sum(axis=1)
        alignments, wrong = int(counts.sum()), int(mapped[low:end, 0].sum())
        if not alignments:
            continue
        promised = 10.0 ** (-np.arange(low, end) / 10)
        limit = np.maximum(promised, 10 ** (-HIGHEST / 10))
        rows.append(
            {
                "from": low,
                "to": end - 1,
                "alignments": alignments,
                "wrong": wrong,
                "observed": wrong / alignments,
                "expected": float(counts @ promised) / alignments,
                "verdict": verdict(wrong, float(counts @ limit), low >= HIGHEST),
            }
        )
    return rows


def report(mapped: np.ndarray) -> dict[str, Any]:
    """`bins`, how many got each verdict, and whether of those that tell a higher one never errs more."""
    rows = bins(mapped)
    told = [row["observed"] for row in rows if row["verdict"] != FEW]
    verdicts = [row["verdict"] for row in rows]
    counts = {name: verdicts.count(name) for name in (GOOD, FEW, OVERCONFIDENT, UNDERCONFIDENT)}
    return {"bins": rows, **counts, "monotone": told == sorted(told)}


def text(result: dict[str, Any]) -> str:
    """A report as a table for people, with its header."""
    lines = ["MAPQ\tcount\twrong\tobserved\texpected\tverdict"]
    for row in result["bins"]:
        span = f"{row['from']}-{row['to']}" if row["to"] > row["from"] else f"{row['from']}"
        errors = f"{row['observed']:.2g}\t{row['expected']:.2g}"
        lines.append(f"{span}\t{row['alignments']}\t{row['wrong']}\t{errors}\t{row['verdict']}")
    return "\n".join(lines)
