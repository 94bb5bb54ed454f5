"""Exhaustive search finds exactly what brute force finds."""

from __future__ import annotations

from collections import Counter

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst._core.stages import instruction_sets
from gassst.index.spectrum import Spectrum
from gassst.model.params import INDEX_STEPS
from gassst.model.reference import Reference


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
    assert mapper._engine.plan.plan(length).errors == errors
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


@pytest.fixture(scope="module")
def masked_genome() -> dict[str, bytes]:
    """Repeats, ambiguous bases alone and in runs, and contigs that are hardly longer than a read, or shorter."""
    rng = np.random.default_rng(19)
    genome = {"long": bf.repetitive_genome(rng, 12_000), "short": bf.random_bases(rng, 130)}
    genome["tiny"] = genome["long"][4000:4030]
    masked = bytearray(genome["long"])
    for at in rng.integers(0, len(masked) - 40, 60):
        masked[at] = int(rng.choice(list(b"NRYW")))
    masked[7000:7030] = b"N" * 30
    return {**genome, "long": bytes(masked)}


@pytest.fixture(scope="module")
def masked_index(masked_genome) -> gassst.Index:
    return gassst.Index.build(Reference.from_sequences(masked_genome.items()))


def masked_reads(genome: dict[str, bytes], length: int, errors: int, n: int) -> list[bytes]:
    """Reads of the long contig, of its ends and of the other contigs, with up to `errors` errors, some with an N."""
    rng = np.random.default_rng(1000 * length + errors)
    contigs = {"one": genome["long"], "two": genome["short"] * 3}
    return [read.translate(AMBIGUOUS) for read in sample(rng, contigs, length, errors, n)]


def all_records(index: gassst.Index, reads: list[bytes], errors: int, **options) -> list[str]:
    """What the most sensitive search for all alignments writes."""
    identity = 100 * (1 - errors / len(reads[0]))
    options = {"sensitivity": 5, "min_identity": identity, **options}
    mapper = gassst.Mapper(index, all_hits=True, device="none", **options)
    named = [(str(i), read.decode(), None) for i, read in enumerate(reads)]
    return [segment.to_string() for segment in mapper.map(named)]


@pytest.fixture(params=instruction_sets())
def vector_code(request, monkeypatch):
    """The vector code of an instruction set in the search."""
    monkeypatch.setattr("gassst.search.host.instruction_sets", lambda: [request.param])


AMBIGUOUS = bytes.maketrans(b"RYW", b"NNN")
SHAPES = [(20, 1), (25, 2), (36, 3), (36, 5), (50, 5), (75, 7), (100, 5), (100, 12), (150, 20), (250, 25)]


@pytest.mark.parametrize("length, errors", SHAPES)
def test_default_filters_change_no_byte(masked_genome, masked_index, vector_code, length, errors):
    """Nor does a smaller band, as of fewer gap bases: any of 64 diagonals holds all errors here."""
    reads = masked_reads(masked_genome, length, errors, 150)
    for gaps in (None, min(errors, 3)):
        without = all_records(masked_index, reads, errors, gaps=gaps, filters=())
        assert all_records(masked_index, reads, errors, gaps=gaps) == without
        assert len(without) > len(reads)


@pytest.mark.parametrize("length, errors", [(25, 2), (36, 3), (50, 5), (100, 6)])
def test_default_filters_lose_nothing_that_brute_force_finds(
    masked_genome, masked_index, vector_code, length, errors
):
    reads = masked_reads(masked_genome, length, errors, 12)
    options = {"all_hits": True, "sensitivity": 5, "min_identity": 100 * (1 - errors / length)}
    mapper = gassst.Mapper(masked_index, device="none", **options)
    found = reported(mapper.map([(str(i), r.decode(), None) for i, r in enumerate(reads)]))
    total, problems = compare(reads, masked_genome, found, errors)
    assert not problems, f"{len(problems)} of {total}\n" + "\n".join(problems[:10])
    assert total >= len(reads) - 3


def tandem_genome(rng: np.random.Generator, copies: int) -> bytes:
    """Tandem repeats of several periods, with an error in ten bases, each `copies` times."""
    pieces = []
    for period in (2, 3, 4, 5, 6, 7, 8, 11) * copies:
        repeat = bf.mutate(rng, bf.random_bases(rng, period) * (240 // period), 24, 0.5)
        pieces += [bf.random_bases(rng, 200), repeat]
    return b"".join(pieces)


def reads_of(rng: np.random.Generator, genome: bytes, length: int, errors: int, n: int) -> list[bytes]:
    """Reads with `errors` errors, half of them inserted or deleted bases."""
    starts = rng.integers(0, len(genome) - length - errors, n)
    return [bf.mutate(rng, genome[at : at + length + errors], errors, 0.5)[:length] for at in starts]


@pytest.fixture(scope="module")
def tandems() -> tuple[bytes, gassst.Index]:
    genome = tandem_genome(np.random.default_rng(1), 12)
    return genome, gassst.Index.build(Reference.from_sequences([("tandems", genome)]))


def test_filters_choose_no_alignment_among_equally_good_ones(tandems):
    """Most bands around a tandem repeat hold a place, some of them at their edge; filters leave fewer of them.

    But for MAPQ: the rate of errors is learned from reads of whose rivals filters leave fewer, too.
    """
    genome, index = tandems
    reads = reads_of(np.random.default_rng(2), genome, 36, 4, 600)

    def placed(*filters: str) -> list[list[str]]:
        fields = [record.split("\t") for record in all_records(index, reads, 4, filters=filters)]
        return [record[:4] + record[5:] for record in fields]

    without = placed()
    for filters in (("auto",), ("band32",), ("fd", "tnw5-full")):
        assert placed(*filters) == without


def test_alignments_beside_a_better_one_that_no_seed_leads_to(tandems):
    """The better one ends on the same base, in another band, which so says nothing of how this one goes."""
    genome, index = tandems
    reads = reads_of(np.random.default_rng(1), genome, 50, 10, 200)
    assert len(all_records(index, reads, 10, sensitivity=0)) > len(reads)


COPIES = 300
CAPS = {
    0: 32,
    1: 256,
    2: 256,
}  # occurrences from which on a level passes over a seed; the others find every copy


def test_repeats_above_the_cap():
    """Where all seeds of a read occur too often, a level finds as many copies as it looks at, and never none."""
    rng = np.random.default_rng(21)
    element = bf.random_bases(rng, 80)
    genome = {"family": b"".join(element + bf.random_bases(rng, 20) for _ in range(COPIES))}
    index = gassst.Index.build(Reference.from_sequences(genome.items()))
    vars(index)["spectrum"] = (
        Spectrum.none()
    )  # which takes seconds to measure here, and decides mapping qualities alone
    reads = [
        bf.mutate(rng, element[at : at + 62], i % 3, 0.3)[:60] for i, at in enumerate((0, 4, 8, 12, 15, 18))
    ]
    reads = [bf.reverse_complement(read) if i % 2 else read for i, read in enumerate(reads)]
    true = [Counter((*hit[:2], hit[4]) for hit in bf.all_hits(read, genome, 3)) for read in reads]
    for sensitivity in range(6):
        options = {"sensitivity": sensitivity, "min_identity": 95.0, "device": "none"}
        named = [(str(i), read.decode(), None) for i, read in enumerate(reads)]
        found = reported(gassst.Mapper(index, all_hits=True, **options).map(named))
        for i, every in enumerate(true):
            got = Counter((name, reverse, edits) for name, reverse, _, edits in found[str(i)])
            assert got <= every, (sensitivity, i)
            assert got.total() == CAPS.get(sensitivity, every.total()) <= every.total(), (sensitivity, i)
        best = gassst.Mapper(index, mode="global", **options).map(named)
        assert all(not one.is_unmapped and one.mapping_quality == 0 for one in best)
