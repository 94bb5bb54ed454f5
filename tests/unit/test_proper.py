"""Proper pairs by their final positions, against plain Python."""

from __future__ import annotations

import brute_force as bf
import numpy as np
import pytest

from gassst._core import read_search as _read_search
from gassst.model.layouts import HIT
from gassst.model.params import ORIENTATIONS
from gassst.pairing.insert_size import InsertModel

STARTS = np.array([0, 2000, 3000], np.int64)
SECONDARY, UNMAPPED = 0x100, 0x4


def random_hits(rng, n):
    """One to three rows of each read, and their CIGARs: 5S, M, D, I, M."""
    rows, cigars = [], []
    for read in range(n):
        for k in range(rng.integers(1, 4)):
            hit = np.zeros((), HIT)
            runs = [5 << 4 | 4, *(int(rng.integers(1, 60)) << 4 | op for op in (0, 2, 1, 0))][
                rng.integers(0, 2) :
            ]
            hit["read"], hit["position"], hit["strand"] = read, rng.integers(1700, 2300), rng.integers(2)
            hit["flag"] = SECONDARY if k else rng.choice([0, UNMAPPED], p=[0.9, 0.1])
            hit["cigar_start"], hit["cigar_runs"] = len(cigars), len(runs)
            cigars += runs
            rows.append(hit)
    return np.array(rows, HIT), np.array(cigars, np.uint32)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_primaries_of_proper_pairs_are_flagged(orientation):
    rng = np.random.default_rng(3)
    mate = np.array([1, 2, 0, 1, 2] * 60, np.uint8)
    hits, cigars = random_hits(rng, len(mate))
    before, low, high = hits.copy(), 50, 300
    insert = InsertModel(orientation, 175.0, 30.0, low, high)
    found = _read_search.flag_proper(hits, cigars, mate, STARTS, insert)
    primary = [int(np.flatnonzero(hits["read"] == r)[0]) for r in range(len(mate))]
    span = [
        sum(int(run) >> 4 for run in cigars[h["cigar_start"] :][: h["cigar_runs"]] if run & 15 in (0, 2))
        for h in before[primary]
    ]
    expected = before["flag"].copy()
    for a in np.flatnonzero(mate == 1).tolist():
        rows = primary[a], primary[a + 1]
        sides = [
            (bool(h["strand"]), int(h["position"]), span[a + i]) for i, h in enumerate(before[list(rows)])
        ]
        contigs = {int(np.searchsorted(STARTS, position, side="right")) for _, position, _ in sides}
        t = bf.template(orientation, *sides)
        mapped = not (before["flag"][list(rows)] & UNMAPPED).any()
        if mapped and len(contigs) == 1 and t is not None and low <= t <= high:
            expected[list(rows)] |= 2
    assert hits["flag"].tolist() == expected.tolist()
    assert 2 * found == (expected & 2 > 0).sum()
    assert 5 < found < 100


@pytest.mark.parametrize("template, proper", [(99, 0), (100, 1), (300, 1), (301, 0)])
def test_the_window_holds_both_its_ends(template, proper):
    hits = np.zeros(2, HIT)
    hits["read"], hits["strand"], hits["cigar_start"], hits["cigar_runs"] = [0, 1], [0, 1], [0, 1], 1
    hits["position"] = [500, 500 + template - 40]
    cigars, mate = np.full(2, 40 << 4, np.uint32), np.array([1, 2], np.uint8)
    insert = InsertModel("fr", 200.0, 30.0, 100, 300)
    assert _read_search.flag_proper(hits, cigars, mate, STARTS, insert) == proper
    assert (hits["flag"] == 2 * proper).all()
