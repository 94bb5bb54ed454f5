"""Every scoring option at both ends of its range: whatever is mapped has records that hold up, one base at a time.

The oracle walks over the text of records: their CIGARs, their bases and those of the contig.
"""

from __future__ import annotations

import re
from itertools import product

import brute_force as bf
import numpy as np
import pytest
from sam_worlds import described

import gassst
from gassst.model.params import Scoring
from gassst.model.reference import Reference

M, INSERT = 100, (250.0, 25.0)
PAIR_BONUS = 17  # what a concordant place is worth: docs/pipeline.md
UNMAPPED, REVERSE, SECONDARY, SUPPLEMENTARY = 0x4, 0x10, 0x100, 0x800
LEAST_SCORES = [0, 32767]
GAPS = [((0, 0), (1, 1)), ((1000, 1000), (1000, 1000)), ((0, 1000), (1000, 1)), ((1000, 0), (1, 1000))]
SCORINGS = [
    {"match": match, "mismatch": mismatch, "gap_open": opened, "gap_extend": longer, "clip": clip}
    for i, (match, mismatch, (opened, longer), clip) in enumerate(
        product((1, 10), (0, 1000), GAPS, (0, 1000))
    )
    if i.bit_count() % 2  # half of them: of any three options all ends meet
]


@pytest.fixture(scope="module")
def genome() -> dict[str, bytes]:
    """Repeats, a run of N and some alone, a contig hardly longer than a read, and a shorter one."""
    rng = np.random.default_rng(55)
    one = np.frombuffer(bf.repetitive_genome(rng, 12_000), np.uint8).copy()
    one[rng.integers(0, len(one), 30)] = ord("N")
    one[6000:6030] = ord("N")
    return {"one": one.tobytes(), "two": bf.random_bases(rng, 130), "tiny": bf.random_bases(rng, 60)}


@pytest.fixture(scope="module")
def index(genome):
    return gassst.Index.build(Reference.from_sequences(genome.items()))


def piece(rng, genome, length):
    """Bases of either strand, with an error or two in a third of them."""
    contig = genome[str(rng.choice(["one", "one", "one", "two"]))]
    at = int(rng.integers(len(contig) - length + 1))
    bases = bf.mutate(rng, contig[at : at + length + 2], int(rng.integers(0, 3)))[:length]
    return bf.reverse_complement(bases) if rng.random() < 0.5 else bases


def read_of(rng, genome, kind):
    """Plain, of two or three pieces, with an adapter, over a contig's end, with a gap, short, of one base, random."""
    first = int(rng.integers(1, M))
    contig = genome[str(rng.choice(list(genome)))]
    ends = contig[:first], contig[-first:]
    return [
        piece(rng, genome, M), piece(rng, genome, first) + piece(rng, genome, M - first),
        piece(rng, genome, 30) + piece(rng, genome, 40) + piece(rng, genome, 30),
        piece(rng, genome, first) + bf.random_bases(rng, M - first),
        bf.random_bases(rng, M - len(ends[0])) + ends[0], ends[1] + bf.random_bases(rng, M - len(ends[1])),
        ends[1] + piece(rng, genome, M - len(ends[1])),
        contig[-50:] + b"ACGTTGCA"[: first % 9] + contig[-90:-40],
        genome["one"][first : first + 50] + genome["one"][first + 50 + first % 40 :][:50],
        piece(rng, genome, 15 + first % 30), b"ACGTN"[first % 5 :][:1] * M, bf.random_bases(rng, M),
    ][kind % 12]  # fmt: skip


@pytest.fixture(scope="module")
def reads(genome):
    rng = np.random.default_rng(1)
    return [(f"r{i}", read_of(rng, genome, i).decode(), None) for i in range(60)]


@pytest.fixture(scope="module")
def mates(genome):
    """First and last mates: of one fragment, of a short one, of two places, and of all kinds of reads."""
    rng, sides = np.random.default_rng(2), ([], [])
    for i in range(32):
        fragment = piece(rng, {**genome, "two": genome["one"]}, int(rng.integers(60, 301)))
        pair = [fragment[:M], bf.reverse_complement(fragment)[:M]]
        if i % 4 == 1:
            pair[int(rng.integers(2))] = read_of(rng, genome, i // 4)
        if i % 4 == 2:
            pair = [mate[: len(mate) // 2] + read_of(rng, genome, i)[: M // 2] for mate in pair]
        for side, mate in zip(sides, pair, strict=True):
            side.append((f"p{i}", mate.decode(), None))
    return sides


def recomputed(record, bases, genome, scoring):
    """(NM, MD, AS) of a record of these bases, which are those of its strand."""
    contig = genome[record.reference_name].decode()
    runs = [(length, "MIDSSS"[op]) for op, length in record.cigartuples]
    edits, md, columns = described(contig, record.reference_start, bases, runs)
    score, q, at = 0, 0, record.reference_start
    for length, op in ((int(n), op) for n, op in re.findall(r"(\d+)([=XIDS])", columns)):
        if op == "=":
            score += length * scoring.match
        elif op == "X":
            masked = sum("N" in pair for pair in zip(bases[q:][:length], contig[at:][:length], strict=True))
            score -= masked + (length - masked) * scoring.mismatch
        elif op in "ID":
            score -= scoring.gap_open[op == "I"] + length * scoring.gap_extend[op == "I"]
        q += length * (op != "D")
        at += length * (op in "=XD")
    assert (q, at) == (len(bases), record.reference_end)
    return edits, md, score


def verify(records, sequences, genome, scoring, least):
    """How many rows are mapped: each is an alignment of some bases, and says what it is."""
    for record in records:
        bases = sequences[record.query_name, record.is_read2]
        bases = bf.reverse_complement(bases.encode()).decode() if record.flag & REVERSE else bases
        further = record.flag & (SECONDARY | SUPPLEMENTARY)
        assert further or record.query_sequence == bases
        if record.flag & UNMAPPED:
            assert not further and not record.cigartuples
            continue
        aligned = [op for op, _ in record.cigartuples if op not in (4, 5)]
        assert 0 in aligned and 2 not in (aligned[0], aligned[-1]), record.to_string()
        assert 0 <= record.reference_start < record.reference_end <= len(genome[record.reference_name])
        found = record.get_tag("NM"), record.get_tag("MD"), record.get_tag("AS")
        assert found == recomputed(record, bases, genome, scoring), record.to_string()
        bonus = PAIR_BONUS if record.is_proper_pair and not further else 0
        asked_for = record.flag & SECONDARY or least is None or record.get_tag("AS") >= least - bonus
        assert asked_for, record.to_string()
    names = [(r.query_name, r.is_read2) for r in records if not r.flag & (SECONDARY | SUPPLEMENTARY)]
    assert sorted(names) == sorted(sequences)
    return sum(not record.flag & UNMAPPED for record in records)


@pytest.mark.parametrize("least", [None, *LEAST_SCORES])
def test_records_hold_up_whatever_the_scores_are(index, genome, reads, mates, least):
    """With -T 0 an alignment of no bases scored enough to be a part of a read, and no record can say that."""
    single = {(name, False): bases for name, bases, _ in reads}
    paired = {(name, bool(i)): bases for i, side in enumerate(mates) for name, bases, _ in side}
    mapped = 0
    for scores in [{}, *SCORINGS]:
        scoring = Scoring(**scores, min_score=least)
        options = {"mode": "local", "device": "none", "threads": 1, "scoring": scoring, "max_hits": 3}
        for sides, sequences, insert in ((reads,), single, {}), (mates, paired, {"insert": INSERT}):
            records = list(gassst.Mapper(index, **options, **insert).map(*sides))
            mapped += verify(records, sequences, genome, scoring, least)
    assert mapped == 0 if least == LEAST_SCORES[1] else mapped > 50 * len(SCORINGS)
