"""Strands and orientations: of single-stranded libraries, and those that pairs teach."""

import random

import brute_force as bf
import numpy as np
import pytest
from text_bases import reverse_complement

import gassst
from gassst.model.reference import Reference
from gassst.pairing.insert_size import ENOUGH_PAIRS, InsertModel, learned_insert
from gassst.reads.in_memory import batch_of_pairs
from gassst.runs.libraries import PairSample
from gassst.runs.run import MappingWork

COPY = slice(5_000, 8_000)
INVERTED = 20_000  # where the reverse complement of the copy begins
REVERSE, SECOND, PROPER = 0x10, 0x80, 0x2


@pytest.fixture(scope="module")
def genome():
    """30 kb, 3 kb of which occur once more on the other strand."""
    text = bf.random_bases(np.random.default_rng(4), 30_000).decode()
    return text[:INVERTED] + reverse_complement(text[COPY]) + text[INVERTED + 3_000 :]


@pytest.fixture(scope="module")
def index(genome):
    return gassst.Index.build(Reference.from_sequences([("c", genome.encode())]))


def mapped(index, reads, mates=None, **options):
    mapper = gassst.Mapper(index, device="none", threads=1, **options)
    return list(mapper.map(reads) if mates is None else mapper.map(reads, mates))


def reads_in(genome, first, n=40, length=80, reverse=False):
    draw, found = random.Random(6), []
    for i in range(n):
        at = first + draw.randrange(2_900)
        bases = list(genome[at : at + length])
        bases[40] = "ACGT"["ACGT".index(bases[40]) - 1]
        bases = "".join(bases)
        found.append((f"r{i}", reverse_complement(bases) if reverse else bases, None))
    return found


@pytest.mark.parametrize("options", [{}, {"mode": "global"}, {"all_hits": True}, {"max_hits": 5}])
def test_a_copy_on_the_other_strand_is_no_rival(genome, index, options):
    reads = reads_in(genome, COPY.start)
    both = mapped(index, reads, **options)
    assert max(record.mapping_quality for record in both) < 4
    for strand, first in (("+", COPY.start), ("-", INVERTED)):
        found = mapped(index, reads, strand=strand, **options)
        assert len(found) == len(reads)
        assert {record.is_reverse for record in found} == {strand == "-"}
        assert min(record.mapping_quality for record in found) >= 40
        assert all(first <= record.reference_start < first + 3_000 for record in found)
        one = gassst.Mapper(index, device="none", threads=1, strand=strand, **options)
        assert [hit.strand for hit in one.map_one(reads[0][1])] == [strand]


@pytest.mark.parametrize("mode", ["local", "global"])
def test_reads_of_the_other_strand_have_no_position(genome, index, mode):
    reads = reads_in(genome, 10_000) + reads_in(genome, 12_000, reverse=True)
    for strand in "+-":
        found = mapped(index, reads, strand=strand, mode=mode)
        assert [record.is_unmapped for record in found] == [strand == "-"] * 40 + [strand == "+"] * 40


def pairs_in(genome, first, reverse, orientation="fr", n=300):
    draw, one, two = random.Random(2), [], []
    for i in range(n):
        at, size = first + draw.randrange(2_500), draw.randrange(280, 321)
        piece = genome[at : at + size]
        piece = reverse_complement(piece) if reverse else piece
        last = piece[-70:] if orientation == "ff" else reverse_complement(piece[-70:])
        one.append((f"p{i}", piece[:70], None))
        two.append((f"p{i}", last, None))
    return one, two


@pytest.mark.parametrize("mode", ["local", "global"])
def test_the_strand_of_a_pair_is_that_of_its_first_mate(genome, index, mode):
    pairs = pairs_in(genome, COPY.start, reverse=False)
    for strand, first in (("+", COPY.start), ("-", INVERTED)):
        found = mapped(index, *pairs, strand=strand, mode=mode)
        assert len(found) == 600
        for record in found:
            assert record.flag & PROPER and record.mapping_quality >= 40
            assert record.is_reverse == ((strand == "-") ^ record.is_read2)
            assert first <= record.reference_start < first + 3_000
            assert (record.template_length > 0) == (not record.is_reverse)
    others = mapped(index, *pairs_in(genome, 10_000, reverse=True), strand="+", mode=mode)
    assert all(record.is_unmapped for record in others)


def test_mates_on_the_same_strand_are_found_where_they_are_expected(genome, index):
    pairs = pairs_in(genome, COPY.start, reverse=True, orientation="ff")
    found = mapped(index, *pairs, strand="-", orientation="ff")
    assert all(record.flag & PROPER and record.is_reverse for record in found)
    assert all(COPY.start <= record.reference_start < COPY.stop for record in found)


def test_further_parts_and_positions_lie_on_that_strand(genome, index):
    """Of a read in two parts on two strands one is found, and none of the copies on the other."""
    read = genome[COPY][:80] + reverse_complement(genome[12_000:12_080])
    expected = {"+": (False, COPY.start), "-": (True, None)}
    for strand, (reverse, start) in expected.items():
        found = mapped(index, [("r", read, None)], strand=strand, max_hits=20)
        assert {record.is_reverse for record in found} == {reverse}
        assert start in (None, found[0].reference_start)
    assert len({record.is_reverse for record in mapped(index, [("r", read, None)], max_hits=20)}) == 2


def test_converted_reads_too(genome):
    index = gassst.Index.build(Reference.from_sequences([("c", genome.encode())]), meth=True)
    reads = [(name, bases.replace("C", "T"), None) for name, bases, _ in reads_in(genome, 12_000)]
    assert not any(r.is_unmapped for r in mapped(index, reads, strand="+", meth="directional"))
    assert all(r.is_unmapped for r in mapped(index, reads, strand="-", meth="directional"))


def test_pairs_of_converted_reads_are_learned_from_as_they_are_mapped(genome):
    """A second mate was taken for a first one, whose other letter is converted: few pairs were left."""
    draw, one, two = random.Random(5), [], []
    for i in range(200):
        at = draw.randrange(9_000, 19_000)
        piece = genome[at : at + 300]
        piece = (reverse_complement(piece) if i % 2 else piece).replace("C", "T")
        one.append((f"p{i}", piece[:70], None))
        two.append((f"p{i}", reverse_complement(piece[-70:]), None))
    index = gassst.Index.build(Reference.from_sequences([("c", genome.encode())]), meth=True)
    mapper = gassst.Mapper(index, device="none", meth="directional", insert=(300.0, 30.0))
    samples, _ = MappingWork(mapper._engine).sample(batch_of_pairs(one, two))
    assert len(samples[0].templates) >= 190
    assert InsertModel.learned("fr", samples[0].templates).mean == pytest.approx(300, abs=1)


@pytest.mark.device("cpu")
def test_a_device_searches_that_strand_too(genome, index):
    reads = reads_in(genome, COPY.start) + reads_in(genome, 12_000, reverse=True)
    for options in ({"all_hits": True}, {"mode": "global"}):
        for strand in "+-":
            found = mapped(index, reads, strand=strand, **options)
            on_device = list(gassst.Mapper(index, device="cpu", strand=strand, **options).map(reads))
            assert [str(record) for record in on_device] == [str(record) for record in found]


M = 60


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(8)
    genome = bf.random_bases(rng, 60_000)
    return genome, gassst.Index.build(Reference.from_sequences([("c", genome)]))


def pairs_of(genome, orientation, n, seed=3, mean=400):
    """Pairs on both strands, some 3 % of them out of place."""
    rng, mates = np.random.default_rng(seed), ([], [])
    for i in range(n):
        size, at = int(rng.normal(mean, 20)), int(rng.integers(0, len(genome) - 600))
        piece = genome[at : at + size]
        piece = bf.reverse_complement(piece) if rng.random() < 0.5 else piece
        first, last = piece[:M], piece[-M:]
        if rng.random() < 0.03:
            last = genome[:M]
        if orientation != "rf":
            pair = first, last if orientation == "ff" else bf.reverse_complement(last)
        else:
            pair = bf.reverse_complement(first), last
        for reads, bases in zip(mates, pair, strict=True):
            reads.append((f"p{i}", bases.decode(), None))
    return mates


def records(index, mates, **options):
    return [str(record) for record in gassst.Mapper(index, device="none", **options).map(*mates)]


@pytest.mark.parametrize("orientation", ["fr", "rf", "ff"])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_pairs_are_proper_in_the_orientation_that_most_have(world, orientation, mode):
    genome, index = world
    mates = pairs_of(genome, orientation, 300)
    found = records(index, mates, mode=mode)
    assert found == records(index, mates, mode=mode, orientation=orientation)
    assert sum(int(record.split("\t")[1]) & 2 > 0 for record in found) > 0.9 * len(found)


@pytest.mark.parametrize(
    "counts, expected", [((70, 60, 0), "fr"), ((70, 71, 0), "rf"), ((9, 0, ENOUGH_PAIRS - 1), "fr")]
)
def test_the_most_frequent_orientation_is_taken_where_enough_pairs_have_it(counts, expected):
    none = np.empty(0, np.int64)
    samples = [PairSample(np.full(n, 300), none, none) for n in counts]
    assert learned_insert(("fr", "rf", "ff"), samples).orientation == expected


def test_two_orientations_of_one_library_are_proper(world):
    """Mate pairs hold fragments that were not circularised, a few in ten of which face each other."""
    genome, index = world
    most, some = pairs_of(genome, "rf", 300), pairs_of(genome, "fr", 60, seed=4)
    mates = [a + [(f"q{name}", *rest) for name, *rest in b] for a, b in zip(most, some, strict=True)]
    proper = {True: 0, False: 0}
    for record in gassst.Mapper(index, device="none").map(*mates):
        proper[record.query_name[0] == "q"] += record.is_proper_pair
    assert proper[False] > 2 * 0.9 * 300
    assert proper[True] > 2 * 0.9 * 60
    fixed = [record for record in records(index, mates, orientation="rf") if record[0] == "q"]
    assert sum(int(record.split("\t")[1]) & 2 > 0 for record in fixed) < 20


@pytest.mark.parametrize("few, expected", [(49, None), (53, "fr"), (200, "fr")])
def test_an_orientation_of_one_pair_in_twenty_is_one_of_the_library(few, expected):
    none = np.empty(0, np.int64)
    samples = [PairSample(np.full(n, size), none, none) for n, size in ((few, 300), (1000, 400), (0, 0))]
    model = learned_insert(("fr", "rf", "ff"), samples)
    assert (model.orientation, model.mean) == ("rf", 400)
    assert (model.also and model.also.orientation) == expected


def test_a_model_of_two_orientations_is_read_as_it_was_written(tmp_path):
    none = np.empty(0, np.int64)
    samples = [PairSample(np.full(n, 300 + n), none, none) for n in (400, 300, 200)]
    model = learned_insert(("fr", "rf", "ff"), samples)
    model.write(tmp_path / "model.json")
    assert InsertModel.read(tmp_path / "model.json") == model
    assert model.also.also.orientation == "ff"
    assert "also rf" in str(model) and "also ff" in str(model)
