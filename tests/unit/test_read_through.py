"""Mates that run through their fragment: found, cut, and put back."""

from dataclasses import replace

import numpy as np
import parasail
import pytest

import gassst
from gassst._core import read_through
from gassst.io.read_batch import PackedReads
from gassst.io.read_records import batch_of_records
from gassst.io.reference import Reference
from gassst.layouts import HIT
from gassst.params import Scoring
from gassst.tools.foreign import ADAPTERS

M = 150
SHORTEST, BASES_AN_ERROR = 20, 8
SCORING = Scoring()
COMPLEMENT = str.maketrans("ACGTN", "TGCAN")
SOFT_CLIP = 4


def random_bases(rng, n):
    return "".join(rng.choice(list("ACGT"), n))


def reverse_complement(bases):
    return bases.translate(COMPLEMENT)[::-1]


def mates_of(rng, fragment, error=0.0):
    """Both mates: the fragment, the adapter, noise; each base is another one at a rate of `error`."""
    mates = []
    for mate, strand in enumerate((fragment, reverse_complement(fragment))):
        bases = np.array(list((strand + ADAPTERS["nextera"][mate] + random_bases(rng, M))[:M]))
        wrong = rng.random(M) < error
        bases[wrong] = ["ACGT"["TGCA".index(b)] for b in bases[wrong]]
        mates.append("".join(bases))
    return mates


def packed(reads):
    """PackedReads of strings, by the textbook."""
    lengths = np.array([len(bases) for bases in reads], np.uint32)
    rows = [
        row for bases in reads for strand in (bases, reverse_complement(bases)) for row in plane_rows(strand)
    ]
    words = 2 * ((lengths + 63) // 64)
    return PackedReads(
        lengths, np.array([*rows, (0, 0, 0)], np.uint64), (np.cumsum(words) - words).astype(np.uint32)
    )


def plane_rows(bases):
    for start in range(0, len(bases), 64):
        codes = ["ACGTN".index(base) for base in bases[start : start + 64]]
        yield tuple(sum((code >> plane & 1) << i for i, code in enumerate(codes)) for plane in range(3))


def found(reads):
    first = np.arange(0, len(reads), 2)
    return read_through.fragment_lengths(packed(reads), first, SHORTEST, BASES_AN_ERROR).tolist()


@pytest.mark.parametrize("size", [20, 63, 64, 65, 128, 149])
def test_mates_show_where_their_fragment_ends(size):
    rng = np.random.default_rng(size)
    assert found(mates_of(rng, random_bases(rng, size))) == [size]


def test_errors_do_not_hide_the_end():
    rng = np.random.default_rng(1)
    sizes = rng.integers(60, M, 200).tolist()
    reads = [mate for size in sizes for mate in mates_of(rng, random_bases(rng, size), 0.02)]
    assert np.mean(np.array(found(reads)) == sizes) > 0.98


def test_longer_fragments_and_tandem_repeats_show_none():
    rng = np.random.default_rng(2)
    unit = random_bases(rng, 12)
    fragments = [random_bases(rng, size) for size in (19, 150, 220, 400)] + [unit * 40]
    assert found([mate for fragment in fragments for mate in mates_of(rng, fragment)]) == [0] * len(fragments)


def test_cut_reads_are_packed_like_short_ones():
    rng = np.random.default_rng(3)
    reads = [random_bases(rng, size) for size in (150, 64, 65, 300, 21)]
    reads[3] = reads[3][:100] + "N" + reads[3][101:]
    rows, kept = np.array([0, 1, 3, 4]), np.array([64, 63, 130, 20], np.uint16)
    lengths, planes, plane_start = read_through.first_bases_of(packed(reads), rows, kept)
    expected = packed([reads[row][:size] for row, size in zip(rows, kept, strict=True)])
    np.testing.assert_array_equal(lengths, expected.lengths)
    np.testing.assert_array_equal(planes, expected.planes)
    np.testing.assert_array_equal(plane_start, expected.plane_start)


@pytest.mark.parametrize(
    ("strand", "runs", "position", "expected"),
    [
        (0, [(90, 0)], 1000, [(150, 0)]),
        (1, [(90, 0)], 940, [(150, 0)]),
        (0, [(5, 4), (85, 0)], 1000, [(5, 4), (145, 0)]),
        (1, [(5, 4), (85, 0)], 1000, [(65, 4), (85, 0)]),
        (0, [(80, 0), (10, 4)], 1000, [(80, 0), (70, 4)]),
        (0, [(88, 0), (2, 1)], 1000, [(88, 0), (2, 1), (60, 4)]),
        (1, [(2, 1), (88, 0)], 1000, [(60, 4), (2, 1), (88, 0)]),
    ],
)
def test_alignments_go_on_behind_the_cut(strand, runs, position, expected):
    hits = np.zeros(1, HIT)
    hits["position"], hits["strand"], hits["cigar_runs"], hits["cigar_start"] = 1000, strand, len(runs), 1
    cigars = np.array([7, *(length << 4 | op for length, op in runs)], np.uint32)
    at, out, start, n_runs = read_through.with_tails(hits, cigars, np.array([60], np.uint32))
    assert (at.tolist(), start.tolist(), n_runs.tolist()) == ([position], [0], [len(expected)])
    assert [(int(run) >> 4, int(run) & 15) for run in out] == expected


@pytest.fixture(scope="module")
def mapped():
    """Pairs with adapters and the same pairs trimmed, both mapped; and the genome."""
    rng = np.random.default_rng(4)
    genome = random_bases(rng, 60_000)
    genome += genome[5_000:9_000]
    index = gassst.Index.build(Reference.from_sequences([("one", genome.encode())]))
    fragments = [
        genome[at : at + size]
        for at, size in zip(rng.integers(0, 63_000, 300), rng.integers(30, 144, 300), strict=True)
    ]
    whole = [mates_of(rng, fragment, 0.01) for fragment in fragments]
    trimmed = [[mate[: len(f)] for mate in mates] for f, mates in zip(fragments, whole, strict=True)]
    mapper = gassst.Mapper(index, device="none", insert=(90.0, 35.0))
    return genome, *(primaries(mapper, pairs) for pairs in (whole, trimmed))


def primaries(mapper, pairs):
    reads = [[(f"p{i}", mates[m], "I" * len(mates[m])) for i, mates in enumerate(pairs)] for m in (0, 1)]
    return [record for record in mapper.map(*reads) if not record.flag & 0x900]


def test_reads_with_adapters_lie_where_they_lie_without(mapped):
    _, whole, trimmed = mapped
    same = 0
    for one, other in zip(whole, trimmed, strict=True):
        if one.is_unmapped or other.is_unmapped:
            same += one.is_unmapped == other.is_unmapped
            continue
        ends = [r.reference_end if r.is_reverse else r.reference_start for r in (one, other)]
        same += ends[0] == ends[1] and abs(one.mapping_quality - other.mapping_quality) < 5
    assert same >= 0.99 * len(whole)
    assert np.mean([r.is_proper_pair for r in whole]) > 0.97


def test_no_better_score_beside_them(mapped):
    genome, whole, _ = mapped
    matrix = parasail.matrix_create("ACGT", SCORING.match, -SCORING.mismatch)
    gap = SCORING.gap_open[0] + SCORING.gap_extend[0]
    for record in whole:
        if record.is_unmapped:
            continue
        assert sum(n for op, n in record.cigartuples if op != 2) == M
        window = genome[max(record.reference_start - 40, 0) : record.reference_end + 40]
        best = parasail.sw_striped_16(record.query_sequence, window, gap, SCORING.gap_extend[0], matrix).score
        reached = sum(op != SOFT_CLIP for op in (record.cigartuples[0][0], record.cigartuples[-1][0]))
        assert record.get_tag("AS") + SCORING.clip * reached >= best


def test_a_batch_is_cut():
    rng = np.random.default_rng(5)
    reads = [random_bases(rng, size) for size in (30, 0, 70, 64)]
    batch = batch_of_records([(f"r{i}", bases, None) for i, bases in enumerate(reads)])
    mate = np.array([1, 2, 1, 2], np.uint8)
    cut = replace(batch, mate=mate).cut(np.array([3, 0]), np.array([20, 40], np.uint16))
    assert [cut.sequence(i).decode() for i in range(4)] == [reads[0], "", reads[2], reads[3][:20]]
    np.testing.assert_array_equal(cut.mate, mate)


@pytest.mark.parametrize("threads", [1, 3])
def test_insert_sizes_are_learned_from_cut_mates(mapped, tmp_path, threads):
    genome, *_ = mapped
    rng = np.random.default_rng(6)
    sizes = [*rng.integers(60, 140, 250).tolist(), *rng.integers(200, 220, 150).tolist()]
    starts = rng.integers(0, 4_000, len(sizes)).tolist()
    pairs = [mates_of(rng, genome[at : at + size]) for at, size in zip(starts, sizes, strict=True)]
    for mate in (0, 1):
        lines = [f"@p{i}\n{mates[mate]}\n+\n{'I' * M}\n" for i, mates in enumerate(pairs)]
        (tmp_path / f"{mate}.fq").write_text("".join(lines))
    index = gassst.Index.build(Reference.from_sequences([("one", genome.encode())]))
    mapper = gassst.Mapper(index, device="none", threads=threads)
    stats = mapper.map_file(tmp_path / "0.fq", tmp_path / "out.sam", mates=tmp_path / "1.fq")
    insert = stats.run["insert"]
    assert insert["pairs"] >= 0.9 * len(sizes)
    assert insert["mean"] == pytest.approx(np.mean(sizes), abs=1.5)
