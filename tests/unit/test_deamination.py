"""Deaminated bases in the model of errors: what a library shows of them, and what that makes of places."""

from collections import Counter
from dataclasses import replace
from math import log10

import brute_force as bf
import numpy as np
import pytest
from brute_force import reverse_complement as reverse
from rating import batch_of, found_of, rater, ratings, search_of

import gassst
from gassst.index.miss_model import NO_SEEDS
from gassst.model.params import MapParams
from gassst.model.reference import Reference
from gassst.model.stats import Stats
from gassst.pairing.error_rate import ENOUGH_READS, ErrorRate, deamination
from gassst.pairing.insert_size import InsertModel
from gassst.reads.in_memory import batch_of_records
from gassst.runs.run import MappingRun, MappingWork

D, M = 25, 70


def counts(five: float, three: float, bases: int = 400) -> np.ndarray:
    """As `Stats.damage`: at every distance so many C and G, of which a share of C is T at either end."""
    table = np.zeros((D, 2, 4), np.int64)
    table[..., ::2] = bases
    table[:, :, 3] = round(0.01 * bases)
    table[:, 0, 1], table[:, 1, 1] = round(five * bases), round(three * bases)
    return table


def cycles(mismatches: int, bases: int = 1600) -> np.ndarray:
    table = np.zeros((D + 10, 4), np.int64)
    table[:, 0], table[:D, 1], table[D:, 1] = bases, mismatches, 10**6
    return table


def test_the_chances_are_those_that_were_counted():
    other, *chances = deamination(cycles(40 + 4 + 32), counts(0.1, 0.01))
    table = np.array(chances).reshape(D, 2, 2)
    assert table[:, 0, 0] == pytest.approx(0.1, rel=0.02)
    assert table[:, 1] == pytest.approx(0.01, rel=0.2) and table[:, 0, 1] == pytest.approx(0.01, rel=0.2)
    # 32 of 1,600 bases: ten of the twelve ways to read one as another.
    assert other == pytest.approx(0.02 / 3 * 1.2, rel=0.02)


@pytest.mark.parametrize(
    "five, three, shows", [(0.01, 0.01, False), (0.018, 0.01, False), (0.01, 0.05, True)]
)
def test_it_shows_where_one_end_has_twice_as_many_of_one_change(five, three, shows):
    assert bool(deamination(cycles(100), counts(five, three))) == shows


def test_few_bases_and_no_reads_show_nothing():
    few = counts(0, 0) * 0
    few[0, 0] = 1000, ENOUGH_READS - 1, 1000, 0
    assert deamination(cycles(100), few) == ()
    few[0, 0, 1] += 1
    assert deamination(cycles(100), few)
    assert deamination(Stats().cycles, Stats().damage) == ()


def chances(five: float, three: float, plain: float = 0.001) -> tuple[float, ...]:
    """C>T at the 5' end and G>A at the 3' end, half as often with every base; all else is `plain`."""
    table = np.full((D, 2, 2), plain)
    table[:, 0, 0], table[:, 1, 1] = five * 0.5 ** np.arange(D), three * 0.5 ** np.arange(D)
    return (plain, *np.maximum(table, plain).ravel().tolist())


def expected_loss(read: bytes, place: bytes, damage: tuple[float, ...]) -> int:
    """In the direction of the read, base by base."""
    table, total = np.array(damage[1:]).reshape(D, 2, 2), 0
    for i, (r, p) in enumerate(zip(read, place, strict=True)):
        if r != p:
            chance = damage[0]
            for kind, (was, now) in enumerate((b"CT", b"GA")):
                if (p, r) == (was, now):
                    ends = (0, min(i, D - 1)), (1, min(len(read) - 1 - i, D - 1))
                    chance = max(chance, *(table[distance, end, kind] for end, distance in ends))
            total += round(-10 * log10(chance))
    return total


def misread(rng: np.random.Generator, place: bytes, share: float) -> bytes:
    """With this share of C as T and of G as A anywhere, and some other errors."""
    deaminated = {ord("C"): ord("T"), ord("G"): ord("A")}
    read = [deaminated.get(c, c) if rng.random() < share else c for c in place]
    return bytes(int(rng.choice(list(b"ACGT"))) if rng.random() < 0.05 else c for c in read)


@pytest.mark.parametrize("m", [40, 64, 65, 130])
def test_the_likeliest_of_several_ungapped_places_base_by_base(m):
    """The first place of a read is one that loses least, on either strand, and the others weigh what they lose more. A
    hash decides among equals."""
    rng, n, k = np.random.default_rng(m), 60, 5
    damage, kinds = chances(0.4, 0.25), Counter()
    library = ErrorRate(0.02, 100.0, damage)
    genome, texts, lost, rows = bytearray(), [], [], []
    for i in range(n):
        place = bf.random_bases(rng, m)
        texts.append(misread(rng, place, 0.3))
        for strand in rng.integers(0, 2, k).tolist():
            copy = bf.mutate(rng, place, 3, 0.0) if i % 2 else misread(rng, place, 0.1)
            edits = sum(a != b for a, b in zip(texts[-1], copy, strict=True))
            # With a gap, which shows in more mismatches than errors, every error costs the whole.
            fewer = max(edits - int(rng.random() < 0.2), 0)
            lost.append(expected_loss(texts[-1], copy, damage) if fewer == edits else 30 * fewer)
            rows.append((2 * i + strand, len(genome), fewer))
            genome += (reverse(copy) if strand else copy) + bf.random_bases(rng, 40)
    reference = Reference.from_sequences([("g", bytes(genome))])
    packed = batch_of_records([(f"r{i}", text.decode()) for i, text in enumerate(texts)]).pack(1000)
    index = gassst.Index.build(reference)
    strands, at, edits = (np.array(column) for column in zip(*rows, strict=True))
    at += int(reference.starts[0])
    some = rater([NO_SEEDS], library.table)
    first = [set() for _ in range(n)]
    for digest in range(12):
        context = batch_of(
            packed, library=library, reference=reference, rater=some, digest=np.full(n, digest, np.uint64),
            params=MapParams(mode="global", max_hits=1 + digest % 2),
        )  # fmt: skip
        search = search_of(context, None, found_of(strands, at, edits=edits), margin=100, index=index)
        (chosen, summary), rated = search.chosen, ratings(search)
        assert (summary["n_reported"] == 1 + digest % 2).all()
        for i in range(n):
            own = lost[k * i : k * i + k]
            first[i].add(int(chosen[k * i]))
            odds = library.odds([np.ceil(min(own) / library.average_cost)], [m])[0]
            others = sum(odds ** ((each - min(own)) / library.average_cost) for each in own) - 1
            assert rated["known"][i] == pytest.approx(others, rel=1e-6, abs=1e-12)
    for i in range(n):
        own = lost[k * i : k * i + k]
        assert first[i] <= {j for j, each in enumerate(own) if each == min(own)}
        kinds[len(first[i])] += 1
    assert kinds[1] > 10 and sum(kinds.values()) > kinds[1]


@pytest.fixture(scope="module")
def genome() -> bytes:
    """Unique bases, and two copies of 200 bases: at base 50 the first has C, the second T, and at 130 A and C."""
    rng = np.random.default_rng(71)
    one = bytearray(bf.random_bases(rng, 200))
    one[50], one[130] = b"CA"
    other = bytearray(one)
    other[50], other[130] = b"TC"
    return b"".join(
        [bf.random_bases(rng, 40_000), one, bf.random_bases(rng, 2000), other, bf.random_bases(rng, 2000)]
    )


@pytest.fixture(scope="module")
def index(genome) -> gassst.Index:
    return gassst.Index.build(Reference.from_sequences([("g", genome)]))


def library(genome: bytes, end: float, errors: float = 0.004, n: int = 1500) -> list[tuple[str, str]]:
    """Reads of the unique bases of either strand, with misread bases and C>T at the 5' end."""
    rng = np.random.default_rng(5)
    reads = []
    for i, at in enumerate(rng.integers(0, 40_000 - M, n).tolist()):
        read = bytearray(genome[at : at + M] if i % 2 else reverse(genome[at : at + M]))
        chance = end * 0.6 ** np.arange(M)
        for j in np.flatnonzero(rng.random(M) < chance).tolist():
            read[j] = ord("T") if read[j] == ord("C") else read[j]
        for j in np.flatnonzero(rng.random(M) < errors).tolist():
            read[j] = int(rng.choice(list(b"ACGT")))
        reads.append((f"u{i}", bytes(read).decode()))
    return reads


@pytest.mark.parametrize("mode", ["global", "local"])
@pytest.mark.parametrize("end", [0.0, 0.4])
def test_a_deaminated_base_tells_little_of_a_place(index, genome, mode, end):
    """Reads that begin at base 50 of the copies. One fits the second copy, and the first
    with T for C at one base. The other has the T of the second copy and the A of the first: each differs from it in one
    base."""
    first, second = 40_000 + 50, 42_200 + 50
    fits, either = bytearray(genome[second : second + M]), bytearray(genome[first : first + 100])
    either[0] = ord("T")
    mapper = gassst.Mapper(index, device="none", threads=1, mode=mode)
    probes = [bytes(fits), bytes(either), reverse(bytes(fits)), reverse(bytes(either))]
    found = list(mapper.map([*library(genome, end), *((f"p{i}", p.decode()) for i, p in enumerate(probes))]))
    one, other, turned, other_turned = found[-4:]
    assert one.reference_start == turned.reference_start == second
    # At the 3' end of a read that is turned there is no damage, but for what few bases show by chance.
    assert turned.mapping_quality >= 20 and other_turned.mapping_quality <= (10 if end else 0)
    if end:
        assert one.mapping_quality == pytest.approx(-10 * log10(end / (1 + end)), abs=1.5)
        assert other.reference_start == first
        plain = 0.004 / 4
        assert other.mapping_quality == pytest.approx(-10 * log10(plain / end), abs=4)
    else:
        assert one.mapping_quality >= 25 and other.mapping_quality == 0


@pytest.mark.parametrize("mode", ["global", "local"])
@pytest.mark.parametrize("end", [0.0, 0.4])
def test_the_likeliest_place_is_reported_where_another_one_scores_more(genome, mode, end):
    """Two C of the true place are read as T near the 5' end. Its copy has these T, and one other base far behind."""
    place = bytearray(genome[20_000 : 20_000 + M + 200])
    place[0], place[5] = b"CC"
    copy = bytearray(place)
    copy[0], copy[5], copy[40] = *b"TT", b"ACGT"[(b"ACGT".index(place[40]) + 1) % 4]
    read = copy[:40] + place[40:M]
    text = genome[:40_000] + place + genome[10_000:10_500] + copy + genome[-500:]
    mapper = gassst.Mapper(
        gassst.Index.build(Reference.from_sequences([("g", text)])), device="none", threads=1, mode=mode
    )
    probes = [bytes(read), reverse(bytes(read))]
    reads = [*library(genome, end), *((f"p{i}", p.decode()) for i, p in enumerate(probes))]
    one, turned = list(mapper.map(reads))[-2:]
    behind = 40_000 + len(place) + 500
    assert (one.reference_start, one.cigarstring) == (40_000 if end else behind, f"{M}M")
    assert turned.reference_start == behind
    assert one.mapping_quality >= (5 if end else 20)


def learned(
    mapper: gassst.Mapper, reads: list[tuple[str, str]], are_mates: bool = False
) -> tuple[float, ...]:
    """What a run learns of deamination from these reads."""
    mate = np.tile(np.array([1, 2], np.uint8), len(reads) // 2) if are_mates else None
    run = MappingRun(MappingWork(mapper._engine), lambda *_: None)
    return run.learn_insert([replace(batch_of_records(reads), mate=mate)]).errors.damage


def test_mates_teach_no_deamination(index, genome):
    """The bases that a pair has at either end belong to one fragment; its places are weighed as before."""
    mapper, reads = gassst.Mapper(index, device="none", threads=1), library(genome, 0.4)
    assert learned(mapper, reads) and not learned(mapper, reads, are_mates=True)


def test_converted_bases_teach_no_deamination(genome):
    """A T of a converted read may have been a C wherever it is."""
    index = gassst.Index.build(Reference.from_sequences([("g", genome)]), meth=True)
    reads = [(name, bases.replace("C", "T")) for name, bases in library(genome, 0.0, 0.05)]
    assert not learned(gassst.Mapper(index, device="none", threads=1, meth="directional"), reads)


def test_a_model_of_deamination_is_read_as_it_was_written(tmp_path):
    errors = ErrorRate(0.02, 100.0, chances(0.4, 0.25))
    model = InsertModel("fr", 300.0, 30.0, 100, 500, 2000, errors)
    model.write(tmp_path / "model.json")
    assert InsertModel.read(tmp_path / "model.json") == model
