"""Mates that a trimmer has shortened, to nothing even: no run ends, and none is placed by chance."""

from __future__ import annotations

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst.model.params import MIN_READ_LENGTH

INSERT = {None: {}, "given": {"insert": (350.0, 40.0)}}
READ = 100


@pytest.fixture(scope="module")
def genome() -> bytes:
    return bf.random_bases(np.random.default_rng(14), 200_000)


@pytest.fixture(scope="module")
def index(genome, tmp_path_factory):
    fasta = tmp_path_factory.mktemp("short_mates") / "ref.fa"
    fasta.write_bytes(b">c\n" + genome + b"\n")
    return gassst.Index.build(fasta, threads=1)


def make_pairs(genome, lengths):
    """Pairs whose mates have these lengths: names and bases of first and second mates, places of the second."""
    rng = np.random.default_rng(3)
    first, second, at = [], [], []
    for i, (one, two) in enumerate(lengths):
        size = int(np.clip(rng.normal(350, 40), 200, 500))
        start = int(rng.integers(len(genome) - size))
        fragment = genome[start : start + size]
        first.append((f"p{i}", fragment[:one].decode(), None))
        second.append((f"p{i}", bf.reverse_complement(fragment)[:two].decode(), None))
        at.append(start + size - two)
    return first, second, at


def lengths_of(which, n=300):
    rng = np.random.default_rng(8)
    short = rng.integers(0, 20, n)
    short[rng.random(n) < 0.2] = 0
    whole = np.full(n, READ)
    mixed = np.where(rng.random((2, n)) < 0.4, READ, np.stack([short, short[::-1]]))
    return {
        "first": zip(short, whole, strict=True),
        "second": zip(whole, short, strict=True),
        "both": zip(short, short[::-1], strict=True),
        "mixture": zip(*mixed, strict=True),
        "empty": [(0, 0)] * 5,
    }[which]


@pytest.mark.parametrize("insert", INSERT)
@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("which", ["first", "second", "both", "mixture", "empty"])
def test_any_lengths_of_mates(index, genome, which, mode, insert):
    """Two records a pair; where one mate is too short, it is unmapped and lies where the other is."""
    first, second, _ = make_pairs(genome, lengths_of(which))
    mapper = gassst.Mapper(index, threads=1, device="none", mode=mode, **INSERT[insert])
    segments = list(mapper.map(first, second))
    assert len(segments) == 2 * len(first)
    assert [s.to_string() for s in segments] == [
        s.to_string()
        for s in mapper.map(
            [read for pair in zip(first, second, strict=True) for read in pair], interleaved=True
        )
    ]
    whole = {(pair, mate) for mate, reads in enumerate((first, second)) for pair, (_, bases, _) in enumerate(reads)
             if len(bases) == READ}  # fmt: skip
    for i, segment in enumerate(segments):
        mate = segments[i ^ 1]
        assert segment.is_paired and segment.mate_is_unmapped == mate.is_unmapped
        assert segment.is_unmapped != (divmod(i, 2) in whole) or 0 < segment.query_length < READ
        if segment.is_unmapped and not mate.is_unmapped:
            assert (segment.reference_id, segment.reference_start) == (
                mate.reference_id,
                mate.reference_start,
            )
            assert not segment.is_proper_pair and segment.mapping_quality == 0
        if not segment.query_length:
            assert segment.is_unmapped and segment.query_sequence is None


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("length", [1, 3, 7, 12, 14, 15, 19])
def test_a_short_mate_is_not_placed_by_chance(index, genome, length, mode):
    """A mate too short to be mapped alone stays unmapped beside its mate, too; and none is sure but wrong."""
    first, second, places = make_pairs(genome, [(READ, length)] * 500)
    # Every other second mate is of no fragment at all.
    rng = np.random.default_rng(1)
    for i in range(0, len(second), 2):
        second[i] = (second[i][0], bf.random_bases(rng, length).decode(), None)
        places[i] = -1
    mapper = gassst.Mapper(index, threads=1, device="none", mode=mode)
    mates = [s for s in mapper.map(first, second) if s.is_read2 and not s.is_secondary]
    placed = [(s, at) for s, at in zip(mates, places, strict=True) if not s.is_unmapped]
    if length < MIN_READ_LENGTH:
        assert not placed
        return
    assert all(s.mapping_quality < 20 or s.reference_start == at for s, at in placed)
    # A copy with one mismatch beside the mate, which is chance, leaves MAPQ 17.
    sure = [s.mapping_quality >= 20 for s, at in placed if s.reference_start == at]
    assert len(placed) >= 240 and np.mean(sure) > 0.98
