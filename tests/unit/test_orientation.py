"""Geometry of pairs: the compiled passes against that of plain Python."""

from __future__ import annotations

import brute_force as bf
import numpy as np
import pytest

from gassst._core import read_search as _read_search
from gassst.model.layouts import HIT
from gassst.model.params import ORIENTATIONS
from gassst.model.reference import contig_before
from gassst.model.sam_flags import PROPER_PAIR
from gassst.pairing.insert_size import InsertModel

STARTS = np.array([0, 1000, 1600], np.int64)
READS = np.arange(2, dtype=np.uint32)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_template_lengths_agree(orientation):
    """A pair is proper for exactly one template length, on one contig."""
    rng = np.random.default_rng(1)
    proper = 0
    for _ in range(300):
        hits = np.zeros(2, HIT)
        spans = rng.integers(1, 120, 2)
        hits["read"], hits["strand"], hits["cigar_runs"] = READS, rng.integers(0, 2, 2), 1
        hits["position"], hits["cigar_start"] = rng.integers(900, 1800, 2), READS
        cigars, mate = (spans << 4).astype(np.uint32), np.array([1, 2], np.uint8)
        sides = [(bool(h["strand"]), int(h["position"]), int(m)) for h, m in zip(hits, spans, strict=True)]
        same = len({int(np.searchsorted(STARTS, position, side="right")) for _, position, _ in sides}) == 1
        length = (bf.template(orientation, *sides) or 0) * same
        first, code = np.zeros(1, np.int64), ORIENTATIONS.index(orientation)
        assert _read_search.pair_templates(hits, cigars, first, STARTS, code).tolist() == [length]
        for wanted in (length, length + 1, length - 1):
            found = hits.copy()
            insert = InsertModel(orientation, 1.0, 1.0, wanted, wanted)
            _read_search.flag_proper(found, cigars, mate, STARTS, insert)
            is_proper = (found["flag"] & PROPER_PAIR > 0).all()
            assert is_proper == (wanted == length > 0)
            proper += is_proper
    assert proper > 30


def test_contig_before_a_coordinate():
    assert contig_before(STARTS[1:], np.array([0, 999, 1000, 1599, 1600], np.uint32)).tolist() == [
        -1, -1, 0, 0, 1,
    ]  # fmt: skip
