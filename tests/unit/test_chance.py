"""What a base of a word is worth, against the estimator written base by base; and reads of low complexity."""

from __future__ import annotations

import math
from collections import Counter
from types import SimpleNamespace

import brute_force as bf
import numpy as np
import pytest
from rating import lines_of, rater, report_of

import gassst
from gassst._core.reads import pack
from gassst.index.miss_model import NO_SEEDS
from gassst.model.params import MAX_READ_LENGTH
from gassst.model.reference import Reference
from gassst.pairing.error_rate import UNKNOWN_LIBRARY


def letters(words: list[bytes], begin=None, end=None, most: float = 4.0) -> list[float]:
    """What the places by chance of words without an error say of their letters."""
    k, lengths = len(words), [len(word) for word in words]
    offsets = np.cumsum([0, *lengths]).astype(np.uint32)
    _, planes, plane_start = pack(np.frombuffer(b"".join(words), np.uint8), offsets, MAX_READ_LENGTH, None)
    packed = SimpleNamespace(lengths=np.array(lengths, np.uint32), planes=planes, plane_start=plane_start)
    begin, end = np.array(begin or [0] * k), np.array(end or lengths)
    lines = lines_of(np.arange(k), begin, end, end - begin, cigar_runs=2)
    report = report_of(rater([NO_SEEDS], UNKNOWN_LIBRARY.table, letters=most), packed, lines)
    rated = report.rows()[1]["rating"]
    aligned = end - begin
    ways = rated["chance"] / 2 / (lengths - aligned + 1)
    return ((1 / ways) ** (1 / np.maximum(aligned, 1))).tolist()


def expected(word: bytes, most: float = 4.0) -> float:
    """By the probabilities of the bases, one after the other, on the strand that makes them likelier."""
    logs = []
    for strand in (word, bf.reverse_complement(word)):
        pairs: Counter[bytes] = Counter()
        before: Counter[bytes] = Counter()
        log = -math.log(most)
        for x, y in zip(strand, strand[1:], strict=False):
            if ord("N") in (x, y):
                log -= math.log(most)
                continue
            log += math.log((pairs[bytes([x, y])] + 0.5) / (before[bytes([x])] + 2))
            pairs[bytes([x, y])] += 1
            before[bytes([x])] += 1
        logs.append(log)
    return min(most, math.exp(-max(logs) / len(word)))


def some_words() -> list[bytes]:
    rng = np.random.default_rng(8)
    words = [b"A", b"AC", b"GA" * 50, b"CAG" * 33, b"A" * 1000, bf.random_bases(rng, 500), b"ACNNGTNACG" * 9]
    for _ in range(200):
        unit = bf.random_bases(rng, int(rng.integers(1, 12)))
        words.append(bf.mutate(rng, (unit * 200)[: int(rng.integers(15, 300))], int(rng.integers(9))))
    return words


@pytest.mark.parametrize("most", [3.0, 4.0])
def test_letters_are_those_of_the_bases_one_after_the_other(most):
    words = some_words()
    assert letters(words, most=most) == pytest.approx([expected(word, most) for word in words], abs=1e-6)


def test_a_word_and_its_reverse_complement_are_worth_the_same_to_the_last_bit():
    words = some_words()
    assert letters(words) == letters([bf.reverse_complement(word) for word in words])


def test_a_part_of_a_read_is_worth_what_it_is_worth_alone():
    rng = np.random.default_rng(9)
    parts = [(b"GT" * 60)[: int(rng.integers(1, 100))] for _ in range(50)]
    heads = [bf.random_bases(rng, int(rng.integers(0, 130))) for _ in parts]
    reads = [head + part + bf.random_bases(rng, 40) for head, part in zip(heads, parts, strict=True)]
    begin = [len(head) for head in heads]
    end = [b + len(part) for b, part in zip(begin, parts, strict=True)]
    assert letters(reads, begin, end) == pytest.approx(letters(parts))


@pytest.fixture(scope="module")
def repeats() -> tuple[gassst.Index, bytes]:
    """Random bases, and among them 40 stretches of A and T alone."""
    rng = np.random.default_rng(11)
    parts = []
    for _ in range(40):
        parts += [bf.random_bases(rng, 5000), two_letters(rng, 300)]
    genome = b"".join(parts)
    return gassst.Index.build(Reference.from_sequences([("g", genome)])), genome


def two_letters(rng: np.random.Generator, m: int) -> bytes:
    return np.where(rng.random(m) < 0.5, ord("A"), ord("T")).astype(np.uint8).tobytes()


@pytest.mark.parametrize("mode", ["global", "local"])
def test_reads_of_low_complexity_from_elsewhere_are_not_sure(repeats, mode):
    index, genome = repeats
    rng = np.random.default_rng(12)
    foreign = [two_letters(rng, 60).decode() for _ in range(1500)]
    own = [genome[at : at + 60].decode() for at in range(5020, len(genome) - 300, 5300)]
    mapper = gassst.Mapper(index, device="none", mode=mode)
    quality = np.array([s.mapping_quality for s in mapper.map(foreign) if not s.is_unmapped])
    # Four letters for each base would let 442 of them have MAPQ 10 or more, and 118 have 20.
    assert len(quality) > 1000
    assert np.count_nonzero(quality >= 10) <= 30 and np.count_nonzero(quality >= 20) < 15
    # Where all of its 60 bases fit, it is no chance.
    assert min(s.mapping_quality for s in mapper.map(own)) >= 20


def test_one_read_of_low_complexity_is_as_sure_as_in_a_batch(repeats):
    index, _ = repeats
    rng = np.random.default_rng(13)
    reads = [two_letters(rng, 60).decode() for _ in range(300)]
    mapper = gassst.Mapper(index, device="none", mode="global")
    alone = [hits[0].mapq if (hits := mapper.map_one(read)) else 0 for read in reads]
    assert alone == [s.mapping_quality for s in mapper.map(reads)]
