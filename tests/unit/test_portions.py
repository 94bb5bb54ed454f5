"""Reads that are searched a few at a time find what they find together."""

from dataclasses import replace

import brute_force as bf
import numpy as np
import pytest

import gassst
from gassst.io.read_records import batch_of_records
from gassst.search import host, single
from gassst.search.context import BatchContext
from gassst.search.host import HostBackend
from gassst.search.state import SearchState
from gassst.stats import Stats


@pytest.fixture(scope="module")
def reads(small_reads):
    """Half of them from nowhere, of lengths with and without a stage of their own."""
    rng = np.random.default_rng(12)
    lengths = rng.choice([24, 100, 150, 250], 150).tolist()
    foreign = [(f"foreign{i}", bf.random_bases(rng, m).decode(), None) for i, m in enumerate(lengths)]
    return [(name, read, None) for name, read, _ in small_reads[:150]] + foreign


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_portions_of_a_stage_change_nothing(small_fasta, reads, mode, step, monkeypatch):
    index = gassst.Index.build(small_fasta, step=step)
    mapper = gassst.Mapper(index, device="none", mode=mode)
    packed = batch_of_records(reads).pack(mapper.params.longest_read)
    searched = index, mapper.parts, mapper.plan, mapper.cascade, mapper.params, packed
    context = BatchContext.of(*searched, whole_reads=mapper.params.reports_whole_reads)
    found = []
    for at_once, many_runs in ((1 << 30, 0), (300, 1 << 30), (300, 0)):
        monkeypatch.setattr(host, "SEEDS_AT_ONCE", at_once)
        monkeypatch.setattr(host, "MANY_RUNS", many_runs)
        counts = Stats()
        with mapper.extender.open_reads(packed) as bands:
            result = single.search(HostBackend(context, bands, counts))
        found.append((result, counts))
    (first, counted), *others = found
    assert counted.candidates > 1000 and first.left_to_local.any() == (mode == "local")
    lone = mapper.plan.lone[:, context.lengths].any(axis=0)
    assert 20 < lone.sum() < context.n
    for other, counts in others:
        for name in ("occurrences", "candidates", "scored", "capped"):
            assert getattr(counts, name) == getattr(counted, name), name
        for name in ("summary", "quality", "left_to_local", "unseen", "hopeless", "rows", "start"):
            assert getattr(other, name).tolist() == getattr(first, name).tolist(), name
        for name in ("read_strand", "band_start", "end", "edits"):
            assert getattr(other.bands, name).tolist() == getattr(first.bands, name).tolist(), name


@pytest.mark.parametrize("step", [1, 2])
def test_seeds_that_were_followed_before_lead_to_nothing_new(small_fasta, reads, step, monkeypatch):
    index = gassst.Index.build(small_fasta, step=step)
    mapper = gassst.Mapper(index, device="none", mode="global")
    packed = batch_of_records(reads).pack(mapper.params.longest_read)
    context = BatchContext.of(index, mapper.parts, mapper.plan, mapper.cascade, mapper.params, packed)
    sparse = mapper.plan.seed_every[:, context.lengths] > 1
    assert (sparse[:-1] & (mapper.plan.seed_count[1:, context.lengths] > 0)).any(axis=0).sum() > 20
    found = []
    for follows_all in (False, True):
        monkeypatch.setattr(
            HostBackend,
            "initial_state",
            lambda self, follows=follows_all: replace(SearchState.initial(self.context), follows_all=follows),
        )
        counts = Stats()
        with mapper.extender.open_reads(packed) as bands:
            result = single.search(HostBackend(context, bands, counts))
        found.append(
            (counts.candidates, counts.scored, *(column.tolist() for column in vars(result.bands).values()))
        )
    assert found[0] == found[1] and found[0][0] > 1000
