"""`Mapper.map_one` and `map_pair` find what `map` finds for the same reads; `map_arrays` is the same in columns.

The oracle is `map`: its records go through the batches and htslib, neither of which the search of one read uses.
"""

from __future__ import annotations

import random

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst import Scoring
from gassst.api.hits import Hit
from gassst.mapping.batch_mapper import BatchMapper
from gassst.model.reference import Reference


@pytest.fixture(autouse=True)
def nothing_is_learned(monkeypatch):
    """Of one read alone a mapper knows no library, so these tests have none."""
    monkeypatch.setattr("gassst.pairing.error_rate.ENOUGH_READS", 1 << 30)


def hits_by_record(segments) -> list[list[Hit]]:
    """The hits of each read in turn, from the records of `map`."""
    found: list[list[Hit]] = []
    for s in segments:
        if not s.flag & 0x900:
            found.append([])
        if s.is_unmapped:
            continue
        place = s.reference_name, s.reference_start, s.reference_end, "-" if s.is_reverse else "+"
        cigar = tuple((4 if op == 5 else op, length) for op, length in s.cigartuples)
        kind = not s.flag & 0x900, bool(s.flag & 0x800), s.is_proper_pair
        found[-1].append(Hit(*place, s.mapping_quality, cigar, s.get_tag("NM"), s.get_tag("AS"), *kind))
    return found


def reads_of(genome: bytes, n: int, seed: int, lengths=(20, 36, 100, 150, 300)) -> list[str]:
    """Reads with up to 12 % errors and with gaps, over both ends of the genome, with masked bases, and random ones."""
    rng = np.random.default_rng(seed)
    reads = []
    for i in range(n):
        length = int(rng.choice(lengths))
        at = int(rng.choice([0, len(genome) - length - 25, rng.integers(len(genome) - length - 25)]))
        read = bf.mutate(rng, genome[at : at + length + 20], int(rng.integers(length // 8)))[:length]
        if i % 7 == 0:  # over an end
            read = bf.random_bases(rng, 5) + read[5:] if at == 0 else read[:-5] + bf.random_bases(rng, 5)
        if i % 11 == 0:
            read = read[:9] + b"N" + read[10:].lower()
        if i % 13 == 0:
            read = bf.random_bases(rng, length)
        read = bf.reverse_complement(read) if rng.random() < 0.5 else read
        reads.append(read.decode())
    return reads


@pytest.fixture(scope="module")
def tandem_genome() -> bytes:
    """Unique bases, tandem repeats of several units, two copies of a stretch, and poly-A."""
    rng = np.random.default_rng(3)
    parts = [bf.random_bases(rng, 4_000)]
    for unit in (2, 3, 11, 17, 40, 90):
        word = bf.random_bases(rng, unit)
        parts += [bf.mutate(rng, word * (600 // unit), 6), bf.random_bases(rng, 700)]
    copied = bf.random_bases(rng, 500)
    parts += [
        copied, bf.random_bases(rng, 400), bf.mutate(rng, copied, 4), b"A" * 300, bf.random_bases(rng, 500),
    ]  # fmt: skip
    return b"".join(parts)


@pytest.fixture(scope="module")
def tandem_index(tandem_genome) -> gassst.Index:
    whole = Reference.from_sequences([("t", tandem_genome), ("u", tandem_genome[4_000:5_000])])
    return gassst.Index.build(whole, threads=1)


OPTIONS = {
    "default": {},
    "five hits": {"max_hits": 5},
    "sensitivity 0": {"sensitivity": 0, "max_hits": 3},
    "sensitivity 4": {"sensitivity": 4},
    "sensitivity 5": {"sensitivity": 5, "max_hits": 2},
    "no filter": {"filters": ()},
    "band32 alone": {"filters": ("band32",), "seed_length": 11},
    "both": {"filters": ("band32", "fd"), "min_identity": 92},
    "wide": {"gaps": 60},
    "local": {"mode": "local"},
    "local, three hits": {"mode": "local", "max_hits": 3},
    "local, cheap gaps": {"mode": "local", "scoring": Scoring(mismatch=9, gap_open=(1, 2), clip=2)},
    "local, matches of 2": {"mode": "local", "scoring": Scoring(match=2, mismatch=3, clip=0, min_score=38)},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_one_read_has_the_places_that_it_has_among_others(tandem_index, tandem_genome, options):
    mapper = gassst.Mapper(tandem_index, device="none", **{"mode": "global", **options})
    reads = reads_of(tandem_genome, 160, seed=len(str(options)))
    expected = hits_by_record(mapper.map(reads))
    assert len(expected) == len(reads) and sum(map(bool, expected)) > 100
    assert [mapper.map_one(read) for read in reads] == expected


@pytest.mark.parametrize(
    "options",
    [{"all_hits": True}, {"memory": 1 << 20}, {"max_hits": 2}, {"all_hits": True, "mode": "local"}],
    ids=str,
)
def test_what_one_read_cannot_have_alone_it_has_by_a_batch(small_index, small_reads, options):
    mapper = gassst.Mapper(small_index, device="none", **options)
    assert mapper._engine.one_read is None
    expected = hits_by_record(mapper.map(small_reads[:60]))
    assert [mapper.map_one((name, read, quality)) for name, read, quality in small_reads[:60]] == expected


def test_reads_with_errors_gaps_and_clipped_ends_need_no_batch(small_index, small_genome, monkeypatch):
    mapper = gassst.Mapper(small_index, device="none", mode="local")
    rng = random.Random(2)
    reads = []
    for errors in (0, 0, 1, 2, 3) * 6:
        read = list(small_genome["three"][(at := rng.randrange(1_800)) : at + 150].decode())
        for i in rng.sample(range(20, 130), errors):
            read[i] = {"A": "C", "C": "G", "G": "T", "T": "A"}[read[i]]
        reads.append("".join(read))
    gapped = [read[:60] + read[60 + i :] for i, read in enumerate(reads[:6])]
    gapped += [read[:80] + "GATTACA"[: 1 + i] + read[80:] for i, read in enumerate(reads[6:12])]
    reads += [*gapped, *("ACGTACGTACGTACGT"[: 6 + i] + read[6 + i :] for i, read in enumerate(reads[12:20]))]
    reads += [read[:90] + reads[0][:60] for read in reads[20:24]]  # of two parts
    expected = hits_by_record(mapper.map(reads))
    assert {op for hits in expected for op, _ in hits[0].cigartuples} == {0, 1, 2, 4}
    assert [len(hits) for hits in expected[-4:]] == [2] * 4
    monkeypatch.setattr(BatchMapper, "map_batch", lambda *_: 1 / 0)
    assert [mapper.map_one(read) for read in reads] == expected


def test_reads_with_unknown_bases_or_with_rivals_need_no_batch(tandem_index, tandem_genome, monkeypatch):
    """An N costs less than a mismatch. Of two copies one has fewer errors, and the read scores less in the other."""
    mapper = gassst.Mapper(tandem_index, device="none", mode="local")
    rng = random.Random(5)
    reads = []
    for i in range(60):
        read = list(tandem_genome[(at := rng.randrange(1_000, 3_800)) : at + 150].decode())
        for j in rng.sample(range(20, 130), i % 4):
            read[j] = "N"
        if i % 3 == 0:
            read[75] = {"A": "C", "C": "G", "G": "T", "T": "A"}.get(read[75], "A")
        reads.append("".join(read))
    copied = len(tandem_genome) - 1_600
    for at in range(copied - 600, copied + 600, 7):
        read = tandem_genome[at : at + 120]
        reads += [
            read.decode(),
            (read[:60] + bytes(b"ACGT"[i - 1] for i in map(b"ACGT".index, read[60:61])) + read[61:]).decode(),
        ]
    expected = hits_by_record(mapper.map(reads))
    batch = BatchMapper.map_batch
    asked = []
    monkeypatch.setattr(BatchMapper, "map_batch", lambda *args: asked.append(1) or batch(*args))
    assert [mapper.map_one(read) for read in reads] == expected
    assert len(asked) < 10


# --- pairs ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pairs(small_genome) -> list[tuple[str, str]]:
    rng = np.random.default_rng(6)
    made = []
    for i in range(60):
        contig = small_genome["one" if i % 2 else "two"]
        size, at = int(rng.normal(300, 20)), int(rng.integers(len(contig) - 500))
        both = [contig[at : at + 100], bf.reverse_complement(contig[at + size - 100 : at + size])]
        both = [bf.mutate(rng, mate, int(rng.integers(6)))[:100] for mate in both]
        if i % 9 == 0:
            both[1] = bf.random_bases(rng, 100)
        made.append((both[0].decode(), both[1].decode()))
    return made


PAIR_OPTIONS = {
    "default": {}, "sensitivity 4": {"sensitivity": 4}, "rf": {"orientation": "rf"},
    "-T": {"scoring": Scoring(min_score=60)}, "not paired": {"pairing": False},
    "5' end first": {"five_prime": True}, "three hits": {"max_hits": 3},
}  # fmt: skip


@pytest.mark.parametrize("options", PAIR_OPTIONS.values(), ids=PAIR_OPTIONS.keys())
def test_one_pair_in_repeats_has_the_places_that_it_has_among_others(tandem_index, tandem_genome, options):
    """Mates in copies, across the ends of contigs, with masked and random bases, cut at an adapter, or too short."""
    rng = np.random.default_rng(9)
    pairs = []
    for _ in range(120):
        length, size = int(rng.choice([36, 100, 150])), int(rng.integers(120, 400))
        at = int(rng.integers(-20, len(tandem_genome) - 90))
        fragment = tandem_genome[max(at, 0) : at + size]
        mates = [fragment, bf.reverse_complement(fragment)]
        mates = [bf.mutate(rng, mate, int(rng.choice([0, 1, 4, 30]))) for mate in mates]
        if rng.random() < 0.2:  # a further part
            mates[0] = mates[0][:60] + tandem_genome[(there := int(rng.integers(9_000))) : there + 90]
        mates = [(mate + b"AGATCGGAAGAGCACACGTC")[:length] for mate in mates]
        if rng.random() < 0.1:
            mates[1] = bf.random_bases(rng, length)
        mates[0] = mates[0][:15] if rng.random() < 0.02 else mates[0][:9] + b"N" + mates[0][10:].lower()
        pairs.append((mates[0].decode(), mates[1].decode()))
    mapper = gassst.Mapper(tandem_index, device="none", insert=(250.0, 30.0), **options)
    expected = hits_by_record(mapper.map(*zip(*pairs, strict=True)))
    assert [hits for pair in pairs for hits in mapper.map_pair(*pair)] == expected
    assert sum(map(bool, expected)) > 100


def test_pairs_with_errors_and_short_clipped_ends_need_no_batch(small_index, pairs, monkeypatch):
    mapper = gassst.Mapper(small_index, device="none", insert=(300.0, 20.0))
    expected = hits_by_record(mapper.map(*zip(*pairs, strict=True)))
    clear = [i for i in range(len(pairs)) if i % 9]
    batch, asked = BatchMapper.map_batch, []
    monkeypatch.setattr(BatchMapper, "map_batch", lambda *args: asked.append(1) or batch(*args))
    assert [mapper.map_pair(*pairs[i]) for i in clear] == [tuple(expected[2 * i : 2 * i + 2]) for i in clear]
    assert len(asked) < 5


# --- columns ----------------------------------------------------------------------------------------------------


def rows_by_record(segments, names):
    """read, contig, start, end, strand, mapq, nm, score, flag and CIGAR of every record."""
    read, rows = -1, []
    for s in segments:
        read += not s.flag & 0x900
        if s.is_unmapped:
            rows.append((read, -1, -1, -1, 0, s.mapping_quality, -1, 0, s.flag, ""))
            continue
        place = names.index(s.reference_name), s.reference_start, s.reference_end, 1 - 2 * s.is_reverse
        tags = s.mapping_quality, s.get_tag("NM"), s.get_tag("AS")
        rows.append((read, *place, *tags, s.flag, s.cigarstring.replace("H", "S")))
    return rows


@pytest.mark.parametrize("paired", [False, True], ids=["single", "paired"])
@pytest.mark.parametrize("mode", ["global", "local"])
def test_columns_are_the_records(small_index, small_reads, pairs, paired, mode):
    mapper = gassst.Mapper(small_index, device="none", mode=mode, max_hits=3, batch_size=50)
    sources = list(zip(*pairs, strict=True)) if paired else [small_reads]
    arrays = mapper.map_arrays(*sources)
    columns = arrays.read, arrays.contig, arrays.start, arrays.end, arrays.strand, arrays.mapq, arrays.nm
    columns = [column.tolist() for column in (*columns, arrays.score, arrays.flag)]
    found = [(*row, arrays.cigar(i)) for i, row in enumerate(zip(*columns, strict=True))]
    assert found == rows_by_record(mapper.map(*sources), mapper.reference.names)
    assert arrays.is_primary.sum() == sum(map(len, sources))
