"""Pairs through the whole search, on small genomes made for the purpose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst.index.lookup import IndexParts
from gassst.model.read_batch import ReadBatch
from gassst.model.reference import Reference
from gassst.reads.in_memory import batch_of_records
from gassst.runs.run import MappingRun, MappingWork

INSERT = (300.0, 30.0)
WIDE_INSERT = (300.0, 600.0)  # more than 64 buckets in a window
Fragment = tuple[str, ...]  # name, then the bases of one read or of two mates


class Place(NamedTuple):
    contig: str
    start: int
    reverse: bool
    edits: int
    mapq: int
    proper: bool
    cigar: tuple[int, ...]


def batch_of(fragments: Iterable[Fragment], singles: bool = False) -> ReadBatch:
    fragments = list(fragments)
    batch = batch_of_records([(name, bases, None) for name, *mates in fragments for bases in mates])
    mate = [i + 1 if len(mates) > 1 else 0 for _, *mates in fragments for i in range(len(mates))]
    return replace(batch, mate=None if singles else np.array(mate, np.uint8))


def run_of(mapper: gassst.Mapper) -> MappingRun:
    """A run that yields each batch beside its result."""
    return MappingRun(MappingWork(mapper._engine), lambda _, batch, result: (batch, result))


def places(
    mapper: gassst.Mapper | MappingRun, batches: Iterable[ReadBatch]
) -> dict[tuple[str, int], list[Place]]:
    """All places of every read, the primary first, by (name, ordinal of the read within its fragment)."""
    run = mapper if isinstance(mapper, MappingRun) else run_of(mapper)
    reference = run.mapper.index.reference
    found: dict[tuple[str, int], list[Place]] = {}
    for (batch, result), _ in run.results(batches):
        keys = []
        for row in range(len(batch)):
            name = batch.name(row)
            keys.append((name, int((name, 0) in found)))
            found[keys[-1]] = []
        for hit in result.hits:
            if hit["flag"] & 0x4:
                continue
            contig = int(np.searchsorted(reference.starts, hit["position"], side="right")) - 1
            runs = result.cigars[hit["cigar_start"] : hit["cigar_start"] + hit["cigar_runs"]]
            place = Place(
                reference.names[contig], int(hit["position"] - reference.starts[contig]), bool(hit["strand"]),
                int(hit["edits"]), int(hit["mapq"]), bool(hit["flag"] & 0x2), tuple(runs.tolist()),
            )  # fmt: skip
            rows = found[keys[hit["read"]]]
            assert bool(hit["flag"] & 0x100) == bool(rows)
            rows.append(place)
    return found


def mapped(index, fragments, singles=False, **params) -> dict[tuple[str, int], list[Place]]:
    params = {"device": "none", "insert": INSERT, **params}
    return places(gassst.Mapper(index, **{"mode": "global", **params}), [batch_of(fragments, singles)])


def fragment_at(
    rng: np.random.Generator,
    genome: bytes,
    at: int,
    template: int,
    lengths=(100, 100),
    errors=(0, 0),
    turn=False,
) -> tuple[str, str]:
    """Mates of the template at `at` that face each other; `turn`: the template read from its other strand."""
    text = genome[at : at + template]
    assert len(text) == template
    text = bf.reverse_complement(text) if turn else text
    mates = text, bf.reverse_complement(text)
    mates = [bf.mutate(rng, m[: n + 20], e)[:n] for m, n, e in zip(mates, lengths, errors, strict=True)]
    return mates[0].decode(), mates[1].decode()


def index_of(*contigs: tuple[str, bytes]):
    return gassst.Index.build(Reference.from_sequences(contigs))


class World(NamedTuple):
    """A genome, its index, fragments and where their mates lie: (name, mate): (contig, start, end, reverse)."""

    genome: dict[str, bytes]
    index: gassst.Index
    fragments: list[Fragment]
    truth: dict[tuple[str, int], tuple[str, int, int, bool]]


@pytest.fixture(scope="module")
def world() -> World:
    """Three contigs with scattered copies of elements, a segmental duplication 2 % apart; 300 pairs, 60 singles."""
    rng = np.random.default_rng(21)
    one = bytearray(bf.repetitive_genome(rng, 40_000))
    one[30_000:32_000] = bf.mutate(rng, bytes(one[10_000:12_000]), 40, 0.1)[:2000].ljust(2000, b"A")
    one[20_000:20_050] = b"N" * 50
    genome = {
        "one": bytes(one),
        "two": bf.repetitive_genome(rng, 15_000),
        "three": bf.random_bases(rng, 1500),
    }
    fragments: list[Fragment] = []
    truth = {}
    for i in range(360):
        contig = ("one", "one", "two", "three")[i % 4]
        template = max(150, int(rng.normal(*INSERT)))
        lengths = [int(rng.choice([50, 100, 150])) for _ in range(2)]
        at, turn = int(rng.integers(len(genome[contig]) - template)), bool(rng.integers(2))
        errors = [int(rng.integers(n // 12)) for n in lengths]
        mates = fragment_at(rng, genome[contig], at, template, lengths, errors, turn)
        name = f"{'single' if i % 6 == 0 else 'pair'}{i}"
        spots = [(at, at + lengths[0]), (at + template - lengths[1], at + template)]
        if turn:
            spots = [(at + template - lengths[0], at + template), (at, at + lengths[1])]
        for mate in range(1 if i % 6 == 0 else 2):
            truth[name, mate] = (contig, *spots[mate], turn ^ bool(mate))
        fragments.append((name, *mates[: 1 if i % 6 == 0 else 2]))
    return World(genome, index_of(*genome.items()), fragments, truth)


@pytest.fixture(scope="module")
def baseline(world):
    return mapped(world.index, world.fragments, max_hits=3)


def is_right(place: Place, truth: tuple[str, int, int, bool]) -> bool:
    return (place.contig, place.reverse) == (truth[0], truth[3]) and abs(place.start - truth[1]) <= 10


def test_pairs_lie_where_they_came_from(world, baseline):
    pairs = [key for key in world.truth if key[0].startswith("pair")]
    right = sum(bool(baseline[key]) and is_right(baseline[key][0], world.truth[key]) for key in pairs)
    proper = sum(bool(baseline[key]) and baseline[key][0].proper for key in pairs)
    alone = mapped(world.index, world.fragments, singles=True)
    right_alone = sum(bool(alone[key]) and is_right(alone[key][0], world.truth[key]) for key in pairs)
    assert right >= 0.985 * len(pairs)
    assert right > right_alone
    assert proper >= 0.97 * len(pairs)
    sure_and_wrong = [
        key
        for key in pairs
        if baseline[key] and baseline[key][0].mapq >= 20 and not is_right(baseline[key][0], world.truth[key])
    ]
    assert len(sure_and_wrong) <= 1


def test_single_reads_among_pairs_get_what_they_get_alone(world, monkeypatch):
    """Where nothing is learned: the pairs are of the library, too."""
    monkeypatch.setattr("gassst.pairing.error_rate.ENOUGH_READS", 1 << 30)
    singles = [f for f in world.fragments if len(f) == 2]
    assert len(singles) == 60
    alone = mapped(world.index, singles, singles=True, max_hits=3)
    among_pairs = mapped(world.index, world.fragments, max_hits=3)
    assert {key: among_pairs[key] for key in alone} == alone


def test_all_hits_of_pairs_are_those_of_single_reads(world):
    fragments = world.fragments[:60]
    options = {"all_hits": True, "min_identity": 90}
    alone = mapped(world.index, fragments, singles=True, **options)
    paired = mapped(world.index, fragments, **options)
    moved = 0

    def unmarked(rows):
        return sorted(p._replace(mapq=0, proper=False) for p in rows)

    for key, rows in alone.items():
        assert unmarked(paired[key]) == unmarked(rows)
        moved += bool(rows) and rows[0][:3] != paired[key][0][:3]
    assert 0 < moved < 40


# --- pairs that are hard in one way ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hard():
    """Unique sequence; an element of 600 bases in eight exact copies; a second contig."""
    rng = np.random.default_rng(33)
    one = bytearray(bf.random_bases(rng, 60_000))
    element = bf.random_bases(rng, 600)
    copies = range(3000, 59_000, 7000)
    for at in copies:
        one[at : at + 600] = element
    two = bf.random_bases(rng, 9000)
    return bytes(one), two, list(copies), index_of(("one", bytes(one)), ("two", two))


def test_a_mate_in_an_exact_repeat_is_placed_by_its_partner(hard):
    one, _, copies, index = hard
    rng = np.random.default_rng(1)
    fragments, truth = [], {}
    for i, at in enumerate(copies * 4):
        start = at - 200 + int(rng.integers(-10, 30))  # the first mate before the repeat, the last one inside
        mates = fragment_at(rng, one, start, 320, errors=(2, i % 4))
        name = f"p{i}"
        fragments.append((name, *mates) if i % 2 else (name, *mates[::-1]))
        truth[name, 1 - i % 2] = ("one", start, 0, False)
        truth[name, i % 2] = ("one", start + 220, 0, True)
    found = mapped(index, fragments)
    for key, spot in truth.items():
        assert is_right(found[key][0], spot)
        assert found[key][0].proper
        assert found[key][0].mapq >= 20
    # Alone they could be anywhere.
    alone = mapped(index, fragments, singles=True)
    assert sum(not is_right(alone[key][0], spot) for key, spot in truth.items()) > 10


@pytest.mark.parametrize("singles", [False, True])
@pytest.mark.parametrize("mode", ["global", "local"])
@pytest.mark.parametrize("copies", [2, 4])
def test_what_lies_whole_in_an_exact_copy_has_no_quality(copies, mode, singles):
    """The genome is searched for the bases that a mate, or a pair, was drawn from; copies lie on both strands."""
    rng = np.random.default_rng(11)
    segment = bf.random_bases(rng, 1500)
    turned = [segment, bf.reverse_complement(segment)]
    parts = [bf.random_bases(rng, 1000) + turned[i % 2] for i in range(copies)]
    genome = b"".join([*parts, bf.random_bases(rng, 1000)])
    strands = genome, bf.reverse_complement(genome)
    fragments, whole, unique = [], [], []
    for i in range(120):
        at, size = int(rng.integers(2500 * copies + 600)), int(rng.integers(260, 340))
        fragments.append(
            (f"p{i}", *fragment_at(rng, genome, at, size, errors=rng.integers(0, 3, 2).tolist()))
        )
        for mate, begin in enumerate((at, at + size - 100)):
            # A pair is as unique as its fragment, whatever one of its mates is.
            bases = genome[begin : begin + 100] if singles else genome[at : at + size]
            if sum(text.count(bases) for text in strands) > 1:
                whole.append((f"p{i}", mate))
            # Without its ends: where a rival lacks a few bases there, nothing is said.
            elif sum(text.count(bases[20:-20]) for text in strands) == 1:
                unique.append((f"p{i}", mate))
    found = mapped(index_of(("a", genome)), fragments, singles=singles, mode=mode)
    assert min(len(whole), len(unique)) > 60
    assert {found[key][0].mapq for key in whole} == {0}
    assert min(found[key][0].mapq for key in unique) >= 20


def test_a_pair_inside_a_repeat_of_too_many_copies_is_not_believed():
    """More copies than the seeds look at."""
    rng = np.random.default_rng(3)
    element = bf.random_bases(rng, 500)
    genome = b"".join(bf.random_bases(rng, 80) + element for _ in range(700))
    index = index_of(("a", genome))
    fragments = []
    for i in range(12):
        at = int(rng.integers(700)) * 580 + 80 + int(rng.integers(200))
        fragments.append((f"p{i}", *fragment_at(rng, genome, at, 290, errors=(i % 3, i % 2))))
    for sensitivity in (0, 2, 5):
        found = mapped(index, fragments, sensitivity=sensitivity)
        assert all(rows[0].mapq <= 3 for rows in found.values() if rows), sensitivity


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("sensitivity", [1, 2, 3])
def test_a_pair_with_an_equal_copy_that_seeds_hide_is_not_sure(sensitivity, beside):
    """One mate fits both copies, the other has an error in each of its seeds in one copy, and as many in one seed only
    in the other. `beside`: it has a worse place next to the former, to which a seed leads."""
    rng = np.random.default_rng(77)
    fragments, genome = [], bf.random_bases(rng, 500)
    for i in range(40):
        template = bf.random_bases(rng, 300)
        mate = bytearray(template[-50:])
        hidden, shown = bytearray(template), bytearray(template)
        hidden += template[-50:] if beside else bf.random_bases(rng, 50)
        for text, errors in ((hidden, (8, 24, 40, 52, 54, 56, 58)), (shown, (2, 5, 9))):
            for at in errors:
                text[250 + at] = b"ACGT"[(b"ACGT".index(text[250 + at]) + 1) % 4]
        genome += bytes(hidden) + bf.random_bases(rng, 400) + bytes(shown) + bf.random_bases(rng, 400)
        fragments.append((f"p{i}", template[:50].decode(), bf.reverse_complement(bytes(mate)).decode()))
    found = mapped(index_of(("a", genome)), fragments, sensitivity=sensitivity)
    # Of two pairs, gaps make a copy the better.
    assert sum(rows[0].mapq <= 3 for rows in found.values()) >= 76


def test_a_mate_in_a_repeat_of_many_copies_guides_to_one_without_an_intact_seed():
    """One mate fits 60 places equally well, and every eighth base of the other one is wrong."""
    rng = np.random.default_rng(78)
    repeat = bf.random_bases(rng, 60)
    flanks = [bf.random_bases(rng, 200) for _ in range(60)]
    genome = b"".join(repeat + flank + bf.random_bases(rng, 100) for flank in flanks)
    fragments = []
    for i in range(0, 60, 3):
        mate = bytearray(flanks[i][-50:])
        for at in range(7, 50, 8):
            mate[at] = b"ACGT"[(b"ACGT".index(mate[at]) + 1) % 4]
        fragments.append((f"p{i}", repeat[:50].decode(), bf.reverse_complement(bytes(mate)).decode()))
    rows = mapped(index_of(("a", genome)), fragments, min_identity=85.0)
    for i in range(0, 60, 3):
        assert [rows[f"p{i}", mate][0].start - 360 * i for mate in (0, 1)] == [0, 210]


@pytest.mark.parametrize("insert", [INSERT, WIDE_INSERT])
@pytest.mark.parametrize("first", [True, False])
def test_a_mate_without_any_seed_is_rescued(hard, first, insert):
    """A substitution in every sixth base, 16 of 100: no seed is free of errors, but the partner is exact."""
    one, _, _, index = hard
    rng = np.random.default_rng(4)
    fragments, truth = [], {}
    for i in range(60):
        at = 10_700 + 45 * i
        good, bad = fragment_at(rng, one, at, 300, turn=bool(i % 2))
        bad = "".join("CGTA"["ACGT".index(c)] if j % 6 == 5 else c for j, c in enumerate(bad))
        fragments.append((f"p{i}", good, bad) if first else (f"p{i}", bad, good))
        truth[f"p{i}", int(first)] = ("one", at + 200 * (1 - i % 2), 0, i % 2 == 0)
    found = mapped(index, fragments, insert=insert)
    alone = mapped(index, fragments, singles=True)
    for key, spot in truth.items():
        assert is_right(found[key][0], spot)
        assert found[key][0].proper
        assert found[key][0].edits <= 16
    # Chance seeds nearby find some on so small a genome.
    assert sum(bool(alone[key]) and is_right(alone[key][0], spot) for key, spot in truth.items()) < 30


def test_a_settled_pair_is_looked_for_no_further(hard, monkeypatch):
    """One mate in an exact repeat, five errors in each: fewer candidates than two single reads have, except for copies
    that the reference leads to."""
    monkeypatch.setattr("gassst.search.plan.SEES_COPIES", False)
    one, _, copies, index = hard
    rng = np.random.default_rng(14)
    fragments = [
        (f"p{i}", *fragment_at(rng, one, copies[i % 8] - 220 + i // 8 * 4, 320, errors=(5, 5)))
        for i in range(120)
    ]
    mapper = gassst.Mapper(index, device="none", mode="global", insert=INSERT)
    (_, alone), (_, paired) = (
        next(run_of(mapper).results([batch_of(fragments, singles)])) for singles in (True, False)
    )
    assert paired.candidates < alone.candidates


KINDS = ["contig", "strand", "far", "outward"]


@pytest.mark.parametrize("kind", KINDS)
def test_discordant_mates_keep_their_own_best_places(hard, kind):
    one, two, _, index = hard
    rng = np.random.default_rng(KINDS.index(kind))
    fragments, truth = [], {}
    for i in range(40):
        at = 10_850 + 90 * i
        a = one[at : at + 100]
        where, b_at, reverse = {
            "contig": ("two", 500 + 90 * i, True),
            "strand": ("one", at + 200, False),
            "far": ("one", at + 30_000, True),
            "outward": ("one", at - 200, True),
        }[kind]
        if kind == "far" and any(c - 120 < b_at < c + 620 for c in range(3000, 59_000, 7000)):
            continue
        b = (two if where == "two" else one)[b_at : b_at + 100]
        b = bf.reverse_complement(b) if reverse else b
        fragments.append(
            (f"p{i}", bf.mutate(rng, a, 3)[:100].decode(), bf.mutate(rng, b, i % 5)[:100].decode())
        )
        truth[f"p{i}", 0] = ("one", at, 0, False)
        truth[f"p{i}", 1] = (where, b_at, 0, reverse)
    found = mapped(index, fragments)
    assert len(truth) > 60
    for key, spot in truth.items():
        assert is_right(found[key][0], spot)
        assert not found[key][0].proper
        assert found[key][0].mapq >= 20


@pytest.mark.parametrize("sensitivity", [0, 2, 5])
def test_a_mate_far_from_its_partner_maps_if_it_maps_alone(hard, sensitivity):
    """An error in every ten bases: of the seeds, only the overlapping ones are free of them."""
    one, two, _, index = hard
    fragments = []
    for i in range(60):
        mate = bytearray(two[100 + 140 * i : 150 + 140 * i])
        for at in range(8, 50, 10):
            mate[at] = b"ACGT"[(b"ACGT".index(mate[at]) + 1) % 4]
        fragments.append((f"p{i}", one[10_700 + 50 * i :][:100].decode(), mate.decode()))
    alone = mapped(index, fragments, singles=True, sensitivity=sensitivity)
    found = mapped(index, fragments, sensitivity=sensitivity)
    # At -s 0 seeds are too far apart for errors as even as these.
    assert sensitivity == 0 or sum(bool(alone[name, 1]) for name, *_ in fragments) > 40
    assert not [key for key in alone if alone[key] and not found[key]]


def test_pairs_across_the_end_of_a_contig_are_not_proper():
    """Neighbouring contigs are near in concatenated coordinates; a wide window must not join them."""
    rng = np.random.default_rng(6)
    contigs = [(f"c{i}", bf.random_bases(rng, 400)) for i in range(12)]
    index = index_of(*contigs)
    fragments = []
    for i in range(11):
        a = contigs[i][1][250:350]
        b = bf.reverse_complement(contigs[i + 1][1][30:130])
        fragments.append((f"p{i}", a.decode(), b.decode()))
    found = mapped(index, fragments, insert=(700.0, 100.0))
    for i in range(11):
        assert [found[f"p{i}", mate][0][:2] for mate in (0, 1)] == [(f"c{i}", 250), (f"c{i + 1}", 30)]
        assert not any(found[f"p{i}", mate][0].proper for mate in (0, 1))


def test_a_mate_is_not_rescued_on_a_neighbouring_contig():
    """The other mate is in an exact repeat, on its partner's contig and on the next one."""
    rng = np.random.default_rng(7)
    element = bf.random_bases(rng, 150)
    one = bf.random_bases(rng, 300) + element
    two = element + bf.random_bases(rng, 400)
    index = index_of(("one", one), ("two", two))
    a, b = one[40:140].decode(), bf.reverse_complement(element[20:120]).decode()
    for mates in ((a, b), (b, a)):
        found = mapped(index, [("p", *mates)], insert=(760.0, 150.0))  # fits "two" better
        last = found["p", mates.index(b)][0]
        assert (last.contig, last.start, last.proper) == ("one", 320, True)


@pytest.mark.parametrize("first", [True, False])
def test_one_mate_of_random_bases_is_unmapped_and_harms_nobody(hard, first):
    one, _, _, index = hard
    rng = np.random.default_rng(8)
    fragments, mates = [], []
    for i in range(30):
        good = bf.mutate(rng, one[10_700 + 90 * i : 10_800 + 90 * i], 4)[:100].decode()
        noise = bf.random_bases(rng, 100).decode()
        fragments.append((f"p{i}", good, noise) if first else (f"p{i}", noise, good))
        mates.append((f"p{i}", good))
    found = mapped(index, fragments)
    alone = mapped(index, mates, singles=True)
    for name, _ in mates:
        assert found[name, int(first)] == []
        assert found[name, 1 - int(first)] == alone[name, 0]


def test_windows_over_both_ends_of_the_genome(hard):
    """Mates at the first and the last bases, libraries longer than the padding."""
    one, two, _, index = hard
    rng = np.random.default_rng(10)
    lonely = bf.random_bases(rng, 100).decode()
    ends = [
        one[:100],
        bf.reverse_complement(one[:100]),
        two[-100:],
        bf.reverse_complement(two[-100:]),
        b"A" * 100,
    ]
    fragments = [(f"p{i}", text.decode(), lonely) for i, text in enumerate(ends)]
    fragments += [(f"q{i}", lonely, text.decode()) for i, text in enumerate(ends)]
    found = mapped(index, fragments, insert=(15_000.0, 2000.0))
    for i, (contig, start) in enumerate([("one", 0), ("one", 0), ("two", 8900), ("two", 8900)]):
        for key in ((f"p{i}", 0), (f"q{i}", 1)):
            assert found[key][0][:2] == (contig, start)


def test_insert_sizes_are_learned_whatever_the_batches(world):
    """Also where the first batches hold single reads only."""
    fragments = sorted(world.fragments, key=len)
    models, results = [], []
    for size in (20, 90, 1000):
        mapper = gassst.Mapper(world.index, device="none", mode="global", threads=2)
        parts = [fragments[i : i + size] for i in range(0, len(fragments), size)]
        batches = [batch_of(part, singles=all(len(f) == 2 for f in part)) for part in parts]
        run = run_of(mapper)
        results.append(places(run, batches))
        models.append(run.insert)
    assert models[0] == models[1] == models[2]
    assert models[0].pairs > 100
    assert abs(models[0].mean - INSERT[0]) < 10
    assert results[0] == results[1] == results[2]


# --- genomes of repeats ----------------------------------------------------------------------------------------


def genome_of_repeats(rng: np.random.Generator) -> dict[str, bytes]:
    """Contigs of random bases, of scattered copies, of one tandem repeat, or of inverted repeats."""
    genome = {}
    for c in range(int(rng.integers(1, 5))):
        size, kind = int(rng.choice([600, 3000, 12_000])), int(rng.integers(4))
        if kind == 0:
            text = bf.random_bases(rng, size)
        elif kind == 1:
            text = bf.repetitive_genome(rng, max(size, 3000))
        elif kind == 2:
            unit = bf.random_bases(rng, int(rng.choice([1, 2, 3, 7, 31, 90, 400, 700])))
            repeat = (unit * (size // len(unit) + 2))[: size + 50]
            text = bf.mutate(rng, repeat, int(rng.integers(0, size // 50)), 0.2)[:size]
        else:
            unit = bf.random_bases(rng, int(rng.choice([40, 150, 300])))
            unit += bf.reverse_complement(unit)
            text = bf.mutate(rng, (unit * (size // len(unit) + 1))[:size], int(rng.integers(0, 20)))
        genome[f"c{c}"] = bytes(text)
    return genome


def fragments_of(rng: np.random.Generator, genome: dict[str, bytes], orientation: str) -> list[Fragment]:
    """Pairs and some single reads of 20 to 250 bases, also at contig ends; one mate in ten is random."""
    fragments: list[Fragment] = []
    for i in range(25):
        contig = genome[str(rng.choice(list(genome)))]
        lengths = [int(x) for x in rng.choice([20, 36, 75, 100, 150, 250], 2)]
        size = min(int(max(*lengths, rng.normal(260, 40))), len(contig) - 1)
        at = int(rng.choice([0, len(contig) - size, *rng.integers(0, len(contig) - size, 8)]))
        errors = [int(rng.integers(max(1, m // 8))) for m in lengths]
        mates = fragment_at(rng, contig, at, size, lengths, errors, bool(rng.integers(2)))
        turned = {"fr": (), "rf": (0, 1), "ff": (1,)}[orientation]
        mates = tuple(turn(m) if j in turned else m for j, m in enumerate(mates))
        if rng.random() < 0.1:
            mates = mates[0], bf.random_bases(rng, 80).decode()
        if rng.random() < 0.1:
            mates = mates[:1]
        if all(turn(m) != m for m in mates):  # on both strands at once, such a read has no strand of its own
            fragments.append((f"p{i}", *mates))
    return fragments


def turn(bases: str) -> str:
    return bf.reverse_complement(bases.encode()).decode()


@pytest.mark.parametrize("seed", [*range(7), 42])
def test_in_repeats_a_pair_depends_on_nothing_but_itself(seed):
    """Where ties and rivals abound: alone in its batch, in parts of the index, mates swapped or turned over."""
    rng = np.random.default_rng(seed)
    genome = genome_of_repeats(rng)
    index = index_of(*genome.items())
    orientation = str(rng.choice(["fr", "rf", "ff"]))
    fragments = fragments_of(rng, genome, orientation)
    params = {
        "sensitivity": int(rng.integers(0, 6)),
        "max_hits": int(rng.choice([1, 4])),
        "insert": (260.0, 40.0) if seed % 3 else WIDE_INSERT,
    }
    params |= {"gaps": int(rng.choice([0, 3, 20, 60]))} if rng.random() < 0.3 else {}
    params |= {"all_hits": True, "min_identity": 88} if rng.random() < 0.2 else {}
    expected = mapped(index, fragments, orientation=orientation, **params)

    mapper = gassst.Mapper(index, device="none", orientation=orientation, **{"mode": "global", **params})
    assert places(mapper, [batch_of([f]) for f in fragments]) == expected
    mapper._engine = replace(mapper._engine, parts=IndexParts(mapper.index, memory=20_000))
    assert places(mapper, [batch_of(fragments[::-1])]) == expected
    assert_pairs_agree(fragments, expected)
    alone = mapped(index, fragments, singles=True, orientation=orientation, **params)
    assert not [key for key in alone if alone[key] and not expected[key]]
    if orientation == "ff":
        return
    swapped = mapped(index, [(f[0], *f[1:][::-1]) for f in fragments], orientation=orientation, **params)
    for name, *mates in fragments:
        for j in range(len(mates)):
            assert swapped[name, len(mates) - 1 - j] == expected[name, j]
    other = {"fr": "rf", "rf": "fr"}[orientation]
    turned = mapped(index, [(f[0], *map(turn, f[1:])) for f in fragments], orientation=other, **params)
    for key, rows in turned.items():
        assert [p._replace(reverse=not p.reverse) for p in rows] == expected[key]


def assert_pairs_agree(fragments: list[Fragment], found: dict[tuple[str, int], list[Place]]) -> None:
    """Both mates of a proper pair say so and lie on one contig."""
    for name, *mates in fragments:
        primary = [found[name, j][0] for j in range(len(mates)) if found[name, j]]
        assert len({p.proper for p in primary}) <= 1
        if any(p.proper for p in primary):
            assert len(primary) == 2
            assert primary[0].contig == primary[1].contig
