"""Pairs that may lie in a copy nobody looked at, and what a closer look at them finds."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import gassst
from gassst import presets
from gassst.io.reference import Reference
from gassst.layouts import READ_SUMMARY
from gassst.local import hidden_copies
from gassst.params import MapParams
from gassst.seeding import plan as seeding_plan
from gassst.seeding.plan import SearchPlan

M = 50
COMPLEMENT = str.maketrans("ACGT", "TGCA")
BASES = np.array(list("ACGT"))


def mutated(rng, bases, share):
    return np.where(rng.random(len(bases)) < share, rng.integers(0, 4, len(bases)), bases)


def family(rng, copies=500, length=400, divergence=0.04):
    """A genome of diverged copies of one element, which most seeds find too often; where each copy begins."""
    element, parts, starts, at = rng.integers(0, 4, length), [], [], 0
    for _ in range(copies):
        between = rng.integers(0, 4, 60)
        parts += [between, mutated(rng, element, divergence)]
        starts.append(at + len(between))
        at += len(between) + length
    return np.concatenate(parts), starts


def pairs_from(rng, genome, starts, n, errors):
    """FASTQ triples of both mates, and the 1-based position of every first mate."""
    reads, truth = ([], []), []
    for i in range(n):
        begin = int(rng.choice(starts) + rng.integers(0, 150))
        end = begin + int(rng.normal(200, 10))
        sides = mutated(rng, genome[begin : begin + M], errors), mutated(rng, genome[end - M : end], errors)
        texts = ["".join(BASES[side]) for side in sides]
        reads[0].append((f"p{i}", texts[0], "I" * M))
        reads[1].append((f"p{i}", texts[1].translate(COMPLEMENT)[::-1], "I" * M))
        truth.append(begin + 1)
    return reads, np.array(truth)


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(11)
    genome, starts = family(rng)
    index = gassst.Index.build(Reference.from_sequences([("copies", "".join(BASES[genome]).encode())]))
    return index, *pairs_from(rng, genome, starts, 1500, 0.02)


def mapped(index, reads, **options):
    mapper = gassst.Mapper(index, device="none", insert=(200.0, 10.0), **options)
    return [r for r in mapper.map(*reads) if not r.flag & 0x900]


def with_hidden(monkeypatch, hidden):
    usual = tuple(replace(preset, hidden=hidden) for preset in presets.PRESETS)
    monkeypatch.setattr(seeding_plan, "PRESETS", usual)


def test_a_closer_look_finds_copies_that_seeds_passed_over(world, monkeypatch):
    index, reads, truth = world
    right, wrong = [], []
    for hidden in (presets.PRESETS[2].hidden, None):
        with_hidden(monkeypatch, hidden)
        first = mapped(index, reads)[::2]
        correct = np.abs(np.array([r.reference_start for r in first]) + 1 - truth) <= 10
        sure = np.array([r.mapping_quality for r in first]) >= 20
        right.append((correct & sure).sum())
        wrong.append((~correct & sure).sum())
    gained = right[0] - right[1]
    assert gained > 60, right
    assert wrong[0] - wrong[1] <= gained / 50, wrong  # twice what a MAPQ of 20 promises


def test_a_look_that_is_no_closer_changes_no_record(world, monkeypatch):
    """Whichever pairs are looked up again: they are put back as they were."""
    index, reads, _ = world
    with_hidden(monkeypatch, None)
    for options in ({}, {"mode": "global"}):
        before = [str(r) for r in mapped(index, reads, **options)]
        asked = []

        def some(found, pairs, _, asked=asked):
            asked.append(np.repeat(np.random.default_rng(5).random(len(found.start) // 2) < 0.4, 2))
            return asked[-1] & pairs.paired

        with monkeypatch.context() as patch:
            patch.setattr(hidden_copies, "in_doubt", some)
            patch.setattr(SearchPlan, "next_level", lambda self: self)
            assert [str(r) for r in mapped(index, reads, **options)] == before
        assert sum(map(np.sum, asked)) > 500


def test_pairs_are_in_doubt_where_unseen_pairs_of_either_mate_weigh_enough():
    rng = np.random.default_rng(2)
    n = 400
    found = SimpleNamespace(
        summary=np.zeros(n, READ_SUMMARY),
        proper=np.repeat(rng.random(n // 2) < 0.8, 2),
        hidden=rng.choice([0, 0.0009, 0.002], n),
    )
    pairs = SimpleNamespace(
        partner=np.arange(n) ^ 1, paired=np.repeat(rng.random(n // 2) < 0.8, 2), same_bases=False
    )
    assert not hidden_copies.in_doubt(found, pairs, None).any()
    doubt = hidden_copies.in_doubt(found, pairs, 0.001)
    for r in range(n):
        weight = max(found.hidden[r], found.hidden[r ^ 1])
        assert doubt[r] == (pairs.paired[r] and found.proper[r] and weight >= 0.001)
    assert 20 < doubt.sum() < n - 20


def test_only_pairs_that_what_is_hidden_alone_keeps_below_20_are_looked_up_again(world, monkeypatch):
    """Not those of known rivals, nor those that are sure already."""
    index, reads, _ = world
    seen = []

    def none(found, pairs, _):
        seen.append(found)
        return np.zeros(len(found.summary), bool)

    monkeypatch.setattr(hidden_copies, "in_doubt", none)
    mapped(index, reads)
    hidden, quality = (
        np.concatenate([getattr(some, name) for some in seen]) for name in ("hidden", "quality")
    )
    ties = np.concatenate([some.summary["n_best"] > 1 for some in seen])
    assert (hidden > 0).sum() > 100
    assert (quality[hidden > 0] < 20).all()
    assert np.median(hidden[hidden > 0]) > 0.0099 / 2, sorted(hidden[hidden > 0])[:20]
    pair_ties = ties & np.repeat(ties.reshape(-1, 2).all(axis=1), 2) & (quality == 0)
    assert pair_ties.any()
    assert not hidden[pair_ties].any()


def test_the_closer_look_is_that_of_the_next_level():
    for level in range(6):
        plan, following = (
            SearchPlan(MapParams(sensitivity=some), 15, 10**7) for some in (level, min(level + 1, 5))
        )
        closer = plan.next_level()
        assert closer is plan.next_level()
        assert closer.caps.tolist() == following.caps.tolist()
        assert closer.preset == following.preset
        lengths = np.array([50, 100])
        closer.prepare(lengths)
        following.prepare(lengths)
        assert np.array_equal(closer.settled, following.settled)
