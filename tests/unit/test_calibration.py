"""Verdicts on mapping qualities, against reckoning by hand and against scipy where it is there."""

import numpy as np
import pytest

from gassst.tools.calibration import FEW, GOOD, OVERCONFIDENT, UNDERCONFIDENT, bins, report, verdict


def counts(*rows):
    """int64[256, 2] of (mapq, alignments, wrong)."""
    mapped = np.zeros((256, 2), dtype=np.int64)
    for mapq, alignments, wrong in rows:
        mapped[mapq] = alignments - wrong, wrong
    return mapped[:, ::-1]


@pytest.mark.parametrize(
    ("wrong", "expected", "found"),
    [
        (20, 10.0, GOOD),
        (21, 10.0, OVERCONFIDENT),
        (10, 20.0, GOOD),
        (10, 20.1, UNDERCONFIDENT),
        # Fewer than ten wrong: blamed only where chance does not do it.
        (5, 1.0, FEW),
        (6, 1.0, OVERCONFIDENT),
        (0, 7.3, FEW),
        (0, 7.5, UNDERCONFIDENT),
        (9, 30.0, FEW),
        (9, 40.0, UNDERCONFIDENT),
        (0, 0.0, FEW),
    ],
)
def test_verdicts(wrong, expected, found):
    assert verdict(wrong, expected) == found


def test_bins_hold_every_alignment_once_and_expect_their_mean():
    rng = np.random.default_rng(1)
    mapped = rng.integers(0, 50, (256, 2))
    rows = bins(mapped)
    assert sum(row["alignments"] for row in rows) == mapped[:255].sum()
    assert sum(row["wrong"] for row in rows) == mapped[:255, 0].sum()
    assert [row["from"] for row in rows] == sorted((row["from"] for row in rows), reverse=True)
    (row,) = bins(counts((10, 300, 30), (13, 100, 5)))
    assert (row["from"], row["to"], row["alignments"], row["wrong"]) == (10, 14, 400, 35)
    assert row["observed"] == 35 / 400
    assert row["expected"] == pytest.approx((300 * 0.1 + 100 * 10**-1.3) / 400)


def test_a_perfect_mapper_is_called_good_and_a_liar_is_not():
    """Errors drawn as promised: no verdict against them; ten times as many: one against every bin that tells."""
    rng = np.random.default_rng(7)
    qualities = np.arange(61)
    alignments = np.full(61, 200_000)
    honest = rng.binomial(alignments, 10.0 ** (-qualities / 10))
    result = report(counts(*zip(qualities, alignments, honest, strict=True)))
    assert result["monotone"] and result[OVERCONFIDENT] == result[UNDERCONFIDENT] == 0
    assert result[GOOD] + result[FEW] == len(result["bins"]) == 12 and result[GOOD] >= 11
    liar = rng.binomial(alignments, np.minimum(1, 10.0 ** (1 - qualities / 10)))
    found = {
        row["from"]: row["verdict"]
        for row in report(counts(*zip(qualities, alignments, liar, strict=True)))["bins"]
    }
    assert all(found[low] == OVERCONFIDENT for low in (5, 10, 15, 20, 25, 30, 35, 40))
