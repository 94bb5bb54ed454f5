"""Reads of 15 to 19 bases: what brute force finds on a small genome, in every mode."""

from __future__ import annotations

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst.model.params import MIN_READ_LENGTH
from gassst.model.reference import Reference

LENGTHS = range(15, 20)


@pytest.fixture(scope="module")
def genome() -> dict[str, bytes]:
    rng = np.random.default_rng(15)
    return {"one": bf.repetitive_genome(rng, 20_000), "two": bf.repetitive_genome(rng, 10_000)}


@pytest.fixture(scope="module")
def indexes(genome) -> dict[int, gassst.Index]:
    """By step."""
    reference = Reference.from_sequences(genome.items())
    return {step: gassst.Index.build(reference, step=step) for step in (1, 4)}


@pytest.fixture(scope="module")
def reads(genome) -> list[bytes]:
    """From anywhere, contig ends among them; of every length a third without an error, one error in the others."""
    rng = np.random.default_rng(19)
    found = []
    for i in range(150):
        length, contig = LENGTHS[i % len(LENGTHS)], genome["one" if i % 4 else "two"]
        last = len(contig) - length - 1
        at = (0, last + 1)[i // 10 % 2] if i % 10 == 0 else int(rng.integers(last))
        read = contig[at : at + length]
        if i % 3:
            read = bf.mutate(rng, contig[at : at + length], 1)
            read = (read + b"A")[:length]
        found.append(bf.reverse_complement(read) if rng.random() < 0.5 else read)
    return found


@pytest.fixture(scope="module")
def places(reads, genome) -> list[list[tuple[str, bool, int, int, int]]]:
    """All places of each read with up to one error."""
    return [bf.all_hits(read, genome, 1) for read in reads]


def is_at(segment, place) -> bool:
    name, reverse, first, last, errors = place
    return (
        (segment.reference_name, segment.is_reverse, segment.get_tag("NM")) == (name, reverse, errors)
        and first <= segment.reference_end <= last
    )  # fmt: skip


def by_name(segments) -> dict[int, list]:
    found: dict[int, list] = {}
    for segment in segments:
        found.setdefault(int(segment.query_name), []).append(segment)
    return found


def named(reads):
    return [(str(i), read.decode()) for i, read in enumerate(reads)]


def test_the_shortest_reads_are_those_of_the_tests():
    assert LENGTHS[0] == MIN_READ_LENGTH


@pytest.mark.parametrize("step", [1, 4])
@pytest.mark.parametrize("errors", [0, 1])
def test_all_places(indexes, reads, places, step, errors):
    """`--all -s 5` reports each place once, and nothing else."""
    identity = 100.0 if errors == 0 else 93.3
    mapper = gassst.Mapper(
        indexes[step], threads=1, device="none", all_hits=True, sensitivity=5, min_identity=identity, seed_length=7
    )  # fmt: skip
    found, total = by_name(mapper.map(named(reads))), 0
    for i, wanted in enumerate(places):
        left = [segment for segment in found[i] if not segment.is_unmapped]
        for place in (place for place in wanted if place[4] <= errors):
            match = [segment for segment in left if is_at(segment, place)]
            assert match, f"read {i} {reads[i]!r}: lost {place}"
            left.remove(match[0])
            total += 1
        assert not left, f"read {i} {reads[i]!r}: invented {left[0]}"
    assert total > 90


@pytest.mark.parametrize("params", [{}, {"mode": "global"}, {"max_hits": 3}, {"sensitivity": 0}, {"memory": 1 << 20}],
                         ids=str)  # fmt: skip
@pytest.mark.parametrize("step", [1, 4])
def test_reads_without_errors_lie_at_a_place_without_errors(indexes, reads, places, params, step):
    """All of them, with MAPQ 0 where there are several such places; with -k, further ones are places, too."""
    mapper, exact = gassst.Mapper(indexes[step], threads=1, device="none", **params), 0
    found = by_name(mapper.map(named(reads)))
    for i, wanted in enumerate(places):
        perfect = [place for place in wanted if place[4] == 0]
        if not perfect:
            continue
        exact += 1
        primary, *others = found[i]
        assert any(is_at(primary, place) for place in perfect), f"read {i}: {primary}"
        assert primary.mapping_quality == 0 or len(perfect) == 1, f"read {i}: {primary}"
        assert len(others) < params.get("max_hits", 1)
        assert all(any(is_at(other, place) for place in wanted) for other in others)
        # Of places nearer than a band is wide, the best search shows one.
        apart = {(name, reverse, first // 128) for name, reverse, first, *_ in perfect}
        assert len(others) + 1 >= min(len(apart) // 2, params.get("max_hits", 1))
    assert exact > 45


def test_one_read_at_a_time(indexes, reads, monkeypatch):
    """`map_one` finds what a batch does that learns nothing of its library."""
    monkeypatch.setattr("gassst.pairing.error_rate.ENOUGH_READS", 1 << 30)
    mapper = gassst.Mapper(indexes[1], threads=1, device="none")
    for i, segment in enumerate(mapper.map(named(reads))):
        hits = mapper.map_one(reads[i].decode())
        if segment.is_unmapped:
            assert not hits
        else:
            (hit,) = hits
            assert (hit.contig, hit.start, hit.mapq) == (
                segment.reference_name, segment.reference_start, segment.mapping_quality
            )  # fmt: skip


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("length", LENGTHS)
def test_pairs_of_short_mates(length, mode, tmp_path):
    """Both mates of 15 to 19 bases are placed, as a proper pair; also those too far apart for a library."""
    rng = np.random.default_rng(length)
    genome = bf.random_bases(rng, 60_000)
    (tmp_path / "ref.fa").write_bytes(b">c\n" + genome + b"\n")
    starts = rng.integers(0, len(genome) - 20_000, 200).tolist()
    sizes = [300 if i % 4 else 15_000 for i in range(len(starts))]
    first = [(f"p{i}", genome[at : at + length].decode(), None) for i, at in enumerate(starts)]
    last = [
        (f"p{i}", bf.reverse_complement(genome[at + size - length : at + size]).decode(), None)
        for i, (at, size) in enumerate(zip(starts, sizes, strict=True))
    ]
    index = gassst.Index.build(tmp_path / "ref.fa", threads=1)
    mapper = gassst.Mapper(index, threads=1, device="none", mode=mode, insert=(300.0, 30.0))
    for segment in mapper.map(first, last):
        i = int(segment.query_name[1:])
        at = starts[i] if segment.is_read1 else starts[i] + sizes[i] - length
        assert (segment.reference_start, segment.is_proper_pair) == (at, sizes[i] == 300)


@pytest.mark.parametrize("length", [1, 8, 14])
def test_shorter_reads_have_no_place(indexes, genome, length):
    segments = gassst.Mapper(indexes[1], threads=1, device="none").map([genome["one"][:length].decode()])
    assert [segment.is_unmapped for segment in segments] == [True]
