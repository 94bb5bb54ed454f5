"""Reads that fit the genome at one end only: placed by local score, with the mapping quality of that score."""

import numpy as np
import parasail
import pysam
import pytest
from text_bases import random_bases, reverse_complement

import gassst
from gassst._core.reads import pack
from gassst.model.params import Scoring
from gassst.model.read_batch import PackedReads
from gassst.model.reference import Reference
from gassst.reads.adapters import fragment_ends
from gassst.tools.foreign import ADAPTERS

M = 150
FLANK = 400
COPIES = 249
SCORING = Scoring()


def noisy(rng, bases, rate):
    codes = np.array(list(bases))
    wrong = np.flatnonzero(rng.random(len(codes)) < rate)
    for i in wrong:
        codes[i] = rng.choice([b for b in "ACGT" if b != codes[i]])
    return "".join(codes)


@pytest.fixture(scope="module")
def world():
    """Unique bases; copies of a stretch of 89 bases among others; a tandem repeat of nine units of 60 bases."""
    rng = np.random.default_rng(1)
    copy, unit = random_bases(rng, 89), random_bases(rng, 60)
    return {
        "unique": random_bases(rng, 120_000),
        "copies": random_bases(rng, 100) + "".join(copy + random_bases(rng, 100) for _ in range(COPIES)),
        "tandem": random_bases(rng, FLANK) + unit * 9 + random_bases(rng, FLANK),
    }


@pytest.fixture(scope="module")
def index(world):
    return gassst.Index.build(Reference.from_sequences([(n, s.encode()) for n, s in world.items()]))


def fragment_mates(rng, fragment, error=0.005):
    """Both mates of a fragment: what it holds, then the adapter, then noise."""
    return [
        noisy(rng, (strand + ADAPTERS["nextera"][mate] + random_bases(rng, M))[:M], error)
        for mate, strand in enumerate((fragment, reverse_complement(fragment)))
    ]


def draw_fragments(rng, sequence, n, low, high):
    """[(start, bases on a random strand)]"""
    found = []
    for _ in range(n):
        size = int(rng.integers(low, high + 1))
        at = int(rng.integers(0, len(sequence) - size))
        bases = sequence[at : at + size]
        found.append((at, bases if rng.random() < 0.5 else reverse_complement(bases)))
    return found


def map_pairs(index, mates, **options):
    """Primary records of both mates, by pair."""
    reads = [(f"p{i}", one, "I" * len(one)) for i, (one, _) in enumerate(mates)]
    others = [(f"p{i}", two, "I" * len(two)) for i, (_, two) in enumerate(mates)]
    mapper = gassst.Mapper(index, device="none", **options)
    found = [r for r in mapper.map(reads, others) if not r.flag & 0x900]
    assert len(found) == 2 * len(mates)
    return list(zip(found[::2], found[1::2], strict=True))


def map_single(index, reads, **options):
    mapper = gassst.Mapper(index, mode="local", device="none", **options)
    named = [(f"r{i}", bases, "I" * len(bases)) for i, bases in enumerate(reads)]
    return [r for r in mapper.map(named) if not r.flag & 0x900]


@pytest.fixture(scope="module")
def short_inserts(index, world):
    rng = np.random.default_rng(2)
    fragments = draw_fragments(rng, world["unique"], 400, 45, 145)
    records = map_pairs(index, [fragment_mates(rng, bases) for _, bases in fragments])
    return fragments, records


def test_both_mates_of_short_inserts_are_placed(short_inserts):
    fragments, records = short_inserts
    right = 0
    for (at, bases), mates in zip(fragments, records, strict=True):
        for record in mates:
            five_prime = record.reference_end - len(bases) if record.is_reverse else record.reference_start
            right += record.reference_name == "unique" and abs(five_prime - at) <= 3 and record.is_proper_pair
    assert right >= 0.99 * 2 * len(records)


def test_clipping_does_not_lower_the_quality_of_unique_places(short_inserts):
    _, records = short_inserts
    qualities = np.array([record.mapping_quality for mates in records for record in mates])
    assert (qualities >= 40).mean() > 0.95
    assert (qualities >= 20).mean() > 0.99


@pytest.mark.parametrize("insert", [89, 80, 50])
def test_copies_of_the_part_that_fits_leave_no_confidence(index, world, insert):
    """By chance one copy in four goes on with the first base of the adapter."""
    rng = np.random.default_rng(3)
    copy = world["copies"][100:189][:insert]
    mates = [fragment_mates(rng, copy, 0) for _ in range(40)]
    single = map_single(index, [one for one, _ in mates])
    assert max(record.mapping_quality for record in single) <= 3
    assert max(r.mapping_quality for pair in map_pairs(index, mates) for r in pair) <= 3


def test_single_reads_with_a_known_adapter_are_placed_as_trimmed_ones(index, world, monkeypatch):
    """Unique fragments, and some that lie in copies of others, as a whole or in part: same place, same quality."""
    monkeypatch.setattr("gassst.pairing.error_rate.ENOUGH_READS", 1 << 30)  # clipped reads show fewer errors
    rng = np.random.default_rng(12)
    fragments = [bases for _, bases in draw_fragments(rng, world["unique"], 200, 45, 140)]
    fragments += [bases for _, bases in draw_fragments(rng, world["copies"], 200, 45, 80)]
    fragments = [noisy(rng, bases, 0.01) for bases in fragments]
    whole = [
        (bases + ADAPTERS[("nextera", "truseq")[i % 2]][0] + random_bases(rng, M))[:M]
        for i, bases in enumerate(fragments)
    ]
    pairs = list(zip(map_single(index, whole), map_single(index, fragments), strict=True))
    for read, trimmed in pairs:
        assert read.is_unmapped == trimmed.is_unmapped and read.mapping_quality == trimmed.mapping_quality
        # A base or two of the adapter may fit as well.
        assert read.is_unmapped or read.get_tag("AS") >= trimmed.get_tag("AS")
        if trimmed.mapping_quality > 3:
            ends = [r.reference_end if r.is_reverse else r.reference_start for r in (read, trimmed)]
            assert read.reference_name == trimmed.reference_name and ends[0] == ends[1]
    assert sum(trimmed.mapping_quality < 20 for _, trimmed in pairs) > 20


def test_short_fragments_and_worn_adapters_make_no_difference(index, world):
    """Fragments that score less than -T, but fit as a whole; adapters with errors where they begin."""
    rng = np.random.default_rng(14)
    whole, fragments = [], []
    for i, (_, bases) in enumerate(draw_fragments(rng, world["unique"], 120, 40, 75)):
        adapter = ADAPTERS[("nextera", "truseq")[i % 2]][0]
        if i % 3 == 0:
            bases = noisy(rng, bases[:18], 0.1) + bases[22:40]
        else:
            adapter = noisy(rng, adapter[:2], 1) + adapter[2:] if i % 3 == 1 else adapter[:3] + adapter[4:]
        fragments.append(bases)
        whole.append((bases + adapter + random_bases(rng, M))[:M])
    read, trimmed = map_single(index, whole), map_single(index, fragments)
    assert [r.is_unmapped for r in read] == [r.is_unmapped for r in trimmed]
    # An adapter that lacks a base may begin at one of two.
    classes = [
        np.searchsorted((4, 20, 40), [r.mapping_quality for r in some], "right") for some in (read, trimmed)
    ]
    assert (classes[0] == classes[1]).mean() > 0.98
    scores = [r.get_tag("AS") for r in trimmed if not r.is_unmapped]
    assert min(scores) < 30 < max(scores) and len(scores) > 100


def test_fragments_that_score_too_little_lie_where_they_fit_as_wholes(index, world):
    """A part of one scores more than all of it, and is aligned; that all of it fits there says where."""
    rng = np.random.default_rng(15)
    fragments = [noisy(rng, bases, 0.06) for _, bases in draw_fragments(rng, world["unique"], 600, 40, 48)]
    fragments = [bases[:12] + bases[13:] if i % 3 == 0 else bases for i, bases in enumerate(fragments)]
    whole = [(bases + ADAPTERS["truseq"][0] + random_bases(rng, M))[:M] for i, bases in enumerate(fragments)]
    low = 0
    for read, trimmed in zip(map_single(index, whole), map_single(index, fragments), strict=True):
        if read.is_unmapped or read.get_tag("AS") >= SCORING.least_score:
            continue
        runs = [[run for run in one.cigartuples if run[0] != pysam.CSOFT_CLIP] for one in (read, trimmed)]
        assert runs[0] == runs[1] and read.reference_start == trimmed.reference_start
        assert read.get_tag("AS") == trimmed.get_tag("AS") and read.get_tag("NM") == trimmed.get_tag("NM")
        low += 1
    assert low > 20


@pytest.mark.parametrize("tail", [0, 30])
def test_a_mate_in_a_tandem_repeat_is_as_unsure_as_its_copies(index, world, tail):
    """Its partner is concordant with the copies, too; with a bad tail the search by local score places both."""
    rng = np.random.default_rng(4)
    mates = []
    for _ in range(60):
        one = world["tandem"][FLANK - 200 : FLANK - 50 - tail] + random_bases(rng, tail)
        at = FLANK + 60 * int(rng.integers(0, 5)) + 10
        mates.append((one, reverse_complement(world["tandem"][at : at + M])))
    records = map_pairs(index, mates, insert=(450.0, 120.0))
    assert max(last.mapping_quality for _, last in records) <= 3


def best_score(read, window):
    """The best local score by parasail, and by an alignment that may reach an end for a bonus no worse than it."""
    gap = SCORING.gap_open[0] + SCORING.gap_extend[0]
    matrix = parasail.matrix_create("ACGT", SCORING.match, -SCORING.mismatch)
    return parasail.sw_striped_16(read, window, gap, SCORING.gap_extend[0], matrix).score


def total_of(record, tail):
    before, behind = ends_of(record)
    return record.get_tag("AS") + SCORING.clip * ((before == 0) + (behind == tail))


def fragment_sizes(records):
    """Bases of each record's read before an adapter that is looked for."""
    reads = [record.get_forward_sequence() for record in records]
    offsets = np.cumsum([0, *map(len, reads)]).astype(np.uint32)
    packed = PackedReads(*pack(np.frombuffer("".join(reads).encode(), np.uint8), offsets))
    return [end or len(read) for end, read in zip(fragment_ends(packed, None).tolist(), reads, strict=True)]


@pytest.fixture(scope="module")
def tails(index, world):
    """Single reads with adapters, bad tails, gaps and all of them."""
    rng = np.random.default_rng(6)
    reads = []
    for i, (_, bases) in enumerate(draw_fragments(rng, world["unique"], 900, 60, 170)):
        if i % 3 == 1:
            at = int(rng.integers(10, len(bases) - 10))
            bases = bases[:at] + bases[at + int(rng.integers(1, 9)) :]
        if i % 3 == 2:
            at = int(rng.integers(30, len(bases)))
            bases = bases[:at] + noisy(rng, bases[at:], 0.4)
        reads.append(fragment_mates(rng, bases, 0.02)[0])
    return map_single(index, reads)


def ends_of(record):
    """Clipped bases before and behind the alignment, of the read as sequenced."""
    outer = record.cigartuples[0], record.cigartuples[-1]
    ends = [length if op == pysam.CSOFT_CLIP else 0 for op, length in outer]
    return ends[::-1] if record.is_reverse else ends


def test_no_local_alignment_scores_better_than_the_one_reported(tails, world):
    """What is before an adapter is aligned so; what is behind is clipped."""
    compared = 0
    for record, size in zip(tails, fragment_sizes(tails), strict=True):
        if record.is_unmapped:
            continue
        begin = max(record.reference_start - 2 * M, 0)
        window = world[record.reference_name][begin : record.reference_end + 2 * M]
        tail, read = len(record.query_sequence) - size, record.query_sequence
        best = best_score(read[tail:] if record.is_reverse else read[:size], window)
        assert ends_of(record)[1] >= tail
        if record.get_tag("AS") >= SCORING.least_score:
            assert total_of(record, tail) >= best
        else:  # a fragment that fits as a whole, and has no local alignment that may be reported
            assert best < SCORING.least_score and ends_of(record)[0] == 0
        if record.has_tag("XS"):
            assert record.get_tag("AS") >= record.get_tag("XS")
        compared += 1
    assert compared > 0.95 * len(tails)


def test_a_tail_of_g_hides_no_place():
    """Runs of one base lie on every diagonal of those of the genome: they must not outnumber the place of the rest."""
    rng = np.random.default_rng(8)
    runs = "".join("GC"[i % 2] * 22 + random_bases(rng, 300) for i in range(20))
    genome = random_bases(rng, 20_000) + runs
    index = gassst.Index.build(Reference.from_sequences([("c", genome.encode())]))
    starts = range(1000, 19_000, 600)
    mates = []
    for at in starts:
        fragment = genome[at : at + 48]
        ends = (fragment, reverse_complement(fragment))
        mates.append([(end + ADAPTERS["nextera"][i]).ljust(M, "G")[:M] for i, end in enumerate(ends)])
    for at, pair in zip(starts, map_pairs(index, mates, insert=(50.0, 10.0)), strict=True):
        for record in pair:
            # By chance a base or two of the adapter fit as well.
            assert abs(record.reference_start - at) < 8
            assert 48 <= record.query_alignment_length < 56
            assert record.mapping_quality >= 40


def test_a_pair_is_no_surer_than_the_scores_of_its_clipped_mates():
    """Two copies of a fragment. Behind one of them one base more is as in the adapter, and is clipped at either."""
    rng = np.random.default_rng(9)
    size, n = 143, 20
    adapters = [ADAPTERS["nextera"][mate][: M - size] for mate in (0, 1)]
    other = str.maketrans("ACGT", "CATG")

    def tail(adapter, wrong):
        return "".join(b.translate(other) if i in wrong else b for i, b in enumerate(adapter))

    fragments = [random_bases(rng, size) for _ in range(n)]
    text = random_bases(rng, FLANK)
    for bases in fragments:
        for wrong in ((0, 3, 5), (0, 3, 5, 6)):
            before, behind = (tail(adapters[mate], wrong) for mate in (1, 0))
            text += reverse_complement(before) + bases + behind + random_bases(rng, FLANK)
    index = gassst.Index.build(Reference.from_sequences([("a", text.encode())]))
    mates = [fragment_mates(rng, bases, error=0.0) for bases in fragments]
    records = map_pairs(index, mates, insert=(size, 30.0))
    assert all(r.mapq <= 3 and "S" in r.cigarstring for pair in records for r in pair)
