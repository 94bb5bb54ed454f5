"""Mapping qualities: what must hold for any constants, and calibration on a small genome with repeats."""

from itertools import pairwise

import numpy as np
import pytest

import gassst
from gassst.index.spectrum import Spectrum
from gassst.model.layouts import NO_SCORE, READ_SUMMARY
from gassst.model.params import MapParams
from gassst.pairing.error_rate import UNKNOWN_LIBRARY
from gassst.search.copies import unseen_alone
from gassst.search.mapq import (
    Seen,
    clipped,
    copies_of_wholes,
    family,
    mapping_quality,
    near_known,
    quality,
)
from gassst.search.plan import SearchPlan

N_BASES = 10_000_000
# One substring in a hundred has its nearest copy so far off; of those with a near one a third has another.
COPIES = Spectrum(np.stack([np.stack([np.full((6, 20), share, np.float32) for share in (0.01, 0.3)])] * 2))


def reads(rows, length=100, complete=30, looked=0b11111, sensitivity=2):
    """(summary, lengths, seen, library, letters) of reads given as (best, second, n_best, n_second)."""
    summary = np.zeros(len(rows), READ_SUMMARY)
    for name, column in zip(("best", "second", "n_best", "n_second"), zip(*rows, strict=True), strict=True):
        summary[name] = column
    lengths = np.full(len(rows), length, np.uint32)
    plan = SearchPlan(MapParams(sensitivity=sensitivity), 11, N_BASES, COPIES)
    plan.prepare(lengths)
    looked &= (1 << len(plan.plan(length).stages)) - 1
    ones = np.ones(len(rows))
    seen = Seen(
        (complete * ones).astype(np.uint16),
        (looked * ones).astype(np.uint8),
        np.full(len(rows), max(plan.disjoint[s, length] for s in range(8) if looked >> s & 1)),
        plan,
    )
    return summary, lengths, seen, UNKNOWN_LIBRARY, 4 * ones


def unseen(*args, **kwargs):
    """What unseen copies of such reads weigh."""
    summary, lengths, seen, library, _ = reads(*args, **kwargs)
    copies, case = copies_of_wholes(summary, lengths, seen, library)
    return unseen_alone(copies, case, near_known(summary), seen.plan.spectrum) * family(clipped(seen))


def test_ties_and_unmapped_reads_have_quality_0():
    rows = [(0, 3, 2, 1), (0, NO_SCORE, 1000, 0), (NO_SCORE, NO_SCORE, 0, 0)]
    assert mapping_quality(*reads(rows)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("length", [36, 100, 250])
def test_falls_with_rivals_and_errors_and_rises_with_the_distance_of_the_second(length):
    def rated(best, second, n_second, **seen):
        return int(mapping_quality(*reads([(best, second, 1, n_second)], length, **seen))[0])

    for best in range(length // 8):
        near = [rated(best, best + d, 1) for d in (1, 2, 3, 4, 5)]
        assert near == sorted(near)
        crowd = [rated(best, best + 1, n) for n in (1, 2, 5, 100, 10**6)]
        assert crowd == sorted(crowd, reverse=True)
        assert crowd[-1] <= 3
        assert rated(best + 1, best + 2, 1) <= near[0]
    assert near[0] < near[1]


def test_seeds_not_looked_up_cost_quality():
    row = [(3, NO_SCORE, 1, 0)]
    by_complete = [int(mapping_quality(*reads(row, 50, complete=c, looked=0b1))[0]) for c in (1, 2, 3, 4, 8)]
    assert by_complete == sorted(by_complete)
    assert by_complete[0] < by_complete[-1]


def test_beside_seeds_that_occur_too_often_more_copies_are_assumed():
    rows = [(1, NO_SCORE, 1, 0)]  # every place with fewer errors than the best one and one more is known
    weights = [float(unseen(rows, 100, complete=c, looked=0b11)[0]) for c in (2, 3, 4, 5)]
    assert all(a > b for a, b in pairwise(weights))
    assert family(np.array([0, 0.5, 0.2])).tolist() == pytest.approx([1, 81, 21])
    assert np.isfinite(family(np.ones(1)))


def test_beside_a_known_rival_there_are_more():
    alone, beside, far = (
        float(unseen([(2, second, 1, 1)], 100, looked=0b11, complete=4)[0]) for second in (99, 3, 5)
    )
    assert alone == far and beside > 20 * alone


def test_a_level_that_looks_at_everything_misses_nothing():
    plan = SearchPlan(MapParams(sensitivity=5), 11, N_BASES)
    plan.prepare(np.array([100], np.uint32))
    assert plan.missed(100, 3, complete=4, looked=1) == 0
    assert plan.missed(100, 4, complete=4, looked=1) > 0
    assert plan.missed(100, int(plan.errors[100]) + 1, complete=4, looked=1) == 1
    last = 1 << int(np.flatnonzero(plan.seed_count[:, 100])[-1])
    assert plan.missed(100, 10, complete=4, looked=last) < plan.missed(100, 10, complete=4, looked=1)


def test_a_read_does_not_depend_on_the_others():
    rng = np.random.default_rng(5)
    best = rng.integers(0, 15, 200)
    rows = [(b, b + rng.integers(1, 3), rng.integers(1, 3), rng.integers(1, 50)) for b in best]
    summary, lengths, seen, library, letters = reads(rows)
    lengths[:] = rng.integers(60, 200, 200)
    seen.plan.prepare(lengths)
    seen.complete[:] = rng.integers(0, 9, 200)
    seen.looked[:] = 2 ** rng.integers(1, 5, 200) - 1
    together = mapping_quality(summary, lengths, seen, library, letters)
    for i in range(200):
        one = slice(i, i + 1)
        alone = Seen(*(c[one] for c in (seen.complete, seen.looked, seen.planned)), seen.plan)
        assert mapping_quality(summary[one], lengths[one], alone, library, letters[one])[0] == together[i]


def test_quality_is_capped_rounds_down_and_takes_any_weight():
    weights = np.array([0, 1e-12, 1e-5, 1.01e-5, 9e-4, 1 / 99.11, 1 / 98.9, 0.75, 1e6, np.inf])
    assert quality(weights).tolist() == [60, 60, 60, 46, 30, 20, 19, 3, 0, 0]
    assert quality(weights).dtype == np.uint8
    parts = weights / 2, weights / 4, weights / 4
    assert quality(*parts).tolist() == quality(weights).tolist()


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
