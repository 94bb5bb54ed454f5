"""Seed lengths and error limits."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from math import comb

import numpy as np
import pytest

import gassst
from gassst._core.read_search import chance_hits
from gassst._core.seeds import cheapest_path
from gassst.frozen import replace
from gassst.index.miss_model import Stage, stage_misses
from gassst.model.params import MapParams
from gassst.model.reference import Reference
from gassst.pairing.error_rate import UNKNOWN_LIBRARY, ErrorRate
from gassst.search.host import given_up
from gassst.search.plan import SELDOM, SearchPlan, default_errors


def stage_miss(m: int, errors: int, stage: Stage) -> float:
    return float(stage_misses(m, (stage,), m + 1)[0, errors])


def seed_offsets(m: int, stage: Stage) -> list[int]:
    """Where the seeds of a stage begin in a read of `m` bases, ascending (as `gassst._core.seeds.Seeds` has it)."""
    room, gaps = m - stage.length, stage.number - 1
    return [j * room // gaps if gaps else room // 2 for j in range(0, stage.number, stage.every)]


def test_default_errors_grow_with_the_read_and_shrink_with_the_genome():
    assert default_errors(100, 14_000_000) == 20
    assert default_errors(36, 3_000_000_000) < default_errors(36, 14_000_000) < default_errors(50, 14_000_000)
    assert all(chance_hits(m, default_errors(m, 3 * 10**9), 3 * 10**9) <= 0.01 for m in range(20, 300, 7))


@pytest.mark.parametrize(
    "library, rate, placed",
    [
        (UNKNOWN_LIBRARY, 0.1, 1.0),
        (replace(UNKNOWN_LIBRARY, elsewhere=0.99), 0.1, 0.01),
        (ErrorRate(0.02, 1e9), 0.02, 1.0),
        (ErrorRate(0.07, 1e9), 0.07, 1.0),
    ],
)
def test_what_stages_lose_of_a_library(library, rate, placed):
    """By the errors of its reads; of mates with the same errors, too, which are lost together the oftenest."""
    plan, lengths = SearchPlan(MapParams(), 11, 60_000_000), (50, 100)
    plan.prepare(np.array(lengths[:1], np.uint32))
    plan.lost_of(library)
    plan.prepare(np.array(lengths, np.uint32))  # a length that the library meets later
    lost = plan.lost_of(library)
    for m in lengths:
        share = [comb(m, e) * rate**e * (1 - rate) ** (m - e) for e in range(m + 1)]
        missed = np.ones(m + 1)
        for stage, seeds in enumerate(plan.plan(m).stages):
            assert lost[0, stage, m] == pytest.approx(placed * (missed @ share), rel=1e-3)
            assert lost[1, stage, m] ** 2 == pytest.approx(placed * (missed**2 @ share), rel=1e-3)
            missed = np.minimum(missed, [stage_miss(m, e, seeds) for e in range(m + 1)])


def test_a_level_that_misses_nothing_gives_no_read_up():
    levels = [given_up(MapParams(mode="local", sensitivity=level)) for level in range(6)]
    assert levels[0] > levels[1] > levels[2] == 0.001 > levels[3] > levels[4] == levels[5] == 0
    assert given_up(MapParams(mode="global")) == 0


def test_reads_are_settled_where_disjoint_seeds_rarely_miss():
    rng = np.random.default_rng(2)
    plan = SearchPlan(MapParams(sensitivity=2), 11, 14_000_000)
    plan.prepare(np.array([100], np.uint32))
    assert plan.settled[0, 100] == -1
    for stage, (w, count, _, _) in enumerate((s for s in plan.plan(100).stages if s.disjoint), 1):
        for errors, beyond in (
            (int(plan.settled[stage, 100]), False),
            (int(plan.settled[stage, 100]) + 2, True),
        ):
            wrong = rng.random((4000, w * count)) < errors / 100
            missed = wrong.reshape(4000, count, w).any(axis=2).all(axis=1).mean()
            assert (missed > plan.preset.missed) == beyond


def test_no_read_is_settled_early_where_strata_must_be_complete():
    plan = SearchPlan(MapParams(sensitivity=4), 11, 14_000_000)
    plan.prepare(np.array([50, 100], np.uint32))
    assert (plan.settled == -1).all()


@pytest.mark.parametrize("all_hits", [False, True])
@pytest.mark.parametrize("m", [20, 36, 50, 100, 151, 300, 1000])
def test_stages_grow_and_fit(m, all_hits):
    plan = SearchPlan(MapParams(all_hits=all_hits), 11, 14_000_000).plan(m)
    counts = [stage.looked_up for stage in plan.stages]
    assert counts == sorted(counts)
    for w, count, disjoint, every in plan.stages:
        assert 4 <= w <= 27
        assert not disjoint or w * count <= m
        assert every == 1 or not disjoint


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize("m", [50, 75, 100, 250])
def test_reads_begin_with_three_seeds_where_they_have_the_bases(m, level):
    """Fewer would not show every rival of a read without errors."""
    stage = SearchPlan(MapParams(sensitivity=level), 11, 14_000_000).plan(m).stages[0]
    assert stage.disjoint and stage.number >= 3


@pytest.mark.parametrize("seed", range(20))
def test_the_cheapest_path_is_the_cheapest_of_all(seed):
    rng = np.random.default_rng(seed)
    n, most = 7, int(rng.integers(1, 5))
    open_after, cost = rng.choice([0.0, 0.1, 0.2, 0.5, 0.9], n), rng.integers(1, 30, n).astype(float)
    is_last = rng.random(n) < 0.4
    is_last[rng.integers(n)] = True

    def expected(path):
        taken = [1.0, *open_after[list(path[:-1])]]
        return float(np.dot(taken, cost[list(path)]))

    paths = [
        path
        for size in range(1, most + 1)
        for path in permutations(range(n), size)
        if is_last[path[-1]] and all(open_after[a] > open_after[b] for a, b in pairwise(path))
    ]
    found = cheapest_path(open_after, cost, is_last, most)
    assert tuple(found) in paths
    assert expected(found) == pytest.approx(min(map(expected, paths)))


@pytest.mark.parametrize("m", [60, 100, 320, 700, 1600])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_no_list_of_stages_costs_less(m, level):
    """Of all stages, of which a plan looks at some: the more expensive ones are in no cheapest list."""
    n_bases, letters = 14_000_000, 4.0
    plan = SearchPlan(MapParams(sensitivity=level), 11, n_bases)
    of_length, preset = plan.plan(m), plan.preset
    errors, w = of_length.errors, plan.shortest_seed(m, of_length.errors)
    stages = [Stage(min(m // s, 27), s, True) for s in range(3, m // w + 1)]
    stages += [Stage(w, m - w + 1, False, every) for every in range(1, w + 1)]
    weight = [1 / (1 + e) if e <= m // 10 else 0 for e in range(errors + 1)]
    likely = [comb(m, e) * 0.1**e * 0.9 ** (m - e) for e in range(errors + 1)]
    missed = {stage: [stage_miss(m, e, stage) for e in range(errors + 1)] for stage in stages}
    densest = Stage(w, m - w + 1, False, 1)

    def left_open(stage):
        shown = [stage.disjoint and e <= stage.number - preset.strata for e in range(errors + 1)]
        settled = [x for x, s, y in zip(weight, shown, missed[stage], strict=True) if s or y <= preset.missed]
        found = [1 - y for s, y in zip(shown, missed[stage], strict=True) if s or y <= preset.missed]
        return 1 - 0.995 * sum(x * y for x, y in zip(settled, found, strict=True)) / sum(weight)

    def may_end(stage):
        lost = sum(p * (x - y) for p, x, y in zip(likely, missed[stage], missed[densest], strict=True))
        return stage == densest or lost <= 0.01 * preset.missed * sum(likely)

    cost = {s: s.looked_up * (1 + 100 / s.length + 2 * n_bases / letters**s.length) for s in stages}
    left = {stage: left_open(stage) for stage in stages} | {densest: -1.0}
    rest: dict[Stage, float] = {}
    for stage in sorted(stages, key=left.__getitem__):  # what is to come behind each, at least
        behind = [left[stage] * cost[s] + rest[s] for s in rest if left[s] < left[stage]]
        rest[stage] = min([*behind, *([0.0] if may_end(stage) else [])])
    expected = sum(
        cost[s] * before
        for s, before in zip(of_length.stages, [1.0, *(left[s] for s in of_length.stages)], strict=False)
    )
    assert may_end(of_length.stages[-1])
    assert expected == pytest.approx(min(cost[stage] + rest[stage] for stage in stages), rel=1e-9)


@pytest.mark.parametrize("stage", [(3, 10, False, 1), (3, 10, False, 4), (5, 8, False, 3), (4, 3, False, 1)])
def test_the_share_that_overlapping_seeds_miss_is_counted_right(stage):
    """All sets of errors in 12 bases, one by one."""
    m, stage = 12, Stage(*stage)
    seeds = [set(range(o, o + stage.length)) for o in seed_offsets(m, stage)]
    assert len(seeds) == stage.looked_up
    for errors in range(m):
        sets = [set(some) for some in combinations(range(m), errors)]
        missed = sum(all(seed & some for seed in seeds) for some in sets)
        assert stage_miss(m, errors, stage) == pytest.approx(missed / len(sets), abs=1e-12)


@pytest.mark.parametrize("m", [36, 50, 100, 151])
def test_fewer_overlapping_seeds_come_before_more_and_settle_less(m):
    plan = SearchPlan(MapParams(sensitivity=3), 13, 14_000_000)
    *stages, dense = plan.plan(m).stages
    sparse = stages[-1]
    assert (sparse.length, sparse.number) == (dense.length, dense.number)
    assert sparse.every > dense.every
    shares = [stage_miss(m, errors, sparse) for errors in range(m // 5)]
    assert shares == sorted(shares) and shares[0] == 0
    assert all(stage_miss(m, e, dense) <= share + 1e-9 for e, share in enumerate(shares))
    plan.prepare(np.array([m], np.uint32))
    last = len(stages)
    missed = [stage_miss(m, e, sparse) for e in range(int(plan.errors[m]) + 1)]
    assert plan.settled[last, m] == np.searchsorted(missed, plan.preset.missed, side="right") - 1 > 1


@pytest.mark.parametrize(
    "level, m, leaves_out", [(0, 75, True), (1, 100, True), (2, 75, False), (2, 250, True)]
)
def test_the_last_stage_loses_no_more_reads_than_the_level_allows(level, m, leaves_out):
    """Of reads drawn with an error in ten bases: what all seeds of the shortest length would find beside the plan."""
    rng = np.random.default_rng(m)
    plan = SearchPlan(MapParams(sensitivity=level), 10, 13_600_000)
    of_length = plan.plan(m)
    *_, last = of_length.stages
    shortest = plan.shortest_seed(m, of_length.errors)
    everything = Stage(shortest, m - shortest + 1, False)
    assert (last != everything) == leaves_out
    wrong = rng.random((40_000, m)) < 0.1
    wrong = wrong[wrong.sum(axis=1) <= of_length.errors]
    before = np.cumsum(np.pad(wrong, ((0, 0), (1, 0))), axis=1)  # errors before each base

    def found(stage):
        offsets = np.array(seed_offsets(m, stage))
        return (before[:, offsets + stage.length] == before[:, offsets]).any(axis=1)

    taken = np.any([found(stage) for stage in of_length.stages], axis=0)
    # What is lost is counted as if the seeds of one stage alone found it; of 40,000 reads a few more may be.
    assert np.mean(found(everything) & ~taken) <= SELDOM * plan.preset.missed + 0.0004
    if leaves_out:
        # Seeds, and what chance finds of both strands.
        costs = [s.looked_up * (1 + 2 * 13_600_000 / 4**s.length) for s in (last, everything)]
        assert costs[0] < 0.7 * costs[1]


@pytest.mark.parametrize("m, errors", [(36, 3), (50, 5), (100, 5), (100, 10), (150, 15), (300, 30)])
def test_all_hits_without_a_cap_keep_a_seed_free_of_errors(m, errors):
    params = MapParams(all_hits=True, sensitivity=5, min_identity=100 * (1 - errors / m))
    (stage,) = SearchPlan(params, 10, 14_000_000).plan(m).stages
    assert stage.disjoint
    assert stage.number > errors
    assert stage.length * stage.number <= m


def test_levels_limit_occurrences_and_step_over_overlapping_seeds():
    plan = SearchPlan(MapParams(sensitivity=1), 12, 10**6)
    usual = plan.preset.occurrences
    assert plan.occurrence_cap(25) == usual
    by_chance = 10**6 / 4**plan.affordable
    assert plan.occurrence_cap(plan.affordable) == int(usual * (1 + by_chance))
    *_, last = plan.plan(100).stages
    assert not last.disjoint and last.every > 1


def test_a_read_all_of_whose_seeds_occur_too_often_has_a_place():
    """The search looks at some of 3,000 copies: the read is mapped to one, with MAPQ 0."""
    rng = np.random.default_rng(5)
    letters = np.frombuffer(b"ACGT", np.uint8)
    unit = rng.choice(letters, 150)
    genome = np.concatenate([[*rng.choice(letters, 50), *unit] for _ in range(3000)]).astype(np.uint8)
    mapper = gassst.Mapper(
        gassst.Index.build(Reference.from_sequences([("c", genome.tobytes())])), device="none"
    )
    read = unit[20:120].tobytes().decode()
    (found,) = mapper.map([("r", read, "I" * 100)])
    assert (found.cigarstring, found.mapping_quality) == ("100M", 0)
    assert genome[found.reference_start :][:100].tobytes().decode() in (found.query_sequence, read)
