"""Which pairs stay where the search of whole reads has placed them, which mates are looked for, and how sure both are.

The oracles look at one read after the other, and know the formulas of docs/mapq.md alone.
"""

from math import comb, floor, log10
from types import SimpleNamespace

import numpy as np
import pytest
from local_columns import Places
from rating import (
    lines_of,
    own_places,
    packed_of,
    report_of,
    rivals_of,
)

from gassst.index.spectrum import Spectrum
from gassst.model.params import MapParams
from gassst.pairing.error_rate import UNKNOWN_LIBRARY
from gassst.pairing.insert_size import InsertModel
from gassst.search.plan import SearchPlan

M, WINDOW = 100, 600  # bases of a mate, and diagonals on which it may lie beside the other


def plan_of(lengths, n_bases=10**7):
    """In a genome without copies."""
    plan = SearchPlan(MapParams(), 11, n_bases, Spectrum.none())
    plan.prepare(np.asarray(lengths, np.uint32))
    return plan


def quality_of(others):
    """60 where other places weigh no more than what no model knows."""
    wrong = others + 1e-5
    return 60 if others <= 1e-5 else 0 if wrong > 0.8 else floor(-10 * log10(wrong / (1 + wrong)))


def chance_of(m, errors, clipped):
    """Places in the window where any part of a mate fits as well: both strands of half of it."""
    return (clipped + 1) * WINDOW * comb(m, errors) * 8**errors / 4.0**m


def test_a_mate_is_as_doubtful_as_chance_in_the_window_of_the_other():
    """Pairs of which one mate aligns 12 to 25 bases, with several places or one."""
    rng, n = np.random.default_rng(4), 400
    read, errors = np.arange(n), rng.choice([0, 0, 0, 1], n)
    aligned = np.where(rng.random(n) < 0.3, M, rng.integers(12, 26, n))
    near, plan = rng.random(n) < 0.5, plan_of([M])
    lines = lines_of(read, np.zeros(n, np.int64), aligned, aligned - 5 * errors, np.ones(n, bool))
    # Mates of one strand lie 150 diagonals apart. Those that are near have another place on the other one.
    for name in ("first", "last", "low", "high"):
        lines.rows[f"{name}_diagonal"] = 5000 + 150 * (read & 1)
    places = np.concatenate(
        [own_places(lines).rows, rivals_of(lines, near.astype(int), lines.total - 5).rows]
    )
    places = Places.of(places[np.argsort(places["read_strand"], kind="stable")])
    insert = InsertModel("ff", 250.0, 10.0, 200, 300)
    pairs = SimpleNamespace(mate=np.tile([1, 2], n // 2).astype(np.uint8), insert=insert, window_bases=WINDOW)
    rater = plan.rater(UNKNOWN_LIBRARY)
    report = report_of(rater, packed_of([M] * n), lines, places, seen=(3, 1, 3), pairs=pairs)
    rated = report.rows()[1]["rating"]
    known = rated["known"]
    chance = [chance_of(int(m), int(e), M - int(m)) for m, e in zip(aligned, errors, strict=True)]
    for i in range(n):
        assert rated["mapq"][i] == quality_of(known[i] + chance[i]), i
        assert rated["chance"][i] == pytest.approx(chance[i])
    assert (np.array(chance) > 1e-3).sum() > 5
