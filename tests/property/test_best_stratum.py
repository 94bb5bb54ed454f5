"""`strata`: of every read all places with the fewest errors, and no others, as brute force finds them."""

from __future__ import annotations

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst.model.reference import Reference

IDENTITY = 94.0
UNLIMITED = 0xFFFFFFFF


@pytest.fixture(scope="module")
def genome() -> dict[str, bytes]:
    rng = np.random.default_rng(31)
    return {"one": bf.repetitive_genome(rng, 20_000), "two": bf.repetitive_genome(rng, 10_000)}


@pytest.fixture(scope="module")
def indexes(genome) -> dict[int, gassst.Index]:
    """By step."""
    reference = Reference.from_sequences(genome.items())
    return {step: gassst.Index.build(reference, step=step) for step in (1, 4)}


def limit_of(read: bytes) -> int:
    return int(len(read) * (100 - IDENTITY) / 100 + 1e-9)


@pytest.fixture(scope="module")
def cases(genome) -> list[tuple[bytes, list[tuple[str, bool, int, int, int]]]]:
    """Reads of 15 to 90 bases with up to one error more than they may have, and the places of their best stratum."""
    rng, found = np.random.default_rng(94), []
    for i in range(160):
        length = (15, 16, 18, 20, 22, 25, 30, 33, 36, 50, 90)[i % 11]
        contig = genome["one" if i % 4 else "two"]
        at = int(rng.integers(len(contig) - length))
        errors = int(rng.integers(limit_of(contig[:length]) + 2))
        read = (bf.mutate(rng, contig[at : at + length], errors) + b"ACGT")[:length]
        read = bf.reverse_complement(read) if rng.random() < 0.5 else read
        places = bf.all_hits(read, genome, limit_of(read))
        best = min((place[4] for place in places), default=0)
        found.append((read, [place for place in places if place[4] == best]))
    return found


def reported(mapper, cases) -> list[list]:
    found: list[list] = [[] for _ in cases]
    for segment in mapper.map([(str(i), read.decode()) for i, (read, _) in enumerate(cases)]):
        found[int(segment.query_name)] += [] if segment.is_unmapped else [segment]
    return found


def is_at(segment, place) -> bool:
    name, reverse, first, last, errors = place
    own = segment.reference_name, segment.is_reverse, segment.get_tag("NM")
    return own == (name, reverse, errors) and first <= segment.reference_end <= last


def mapper_of(index, **params):
    params = {"all_hits": True, "strata": True, "min_identity": IDENTITY, "max_hits": UNLIMITED} | params
    return gassst.Mapper(index, threads=1, device="none", **params)


@pytest.mark.parametrize("step", [1, 4])
@pytest.mark.parametrize("sensitivity", [3, 5])
def test_each_place_of_the_best_stratum_once(indexes, cases, step, sensitivity):
    found = reported(mapper_of(indexes[step], sensitivity=sensitivity), cases)
    for (read, wanted), segments in zip(cases, found, strict=True):
        left = list(segments)
        for place in wanted:
            match = [segment for segment in left if is_at(segment, place)]
            assert match, f"{read!r}: lost {place}"
            left.remove(match[0])
        assert not left, f"{read!r}: invented {left[0]}"
        if segments:
            assert [segment.is_secondary for segment in segments] == [False] + [True] * (len(segments) - 1)
            assert segments[0].mapping_quality == 0 or len(segments) == 1
    assert sum(len(wanted) > 1 for _, wanted in cases) > 10
    assert sum(wanted[0][4] > 0 for _, wanted in cases if wanted) > 10


@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_more_places_than_asked_for(indexes, cases, most):
    every = reported(mapper_of(indexes[1]), cases)
    some = reported(mapper_of(indexes[1], max_hits=most), cases)
    for all_of_read, of_read in zip(every, some, strict=True):
        assert [s.to_string() for s in of_read] == [s.to_string() for s in all_of_read[:most]]


def test_a_stratum_is_a_choice_among_all_hits(indexes):
    assert gassst.Mapper(indexes[1], strata=True).params.all_hits
