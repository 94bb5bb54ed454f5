"""Exhaustive search finds exactly what brute force finds."""

from __future__ import annotations

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst.io.reference import Reference
from gassst.params import INDEX_STEPS


@pytest.fixture(scope="module")
def genome() -> dict[str, bytes]:
    rng = np.random.default_rng(7)
    return {"one": bf.repetitive_genome(rng, 16_000), "two": bf.repetitive_genome(rng, 8_000)}


@pytest.fixture(scope="module")
def indexes(genome) -> dict[int, gassst.Index]:
    """By step."""
    reference = Reference.from_sequences(genome.items())
    return {step: gassst.Index.build(reference, step=step) for step in INDEX_STEPS}


def sample(
    rng: np.random.Generator, genome: dict[str, bytes], length: int, errors: int, n: int
) -> list[bytes]:
    """Reads with up to `errors` errors from anywhere, every third one from a contig's end, some with an N."""
    reads = []
    for i in range(n):
        contig = genome["one" if rng.random() < 0.8 else "two"]
        span = length + errors
        at = [0, len(contig) - span][i // 3 % 2] if i % 3 == 0 else int(rng.integers(len(contig) - span))
        read = bytearray(
            bf.mutate(rng, contig[at : at + span], errors if i % 2 else max(errors - 1, 0))[:length]
        )
        if errors and i % 7 == 0:
            read[int(rng.integers(length))] = ord("N")
        reads.append(bf.reverse_complement(bytes(read)) if rng.random() < 0.5 else bytes(read))
    return reads


def reported(segments) -> dict[str, list[tuple[str, bool, int, int]]]:
    found: dict[str, list[tuple[str, bool, int, int]]] = {}
    for s in segments:
        hits = found.setdefault(s.query_name, [])
        if not s.is_unmapped:
            hits.append((s.reference_name, s.is_reverse, s.reference_end, s.get_tag("NM")))
    return found


def compare(reads: list[bytes], genome: dict[str, bytes], found: dict, errors: int) -> tuple[int, list[str]]:
    problems, total = [], 0
    for i, read in enumerate(reads):
        wanted = bf.all_hits(read, genome, errors)
        total += len(wanted)
        got = list(found[str(i)])
        for name, reverse, first, last, nm in wanted:
            match = [h for h in got if h[:2] == (name, reverse) and first <= h[2] <= last and h[3] == nm]
            if match:
                got.remove(match[0])
            else:
                problems.append(f"read {i} {read!r}: lost {(name, reverse, first, last, nm)}")
        problems += [f"read {i} {read!r}: invented {h}" for h in got]
    return total, problems


CASES = [(length, errors, 1) for length in (36, 50, 100) for errors in range(6)]
CASES += [(36, 3, 2), (50, 4, 2), (36, 0, 4), (36, 2, 4), (36, 5, 4), (50, 5, 4), (100, 4, 4)]


@pytest.mark.parametrize("length, errors, step", CASES)
def test_all_hits_are_those_of_brute_force(genome, indexes, length, errors, step):
    rng = np.random.default_rng(length * 10 + errors)
    reads = sample(rng, genome, length, errors, 14)
    identity = 100 * (1 - errors / length)
    mapper = gassst.Mapper(
        indexes[step],
        all_hits=True,
        sensitivity=5,
        seed_length=None if step == 1 else min(20, length // (errors + 1)),
        min_identity=identity,
        device="none",
    )
    assert mapper.plan.plan(length).errors == errors
    found = reported(mapper.map([(str(i), r.decode(), None) for i, r in enumerate(reads)]))
    total, problems = compare(reads, genome, found, errors)
    assert not problems, f"{len(problems)} of {total}\n" + "\n".join(problems[:10])
    assert total >= len(reads) - 3


@pytest.mark.parametrize("step", INDEX_STEPS)
def test_tandem_repeats(step):
    """Reads out of tandem repeats have many alignments, a few bases apart."""
    rng = np.random.default_rng(3)
    unit = bf.random_bases(rng, 5)
    contigs = {"c": bf.random_bases(rng, 2000) + bf.mutate(rng, unit * 40, 3) + bf.random_bases(rng, 2000)}
    small = gassst.Index.build(Reference.from_sequences(contigs.items()), step=step)
    reads = [contigs["c"][at : at + 50] for at in range(1960, 2190, 17)]
    mapper = gassst.Mapper(
        small, all_hits=True, sensitivity=5, seed_length=10, min_identity=92, device="none"
    )
    found = reported(mapper.map([(str(i), r.decode(), None) for i, r in enumerate(reads)]))
    total, problems = compare(reads, contigs, found, 4)
    assert not problems, "\n".join(problems[:10])
    assert total > 5 * len(reads)
