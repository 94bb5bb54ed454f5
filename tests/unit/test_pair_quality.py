"""Which pairs stay where the search of whole reads has placed them, which mates are looked for, and how sure both are.

The oracles look at one read after the other, and know the formulas of docs/mapq.md alone.
"""

from math import comb, floor, log10
from types import SimpleNamespace

import numpy as np
import pytest
from local_columns import Places
from rating import aligner_of, lines_of, packed_of, report_of, rivals_of, summaries

from gassst.index.spectrum import Spectrum
from gassst.model.layouts import NO_SCORE, READ_SUMMARY
from gassst.model.params import MapParams
from gassst.pairing.error_rate import UNKNOWN_LIBRARY
from gassst.search.arrays import Seen
from gassst.search.context import long_enough
from gassst.search.plan import SearchPlan

M, WINDOW = 100, 600  # bases of a mate, and diagonals on which it may lie beside the other


def plan_of(lengths, n_bases=10**7):
    """In a genome without copies."""
    plan = SearchPlan(MapParams(), 11, n_bases, Spectrum.none())
    plan.prepare(np.asarray(lengths, np.uint32))
    return plan


def test_a_pair_is_decided_where_both_mates_are():
    rng, n = np.random.default_rng(3), 4000
    summary = np.zeros(n, READ_SUMMARY)
    summary["best"], summary["n_best"] = rng.choice([0, 2], n), rng.choice([1, 1, 1, 2], n)
    summary["second"] = np.where(rng.random(n) < 0.7, NO_SCORE, summary["best"] + rng.integers(1, 5, n))
    aligned = np.sort(rng.choice(n, 9 * n // 10, replace=False))
    score, given = rng.choice([100, 12], aligned.size, p=[0.9, 0.1]), rng.random(aligned.size) < 0.9
    whole = np.zeros(aligned.size, np.int64), np.full(aligned.size, M)
    primary, far = lines_of(aligned, *whole, score, given), rng.random(n) < 0.1
    proper = np.repeat(rng.random(n // 2) < 0.8, 2)
    found = SimpleNamespace(summary=summary, proper=proper)
    aligner = aligner_of(packed_of([M] * n))
    aligner.know(Places.none().rows, primary.hits, primary.rows, far.view(np.uint8))
    pairs = SimpleNamespace(mate=np.tile([1, 2], n // 2).astype(np.uint8))
    decided = aligner.decided(found, pairs, 2)

    line = {int(read): row for row, read in enumerate(aligned)}

    def stays(read):
        one, row = summary[read], line.get(read)
        if row is None or not given[row] or score[row] < 13 or far[read]:
            return False
        further = int(one["second"]) - int(one["best"]) if one["second"] != NO_SCORE else None
        near = one["n_best"] > 1 or (further is not None and further <= 2)
        return not near or one["best"] == 0

    one_alone = 0
    for read in range(n):
        mates = proper[read], stays(read), stays(read ^ 1)
        assert decided[read] == all(mates), read
        one_alone += mates == (True, True, False)
    assert one_alone > 100 and decided.sum() > 100


def quality_of(others):
    """60 where other places weigh no more than what no model knows."""
    wrong = others + 1e-5
    return 60 if others <= 1e-5 else 0 if wrong > 0.8 else floor(-10 * log10(wrong / (1 + wrong)))


def chance_of(m, errors, clipped):
    """Places in the window where any part of a mate fits as well: both strands of half of it."""
    return (clipped + 1) * WINDOW * comb(m, errors) * 8**errors / 4.0**m


def test_a_mate_is_as_doubtful_as_what_chance_may_have_put_beside_it():
    """Pairs of which one mate aligns 12 to 25 bases, with several places or one."""
    rng, n = np.random.default_rng(4), 400
    read, errors = np.arange(n), rng.choice([0, 0, 0, 1], n)
    aligned = np.where(rng.random(n) < 0.3, M, rng.integers(12, 26, n))
    near, plan = rng.random(n) < 0.5, plan_of([M])
    lines = lines_of(read, np.zeros(n, np.int64), aligned, aligned - 5 * errors, np.ones(n, bool))
    known = np.repeat(rng.choice([0.0, 1e-3], n // 2), 2)
    seen = Seen(*(np.full(n, k, kind) for k, kind in ((3, np.uint16), (1, np.uint8), (3, np.uint16))))
    places = rivals_of(lines, near.astype(int), lines.total - 5)
    of_pairs = {"joined": read, "wrong": known, "window_bases": WINDOW, "summary": summaries(errors)}
    rater = plan.rater(UNKNOWN_LIBRARY)
    rated = report_of(rater, packed_of([M] * n), lines, places, seen=seen, **of_pairs).ratings
    chance = [chance_of(int(m), int(e), M - int(m)) for m, e in zip(aligned, errors, strict=True)]
    for i in range(n):
        assert rated["mapq"][i] == quality_of(known[i] + chance[i] + near[i] * chance[i ^ 1]), i
    assert (near & (np.array(chance)[read ^ 1] > 1e-3) & (aligned == M)).sum() > 5


@pytest.mark.parametrize("m", range(1, 20))
def test_a_short_mate_is_looked_for_where_chance_seldom_puts_it_in_the_window(m):
    """A random one of `m` bases fits at 1 of 100 windows at most, on the strand that is left for it."""
    plan = plan_of([m])
    errors = int(plan.errors[m])
    widest = 0.01 * 4**m / (comb(m, errors) * 8**errors)
    for window, expected in ((0.98 * widest, True), (1.02 * widest, False)):
        assert long_enough(plan, m, window) == expected
