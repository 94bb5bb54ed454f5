"""`Hit` has the attributes of a hit of mappy, by the manual of mappy."""

from __future__ import annotations

import pytest

from gassst import Hit


@pytest.mark.parametrize("strand, q_st, q_en", [("+", 7, 30), ("-", 3, 26)])
def test_attributes(strand, q_st, q_en):
    """A read of 33 bases: 7 clipped, 10 M, 2 I, 4 D, 11 M, 3 clipped; two mismatches."""
    cigar = ((4, 7), (0, 10), (1, 2), (2, 4), (0, 11), (4, 3))
    hit = Hit("c", 100, 125, strand, 60, cigar, nm=8, score=5, is_primary=True)
    assert (hit.ctg, hit.NM, hit.q_st, hit.q_en) == ("c", 8, q_st, q_en)
    assert (hit.blen, hit.mlen) == (27, 19)


def test_read_without_clips():
    hit = Hit("c", 0, 50, "-", 60, ((0, 50),), nm=1, score=-1, is_primary=True)
    assert (hit.q_st, hit.q_en, hit.blen, hit.mlen) == (0, 50, 50, 49)
