"""band32 at every place of a diagonal among 64, of reads of every length, against textbook dynamic programming.

A band is read in words of 64 bases, 64 rows at a time. Where it begins within a word, and how many rows are left, say
how many words are needed: one fewer, and the filter rejects one good alignment in 64.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from alignments import pack
from oracles import band_errors, pack_planes
from seed_candidates import Candidates

from gassst._core.stages import instruction_sets
from gassst._core.thesis_filters import passed
from gassst.search.filters import filter_of

LENGTHS = np.r_[15:140, 180:200, 254:260, 318:322]
BEFORE, AFTER = 16, 15  # diagonals of a band beside that of its candidate
WIDTH, START = (
    64 * 7 + 1,
    50,
)  # of a window, so that its first base is the next one of 64 in each; where reads begin


@pytest.fixture(scope="module")
def world():
    """Of each length one read and 64 windows that hold it on a diagonal of the band, mostly the first or the last.

    In them some bases differ, the last ones more often, as it is they that a missing word takes.
    """
    rng = np.random.default_rng(64)
    reads = [rng.integers(0, 4, m).astype(np.uint8) for m in LENGTHS]
    windows = rng.integers(0, 4, (64 * len(LENGTHS), WIDTH), np.uint8)
    for i, window in enumerate(windows):
        read = reads[i // 64]
        diagonal = START + (AFTER, -BEFORE, int(rng.integers(-BEFORE, AFTER + 1)))[i % 3]
        window[diagonal : diagonal + len(read)] = read
        window[diagonal + len(read) - rng.integers(1, min(len(read), 40), i % 4)] ^= 1
    length = np.repeat(LENGTHS, 64)
    rows = np.zeros((len(windows), LENGTHS.max()), np.uint8)
    for i in range(len(windows)):
        rows[i, : length[i]] = reads[i // 64]
    packed = pack(reads)
    return SimpleNamespace(
        errors=band_errors(rows, windows, START, length, BEFORE, AFTER),
        # A candidate has a limit of its own, so it is a read of its own: 64 of them have their bases in one place.
        packed=SimpleNamespace(
            planes=packed.planes,
            plane_start=np.repeat(packed.plane_start, 64),
            lengths=length.astype(np.uint32),
            conversions=packed.conversions,
        ),
        reference=pack_planes(np.r_[windows.reshape(-1), np.zeros(128, np.uint8)]),  # of which an end passes
        diagonal=np.arange(len(windows)) * WIDTH + START,
    )


@pytest.mark.parametrize("order", ["of one read", "of several reads"])
@pytest.mark.parametrize("instruction_set", instruction_sets())
def test_bands_that_begin_anywhere_in_a_word(world, instruction_set, order):
    n, one = len(world.errors), world.errors > 0
    row = np.arange(n) if order == "of one read" else np.random.default_rng(1).permutation(n)
    column = np.ones(len(row), np.uint16)
    candidates = Candidates(
        (2 * row).astype(np.uint32), world.diagonal[row].astype(np.int64), column, 9 * column
    )
    for limits, passes in (world.errors, np.ones(n, bool)), (world.errors - one, ~one):
        seen = limits.astype(np.uint16), world.packed, world.reference
        kept = passed(filter_of("band32", 15), candidates, *seen, instruction_set)[0]
        assert kept.tolist() == (2 * row[passes[row]]).tolist()


def test_the_world_has_all_of_them(world):
    """And where the read lies on the last diagonal its last base decides whether the alignment is within the limit."""
    places = {
        (m, at % 64) for m, at in zip(world.packed.lengths.tolist(), world.diagonal.tolist(), strict=True)
    }
    assert len(places) == 64 * len(LENGTHS)
    assert np.bincount(world.errors)[:4].min() > len(LENGTHS)
