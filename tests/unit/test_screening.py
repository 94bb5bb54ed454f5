"""Reads that are screened have the records that the schedule of stages gives them."""

from dataclasses import replace

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst.io.read_records import batch_of_records
from gassst.layouts import NO_SCORE
from gassst.search import screening, single
from gassst.search.context import BatchContext
from gassst.search.host import HostBackend
from gassst.stats import Stats

STATE = ["best", "rival", "limit", "complete", "capped", "looked", "planned", "left_to_local", "evidence"]
NEVER = 1 << 40


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    """120,000 bases: a fifth of them copies of 12 and 30 bases with few errors, so that seeds are passed over."""
    rng = np.random.default_rng(41)
    bases = np.frombuffer(bf.random_bases(rng, 120_000), np.uint8).copy()
    units = [np.frombuffer(bf.random_bases(rng, m), np.uint8) for m in (12, 30)]
    for at in rng.choice(3000, 700, replace=False) * 40:
        unit = units[at // 40 % 2].copy()
        if rng.random() < 0.3:
            unit[rng.integers(len(unit))] = ord("A")
        bases[at : at + len(unit)] = unit
    path = tmp_path_factory.mktemp("screen") / "genome.fa"
    path.write_text(f">one\n{bases[:80_000].tobytes().decode()}\n>two\n{bases[80_000:].tobytes().decode()}\n")
    return path, bases.tobytes().decode()


def mutated(rng, read, errors):
    read = list(read)
    for _ in range(errors):
        at = int(rng.integers(len(read)))
        read[at : at + 1] = [[], ["A"], ["C"], ["T", read[at]]][rng.integers(4)]
    return "".join(read)


@pytest.fixture(scope="module")
def reads(genome):
    """Of several lengths: from nowhere, of the genome with few errors and many, and foreign ones with a piece of it."""
    rng = np.random.default_rng(42)
    sequence, made = genome[1], []
    for i in range(1680):
        m = int(rng.choice([30, 36, 50, 75, 100, 150, 448, 700]))
        at = int(rng.integers(len(sequence) - 800))
        foreign, own = bf.random_bases(rng, m).decode(), sequence[at : at + m]
        kind = i % 7
        read = (
            foreign,
            mutated(rng, own, m // 16),
            mutated(rng, own, m // 6),
            own[:18] + foreign[18:],
            foreign[: m // 3] + own[m // 3 : 2 * m // 3] + foreign[2 * m // 3 :],
            foreign[:10] + "N" + foreign[11:],
            foreign[:9] + own[9:27] + foreign[27:],
        )[kind]
        made.append((f"r{i}", bf.reverse_complement(read.encode()).decode() if i % 4 == 1 else read, None))
    return made


def searched(context, mapper):
    """The state after the search of whole reads, its result, and the counts."""
    counts = Stats()
    with mapper.extender.open_reads(context.packed) as bands:
        state = single.run_stages(HostBackend(context, bands, counts))
        result = single.select(HostBackend(context, bands, counts), state)
    return state, result, counts


def context_of(mapper, reads):
    packed = batch_of_records(reads).pack(mapper.params.longest_read)
    passes = mapper.index, mapper.parts, mapper.plan, mapper.cascade, mapper.params, packed
    return BatchContext.of(*passes, whole_reads=mapper.params.reports_whole_reads)


def screen_all(monkeypatch):
    monkeypatch.setattr(screening, "LEAST_READS", 1)
    monkeypatch.setattr(screening, "SAMPLE", NEVER)


@pytest.mark.parametrize("mode", ["global", "local"])
@pytest.mark.parametrize(
    "options",
    [{}, {"sensitivity": 0}, {"sensitivity": 1}, {"sensitivity": 3}, {"gaps": 4}, {"min_identity": 88}],
    ids=str,
)
def test_the_screen_changes_nothing(genome, reads, mode, options, monkeypatch):
    mapper = gassst.Mapper(gassst.Index.build(genome[0]), device="none", mode=mode, **options)
    context = context_of(mapper, reads)
    monkeypatch.setattr(screening, "LEAST_READS", NEVER)
    expected, places, counted = searched(context, mapper)
    assert not expected.exhausted.any()
    screen_all(monkeypatch)
    state, found, counts = searched(context, mapper)
    assert state.exhausted.sum() > 150 and not (state.exhausted & (state.best != NO_SCORE)).any()
    assert (expected.best != NO_SCORE).sum() > 150
    for name in STATE:
        np.testing.assert_array_equal(getattr(state, name), getattr(expected, name), err_msg=name)
    for name in ("summary", "quality", "unseen", "passed_over", "hopeless", "rows", "start"):
        assert getattr(found, name).tolist() == getattr(places, name).tolist(), name
    for name, column in vars(places.bands).items():
        assert getattr(found.bands, name).tolist() == column.tolist(), name
    assert counts.candidates == counted.candidates


@pytest.mark.parametrize(("m", "sensitivity"), [(30, 0), (36, 0), (30, 1), (50, 1)])
def test_seeds_that_were_passed_over_are_noted(genome, m, sensitivity, monkeypatch):
    """Reads that end with what occurs too often: no seed there can be made longer. Some have no other place."""
    rng = np.random.default_rng(43)
    units = [genome[1][at : at + 12] for at in range(0, 119_000, 40)]
    unit = max(set(units), key=units.count)
    assert units.count(unit) > 150
    reads = [(f"r{i}", bf.random_bases(rng, m - 12).decode() + unit, None) for i in range(300)]
    mapper = gassst.Mapper(
        gassst.Index.build(genome[0]), device="none", mode="global", sensitivity=sensitivity
    )
    context = context_of(mapper, reads)
    monkeypatch.setattr(screening, "LEAST_READS", NEVER)
    expected, _, _ = searched(context, mapper)
    screen_all(monkeypatch)
    state, _, _ = searched(context, mapper)
    assert (expected.capped.astype(bool) & state.exhausted).sum() > 20
    for name in STATE:
        np.testing.assert_array_equal(getattr(state, name), getattr(expected, name), err_msg=name)


def test_a_batch_of_the_genome_is_not_screened(genome, monkeypatch):
    """Where few of a sample are exhausted, the others are left to the schedule."""
    mapper = gassst.Mapper(gassst.Index.build(genome[0]), device="none", mode="global")
    monkeypatch.setattr(screening, "LEAST_READS", 30)
    monkeypatch.setattr(screening, "SAMPLE", 20)
    screen, asked = screening._exhausted, []

    def noted(backend, state, plan, stage, some):
        asked.append(len(some))
        return screen(backend, state, plan, stage, some)

    monkeypatch.setattr(screening, "_exhausted", noted)
    rng = np.random.default_rng(44)
    foreign = [(f"r{i}", bf.random_bases(rng, 50).decode(), None) for i in range(200)]
    places = rng.integers(len(genome[1]) - 50, size=600).tolist()
    own = [(f"r{i}", mutated(rng, genome[1][at : at + 50], 8), None) for i, at in enumerate(places)]
    assert not searched(context_of(mapper, own), mapper)[0].exhausted.sum() > 20
    assert asked and max(asked) < 40
    asked.clear()
    assert searched(context_of(mapper, foreign), mapper)[0].exhausted.all()
    assert len(asked) == 2 and sum(asked) == len(foreign)


@pytest.mark.parametrize("case", ["index of step 2", "all hits", "no filter", "left out contigs"])
def test_what_the_screen_does_not_know_is_left_to_the_schedule(genome, reads, case, monkeypatch):
    screen_all(monkeypatch)
    index = gassst.Index.build(genome[0], step=2 if case == "index of step 2" else 1)
    options = {"all hits": {"all_hits": True}, "no filter": {"filters": ()}}.get(case, {})
    mapper = gassst.Mapper(index, device="none", mode="global", **options)
    context = context_of(mapper, reads[:60])
    if case == "left out contigs":
        context = replace(context, left_out=np.array([False, True]))
    assert not screening.can_screen(context)
    assert not searched(context, mapper)[0].exhausted.any()
