"""Geometry of pairs: the compiled passes and those of NumPy agree."""

from __future__ import annotations

import numpy as np
import pytest

from gassst._core import pair_scoring as _pair_scoring
from gassst._core import proper_pairs as _proper_pairs
from gassst.index.reference import contig_before
from gassst.model.layouts import HIT
from gassst.model.params import ORIENTATIONS
from gassst.model.sam_flags import PROPER_PAIR
from gassst.pairing.insert_size import InsertModel, pair_templates
from gassst.pairing.orientation import leads, partner_strand, partner_window
from gassst.pairing.pair_scoring import PairedReads, PlacesByRead

STARTS = np.array([0, 1000, 1600], np.int64)
READS = np.arange(2, dtype=np.uint32)
MATES = np.array([1, 2], np.uint8)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_template_lengths_agree(orientation):
    """A pair is proper for exactly one template length, that of NumPy."""
    rng = np.random.default_rng(1)
    proper = 0
    for _ in range(300):
        hits = np.zeros(2, HIT)
        spans = rng.integers(1, 120, 2)
        hits["read"], hits["strand"], hits["cigar_runs"] = READS, rng.integers(0, 2, 2), 1
        hits["position"], hits["cigar_start"] = rng.integers(900, 1800, 2), READS
        cigars, mate = (spans << 4).astype(np.uint32), np.array([1, 2], np.uint8)
        length = int(pair_templates(orientation, hits[:1], hits[1:], spans[:1], spans[1:], STARTS)[0])
        for wanted in (length, length + 1, length - 1):
            found = hits.copy()
            insert = InsertModel(orientation, 1.0, 1.0, wanted, wanted)
            _proper_pairs.flag_proper(found, cigars, mate, STARTS, insert)
            is_proper = (found["flag"] & PROPER_PAIR > 0).all()
            assert is_proper == (wanted == length != 0)
            proper += is_proper
    assert proper > 30


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_windows_of_mates_agree(orientation):
    """For the compiled choice mates are concordant at both ends of NumPy's window, on its strand, and not beside it."""
    rng = np.random.default_rng(2)
    marked = 0
    for _ in range(100):
        lengths, strand = rng.integers(20, 200, 2).astype(np.uint32), int(rng.integers(2))
        low = int(rng.integers(1, 300))
        insert = InsertModel(orientation, 1.0, 1.0, low, low + int(rng.integers(0, 200)))
        one = np.array([strand])
        leading = leads(orientation, one, np.array([1]))
        diagonal, length, other = np.array([3000]), *(lengths[i : i + 1].astype(np.int64) for i in (0, 1))
        first, last = partner_window(leading, diagonal, length, other, insert.low, insert.high)
        for at in (int(first[0]) - 1, int(first[0]), int(last[0]), int(last[0]) + 1):
            for side in (0, 1):
                strands = np.array([strand, 2 | side], np.uint32)
                ends = np.array([3000, at]) + lengths
                places = PlacesByRead(
                    strands, ends, np.zeros(2, np.uint16), np.zeros(2, np.int32), np.arange(3)
                )
                reads = PairedReads(lengths, np.zeros(2, np.uint8), np.zeros(2, np.uint64), MATES, insert)
                _, proper, _, _ = _pair_scoring.choose_pairs(places, np.full(2, 0.1), reads, 60.0, 18.0)
                inside = first[0] <= at <= last[0] and side == partner_strand(orientation, one)[0]
                assert proper.tolist() == [inside, inside]
                marked += inside
    assert marked == 200


def test_contig_before_a_coordinate():
    assert contig_before(STARTS[1:], np.array([0, 999, 1000, 1599, 1600], np.uint32)).tolist() == [
        -1, -1, 0, 0, 1,
    ]  # fmt: skip
