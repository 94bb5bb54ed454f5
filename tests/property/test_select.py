"""Mapping qualities: what must hold for any constants, and calibration on a small genome with repeats."""

from itertools import pairwise
from math import comb

import numpy as np
import pytest
from rating import rated_wholes, rater

import gassst
from gassst._core.read_search import qualities
from gassst.index.miss_model import SeedsLooked
from gassst.index.spectrum import Spectrum
from gassst.model.layouts import NO_SCORE
from gassst.model.params import MapParams
from gassst.pairing.error_rate import UNKNOWN_LIBRARY
from gassst.search.plan import SearchPlan

N_BASES = 10_000_000
# One substring in a hundred has its nearest copy so far off; of those with a near one a third has another.
COPIES = Spectrum(np.stack([np.stack([np.full((6, 20), share, np.float32) for share in (0.01, 0.3)])] * 2))


def rated(rows, lengths=100, complete=30, looked=0b11111, sensitivity=2):
    """RATING[n] of reads given as (best, second, n_best, n_second)."""
    lengths = np.broadcast_to(lengths, len(rows))
    plan = SearchPlan(MapParams(sensitivity=sensitivity), 11, N_BASES, COPIES)
    plan.prepare(lengths.astype(np.uint32))
    stages = np.array([len(plan.plan(m).stages) for m in lengths.tolist()])
    looked = (np.broadcast_to(looked, len(rows)) & (1 << stages) - 1).astype(np.uint8)
    shown = looked[:, None] >> np.arange(plan.MAX_STAGES) & 1
    planned = (shown * plan.disjoint[: plan.MAX_STAGES, lengths].T).max(axis=1).astype(np.uint16)
    errors = [[best] * n_best + [second] * n_second for best, second, n_best, n_second in rows]
    return rated_wholes(plan.rater(UNKNOWN_LIBRARY), lengths.tolist(), errors, (complete, looked, planned))


def test_ties_and_unmapped_reads_have_quality_0():
    rows = [(0, 3, 2, 1), (0, NO_SCORE, 1000, 0), (NO_SCORE, NO_SCORE, 0, 0)]
    assert rated(rows)["mapq"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("length", [36, 100, 250])
def test_falls_with_rivals_and_errors_and_rises_with_the_distance_of_the_second(length):
    seconds = [*((d, 1) for d in (1, 2, 3, 4, 5)), *((1, n) for n in (1, 2, 5, 100, 10**4))]
    for best in range(length // 8):
        rows = [(best, best + d, 1, n) for d, n in seconds]
        *mapq, worse = rated([*rows, (best + 1, best + 2, 1, 1)], length)["mapq"].tolist()
        near, crowd = mapq[:5], mapq[5:]
        assert near == sorted(near)
        assert crowd == sorted(crowd, reverse=True)
        assert crowd[-1] <= 3
        assert worse <= near[0]
    assert near[0] < near[1]


def test_beside_seeds_that_occur_too_often_more_copies_are_assumed():
    rows = [(1, NO_SCORE, 1, 0)]  # every place with fewer errors than the best one and one more is known
    weights = [float(rated(rows, 100, complete=c, looked=0b11)["unseen"][0]) for c in (2, 3, 4, 5)]
    assert all(a > b for a, b in pairwise(weights))
    # Where half of the seeds were passed over, or all of them: the genome and the seeds are the same ones.
    half, every, none = (of_seeds(planned, complete) for planned, complete in ((4, 2), (2, 0), (2, 2)))
    assert half / none == pytest.approx(81) and np.isfinite(every) and every > half


def of_seeds(planned, complete):
    """What copies weigh of a read of which so many seeds were planned, and looked up."""
    missed = SeedsLooked.of(25, np.array([0.0, 0.1, 0.3, 0.6]))
    some = rater([missed], UNKNOWN_LIBRARY.table, COPIES)
    return rated_wholes(some, [100], [[1]], (complete, 0, planned))["unseen"][0]


def test_a_level_that_looks_at_everything_misses_nothing():
    plan = SearchPlan(MapParams(sensitivity=5), 11, N_BASES)
    plan.prepare(np.array([100], np.uint32))
    missed = plan.missed(100, complete=4, looked=1)
    assert not missed[:4].any() and missed[4] > 0 and len(missed) == plan.errors[100] + 1
    last = 1 << int(np.flatnonzero(plan.seed_count[: plan.MAX_STAGES, 100])[-1])  # other rows are looks
    assert plan.missed(100, complete=4, looked=last)[10] < missed[10]


def test_a_read_does_not_depend_on_the_others():
    rng = np.random.default_rng(5)
    best = rng.integers(0, 15, 200)
    rows = [(b, b + rng.integers(1, 3), rng.integers(1, 3), rng.integers(1, 50)) for b in best]
    lengths, complete = rng.integers(60, 200, 200), rng.integers(0, 9, 200)
    looked = 2 ** rng.integers(1, 5, 200) - 1
    together = rated(rows, lengths, complete, looked)
    for i in range(200):
        assert rated(rows[i : i + 1], lengths[i], complete[i], looked[i])[0] == together[i]


def test_quality_is_capped_rounds_down_and_takes_any_weight():
    weights = np.array([0, 1e-12, 1e-5, 1.01e-5, 9e-4, 1 / 99.11, 1 / 98.9, 0.75, 1e6, np.inf])
    assert qualities(weights).tolist() == [60, 60, 60, 46, 30, 20, 19, 3, 0, 0]
    assert qualities(weights).dtype == np.uint8


def test_terms_are_those_that_a_quality_is_made_of():
    found = rated([(2, 3, 1, 5), (0, NO_SCORE, 2, 0), (1, NO_SCORE, 1, 0)], [100, 30, 20])
    others = found["known"] + found["unseen"] + found["chance"]
    assert found["mapq"].tolist() == qualities(others).tolist() and (others > 0).all()
    assert not found["capped_by"].any() and (found["cap"] == 255).all()
    expected = [5 * UNKNOWN_LIBRARY.odds(2, 100)[0], 1, 0]
    assert found["known"].tolist() == pytest.approx(expected)
    by_chance = [2 * N_BASES * comb(m, e) * 8.0**e / 4.0**m for m, e in ((100, 2), (30, 0), (20, 1))]
    assert found["chance"].tolist() == pytest.approx(by_chance)


BASES = np.frombuffer(b"ACGT", np.uint8)


def repeat_genome(rng):
    """300 kb: 12 copies of a unit of 1,500 bases with 5 % differences each, 12 with 0.7 %, in unique sequence."""
    unit, parts = rng.integers(0, 4, 1500), []
    for i in range(24):
        copy = unit.copy()
        at = rng.random(1500) < (0.05 if i < 12 else 0.007)
        copy[at] = (copy[at] + rng.integers(1, 4, at.sum())) & 3
        parts += [copy, rng.integers(0, 4, 11000)]
    return np.concatenate(parts)


def simulated(rng, genome, n, length, rate):
    """Starts int64[n] and reads uint8[n, length] (ASCII), forward, with substitutions."""
    start = rng.integers(0, len(genome) - length, n)
    codes = genome[start[:, None] + np.arange(length)]
    wrong = rng.random(codes.shape) < rate
    codes[wrong] = (codes[wrong] + rng.integers(1, 4, wrong.sum())) & 3
    return start, BASES[codes]


@pytest.mark.parametrize("rate", [0.01, 0.04])
def test_observed_errors_are_those_promised(tmp_path, rate):
    rng = np.random.default_rng(17)
    genome = repeat_genome(rng)
    fasta = tmp_path / "ref.fa"
    fasta.write_bytes(b">c\n" + BASES[genome].tobytes() + b"\n")
    mapper = gassst.Mapper(gassst.Index.build(str(fasta)), threads=1, device="none", mode="global")
    start, bases = simulated(rng, genome, 30_000, 75, rate)
    found = mapper.map((f"r{i}", row.tobytes().decode(), None) for i, row in enumerate(bases))
    records = [(s.mapping_quality, s.reference_start, s.is_unmapped) for s in found if not s.is_secondary]
    quality, place, unmapped = np.array(records).T
    right = np.abs(place - start) <= 10
    sure = (quality >= 30) & (unmapped == 0)
    assert sure.sum() > 5000
    assert (~right[sure]).mean() < 1e-3
    for low, high in ((5, 10), (10, 15), (15, 20), (20, 30)):
        inside = (quality >= low) & (quality < high) & (unmapped == 0)
        promised = (10 ** (-(quality[inside] + 0.5) / 10)).sum()
        noise = 3 * promised**0.5 + 2
        assert promised / 2 - noise <= (~right[inside]).sum() <= 2 * promised + noise
