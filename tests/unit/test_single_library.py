"""The errors of a library: what single reads teach, and what the rate says of a read."""

from math import comb, floor, log10

import brute_force as bf
import numpy as np
import pytest
from engines import engine

import gassst
from gassst.model.reference import Reference
from gassst.pairing.error_rate import UNKNOWN_LIBRARY, UNLIKE, ErrorRate
from gassst.pairing.insert_size import InsertModel
from gassst.reads.shards import Shard

M = 80
NOISE = 0.04


@pytest.fixture(scope="module")
def genome() -> bytes:
    """Unique bases, and two copies of 400 bases that differ in every fortieth one."""
    rng = np.random.default_rng(61)
    one = bytearray(bf.random_bases(rng, 400))
    other = bytearray(one)
    for i in range(20, 400, 40):
        other[i] = b"ACGT"[(b"ACGT".index(other[i]) + 1) % 4]
    parts = [bf.random_bases(rng, 30_000), bytes(one), bf.random_bases(rng, 3000), bytes(other)]
    return b"".join([*parts, bf.random_bases(rng, 3000)])


@pytest.fixture(scope="module")
def index(genome) -> gassst.Index:
    return gassst.Index.build(Reference.from_sequences([("g", genome)]))


def noisy(rng: np.random.Generator, bases: bytes, rate: float) -> bytes:
    """With mismatches at this rate."""
    wrong = rng.random(len(bases)) < rate
    shift = rng.integers(1, 4, len(bases))
    return bytes(
        b"ACGT"[(b"ACGT".index(c) + int(s)) % 4] if w else c
        for c, w, s in zip(bases, wrong, shift, strict=True)
    )


def library(genome: bytes, rate: float, n: int = 300) -> list[tuple[str, str]]:
    """Reads of the unique bases."""
    rng = np.random.default_rng(int(1000 * rate) + 7)
    starts = rng.integers(0, 30_000 - M, n).tolist()
    return [(f"u{i}", noisy(rng, genome[at : at + M], rate).decode()) for i, at in enumerate(starts)]


def beside_a_copy(genome: bytes, errors: int) -> str:
    """A read of one copy, of which the other has two bases more different."""
    read = bytearray(genome[30_030 : 30_030 + M])
    for i in range(2, 2 + 9 * errors, 9):
        read[i] = b"ACGT"[(b"ACGT".index(read[i]) + 2) % 4]
    return read.decode()


@pytest.mark.parametrize("rate", [0.0, NOISE])
def test_a_rival_weighs_as_the_errors_of_the_library_say(index, genome, rate):
    """Of one read: the chance that both bases in which the copies differ are errors, a third of them each."""
    probe = ("probe", beside_a_copy(genome, 0))
    mapper = gassst.Mapper(index, device="none", threads=1)
    *_, found = mapper.map([*library(genome, rate), probe])
    if rate:
        odds = (rate / 3 / (1 - rate)) ** 2
        assert abs(found.mapping_quality - floor(-10 * log10(odds))) <= 2
    else:
        assert found.mapping_quality >= 45
    (alone,) = mapper.map([probe])
    assert alone.mapping_quality == mapper.map_one(probe)[0].mapq
    assert (alone.mapping_quality > found.mapping_quality) == (rate > 0)


def test_a_read_unlike_its_library_is_as_sure_as_alone(index, genome):
    probe = ("probe", beside_a_copy(genome, 8))
    mapper = gassst.Mapper(index, device="none", threads=1, mode="global")
    *_, found = mapper.map([*library(genome, 0.0), probe])
    assert abs(found.mapping_quality - mapper.map_one(probe)[0].mapq) <= 1


def test_few_reads_teach_nothing(index, genome):
    reads = library(genome, NOISE, 40)
    mapper = gassst.Mapper(index, device="none", threads=1)
    assert [s.mapping_quality for s in mapper.map(reads)] == [mapper.map_one(r)[0].mapq for r in reads]


def test_sizes_that_are_given_leave_the_errors_to_be_learned(index, genome):
    """The model says what single reads show, and keeps the insert sizes of the parameters."""
    reads = library(genome, NOISE)
    given = gassst.Mapper(index, device="none", threads=1, insert=(300, 30))
    free = gassst.Mapper(index, device="none", threads=1)
    assert [s.to_string() for s in given.map(reads)] == [s.to_string() for s in free.map(reads)]


def text_of(path) -> list[str]:
    return [line for line in path.read_text().splitlines() if not line.startswith("@")]


def test_records_do_not_depend_on_how_the_work_is_divided(index, genome, tmp_path):
    reads = library(genome, NOISE, 700) + [(f"p{i}", beside_a_copy(genome, i % 4)) for i in range(40)]
    fastq, whole, model = tmp_path / "r.fq", tmp_path / "whole.sam", tmp_path / "model.json"
    fastq.write_text("".join(f"@{name}\n{bases}\n+\n{'I' * M}\n" for name, bases in reads))

    def mapped(to, insert=None, shard=None, **options) -> list[str]:
        mapper = gassst.Mapper(index, device="none", **options)
        mapper.map_file(fastq, to, insert=insert, shard=shard)
        return text_of(to)

    expected = mapped(whole, threads=1)
    for options in ({"threads": 3}, {"threads": 2, "batch_size": 17}, {"threads": 1, "batch_size": 1}):
        assert mapped(tmp_path / "other.sam", **options) == expected
    parts = [mapped(tmp_path / f"{i}.sam", shard=Shard(i, 3), threads=1) for i in (1, 2, 3)]
    assert sum(parts, []) == expected
    from gassst.reads.source import ReadSource

    learned = gassst.Mapper(index, device="none", threads=1).learn_insert(ReadSource.of([fastq]))
    assert learned.pairs == 0 and learned.errors.rate == pytest.approx(NOISE, rel=0.15)
    learned.write(model)
    assert mapped(tmp_path / "given.sam", insert=InsertModel.read(model), threads=1) == expected


@pytest.mark.parametrize("all_hits", [False, True])
def test_a_library_is_learned_by_the_plan_of_the_run_unless_that_lists_all_hits(index, all_hits):
    run = engine(index, all_hits=all_hits)
    for are_mates in (False, True):
        learns = run.for_best_hits(are_mates)
        assert (learns.plan is run.plan) == (not all_hits)
        assert not learns.plan.params.exhaustive


def test_reads_that_are_alike_are_judged_by_the_library():
    rng = np.random.default_rng(1)
    aligned = rng.integers(50, 151, 4000)
    known = ErrorRate.learned(rng.binomial(aligned, 0.02), aligned)
    assert known.rate == pytest.approx(0.02, rel=0.05)
    assert known.bases > 2000
    # A base in three looks like the other place: 0.02 / 3 / 0.98.
    assert known.odds([0, 2, 6], [100, 100, 100]) == pytest.approx(0.0068, rel=0.25)


def test_the_spread_of_a_beta_binomial_library_is_found():
    rng = np.random.default_rng(2)
    aligned = np.full(20_000, 100)
    seen = rng.binomial(aligned, rng.beta(0.02 * 150, 0.98 * 150, len(aligned)))
    known = ErrorRate.learned(seen, aligned)
    assert known.rate == pytest.approx(0.02, rel=0.05)
    assert known.bases == pytest.approx(150, rel=0.15)
    clean, bad = known.odds([0, 12], [100, 100])
    assert 5 * clean < bad


def beta_binomial(errors: int, length: int, rate: float, bases: float) -> float:
    """Probability of these errors at given bases, as a product of what the bases before say of each."""
    probability, seen = 1.0, 0
    for i in range(length):
        share = (rate * bases + seen) / (bases + i)
        is_error = i < errors
        probability *= share if is_error else 1 - share
        seen += is_error
    return probability


@pytest.mark.parametrize("length", [30, 100, 250])
@pytest.mark.parametrize("rate, bases", [(0.001, 40.0), (0.02, 300.0), (0.08, 10_000.0)])
def test_odds_are_those_of_a_mixture_of_the_library_and_of_reads_unlike_it(length, rate, bases):
    def chance(errors: int) -> float:
        alone = beta_binomial(errors, length, UNKNOWN_LIBRARY.rate, UNKNOWN_LIBRARY.bases)
        return UNLIKE * alone + (1 - UNLIKE) * beta_binomial(errors, length, rate, bases)

    errors = np.arange(length // 4)
    odds = ErrorRate(rate, bases).odds(errors, np.full(len(errors), length))
    # An error in three makes a base look like the other place. The read has that base whichever place is true, so the
    # share of errors is that of all bases, not of all but one.
    expected = np.array([chance(e + 1) / chance(e) for e in range(len(errors))]) / 3
    assert odds == pytest.approx(expected, rel=1.5 / length + 0.05)


@pytest.mark.parametrize("rate, bases", [(0.001, 40.0), (0.02, 300.0), (0.08, 10_000.0)])
def test_how_many_reads_have_each_number_of_errors(rate, bases):
    lengths = np.array([100, 5, 250])
    shares = ErrorRate(rate, bases).shares(lengths, 12)
    expected = [[comb(m, e) * beta_binomial(e, m, rate, bases) for e in range(12)] for m in lengths.tolist()]
    assert shares == pytest.approx(np.array(expected), rel=1e-6)


def test_of_too_few_sure_reads_the_share_that_has_a_place_is_kept():
    few, enough = np.zeros(63, int), np.zeros(64, int)
    silent = ErrorRate.learned(few, few + 100, elsewhere=0.9)
    assert not silent.is_known and silent.elsewhere == 0.9 and silent.table is UNKNOWN_LIBRARY.table
    known = ErrorRate.learned(enough, enough + 100, elsewhere=0.9)
    assert known.is_known and known.elsewhere == 0


def test_a_read_that_its_library_does_not_explain_speaks_for_itself():
    clean = ErrorRate(0.001, 10_000.0)
    assert clean.odds(0, 100) == pytest.approx(0.001 / 3, rel=0.1)
    assert clean.odds(12, 100) == pytest.approx(UNKNOWN_LIBRARY.odds(12, 100), rel=0.01)
    assert UNKNOWN_LIBRARY.odds(12, 100) == pytest.approx(12.6 / (3 * 88.6), rel=0.01)
